"""Ops that hold a program together: parameters, constants, tuples, tokens and ordering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.diagnostics import ShapeError, UnsupportedError
from compiler.ir.literal import Literal
from compiler.ir.module import Instruction
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import TOKEN_SHAPE, Shape, TupleShape
from compiler.ir.shape_rules import agree, require, stated
from compiler.ir.traits import Trait
from compiler.ir.types import Kind

NO_VALUE: tuple[Value, ...] = ()
"""What a token is at run time: it orders and carries nothing."""


def _infer_parameter(instruction: Instruction) -> Shape:
    number = instruction.attributes["parameter_number"]
    require(number >= 0, f"parameter number {number} must not be negative")
    return stated(instruction)


def _infer_constant(instruction: Instruction) -> Shape:
    literal: Literal = instruction.attributes["literal"]
    if literal.array is not None and literal.shape.element_type.kind is Kind.OPAQUE:  # type: ignore[union-attr]
        raise ShapeError(f"a constant cannot be {literal.shape}")
    return literal.shape


def _constant(instruction: Instruction, _: Sequence[Value], __: Evaluator) -> Value:
    return literal_value(instruction.literal, instruction.name)


def literal_value(literal: Literal, name: str) -> Value:
    """The value of a literal at run time.

    Raises:
        UnsupportedError: the text left the value out.
    """
    if literal.elements is not None:
        return tuple(literal_value(element, name) for element in literal.elements)
    if literal.array is None:
        raise UnsupportedError(
            f"constant {name}",
            "the interpreter",
            "its value was left out of the text ({...}); print it in full, or have elided constants filled",
        )
    return np.asarray(literal.array)


def _infer_tuple(instruction: Instruction) -> Shape:
    return TupleShape(tuple(operand.shape for operand in instruction.operands))


def _tuple(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    return tuple(values)


def _infer_get_tuple_element(instruction: Instruction) -> Shape:
    shape, index = instruction.operands[0].shape, instruction.attributes["index"]
    if not isinstance(shape, TupleShape):
        raise ShapeError(f"get-tuple-element takes a tuple, not {shape}")
    if not 0 <= index < len(shape.elements):  # not require: a tuple of hundreds would be printed for each element
        raise ShapeError(f"index={index} is not an element of {shape}")
    return shape.elements[index]


def _get_tuple_element(instruction: Instruction, values: Sequence[Value], _: Evaluator) -> Value:
    element: Value = values[0][instruction.attributes["index"]]
    return element


def _infer_first(instruction: Instruction) -> Shape:
    return instruction.operands[0].shape


def _first(_: Instruction, values: Sequence[Value], __: Evaluator) -> Value:
    return values[0]


def _infer_add_dependency(instruction: Instruction) -> Shape:
    token = instruction.operands[1].shape
    require(agree(token, TOKEN_SHAPE), f"add-dependency waits for a token, not {token}")
    return instruction.operands[0].shape


def _infer_after_all(_: Instruction) -> Shape:
    # XLA lets it wait for values of any shape.
    return TOKEN_SHAPE


def _after_all(_: Instruction, __: Sequence[Value], ___: Evaluator) -> Value:
    return NO_VALUE


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "parameter",
            (0, 0),
            _infer_parameter,
            None,
            "An argument.",
            required=("parameter_number",),
            traits=Trait.EXACT | Trait.STRUCTURAL | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "constant",
            (0, 0),
            _infer_constant,
            _constant,
            "A value written in the program.",
            required=("literal",),
            traits=Trait.GENERATES | Trait.EXACT | Trait.STRUCTURAL | Trait.STRICT_TYPES | Trait.STATED_SHAPE,
        ),
        Op(
            "tuple",
            (0, None),
            _infer_tuple,
            _tuple,
            "Several values as one.",
            traits=Trait.EXACT | Trait.STRUCTURAL | Trait.STRICT_TYPES | Trait.TUPLES,
        ),
        Op(
            "get-tuple-element",
            (1, 1),
            _infer_get_tuple_element,
            _get_tuple_element,
            "One value of a tuple.",
            required=("index",),
            traits=Trait.EXACT | Trait.STRUCTURAL | Trait.STRICT_TYPES | Trait.TUPLES,
        ),
        Op(
            "opt-barrier",
            (1, 1),
            _infer_first,
            _first,
            "The same value, which no pass may look behind.",
            traits=Trait.VIEW | Trait.IDENTITY | Trait.EXACT | Trait.STRICT_TYPES,
        ),
        Op(
            "domain",
            (1, 1),
            _infer_first,
            _first,
            "The same value across a sharding boundary.",
            required=("domain",),
            traits=Trait.IDENTITY | Trait.STRICT_TYPES,
        ),
        Op(
            "add-dependency",
            (2, 2),
            _infer_add_dependency,
            _first,
            "The first, once the second has happened.",
            traits=Trait.IDENTITY | Trait.STRICT_TYPES | Trait.TOKENS,
        ),
        Op(
            "after-all",
            (0, None),
            _infer_after_all,
            _after_all,
            "A token that waits for others.",
            traits=Trait.STRICT_TYPES | Trait.TOKENS,
        ),
    )
}
