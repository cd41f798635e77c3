"""What a graph is held together by: constants, inputs, and ops that pass on what they take."""

from __future__ import annotations

from dataclasses import replace

from compiler.expansion.expression import Expression
from compiler.graph import PartialShape, Tensor
from compiler.ir.types import PRED, S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Record, Trait, record, sized, table, with_shapes
from compiler.tf2xla.terms import Built
from compiler.tf2xla.values import Value


def _const(operation: Operation) -> Expression:
    value = operation.attribute("value")
    operation.require(isinstance(value, Tensor), "its attribute 'value' must be a tensor")
    element_type = operation.type("dtype")
    operation.require(value.type == operation.attribute("dtype"), "its value has another type than 'dtype' says")
    array = value.stated
    if array is not None and value.size > 1 and array.size <= 1:  # one number everywhere takes no room
        return operation.full(array[0] if array.size else 0, element_type, value.dims)
    return operation.constant(value.array(), element_type)


def _placeholder(operation: Operation) -> Expression:
    raise operation.invalid("it is not fed: give it a type and sizes, or a value")


def _passed_on(operation: Operation) -> Value:
    return operation.items("input")[0]


def _passed_on_all(operation: Operation) -> list[list[Value]]:
    return [list(operation.items("input"))]


def _truth(operation: Operation) -> Expression:
    x = operation["input"]
    if x.dims:
        return operation.full(0 not in x.dims, PRED, ())
    return x if x.type is PRED else x.compare("NE", 0)


def _zeros(operation: Operation) -> Expression:
    """Zeros in place of memory as it was, and of what a branch that is not taken would have given."""
    if "shape" in operation.signature.attributes:
        dims = operation.attribute("shape").static
        operation.require(dims is not None, "its shape must be known")
    else:
        dims = operation.integers("shape")
    return operation.full(0, operation.type("dtype"), dims)


def _nothing(_operation: Operation) -> None:
    """Control edges have no meaning where nothing has an effect."""


def stated_shape(node: Built) -> list[PartialShape]:
    """The shape that an attribute says."""
    return [node.attribute("shape")]


def _identity(name: str, doc: str) -> Record:
    return sized(record(name, "input: T -> output: T; T: {any}", _passed_on, doc))[0]


def _device_index(operation: Operation) -> Expression:
    """Behind the last: a program is for none of the devices, so that it takes what is meant for others."""
    return operation.number(len(operation.attribute("device_names")), S32)


RECORDS = table(
    record(
        "DeviceIndex",
        "-> index: int32; device_names: list(string)",
        _device_index,
        "The number of the device among some.",
        traits=Trait.STATEFUL,
    ),
    record("Const", "-> output: dtype; value: tensor; dtype: {any}", _const, "A value."),
    with_shapes(
        record("Placeholder", "-> output: dtype; dtype: {any}; shape: shape = unknown", _placeholder, "What is fed."),
        stated_shape,
    ),
    with_shapes(
        record(
            "PlaceholderWithDefault",
            "input: dtype -> output: dtype; dtype: {any}; shape: shape",
            _passed_on,
            "What may be fed, and else is its input.",
        ),
        stated_shape,
    ),
    _identity("Identity", "Its input."),
    _identity("StopGradient", "Its input, through which no gradient goes."),
    _identity("Snapshot", "Its input."),
    replace(_identity("GuaranteeConst", "Its input, which its user promises not to change."), traits=Trait.STATEFUL),
    *sized(
        record("XlaClusterOutput", "input: T -> outputs: T; T: {any}", _passed_on, "What leaves a cluster."),
        record("IdentityN", "input: T[] -> output: T[]; T: list(type)", _passed_on_all, "Its inputs."),
    ),
    record(
        "PreventGradient",
        "input: T -> output: T; T: {any}; message: string = ''",
        _passed_on,
        "Its input, of which no gradient may be asked.",
    ),
    record(
        "_ArrayToList",
        "input: N*T -> output: out_types[]; T: {any}; N: int; out_types: list(type)",
        _passed_on_all,
        "Its inputs, of one type, each by itself.",
    ),
    record(
        "_ListToArray",
        "input: Tin[] -> output: N*T; Tin: list(type); T: {any}; N: int",
        _passed_on_all,
        "Its inputs, which have one type, as an array of them.",
    ),
    _identity("_EagerConst", "A value that an eager program had when it was traced."),
    record(
        "Empty",
        "shape: int32 -> output: dtype; dtype: {any}; init: bool = false",
        _zeros,
        "An array.",
        ("shape",),
        Trait.STATEFUL,
    ),
    record("ToBool", "input: T -> output: bool; T: {any}", _truth, "Whether it is not 0, or has elements."),
    record("FakeParam", "-> output: dtype; dtype: {any}; shape: shape", _zeros, "What nobody looks at."),
    record("NoOp", "->", _nothing, "Nothing, for others to wait for.", traits=Trait.NONE),
)
