"""A module with the values of one run, as XLA keeps them: with results, or with what each device was given.

An `HloSnapshot` holds a module, the arguments of one run, its result and the platform; an `HloUnoptimizedSnapshot` a
module before any pass and the arguments of each device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.ir.literal import Literal, tuple_literal
from compiler.ir.module import Module
from compiler.ir.shape import ArrayShape, BufferShape, Shape, TupleShape, leaves
from compiler.ir.types import Kind
from compiler.proto.module import module_proto
from compiler.proto.shape import literal_proto
from compiler.proto.wire import Message, encode

Array = NDArray[Any]


def hlo_snapshot(module: Module, inputs: Sequence[Any], results: Sequence[Any], platform: str) -> bytes:
    """The bytes of an `HloSnapshot`; inputs and results are arrays, the leaves of tuples in order.

    Args:
        module: what ran.
        inputs: arrays, the leaves of tuples in order.
        results: the same.
        platform: the name of what it ran on.

    Raises:
        UnsupportedError: something of the module has no field, or it is too long.
    """
    message = {
        "hlo": {"hlo_module": module_proto(module)},
        "arguments": _arguments(module, iter(inputs)),
        "result": literal_proto(_literal(module.entry.root.shape, _results(module, iter(results)))),
        "execution_platform": platform,
    }
    return encode("HloSnapshot", message)


def unoptimized_snapshot(module: Module, inputs: Sequence[Any], devices: int) -> bytes:
    """The bytes of an `HloUnoptimizedSnapshot`; the inputs are those of device 0, then those of device 1, and so on.

    Args:
        module: what is to run.
        inputs: arrays of device 0, then of device 1, and so on.
        devices: how many there are.

    Raises:
        UnsupportedError: something of the module has no field, or it is too long.
    """
    given = iter(inputs)
    partitions = [{"arguments": _arguments(module, given)} for _ in range(devices)]
    return encode("HloUnoptimizedSnapshot", {"hlo_module": module_proto(module), "partitions": partitions})


def _arguments(module: Module, values: Iterator[Any]) -> list[Message]:
    return [literal_proto(_literal(parameter.shape, values)) for parameter in module.entry.parameters]


def _results(module: Module, values: Iterator[Any]) -> Iterator[Any]:
    """A value for each leaf of the result: a run gives none for what holds nothing."""
    return (next(values) if leaf.element_type.bits else None for leaf in leaves(module.entry.root.shape))


def _literal(shape: Shape, values: Iterator[Any]) -> Literal:
    """The next values as a literal of a shape; of a size known at run time only, the size that a value has."""
    if isinstance(shape, TupleShape):
        return tuple_literal(tuple(_literal(element, values) for element in shape.elements))
    array_shape = shape.array if isinstance(shape, BufferShape) else shape
    element_type = array_shape.element_type
    value = next(values)
    if element_type.kind is Kind.OPAQUE:
        return Literal(array_shape)
    array = np.asarray(value)
    if array.dtype != element_type.dtype:
        array = array.astype(element_type.dtype)
    return Literal(ArrayShape(element_type, array.shape, layout=array_shape.layout), array)
