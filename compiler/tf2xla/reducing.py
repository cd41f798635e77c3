"""Reductions as formulas, which several families of ops need."""

from __future__ import annotations

from compiler.expansion.expression import Expression, combiner
from compiler.ir.numbers import bounds
from compiler.ir.types import BF16, F16, F32, ElementType
from compiler.ops.build import build


def reduced(x: Expression, opcode: str, start: complex, axes: tuple[int, ...]) -> Expression:
    """Elements combined along axes by an opcode.

    Args:
        x: the array.
        opcode: HLO's, of two numbers.
        start: the start value.
        axes: that are reduced.
    """
    computation = x.instruction.computation
    assert computation.module is not None
    combine = combiner(computation.module, opcode, x.type)
    operands = [x.instruction, x.literal(start).instruction]
    return Expression(build(computation, "reduce", operands, dimensions=axes, to_apply=combine))


def in_f32(element_type: ElementType) -> ElementType:
    """The type that numbers of a type are added in."""
    return F32 if element_type in (BF16, F16) else element_type


def total(x: Expression, axes: tuple[int, ...]) -> Expression:
    """The sum along axes."""
    return reduced(x.to(in_f32(x.type)), "add", 0, axes).to(x.type)


def greatest(x: Expression, axes: tuple[int, ...]) -> Expression:
    """The greatest along axes."""
    return reduced(x, "maximum", bounds(x.type)[0], axes)
