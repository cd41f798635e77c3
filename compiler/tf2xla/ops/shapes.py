"""Sizes as values, and arrays that are made of numbers and sizes alone."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from operator import mul

import numpy as np

from compiler.expansion.expression import Expression, concatenate, size_of
from compiler.graph import PartialShape
from compiler.ir.types import S32
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Trait, record, table, with_shapes
from compiler.tf2xla.sizes import is_sized
from compiler.tf2xla.values import TensorList, Value

_LARGEST = 1 << 40  # elements: what is beyond cannot be meant
_MOST_NUMBERS = 1 << 26
"""Numbers of a range that is a constant: 512 MiB of s64."""


def _shape(operation: Operation) -> Expression:
    return _sizes(operation, operation["input"])


def _sizes(operation: Operation, x: Expression) -> Expression:
    out = operation.type("out_type")
    if is_sized(x):
        return concatenate([size_of(x, axis).to(out).reshape(1) for axis in range(len(x.dims))], 0)
    return operation.constant(np.array(x.dims, np.int64).astype(out.dtype), out)


def _shape_n(operation: Operation) -> list[list[Expression]]:
    return [[_sizes(operation, one) for one in operation.list("input")]]


def _rank(operation: Operation) -> Expression:
    return operation.constant(np.int32(len(operation["input"].dims)), S32)


def _size(operation: Operation) -> Expression:
    x, out = operation["input"], operation.type("out_type")
    if is_sized(x):
        return reduce(mul, (size_of(x, axis).to(out) for axis in range(len(x.dims))))
    return operation.constant(np.asarray(math.prod(x.dims)).astype(out.dtype), out)


def sizes(operation: Operation, name: str) -> tuple[int, ...]:
    """Sizes that an input says, none below 0.

    Raises:
        InputError: one is, or together they are more elements than any machine has room for.
    """
    dims = operation.integers(name)
    operation.require(min(dims, default=0) >= 0, f"its sizes must not be negative: {list(dims)}")
    operation.require(math.prod(dims) <= _LARGEST, f"an array of the sizes {list(dims)} has no room anywhere")
    return dims


def _fill(operation: Operation) -> Expression:
    value = operation["value"]
    operation.require(not value.dims, "its value must be a scalar")
    return value.spread(sizes(operation, "dims"), ())


def _zeros_like(operation: Operation) -> Value:
    given = operation.items("x")[0]
    if isinstance(given, TensorList) and given.is_nested:
        raise operation.unsupported("its list has lists in it: ask for zeros like what is in these")
    if isinstance(given, TensorList):  # as many, all zeros
        buffer = given.buffer
        zeros = None if buffer is None else buffer.literal(0).spread(buffer.dims, ())
        return replace(given, buffer=zeros, each=None)
    x = operation["x"]
    return operation.full(0, x.type, x.dims)


def _ones_like(operation: Operation) -> Expression:
    x = operation["x"]
    return operation.full(1, x.type, x.dims)


def _range(operation: Operation) -> Expression:
    """The numbers from start on, in steps, before limit: known, since their count follows from them."""
    given = {name: operation.value(name) for name in ("start", "limit", "delta")}
    operation.require(all(not one.shape for one in given.values()), "start, limit and delta must be scalars")
    element_type = operation.type("Tidx")
    start, limit, delta = (one.item() for one in given.values())
    operation.require(delta != 0, "its delta is 0, which leads nowhere")
    if not element_type.is_integer and not all(map(math.isfinite, (start, limit, delta))):
        raise operation.invalid("start, limit and delta must be finite")
    span = limit - start
    operation.require(span == 0 or (span > 0) == (delta > 0), f"its delta leads away from {limit}")
    count = math.ceil(abs(span) / abs(delta)) if not element_type.is_integer else -(-abs(span) // abs(delta))
    operation.require(count <= _MOST_NUMBERS, f"it has {count:,} numbers, more than {_MOST_NUMBERS:,}")
    if element_type.is_integer:
        return operation.constant((start + delta * np.arange(count)).astype(element_type.dtype), element_type)
    dtype = element_type.dtype
    steps = np.arange(count).astype(dtype)
    return operation.constant((dtype.type(start) + steps * dtype.type(delta)).astype(dtype), element_type)


def _linspace(operation: Operation) -> Expression:
    start, stop, count = (operation.value(name) for name in ("start", "stop", "num"))
    operation.require(not (start.shape or stop.shape or count.shape), "start, stop and num must be scalars")
    number = int(count)
    if not 0 < number <= _MOST_NUMBERS:
        raise operation.invalid(f"num must be from 1 to {_MOST_NUMBERS:,}, not {number}")
    dtype = start.dtype
    if number == 1:
        return operation.constant(start.reshape(1), operation.type("T"))
    step = (stop - start) / dtype.type(number - 1)
    values = (start + step * np.arange(number).astype(dtype)).astype(dtype)
    values[-1] = stop
    return operation.constant(values, operation.type("T"))


def _broadcast_args(operation: Operation) -> Expression:
    """The sizes that two arrays of these sizes are spread to."""
    left, right = operation.integers("s0"), operation.integers("s1")
    try:
        dims = np.broadcast_shapes(left, right)
    except ValueError as error:
        raise operation.invalid(f"{list(left)} and {list(right)} do not go together") from error
    element_type = operation.type("T")
    return operation.constant(np.array(dims, np.int64).astype(element_type.dtype), element_type)


def _broadcast_gradient_args(operation: Operation) -> list[Expression]:
    """Along which axes the gradients of two arrays that were spread over each other are summed."""
    left, right = operation.integers("s0"), operation.integers("s1")
    rank = max(len(left), len(right))
    padded = [(1,) * (rank - len(one)) + one for one in (left, right)]
    axes: list[list[int]] = [[], []]
    for axis, (a, b) in enumerate(zip(*padded, strict=True)):
        operation.require(a == b or 1 in (a, b), lambda: f"{list(left)} and {list(right)} do not go together")
        for number, own in enumerate((a, b)):
            if own == 1:
                axes[number].append(axis)
    element_type = operation.type("T")
    return [operation.constant(np.array(one, np.int64).astype(element_type.dtype), element_type) for one in axes]


_ASKS = Trait.ASKS_SHAPE
_OF_SIZED = _ASKS | Trait.SIZED
RECORDS = table(
    record(
        "Shape",
        "input: T -> output: out_type; T: {any}; out_type: {index} = int32",
        _shape,
        "Its sizes.",
        traits=_OF_SIZED,
    ),
    record(
        "ShapeN",
        "input: N*T -> output: N*out_type; N: int; T: {any}; out_type: {index} = int32",
        _shape_n,
        "The sizes of each input.",
        traits=_OF_SIZED,
    ),
    record("Rank", "input: T -> output: int32; T: {any}", _rank, "How many dimensions it has.", traits=_OF_SIZED),
    record(
        "Size",
        "input: T -> output: out_type; T: {any}; out_type: {index} = int32",
        _size,
        "How many elements it has.",
        traits=_OF_SIZED,
    ),
    record(
        "Fill",
        "dims: index_type, value: T -> output: T; T: {any}; index_type: {index} = int32",
        _fill,
        "An array of one number everywhere.",
        constants=("dims",),
    ),
    record("ZerosLike", "x: T -> y: T; T: {any}", _zeros_like, "Zeros of its sizes.", traits=_ASKS),
    record("OnesLike", "x: T -> y: T; T: {numbers bool}", _ones_like, "Ones of its sizes.", traits=_ASKS),
    record(
        "Range",
        "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx; Tidx: {floats ints uint16 uint32 uint64} = int32",
        _range,
        "Numbers from start on, in steps of delta, before limit.",
        constants=("start", "limit", "delta"),
    ),
    record(
        "LinSpace",
        "start: T, stop: T, num: Tidx -> output: T; T: {floats}; Tidx: {index} = int32",
        _linspace,
        "So many numbers from start to stop.",
        constants=("start", "stop", "num"),
    ),
    record(
        "BroadcastArgs",
        "s0: T, s1: T -> r0: T; T: {index} = int32",
        _broadcast_args,
        "The sizes that two arrays are spread to.",
        constants=("s0", "s1"),
    ),
    with_shapes(
        record(
            "BroadcastGradientArgs",
            "s0: T, s1: T -> r0: T, r1: T; T: {index} = int32",
            _broadcast_gradient_args,
            "The axes that the gradients of both are summed along.",
            constants=("s0", "s1"),
        ),
        lambda _node: [PartialShape((None,))] * 2,  # a size that is not known may be 1, which decides
    ),
)
