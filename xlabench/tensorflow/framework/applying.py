"""An op applied to Python values, as its record's signature says: every function of the namespace ends here.

The node's name is a scope while its inputs become tensors, so that constants among them are `add/y`.  A type that
several inputs share is that of the first tensor among them, and numbers take it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.tf import BY_NAME, AttributeList, CompilerError, FunctionReference, Port, Signature
from xlabench.tensorflow.errors import NotHereError
from xlabench.tensorflow.framework import mismatch
from xlabench.tensorflow.framework.convert import convert_to_tensor, tensor_value
from xlabench.tensorflow.framework.dtypes import DType, as_dtype, of_data_type
from xlabench.tensorflow.framework.graph import Graph, graph_of
from xlabench.tensorflow.framework.shapes import as_shape
from xlabench.tensorflow.framework.structures import leaves
from xlabench.tensorflow.framework.tensor import Operation, Tensor


def apply(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], name: str | None = None) -> Operation:
    """Add a node of an op.

    Args:
        op: its name, or that of a function of the graph's library.
        inputs: for each input of the signature a value; a list where it is several tensors.
        attributes: those that do not follow from the inputs; None is left out.
        name: that of the node, by default the op's.

    Raises:
        TypeError: an input is of another type than the op takes.
        ValueError: shapes do not go together, or a value makes no sense.
    """
    graph = graph_of(*leaves(inputs))
    try:
        signature = graph.builder.signature(op)
    except CompilerError as error:
        raise NotHereError(f"op {op} has no record here, and so no function and no kernel") from error
    with graph.as_default(), graph.name_scope(name or op) as scope:
        stated = {
            key: attribute_value(signature.attributes[key].kind, value)
            for key, value in attributes.items()
            if value is not None
        }
        given = _converted(op, signature, inputs, stated)
        return create(graph, op, given, stated, scope)


def output_of(op: str, *inputs: Any, name: str | None = None, **attributes: Any) -> Tensor:
    """The first output of a node of an `op`, added as by `apply`, on `inputs`, with `attributes` and a `name`."""
    return apply(op, inputs, attributes, name).outputs[0]


def create(graph: Graph, op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], scope: str) -> Operation:
    """Add a node of tensors; what the compiler refuses of it is a `ValueError`, as TensorFlow has it.

    Args:
        graph: where it is added.
        op: its name.
        inputs: for each input of the signature a tensor, or a list of them.
        attributes: all that do not follow from the inputs, as graphs hold them.
        scope: the name of the node, as a scope that is open: with a `/` at its end.
    """
    try:
        return graph.create(op, inputs, attributes, scope)
    except CompilerError as error:
        if isinstance(error, TypeError | LookupError):
            raise
        raise ValueError(_refusal(op, inputs, attributes, scope.rstrip("/")) or str(error)) from error


def _refusal(op: str, inputs: Sequence[Any], attributes: Mapping[str, Any], name: str) -> str:
    """What TensorFlow says of inputs whose sizes do not go together; nothing where that is not what is wrong."""
    signature = graph_of(*leaves(inputs)).builder.signature(op)
    tensors = list(leaves(inputs))
    given = mismatch.Given(op, [one.output.shape.dims for one in tensors], [one.output.value for one in tensors])
    said = mismatch.at_building(given, signature, attributes)
    if said is None:
        return ""
    types = {port.type: one[0] if isinstance(one, list) else one
             for port, one in zip(signature.inputs, inputs, strict=True) if one != []}  # fmt: skip
    stated = {key: one.dtype.base_dtype.data_type for key, one in types.items() if key in signature.attributes}
    stated |= {port.number: len(one) for port, one in zip(signature.inputs, inputs, strict=True) if port.number}
    listed = ", ".join(f"{key}={mismatch.attribute(value)}" for key, value in sorted({**stated, **attributes}.items()))
    names = ", ".join(one.name.removesuffix(":0") for one in tensors)
    return f"{said.what} for '{{{{node {name}}}}} = {op}[{listed}]({names})' with input shapes: {said.shapes}."


def attribute_value(kind: str, value: Any) -> Any:
    """A Python value as an attribute of a kind."""
    if kind.startswith("list(") and not isinstance(value, AttributeList):
        inner = kind[5:-1]
        words = {"int": "i", "float": "f", "bool": "b", "string": "s"}
        return AttributeList(
            words.get(inner, inner) if len(value) else "", tuple(attribute_value(inner, one) for one in value)
        )
    convert = _CONVERT.get(kind)
    return value if convert is None else convert(value)


_CONVERT: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "string": lambda value: value.encode() if isinstance(value, str) else value,
    "type": lambda value: as_dtype(value).data_type,
    "shape": lambda value: as_shape(value).partial,
    "tensor": tensor_value,
    "func": lambda value: FunctionReference(value) if isinstance(value, str) else value,
}


_Known = dict[str, tuple[DType, str]]
"""Types that attributes have, each with the input, or attribute, that says so."""


def _converted(op: str, signature: Signature, inputs: Sequence[Any], stated: Mapping[str, Any]) -> list[Any]:
    known = {
        key: (of_data_type(value), key) for key, value in stated.items() if signature.attributes[key].kind == "type"
    }
    for port, given in zip(signature.inputs, inputs, strict=True):
        for one in [given] if port.is_one or not isinstance(given, list | tuple) else given:
            if port.type in signature.attributes and not port.is_list and hasattr(one, "dense_tensor"):
                known.setdefault(port.type, (one.dtype.base_dtype, port.name))
    return [_input(op, signature, port, given, known) for port, given in zip(signature.inputs, inputs, strict=True)]


def _input(op: str, signature: Signature, port: Port, given: Any, known: _Known) -> Any:
    if not port.is_one:
        if not isinstance(given, list | tuple):
            raise TypeError(f"Expected list for '{port.name}' argument to '{op}' Op, not {given!r}.")
        names = (f"{port.name}_{number}" for number in range(len(given)))
        return [_one(op, signature, port, one, known, name) for one, name in zip(given, names, strict=True)]
    return _one(op, signature, port, given, known, port.name)


def _one(op: str, signature: Signature, port: Port, given: Any, known: _Known, name: str) -> Any:
    if port.is_reference or port.type == "resource":
        return getattr(given, "handle", given)
    row = signature.attributes.get(port.type)
    if port.is_list or (row is not None and port.type not in known and row.default is None):
        made = convert_to_tensor(given, name=name)
    elif row is None:
        made = convert_to_tensor(given, of_data_type(BY_NAME[port.type]), name)
    elif port.type in known:
        return _of_type(op, port, given, known[port.type], name)
    else:
        made = convert_to_tensor(given, name=name, preferred_dtype=of_data_type(row.default))  # type: ignore[arg-type]  # a type's default is one
    if row is not None and not port.is_list:
        known[port.type] = made.dtype.base_dtype, port.name
    return made


def _of_type(op: str, port: Port, given: Any, wanted: tuple[DType, str], name: str) -> Any:
    """An input of a type that another input has said.

    Raises:
        TypeError: it has another.
    """
    data_type, said = wanted
    try:
        return convert_to_tensor(given, data_type, name)
    except (TypeError, ValueError) as error:
        found = given.dtype.base_dtype if hasattr(given, "dense_tensor") else _type_of(given)
        if found is None or found == data_type:
            raise
        head = f"Input '{port.name}' of '{op}' Op has type {found.name} that does not match"
        raise TypeError(f"{head} type {data_type.name} of argument '{said}'.") from error


def _type_of(given: Any) -> DType | None:
    try:
        return of_data_type(tensor_value(given).type)
    except (TypeError, ValueError, CompilerError):
        return None
