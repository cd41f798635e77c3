"""Dimension numbers, as attributes of `Xla*` ops have them: messages of XLA's, of numbers and lists of them.

They are read here without the package for protocol buffers, which a graph that was built node by node does not need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from compiler.ir.attributes import ConvolutionDimensions
from compiler.tf2xla.operation import Operation
from compiler.varint import read_varint

_VARINT, _BYTES = 0, 2
"""Wire types (protocol buffers, encoding)."""
Fields = Mapping[int, list[int]]


def fields_of(operation: Operation, name: str) -> Fields:
    """The numbers in each field of the message that an attribute holds.

    Raises:
        InputError: it is none.
    """
    found: dict[int, list[int]] = {}
    try:
        for field, value in _read(operation.attribute(name)):
            found.setdefault(field, []).extend(value)
    except ValueError as error:
        raise operation.invalid(f"its attribute {name!r} is no message of dimension numbers") from error
    return found


def _read(data: bytes) -> Iterator[tuple[int, list[int]]]:
    at = 0
    while at < len(data):
        key, at = read_varint(data, at, len(data))
        if key & 7 == _VARINT:
            value, at = read_varint(data, at, len(data))
            yield key >> 3, [value]
        elif key & 7 == _BYTES:
            size, at = read_varint(data, at, len(data))
            end = at + size
            if end > len(data):
                raise ValueError("it ends in a field")
            values = []
            while at < end:
                value, at = read_varint(data, at, end)
                values.append(value)
            yield key >> 3, values
        else:
            raise ValueError("it has fields of other kinds")


def dot_numbers(operation: Operation) -> dict[str, Any]:
    """The attributes of a dot."""
    fields = fields_of(operation, "dimension_numbers")
    names = ("lhs_contracting_dims", "rhs_contracting_dims", "lhs_batch_dims", "rhs_batch_dims")
    found = {name: tuple(fields.get(number, ())) for number, name in enumerate(names, 1)}
    return {name: dims for name, dims in found.items() if dims or "contracting" in name}


def convolution_numbers(operation: Operation) -> ConvolutionDimensions:
    """The dimensions of a convolution."""
    fields = fields_of(operation, "dimension_numbers")

    def one(number: int) -> int:
        return fields.get(number, [0])[-1]

    def many(number: int) -> tuple[int, ...]:
        return tuple(fields.get(number, ()))

    return ConvolutionDimensions(*(one(7), one(8), many(11)), *(one(3), one(4), many(6)), *(one(9), one(10), many(12)))


_GATHER = ("offset_dims", "collapsed_slice_dims", "start_index_map")
_SCATTER = ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")
_BATCHES = {
    _GATHER: ("operand_batching_dims", "start_indices_batching_dims"),
    _SCATTER: ("input_batching_dims", "scatter_indices_batching_dims"),
}


def gather_numbers(operation: Operation, *, is_scatter: bool) -> dict[str, Any]:
    """The attributes of a gather, or of a scatter."""
    fields = fields_of(operation, "dimension_numbers")
    names = _SCATTER if is_scatter else _GATHER
    found: dict[str, Any] = {name: tuple(fields.get(number, ())) for number, name in enumerate(names, 1)}
    found["index_vector_dim"] = fields.get(4, [0])[-1]
    batches = {name: tuple(fields.get(number, ())) for number, name in enumerate(_BATCHES[names], 5)}
    return {**found, **{name: dims for name, dims in batches.items() if dims}}
