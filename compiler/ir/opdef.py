"""What an op's record holds: everything that is true of an opcode, in one place.

A record is what parser, printer, verifier, interpreter, passes, generator and tests are driven by.  `rule` and
`evaluate` are plain functions, so that uniform families can share them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.diagnostics import BY_RULE_OF, BrokenShape, ShapeError
from compiler.ir.module import Computation, Instruction
from compiler.ir.shape import ArrayShape, Shape, TupleShape, fault_of
from compiler.ir.traits import NONE, Trait

Array = NDArray[Any]
Value = Array | tuple[Any, ...]
"""What an instruction yields at run time: an array, or a tuple of values (nested)."""


def zeros(shape: Shape) -> Value:
    """A value of a shape: zeros (NaN in f8e8m0fnu, which has none), and nothing for what carries nothing."""
    if isinstance(shape, TupleShape):
        return tuple(zeros(element) for element in shape.elements)
    array = shape if isinstance(shape, ArrayShape) else shape.array
    return np.full(array.dims, 0, array.element_type.dtype) if array.element_type.bits else ()


def tuple_or_single_value(values: Sequence[Any]) -> Any:
    """One value by itself, several as a tuple: what variadic ops yield."""
    return values[0] if len(values) == 1 else tuple(values)


def zeros_like(value: Value) -> Value:
    """Zeros of the types that a value has, which need not be those of its shape: it may be a bound of errors."""
    return tuple(map(zeros_like, value)) if isinstance(value, tuple) else np.full_like(value, 0)


class Evaluator(Protocol):
    """The interpreter as an op's meaning sees it."""

    def call(self, computation: Computation, arguments: Sequence[Value]) -> Value:
        """Evaluate a computation on its arguments."""

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """Evaluate a computation of scalars on every element of arrays that broadcast together, at once."""


Infer = Callable[[Instruction], Shape]
Evaluate = Callable[[Instruction, Sequence[Any], Evaluator], Value]


@dataclass(frozen=True, slots=True)
class Op:
    """An opcode's record: operands, attributes, shape rule, meaning and traits.

    Attributes:
        opcode: HLO's name.
        operands: the least and the greatest number of operands (None: any number).
        required: names of the attributes that must be written.
        optional: names of the attributes that may be written, besides those any op takes.
        rule: the result shape from operands and attributes; raises ShapeError when they do not fit.  Where the shape
            cannot follow from them (`parameter`, `convert`, ...) it checks and returns the stated one.  Ask `infer`.
        evaluate: the NumPy meaning, or None for what has none on one host.
        doc: one line.
        traits: what else is true of it.
    """

    opcode: str
    operands: tuple[int, int | None]
    rule: Infer
    evaluate: Evaluate | None
    doc: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    traits: Trait = NONE

    @property
    def elementwise(self) -> bool:
        """Whether result element i depends on element i of each operand alone."""
        return Trait.ELEMENTWISE in self.traits

    def infer(self, instruction: Instruction) -> Shape:
        """The result shape of an instruction, by the rule, which everybody asks here.

        What is no shape is noticed far away, by whoever takes it first and each in other words: here it is one bug.

        Raises:
            ShapeError: operands and attributes do not fit.
            BrokenShape: the rule gives what is no shape.
        """
        try:
            shape = self.rule(instruction)
        except ShapeError as error:
            error.add_note(f"{BY_RULE_OF}{self.opcode}")
            raise
        if shape is not instruction.shape and (fault := fault_of(shape)):
            raise BrokenShape(self.opcode, "its shape rule gives no shape", fault)
        return shape

    def miscounted(self, count: int) -> str:
        """What is wrong about a number of operands; empty where nothing is."""
        least, most = self.operands
        if least <= count <= (count if most is None else most):
            return ""
        takes = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        return f"{self.opcode} takes {takes} operands, not {count}"


def scalar(value: object) -> Array:
    """A rank-0 array from a NumPy scalar or an array."""
    return np.asarray(value)
