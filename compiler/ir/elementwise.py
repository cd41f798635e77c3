"""The pattern that all elementwise ops follow, so that each op is a row: functions by kind of element type.

A row's functions see arrays in the working type (see `compiler.ir.numbers`) and never shapes; that is what lets a
scalar computation be evaluated over whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from compiler.diagnostics import ShapeError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import dims_agree, merge_dynamic, operands
from compiler.ir.traits import NONE, Trait
from compiler.ir.types import ElementType, Kind

Function = Callable[..., Any]

_NAMES = {
    Kind.PRED: "pred",
    Kind.SIGNED: "signed integers",
    Kind.UNSIGNED: "unsigned integers",
    Kind.FLOAT: "floats",
    Kind.COMPLEX: "complex numbers",
    Kind.OPAQUE: "opaque values",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One elementwise op whose operands share one element type.

    Attributes:
        meaning: the function for each kind of element type that the op takes.
        precise: compute in f64 (c128) and round, as correctly rounded transcendental functions need.
        result: the result's element type from the operands'; None when it is the same.
        typed: the functions take the element type first, as those must that depend on the width of narrow integers.
        traits: what is true of the op besides being elementwise.
    """

    opcode: str
    arity: int
    doc: str
    meaning: Mapping[Kind, Function]
    precise: bool = False
    result: Callable[[ElementType], ElementType] | None = None
    optional: tuple[str, ...] = ()
    typed: bool = False
    traits: Trait = NONE

    def op(self) -> Op:
        """The op's record."""
        return Op(
            self.opcode,
            (self.arity, self.arity),
            partial(_infer, self),
            partial(_evaluate, self),
            self.doc,
            optional=self.optional,
            traits=Trait.ELEMENTWISE | self.traits,
        )


def kinds(
    *,
    pred: Function | None = None,
    integer: Function | None = None,
    signed: Function | None = None,
    unsigned: Function | None = None,
    real: Function | None = None,
    complex_: Function | None = None,
) -> dict[Kind, Function]:
    """The functions of an elementwise opcode by kinds of elements.

    Args:
        pred: of truth values.
        integer: of signed and unsigned integers alike.
        signed: of signed integers, in place of `integer`.
        unsigned: of unsigned integers, in place of `integer`.
        real: of floats.
        complex_: of complex numbers.
    """
    given = {
        Kind.PRED: pred,
        Kind.SIGNED: signed or integer,
        Kind.UNSIGNED: unsigned or integer,
        Kind.FLOAT: real,
        Kind.COMPLEX: complex_,
    }
    return {kind: function for kind, function in given.items() if function is not None}


def same_shapes(instruction: Instruction, shapes: Sequence[ArrayShape]) -> tuple[int, ...]:
    """The dimensions that all operands have; a ShapeError when they differ."""
    first = shapes[0]
    for index, shape in enumerate(shapes[1:], 1):
        if not dims_agree(first, shape):
            raise ShapeError(
                f"operands 0 and {index} of {instruction.opcode} differ in dimensions: {first} and {shape}"
            )
    return first.dims


def same_types(instruction: Instruction, shapes: Sequence[ArrayShape]) -> ElementType:
    """The element type that all operands have; a ShapeError when they differ."""
    first = shapes[0].element_type
    for index, shape in enumerate(shapes[1:], 1):
        if shape.element_type is not first:
            given = f"{shapes[0]} and {shape}"
            raise ShapeError(f"operands 0 and {index} of {instruction.opcode} differ in element type: {given}")
    return first


def _infer(row: Row, instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    element_type = same_types(instruction, shapes)
    dims = same_shapes(instruction, shapes)
    if element_type.kind not in row.meaning:
        takes = ", ".join(_NAMES[kind] for kind in row.meaning)
        raise ShapeError(f"{row.opcode} takes {takes}, not {element_type}")
    result = row.result(element_type) if row.result else element_type
    return ArrayShape(result, dims, merge_dynamic(shapes))


def _evaluate(row: Row, instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    element_type = instruction.operands[0].array.element_type
    function = row.meaning[element_type.kind]
    # Sums of products of complex numbers round more than once, so those are worked on in c128 like functions.
    precise = row.precise or element_type.kind is Kind.COMPLEX
    working = [widen(value, element_type, precise=precise) for value in values]
    result = function(element_type, *working) if row.typed else function(*working)
    return narrow(result, row.result(element_type) if row.result else element_type)
