"""Reductions along axes, which must be known, and the places of greatest and least numbers.

Of no elements a sum is 0, a product 1, a mean NaN, a maximum the least number of the type.  Sums and means of bf16 and
f16 are computed in f32.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import mul

from compiler.expansion.expression import Expression, element, iota, size_of
from compiler.expansion.matrices import conjugate
from compiler.ir.attributes import PaddingDimension
from compiler.ir.module import Computation
from compiler.ir.numbers import bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F64, PRED, S64, U64, ElementType
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import Lower, Record, record, sized, table
from compiler.tf2xla.reducing import greatest, in_f32, reduced, total
from compiler.tf2xla.sizes import is_sized


def axes_of(operation: Operation, name: str, rank: int) -> tuple[int, ...]:
    """The axes that an input names, in order.

    Args:
        operation: the node.
        name: of the input.
        rank: of the array.

    Raises:
        InputError: one is not there, or is named twice.
    """
    axes = [operation.axis(axis, rank, "axis") for axis in operation.integers(name)]
    operation.require(len(set(axes)) == len(axes), f"an axis is named twice: {axes}")
    return tuple(sorted(axes))


def kept(operation: Operation, result: Expression, dims: tuple[int, ...], axes: tuple[int, ...]) -> Expression:
    """The result with its axes as dimensions of one element, if the node says so.

    Args:
        operation: the node.
        result: without the axes.
        dims: of the array.
        axes: that were reduced.
    """
    if not operation.attribute("keep_dims"):
        return result
    return result.reshape(*(1 if number in axes else size for number, size in enumerate(dims)))


def _mean(x: Expression, axes: tuple[int, ...]) -> Expression:
    """The mean; of integers the sum has 64 bits, and the quotient is rounded towards 0."""
    wide = x.to((S64 if x.type.is_signed else U64) if x.type.is_integer else in_f32(x.type))
    summed = reduced(wide, "add", 0, axes)
    if is_sized(x):
        return (summed / reduce(mul, (size_of(x, axis).to(wide.type) for axis in axes))).to(x.type)
    count = math.prod(x.dims[axis] for axis in axes)
    if not count and not x.type.is_float:
        return summed.to(x.type)  # of no integers, or complex numbers, the kernels say 0
    return (summed / wide.literal(count)).to(x.type)


def _product(x: Expression, axes: tuple[int, ...]) -> Expression:
    return reduced(x.to(in_f32(x.type)), "multiply", 1, axes).to(x.type)


def _least(x: Expression, axes: tuple[int, ...]) -> Expression:
    return reduced(x, "minimum", bounds(x.type)[1], axes)


def _all(x: Expression, axes: tuple[int, ...]) -> Expression:
    return reduced(x, "and", 1, axes)


def _any(x: Expression, axes: tuple[int, ...]) -> Expression:
    return reduced(x, "or", 0, axes)


def _length(x: Expression, axes: tuple[int, ...]) -> Expression:
    """Squares of integers, and their sum, wrap around as these do."""
    wide = x.to(in_f32(x.type))
    squares = total(wide * conjugate(wide), axes)
    return (squares.to(F64) if x.type.is_integer else squares).apply("sqrt").to(x.type)


_FORMULAS = {
    "Sum": ("numbers", total, "The sum."),
    "Mean": ("numbers", _mean, "The sum divided by the number of elements."),
    "Prod": ("numbers", _product, "The product."),
    "EuclideanNorm": ("numbers", _length, "The root of the sum of squares."),
    "Max": ("reals", greatest, "The greatest, NaN if there is one."),
    "Min": ("reals", _least, "The least, NaN if there is one."),
    "All": ("", _all, "Whether all are true."),
    "Any": ("", _any, "Whether one is true."),
}


def _reduction(name: str) -> Record:
    types, formula, doc = _FORMULAS[name]

    def lower(operation: Operation) -> Expression:
        x = operation[port]
        axes = axes_of(operation, indices, len(x.dims))
        return kept(operation, formula(x, axes) if axes or name == "EuclideanNorm" else x, x.dims, axes)

    port, indices = "input", "reduction_indices"
    one = "bool" if not types else "T"
    attribute = f"; T: {{{types}}}" if types else ""
    text = f"{port}: {one}, {indices}: Tidx -> output: {one}; keep_dims: bool = false{attribute}"
    return sized(record(name, f"{text}; Tidx: {{index}} = int32", lower, doc, constants=(indices,)))[0]


def _arg_extreme(*, is_greatest: bool) -> Lower:
    """The place of the first greatest, or least; NaN is neither, and of nothing else the place is 0."""

    def lower(operation: Operation) -> Expression:
        x = operation["input"]
        axis = operation.integer("dimension")
        axis = operation.axis(axis, len(x.dims), "dimension")
        operation.require(x.dims[axis], "it reduces a dimension without elements")
        target = operation.type("output_type")
        indices = iota(operation.computation, S64, x.dims, axis)
        order = _ahead(operation, x.type, is_greatest=is_greatest)
        low, high = (0, 1) if x.type is PRED else bounds(x.type)
        starts = [x.literal(low if is_greatest else high), indices.literal(0)]
        operands = [operand.instruction for operand in (x, indices, *starts)]
        pair = build(operation.computation, "reduce", operands, dimensions=(axis,), to_apply=order)
        return Expression(element(pair, 1)).to(target)

    return lower


def _ahead(operation: Operation, element_type: ElementType, *, is_greatest: bool) -> Computation:
    """Of two values with their places the one that counts."""
    order = Computation("ahead")
    kinds = [ArrayShape(element_type, ()), ArrayShape(S64, ())]
    left, left_at, right, right_at = [Expression(parameter(order, i, kinds[i % 2])) for i in range(4)]
    takes = right.compare("GT" if is_greatest else "LT", left)
    same = right.compare("EQ", left)
    takes = takes | (same & right_at.compare("LT", left_at))
    results = [takes.where(right, left).instruction, takes.where(right_at, left_at).instruction]
    order.root = build(order, "tuple", results)
    return operation.module.add_computation(order)


def _argument(name: str, doc: str, indices: str, results: str, *, is_greatest: bool) -> Record:
    text = (
        f"input: T, dimension: Tidx -> output: output_type; T: {{reals bool}}; Tidx: {{{indices}}} = int32; "
        f"output_type: {{{results}}} = int64"
    )
    return record(name, text, _arg_extreme(is_greatest=is_greatest), doc, constants=("dimension",))


def _cumulative(name: str, opcode: str, start: int, doc: str) -> Record:
    """Each element with all before it, by arrays moved by 1, 2, 4, ... elements, which are as many as it takes."""

    def lower(operation: Operation) -> Expression:
        x = operation["x"]
        operation.require(not operation["axis"].dims, "its axis must be a scalar")
        at = operation.axis(operation.integer("axis"), len(x.dims))
        is_back, excludes = operation.attribute("reverse"), operation.attribute("exclusive")
        wide = x.to(in_f32(x.type))
        if excludes:
            wide = moved(wide, at, 1, start, is_back=is_back)
        by = 1
        while by < x.dims[at]:
            wide = wide.apply(opcode, moved(wide, at, by, start, is_back=is_back))
            by *= 2
        return wide.to(x.type)

    text = "x: T, axis: Tidx -> out: T; exclusive: bool = false; reverse: bool = false; T: {numbers}"
    return record(name, f"{text}; Tidx: {{index}} = int32", lower, doc, constants=("axis",))


def moved(x: Expression, axis: int, by: int, start: float, *, is_back: bool) -> Expression:
    """Elements moved along an axis, others following.

    Args:
        x: the array.
        axis: along which it is moved.
        by: how far.
        start: what follows.
        is_back: whether towards the front.
    """
    padding = [PaddingDimension(0, 0)] * len(x.dims)
    padding[axis] = PaddingDimension(-by, by) if is_back else PaddingDimension(by, -by)
    operands = [x.instruction, x.literal(start).instruction]
    return Expression(build(x.instruction.computation, "pad", operands, padding=tuple(padding)))


RECORDS = table(
    *map(_reduction, _FORMULAS),
    _cumulative("Cumsum", "add", 0, "The sum so far."),
    _cumulative("Cumprod", "multiply", 1, "The product so far."),
    _argument(
        "ArgMax",
        "Where the greatest is, the first of several.",
        "int16 int32 int64",
        "int16 uint16 int32 int64",
        is_greatest=True,
    ),
    _argument("ArgMin", "Where the least is, the first of several.", "index", "index", is_greatest=False),
)
