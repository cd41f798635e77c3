"""Variables: the gradient of what is read is that of the variable."""

from __future__ import annotations

from compiler.tf2xla.record import Differentiate, no_gradient

GRADIENTS: dict[str, Differentiate] = {
    "ReadVariableOp": lambda _node, g: g,
    **dict.fromkeys(
        (
            *("VarIsInitializedOp", "VariableShape", "Assign", "AssignAdd", "AssignSub"),
            *("ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv"),
        ),
        no_gradient,
    ),
}
