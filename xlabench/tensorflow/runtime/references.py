"""Variables as references, which graphs of TensorFlow 1 are made of: what holds a value stands for it.

Ops that change a variable take and give the reference itself; whatever else takes one is given the value that the
variable holds when it runs, which a read just before it says (`plan.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.tf import RECORDS, Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.kernels import KERNELS, Kernel, Maker, raised
from xlabench.tensorflow.runtime.programs import READ
from xlabench.tensorflow.runtime.resources import Resources


def held(variable: Any, node: Node) -> Any:
    """What a variable holds.

    Raises:
        FailedPreconditionError: nothing yet.
    """
    if variable.value is None:
        raise raised(errors.FailedPreconditionError, node, f"Attempting to use uninitialized value {variable.name}")
    return variable.value


def _read(node: Node, _resources: Resources) -> Kernel:
    reader = replace(node, name=node.name.rpartition("/")[0])
    return lambda inputs: (held(inputs[0], reader),)


def _assign(node: Node, _resources: Resources) -> Kernel:
    must_fit: Any = node.attributes.get("validate_shape", True)

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        variable, value = inputs
        before = variable.value
        if must_fit and before is not None and before.shape != value.shape:
            shapes = f"lhs shape= {list(before.shape)} rhs shape= {list(value.shape)}"
            said = f"Assign requires shapes of both tensors to match. {shapes}"
            raise raised(errors.InvalidArgumentError, node, said)
        variable.value = value
        return (variable,)

    return kernel


def _count_up_to(node: Node, _resources: Resources) -> Kernel:
    limit: Any = node.attributes["limit"]

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        [variable] = inputs
        before = held(variable, node)
        if before >= limit:
            raise raised(errors.OutOfRangeError, node, f"Reached limit of {limit}")
        variable.value = np.asarray(before + 1, before.dtype)
        return (before,)

    return kernel


def changing(node: Node, lowered: Kernel) -> Kernel:
    """The kernel of an op that changes what a reference stands for, and gives the reference.

    Args:
        node: of which the first inputs are references.
        lowered: changes what they hold.
    """
    references = sum(port.is_reference for port in RECORDS[node.op].signature.inputs)

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        for variable in inputs[:references]:
            held(variable, node)
        lowered(inputs)
        return (inputs[0],)

    return kernel


REFERENCES: Mapping[str, Maker] = {
    READ: _read,
    "Assign": _assign,
    "CountUpTo": _count_up_to,
    "IsVariableInitialized": KERNELS["VarIsInitializedOp"],
    **dict.fromkeys(("Variable", "VariableV2"), KERNELS["VarHandleOp"]),
    "RefSwitch": KERNELS["Switch"],
    "RefMerge": KERNELS["Merge"],
    **dict.fromkeys(("RefIdentity", "RefExit", "RefNextIteration"), KERNELS["NextIteration"]),
}
"""Ops that make references or hand them on, or of which a formula says less than is done."""
