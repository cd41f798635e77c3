"""What the nodes of a graph take and give: the types of inputs and outputs, and the names that functions give outputs.

From records for ops, from the library for functions.  A type is None where it follows from what a function's caller
gives, or where nobody knows the op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.graph import BY_NAME, AttributeList, DataType, Function, FunctionReference, Node
from compiler.tf2xla import RECORDS
from compiler.tf2xla.signature import Port

RESOURCE, VARIANT, STRING = BY_NAME["resource"], BY_NAME["variant"], BY_NAME["string"]

_REFERENCE = 100  # between the number of a type and that of references to it

Library = Mapping[str, Function]
Types = tuple[DataType | None, ...]


def input_types(node: Node, library: Library) -> Types:
    """The types of what a node takes, as far as they are known."""
    known = _types(node, library, is_input=True)
    return (None,) * len(node.data_inputs) if known is None else known


def output_types(node: Node, library: Library) -> Types | None:
    """The types of what a node gives; None if not even their number is known."""
    return _types(node, library, is_input=False)


def output_names(node: Node, library: Library) -> list[str]:
    """What functions call the outputs of a node: `output:number`."""
    called = library.get(node.op)
    if called is not None:
        return [f"{result.name}:0" for result in called.outputs]
    record = RECORDS.get(node.op)
    if record is None:
        return []
    return [f"{port.name}:{n}" for port in record.signature.outputs for n in range(len(_port_types(node, port)))]


def called_functions(node: Node, library: Library) -> list[str]:
    """The functions that a node may run, by name, in the order of its attributes' names."""
    if node.op in library:
        return [node.op]
    return [reference.name for name in sorted(node.attributes) for reference in _references(node.attributes[name])]


def has_resource(types: Sequence[DataType | None]) -> bool:
    """Whether any is a handle of a variable, or of something else that lives between runs."""
    return RESOURCE in types


def is_reference(data_type: DataType | None) -> bool:
    """Whether it is a reference to a variable of TensorFlow 1, which who takes it may write to."""
    return data_type is not None and data_type.is_reference


def _references(value: object) -> Iterator[FunctionReference]:
    if isinstance(value, FunctionReference):
        yield value
    elif isinstance(value, AttributeList):
        yield from (one for one in value.values if isinstance(one, FunctionReference))


def _types(node: Node, library: Library, *, is_input: bool) -> Types | None:
    called = library.get(node.op)
    if called is not None:
        arguments = called.inputs if is_input else called.outputs
        return tuple(one.type if one.type.number else None for one in arguments)
    if node.op in _GIVEN:
        return _given(node, is_input=is_input)
    record = RECORDS.get(node.op)
    if record is None:
        return _reference(node) if node.op in _REFERENCES and not is_input else None
    ports = record.signature.inputs if is_input else record.signature.outputs
    return tuple(one for port in ports for one in _port_types(node, port))


def _given(node: Node, *, is_input: bool) -> Types:
    """The type of a feed or fetch."""
    value = node.attributes.get("T")
    types = (value if isinstance(value, DataType) else None,)
    return types if is_input is (node.op == "_Retval") else ()


_GIVEN = ("_Arg", "_Retval")
_REFERENCES = ("TemporaryVariable", "RefIdentity", "RefEnter", "RefExit", "RefNextIteration", "RefMerge", "RefSwitch")
"""Ops without a record whose outputs are references to a variable."""


def _reference(node: Node) -> Types:
    value = node.attributes.get("dtype", node.attributes.get("T"))
    base = value.base.number if isinstance(value, DataType) else 0
    return (DataType(base + _REFERENCE),) * (2 if node.op == "RefSwitch" else 1)


def _port_types(node: Node, port: Port) -> Types:
    if port.is_list:
        listed = _attribute(node, port.type)
        values = listed.values if isinstance(listed, AttributeList) else ()
        return tuple(one if isinstance(one, DataType) else None for one in values)
    count = 1
    if port.number:
        number = _attribute(node, port.number)
        count = number if isinstance(number, int) else 0
    stated = BY_NAME.get(port.type) or _attribute(node, port.type)
    if isinstance(stated, DataType) and port.is_reference:
        stated = DataType(stated.base.number + _REFERENCE)
    return (stated if isinstance(stated, DataType) else None,) * count


def _attribute(node: Node, name: str) -> object:
    """An attribute's value, or its default."""
    row = RECORDS[node.op].signature.attributes.get(name)
    return node.attributes.get(name, row.default if row else None)
