"""Kernels of ops that are no formulas: variables, what is fed, branches of control, messages.

Each is made for a node when a plan is, and takes its inputs as a list; what it raises names the node.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.tf import Node, PartialShape
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.printing import summary
from xlabench.tensorflow.runtime.resources import Resources, Variable

Kernel = Callable[[Sequence[Any]], Sequence[Any]]
Maker = Callable[[Node, Resources], Kernel]


class Optional(NamedTuple):
    """Values that may be there; None where they are not."""

    values: tuple[Any, ...] | None


class Dead:
    """The value of what does not run because another branch does."""

    def __repr__(self) -> str:
        return "dead"


DEAD = Dead()
_WORDS = {"float32": "float", "float64": "double", "float16": "half"}


def raised(kind: type[errors.OpError], node: Node, said: str) -> errors.OpError:
    """An error of a node, in TensorFlow's form.

    Args:
        kind: the class of the error.
        node: where it happened.
        said: the message.
    """
    return kind(node, None, f"{said}\n\t [[{{{{node {node.name}}}}}]]")


def stateless(function: Callable[[Node, Sequence[Any]], Sequence[Any]]) -> Maker:
    """What makes kernels of a function of a node and its inputs, which keeps nothing between runs."""

    def make(node: Node, _resources: Resources) -> Kernel:
        return lambda inputs: function(node, inputs)

    return make


def text_of(value: Any) -> str:
    """The one text of a tensor of strings."""
    return np.asarray(value, object).reshape(-1)[0].decode()  # type: ignore[no-any-return]  # tensors of strings hold bytes


def read(variable: Variable, node: Node) -> Any:
    """A variable's value.

    Raises:
        FailedPreconditionError: it has none yet.
    """
    value = variable.value
    if value is None:
        raise raised(
            errors.FailedPreconditionError,
            node,
            f"Could not find variable {variable.name}. This could mean that the variable has been deleted. In TF1, it "
            "can also mean the variable is uninitialized. Debug info: container=localhost, status error message="
            f"Resource localhost/{variable.name} does not exist.",
        )
    return value


def _const(node: Node, _resources: Resources) -> Kernel:
    tensor: Any = node.attributes["value"]
    is_text = tensor.stated is None
    value = np.array(tensor.strings, dtype=object).reshape(tensor.dims) if is_text else tensor.array()
    return lambda _: (value,)


def _placeholder(node: Node, _resources: Resources) -> Kernel:
    def kernel(_inputs: Sequence[Any]) -> Sequence[Any]:
        shape = node.attributes.get("shape")
        kind = str(node.attributes["dtype"])
        said = f" and shape {_shape_text(shape)}" if isinstance(shape, PartialShape) and shape.dims is not None else ""
        dtype = _WORDS.get(kind, kind)
        text = f"You must feed a value for placeholder tensor '{node.name}' with dtype {dtype}{said}"
        raise raised(errors.InvalidArgumentError, node, text)

    return kernel


def _shape_text(shape: PartialShape) -> str:
    return "[" + ",".join("?" if one is None else str(one) for one in shape.dims or ()) + "]"


def _handle(node: Node, resources: Resources) -> Kernel:
    shared: Any = node.attributes.get("shared_name") or b""
    handle = resources.variable(shared.decode() or node.name)
    return lambda _: (handle,)


def _is_initialized(_node: Node, _resources: Resources) -> Kernel:
    return lambda inputs: (np.bool_(inputs[0].value is not None).reshape(()),)


def _read(node: Node, _resources: Resources) -> Kernel:
    return lambda inputs: (read(inputs[0], node),)


def _assign(_node: Node, _resources: Resources) -> Kernel:
    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        inputs[0].value = inputs[1]
        return ()

    return kernel


def _changed(function: Callable[[Any, Any], Any]) -> Maker:
    def make(node: Node, _resources: Resources) -> Kernel:
        def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
            variable, change = inputs
            variable.value = np.asarray(function(read(variable, node), change), change.dtype)
            return ()

        return kernel

    return make


def _nothing(_node: Node, _resources: Resources) -> Kernel:
    return lambda _: ()


def _switch(node: Node, _resources: Resources) -> Kernel:
    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        value, predicate = inputs
        if np.ndim(predicate):
            said = f"The second input must be a scalar, but it has shape {list(predicate.shape)}"
            raise raised(errors.InvalidArgumentError, node, said)
        return (DEAD, value) if predicate else (value, DEAD)

    return kernel


def _merge(_node: Node, _resources: Resources) -> Kernel:
    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        number = next((n for n, one in enumerate(inputs) if one is not DEAD), None)
        return (DEAD, DEAD) if number is None else (inputs[number], np.int32(number).reshape(()))

    return kernel


def _passed_on(_node: Node, _resources: Resources) -> Kernel:
    return lambda inputs: inputs


def _print(node: Node, _resources: Resources) -> Kernel:
    message: Any = node.attributes.get("message", b"")
    summarize: Any = node.attributes.get("summarize", 3)

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        shown = "".join(f"[{summary(one, summarize)}]" for one in inputs[1:])
        print(f"{message.decode()}{shown}", file=sys.stderr)  # noqa: T201 - that is what the op is for
        return (inputs[0],)

    return kernel


def _assert(node: Node, _resources: Resources) -> Kernel:
    summarize: Any = node.attributes.get("summarize", 3)

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        if not inputs[0]:
            shown = " ".join(f"[{summary(one, summarize)}]" for one in inputs[1:])
            raise raised(errors.InvalidArgumentError, node, f"assertion failed: {shown}")
        return ()

    return kernel


def _check_numerics(node: Node, _resources: Resources) -> Kernel:
    message: Any = node.attributes.get("message", b"")

    def kernel(inputs: Sequence[Any]) -> Sequence[Any]:
        [value] = inputs
        found = [word for word, test in (("Inf", np.isinf), ("NaN", np.isnan)) if bool(np.any(test(value)))]
        if found:
            said = f"{message.decode()} : Tensor had {' and '.join(found)} values"
            raise raised(errors.InvalidArgumentError, node, said)
        return inputs

    return kernel


def _device_index(node: Node, _resources: Resources) -> Kernel:
    names: Any = node.attributes["device_names"]
    own = next((n for n, one in enumerate(names.values) if f"device:{one.decode()}:" in node.device), len(names.values))
    return lambda _: (np.int32(own).reshape(()),)


def _content(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    values: tuple[Any, ...] | None = inputs[0].values
    if values is None:
        raise raised(errors.InvalidArgumentError, node, "The given optional does not have a value.")
    return values


KERNELS: Mapping[str, Maker] = {
    "Const": _const,
    "Placeholder": _placeholder,
    "VarHandleOp": _handle,
    "VarIsInitializedOp": _is_initialized,
    "ReadVariableOp": _read,
    "AssignVariableOp": _assign,
    "AssignAddVariableOp": _changed(np.add),
    "AssignSubVariableOp": _changed(np.subtract),
    "NoOp": _nothing,
    "DeviceIndex": _device_index,
    "OptionalFromValue": stateless(lambda _, inputs: (Optional(tuple(inputs)),)),
    "OptionalNone": stateless(lambda _node, _inputs: (Optional(None),)),
    "OptionalGetValue": stateless(_content),
    "Switch": _switch,
    "Merge": _merge,
    **dict.fromkeys(("Exit", "NextIteration", "LoopCond"), _passed_on),
    "_XlaMerge": _merge,
    "Print": _print,
    "Assert": _assert,
    "CheckNumerics": _check_numerics,
}
"""Ops that are no formulas, or of which a formula says less than is done."""
