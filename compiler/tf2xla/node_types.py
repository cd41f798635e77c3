"""What the nodes of a graph take and give: the types of inputs and outputs, and the names that functions give outputs.

From records for ops, from the library for functions.  A type is None where it follows from what a function's caller
gives, or where nobody knows the op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.graph import (
    BY_NAME,
    Argument,
    AttributeList,
    DataType,
    Function,
    FunctionReference,
    Node,
    PartialShape,
    PlaceholderName,
    Tensor,
)
from compiler.tf2xla.ops import RECORDS
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
        return [f"{one.name}:{n}" for one in called.outputs for n in range(len(_argument_types(node, one)))]
    record = RECORDS.get(node.op)
    if record is None:
        return []
    return [f"{port.name}:{n}" for port in record.signature.outputs for n in range(len(_port_types(node, port)))]


def called_functions(node: Node, library: Library) -> list[str]:
    """The functions that a node may run, by name, in the order of its attributes' names."""
    if node.op in library:
        return [node.op]
    return [reference.name for name in sorted(node.attributes) for reference in _references(node.attributes[name])]


def attribute_problem(node: Node) -> str:
    """What is wrong about the attributes of a node whose op is known; empty if nothing is."""
    for name, row in RECORDS[node.op].signature.attributes.items():
        value = node.attributes.get(name)
        if value is None or isinstance(value, PlaceholderName):
            if value is None and row.default is None:
                return f"its attribute {name!r} is missing"
            continue
        kind = AttributeList if row.kind.startswith("list(") else _PYTHON[row.kind]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return f"its attribute {name!r} must be of the kind {row.kind}"
        if row.allowed and isinstance(value, DataType) and value.base not in row.allowed:
            return f"op {node.op} has no lowering for {value}"
    return ""


_PYTHON: Mapping[str, type] = {
    "type": DataType,
    "int": int,
    "float": float,
    "bool": bool,
    "string": bytes,
    "shape": PartialShape,
    "tensor": Tensor,
    "func": FunctionReference,
}


def type_at(types: Types | None, index: int) -> DataType | None:
    """One of some types; None where it is not known, or not there."""
    return types[index] if types is not None and 0 <= index < len(types) else None


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
        return tuple(kind for one in arguments for kind in _argument_types(node, one))
    if node.op in _GIVEN:
        return _given(node, is_input=is_input)
    record = RECORDS.get(node.op)
    if record is None:
        return _reference(node) if node.op == _TEMPORARY and not is_input else None
    ports = record.signature.inputs if is_input else record.signature.outputs
    return tuple(one for port in ports for one in _port_types(node, port))


def _argument_types(node: Node, argument: Argument) -> Types:
    """The types of an argument, or output, of a function, with what the call gives to the function's attributes."""
    if argument.list_attribute:
        listed = node.attributes.get(argument.list_attribute)
        values = listed.values if isinstance(listed, AttributeList) else ()
        return tuple(one if isinstance(one, DataType) else None for one in values)
    stated = argument.type if argument.type.number else node.attributes.get(argument.type_attribute)
    count = node.attributes.get(argument.number_attribute, 0) if argument.number_attribute else 1
    return (stated if isinstance(stated, DataType) else None,) * (count if isinstance(count, int) else 0)


def _given(node: Node, *, is_input: bool) -> Types:
    """The type of a feed or fetch."""
    value = node.attributes.get("T")
    types = (value if isinstance(value, DataType) else None,)
    return types if is_input is (node.op == "_Retval") else ()


_GIVEN = ("_Arg", "_Retval")
_TEMPORARY = "TemporaryVariable"
"""An op without a record whose output is a reference to a variable."""


def _reference(node: Node) -> Types:
    value = node.attributes.get("dtype")
    base = value.base.number if isinstance(value, DataType) else 0
    return (DataType(base + _REFERENCE),)


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
