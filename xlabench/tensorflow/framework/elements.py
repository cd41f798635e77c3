"""Tensors and operations of a graph by what stands for them: themselves, a variable, a name."""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.tensor import Operation, Tensor

_FORM = 'Tensor names must be of the form "<op_name>:<output_index>".'


def element(graph: Any, value: Any, *, allow_tensor: bool, allow_operation: bool) -> Any:
    """The tensor or operation of a graph that a value is, or names.

    Args:
        graph: where it must be.
        value: a tensor, an operation, a variable, or a name.
        allow_tensor: whether it may be a tensor.
        allow_operation: whether it may be an operation.

    Raises:
        KeyError: it is not in the graph.
        ValueError: it is none, or of another graph.
        TypeError: it is nothing of the kind.
    """
    words = (("Tensor", allow_tensor), ("Operation", allow_operation))
    allowed = " or ".join(word for word, is_meant in words if is_meant)
    named = getattr(value, "graph_element", None)
    value = named if named is not None else value
    if isinstance(value, str):
        is_tensor = ":" in value
        if is_tensor and not allow_tensor:
            raise ValueError(f"Name {value!r} appears to refer to a Tensor, not a {allowed}.")
        if not is_tensor and not allow_operation:
            raise ValueError(_no_tensor(graph, value, allowed))
        return _tensor(graph, value) if is_tensor else _operation(graph, value)
    if (isinstance(value, Tensor) and allow_tensor) or (isinstance(value, Operation) and allow_operation):
        if value.graph is not graph:
            kind = "Tensor" if isinstance(value, Tensor) else "Operation"
            raise ValueError(f"{kind} {value} is not an element of this graph.")
        return value
    raise TypeError(f"Can not convert a {type(value).__name__} into a {allowed}.")


def _no_tensor(graph: Any, name: str, allowed: str) -> str:
    if name in graph.operations:
        return f"The name {name!r} refers to an Operation, not a {allowed}."
    return f"The name {name!r} looks like an (invalid) Operation name, not a {allowed}. {_FORM}"


def _tensor(graph: Any, name: str) -> Tensor:
    node, _, port = name.partition(":")
    if not port.isdigit():
        raise ValueError(f"The name {name!r} looks a like a Tensor name, but is not a valid one. {_FORM}")
    said = f"The name {name!r} refers to a Tensor which does not exist. The operation, {node!r},"
    if node not in graph.operations:
        raise KeyError(f"{said} does not exist in the graph.")
    outputs: list[Tensor] = graph.operations[node].outputs
    if int(port) >= len(outputs):
        raise KeyError(f"{said} exists but only has {len(outputs)} outputs.")
    return outputs[int(port)]


def _operation(graph: Any, name: str) -> Operation:
    if name not in graph.operations:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    found: Operation = graph.operations[name]
    return found
