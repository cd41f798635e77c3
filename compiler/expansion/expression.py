"""Arithmetic on instructions as formulas, so that a pass which writes a program reads like the mathematics.

An `Expression` is an array-valued instruction; operators append instructions to its computation.  Numbers become
constants of the expression's type, and a scalar is spread over the other operand's dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.attributes import SliceDimension
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.numbers import bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType
from compiler.ops.build import build, constant, parameter


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An array in a formula."""

    instruction: Instruction

    @property
    def type(self) -> ElementType:
        """The element type."""
        return self.instruction.array.element_type

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.instruction.array.dims

    @property
    def _flags(self) -> tuple[bool, ...]:
        """Of which dimensions values decide the sizes."""
        return self.instruction.array.dynamic or (False,) * len(self.dims)

    def _flags_as(self, dims: Sequence[int]) -> tuple[bool, ...]:
        """The same of the dimensions that a reshape makes."""
        if not self.instruction.array.is_dynamic:
            return ()
        kept, made = ([axis for axis, size in enumerate(one) if size != 1] for one in (self.dims, dims))
        is_lost = any(self._flags[axis] for axis, size in enumerate(self.dims) if size == 1)
        if is_lost or [self.dims[axis] for axis in kept] != [dims[axis] for axis in made]:
            raise ShapeError(f"{self.instruction.array} has sizes that values decide, and is not reshaped to {[*dims]}")
        return _flags({after: self._flags[axis] for axis, after in zip(kept, made, strict=True)}, len(dims))

    def apply(self, opcode: str, *others: Expression | complex, **attributes: Any) -> Expression:
        """An opcode applied to this and the others.

        Args:
            opcode: HLO's.
            others: further operands; numbers and scalars are spread.
            attributes: of the instruction.
        """
        given = [self, *(other if isinstance(other, Expression) else self.literal(other) for other in others)]
        dims = max((operand.dims for operand in given), key=len)
        spread_out = [operand.spread(dims, ()) if not operand.dims else operand for operand in given]
        operands = [operand.instruction for operand in _ending_together(spread_out)]
        return Expression(build(self.instruction.computation, opcode, operands, **attributes))

    def literal(self, value: complex) -> Expression:
        """A scalar of this type."""
        return number(self.instruction.computation, value, self.type)

    def spread(self, dims: Sequence[int], along: Sequence[int]) -> Expression:
        """Broadcast: dimension i of this is dimension `along[i]` of the result."""
        if tuple(dims) == self.dims and tuple(along) == tuple(range(len(dims))):
            return self
        shape = ArrayShape(self.type, tuple(dims), _flags(dict(zip(along, self._flags, strict=True)), len(dims)))
        computation = self.instruction.computation
        return Expression(build(computation, "broadcast", [self.instruction], shape=shape, dimensions=tuple(along)))

    def reshape(self, *dims: int) -> Expression:
        """The same elements in other dimensions; of sizes that values decide, dimensions of one element come and go."""
        if dims == self.dims:
            return self
        shape = ArrayShape(self.type, dims, self._flags_as(dims))
        return Expression(build(self.instruction.computation, "reshape", [self.instruction], shape=shape))

    def transpose(self, *order: int) -> Expression:
        """Dimension i of the result is dimension `order[i]` of this."""
        return Expression(build(self.instruction.computation, "transpose", [self.instruction], dimensions=order))

    def slice(self, *kept: tuple[int, int] | tuple[int, int, int]) -> Expression:
        """From each dimension the elements from a start to a limit, in steps where they are given."""
        slices = tuple(SliceDimension(*one) for one in kept)
        return Expression(build(self.instruction.computation, "slice", [self.instruction], slice=slices))

    def to(self, element_type: ElementType) -> Expression:
        """The elements converted to another type."""
        if element_type is self.type:
            return self
        shape = ArrayShape(element_type, self.dims, self.instruction.array.dynamic)
        return Expression(build(self.instruction.computation, "convert", [self.instruction], shape=shape))

    def bits_as(self, element_type: ElementType) -> Expression:
        """The same bits as another type of the same width."""
        if element_type is self.type:
            return self
        shape = ArrayShape(element_type, self.dims, self.instruction.array.dynamic)
        return Expression(build(self.instruction.computation, "bitcast-convert", [self.instruction], shape=shape))

    def compare(self, direction: str, other: Expression | complex) -> Expression:
        """A comparison; `direction` as in HLO."""
        return self.apply("compare", other, direction=direction)

    def where(self, then: Expression, otherwise: Expression) -> Expression:
        """Choose by this predicate; a scalar is spread over the dimensions of the others."""
        dims = max((then.dims, otherwise.dims, self.dims), key=len)
        chosen = [e if e.dims == dims else e.spread(dims, ()) for e in (self, then, otherwise)]
        operands = [one.instruction for one in _ending_together(chosen)]
        return Expression(build(self.instruction.computation, "select", operands))

    def sum(self, *dimensions: int) -> Expression:
        """The sum over dimensions."""
        computation = self.instruction.computation
        assert computation.module is not None
        add = adder(computation.module, self.type)
        operands = [self.instruction, self.literal(0).instruction]
        return Expression(build(computation, "reduce", operands, dimensions=dimensions, to_apply=add))

    def largest(self, *dimensions: int) -> Expression:
        """The greatest along dimensions; NaN where there is one."""
        computation = self.instruction.computation
        assert computation.module is not None
        combine = combiner(computation.module, "maximum", self.type)
        operands = [self.instruction, self.literal(bounds(self.type)[0]).instruction]
        return Expression(build(computation, "reduce", operands, dimensions=dimensions, to_apply=combine))

    def __add__(self, other: Expression | complex) -> Expression:
        return self.apply("add", other)

    def __sub__(self, other: Expression | complex) -> Expression:
        return self.apply("subtract", other)

    def __mul__(self, other: Expression | complex) -> Expression:
        return self.apply("multiply", other)

    def __truediv__(self, other: Expression | complex) -> Expression:
        return self.apply("divide", other)

    def __neg__(self) -> Expression:
        return self.apply("negate")

    def __and__(self, other: Expression | complex) -> Expression:
        return self.apply("and", other)

    def __or__(self, other: Expression | complex) -> Expression:
        return self.apply("or", other)

    def __xor__(self, other: Expression | complex) -> Expression:
        return self.apply("xor", other)

    def __lshift__(self, other: int) -> Expression:
        return self.apply("shift-left", other)

    def __rshift__(self, other: int) -> Expression:
        return self.apply("shift-right-logical", other)


def size_of(x: Expression, axis: int) -> Expression:
    """The size of a dimension, an s32."""
    dynamic = x.instruction.array.dynamic
    if not dynamic or not dynamic[axis]:
        return number(x.instruction.computation, x.dims[axis], S32)
    return Expression(build(x.instruction.computation, "get-dimension-size", [x.instruction], dimensions=(axis,)))


def with_size(x: Expression, axis: int, size: Expression) -> Expression:
    """An array that ends after so many elements of a dimension.

    Args:
        x: the array.
        axis: the dimension.
        size: an s32, at most the dimension's.
    """
    operands = [x.instruction, size.to(S32).instruction]
    return Expression(build(x.instruction.computation, "set-dimension-size", operands, dimensions=(axis,)))


def _ending_together(operands: list[Expression]) -> list[Expression]:
    """Arrays of the same bounds: where a dimension of one ends early, so do those of the others."""
    ends: dict[int, Expression] = {}
    for one in operands:
        ends |= {axis: size_of(one, axis) for axis, flag in enumerate(one.instruction.array.dynamic) if flag}
    for axis, size in ends.items():
        operands = [
            one if any(one.instruction.array.dynamic[axis : axis + 1]) else with_size(one, axis, size)
            for one in operands
        ]
    return operands


def _flags(known: Mapping[int, bool], rank: int) -> tuple[bool, ...]:
    """Of which dimensions values decide the sizes, as shapes say it; those that are not named are static."""
    return tuple(known.get(axis, False) for axis in range(rank)) if any(known.values()) else ()


def number(computation: Computation, value: complex, element_type: ElementType) -> Expression:
    """A scalar constant.

    Args:
        computation: where it stands.
        value: the number.
        element_type: its type.
    """
    given = value if element_type.is_complex or not isinstance(value, complex) else value.real
    return Expression(constant(computation, scalar_literal(np.array(given).astype(element_type.dtype), element_type)))


def iota(computation: Computation, element_type: ElementType, dims: Sequence[int], along: int = 0) -> Expression:
    """The index along a dimension.

    Args:
        computation: where it is written.
        element_type: of its elements.
        dims: of the array.
        along: the dimension.
    """
    return Expression(build(computation, "iota", shape=ArrayShape(element_type, tuple(dims)), iota_dimension=along))


def concatenate(pieces: Sequence[Expression], dimension: int) -> Expression:
    """Arrays one after the other along a dimension."""
    operands = [piece.instruction for piece in pieces]
    return Expression(build(operands[0].computation, "concatenate", operands, dimensions=(dimension,)))


def rows_of(source: Expression, numbers: Expression) -> Expression:
    """The slices of the first dimension that a list of numbers says, one after the other."""
    return Expression(
        build(
            source.instruction.computation,
            "gather",
            [source.instruction, numbers.instruction],
            offset_dims=tuple(range(1, len(source.dims))),
            collapsed_slice_dims=(0,),
            start_index_map=(0,),
            index_vector_dim=1,
            slice_sizes=(1, *source.dims[1:]),
        )
    )


def element(tuple_: Instruction, index: int) -> Instruction:
    """An element of a tuple."""
    return build(tuple_.computation, "get-tuple-element", [tuple_], index=index)


def known_element(tuple_: Instruction, index: int) -> Instruction:
    """An element of a tuple: of one that is put together here, the operand itself."""
    return tuple_.operands[index] if tuple_.opcode == "tuple" else element(tuple_, index)


def adder(module: Module, element_type: ElementType) -> Computation:
    """A computation that adds two scalars."""
    return combiner(module, "add", element_type)


def combiner(module: Module, opcode: str, element_type: ElementType) -> Computation:
    """A computation of one op on two scalars.

    Args:
        module: where the computation goes.
        opcode: of two operands.
        element_type: of both and of the result.
    """
    computation = Computation(f"{opcode}.{element_type}")
    operands = [parameter(computation, index, ArrayShape(element_type, ())) for index in (0, 1)]
    computation.root = build(computation, opcode, operands)
    return module.add_computation(computation)


def largest_of_row(values: Expression) -> tuple[Expression, Expression]:
    """The greatest of each row of [rows, columns] and, as s32, the first column where it stands."""
    computation = values.instruction.computation
    assert computation.module is not None
    kinds = [ArrayShape(values.type, ()), ArrayShape(S32, ())]
    larger = Computation(f"larger.{values.type}")
    left, left_at, right, right_at = [
        Expression(parameter(larger, index, kinds[index % 2])) for index in range(2 * len(kinds))
    ]
    takes = right.compare("GT", left) | (right.compare("EQ", left) & right_at.compare("LT", left_at))
    results = [takes.where(right, left).instruction, takes.where(right_at, left_at).instruction]
    larger.root = build(larger, "tuple", results)
    computation.module.add_computation(larger)
    positions = iota(computation, S32, values.dims, 1)
    starts = [values.literal(-np.inf), positions.literal(2**31 - 1)]
    operands = [operand.instruction for operand in (values, positions, *starts)]
    pair = build(computation, "reduce", operands, dimensions=(1,), to_apply=larger)
    return Expression(element(pair, 0)), Expression(element(pair, 1))
