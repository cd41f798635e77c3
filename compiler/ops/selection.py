"""Elementwise ops that compare and choose: compare, select, clamp, is-finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.diagnostics import ShapeError
from compiler.ir.elementwise import Row, kinds, same_shapes, same_types
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, maximum, minimum, narrow, total_order_key, widen
from compiler.ir.opdef import Evaluator, Op
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.shape_rules import dims_agree, merge_dynamic, operands, require
from compiler.ir.traits import Trait
from compiler.ir.types import PRED, Kind

DIRECTIONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}

_COMPARE_TYPES = {
    Kind.PRED: ("UNSIGNED",),
    Kind.SIGNED: ("SIGNED",),
    Kind.UNSIGNED: ("UNSIGNED",),
    Kind.FLOAT: ("FLOAT", "TOTALORDER"),
    Kind.COMPLEX: ("FLOAT",),
}
"""How numbers of each kind compare (StableHLO's `compare`, C3), as XLA's verifier holds programs to it."""


def _infer_compare(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    element_type = same_types(instruction, shapes)
    direction, given = instruction.attributes["direction"], instruction.attributes.get("type")
    require(direction in DIRECTIONS, f"direction {direction!r} is none of {', '.join(DIRECTIONS)}")
    known = _COMPARE_TYPES.get(element_type.kind, ())
    require(known, f"compare takes numbers, not {element_type}")
    require(given is None or given in known, f"type {given!r} does not compare {element_type}: {', '.join(known)} do")
    ordered = element_type.kind is not Kind.COMPLEX or direction in ("EQ", "NE")
    require(ordered, f"complex numbers have no order: direction {direction} does not apply, EQ and NE do")
    return ArrayShape(PRED, same_shapes(instruction, shapes), merge_dynamic(shapes))


def _compare(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    element_type = instruction.operands[0].array.element_type
    function = DIRECTIONS[instruction.attributes["direction"]]
    if instruction.attributes.get("type") == "TOTALORDER":
        keys = [total_order_key(value, element_type) for value in values]
        return np.asarray(function(*keys))
    return np.asarray(function(*(widen(value, element_type, precise=False) for value in values)))


def _infer_select(instruction: Instruction) -> Shape:
    predicate, on_true, on_false = operands(instruction)
    if predicate.element_type is not PRED:
        raise ShapeError(f"operand 0 of select must be pred, not {predicate}")
    same_types(instruction, [on_true, on_false])
    if not dims_agree(on_true, on_false):
        raise ShapeError(f"select chooses between arrays that differ: {on_true} and {on_false}")
    if predicate.dims and not dims_agree(predicate, on_true):
        raise ShapeError(f"the predicate {predicate} of select must be a scalar or have the dimensions of {on_true}")
    return ArrayShape(on_true.element_type, on_true.dims, merge_dynamic([on_true, on_false]))


def _select(_: Instruction, values: Sequence[Array], __: Evaluator) -> Array:
    return np.where(*values)


def _infer_clamp(instruction: Instruction) -> Shape:
    low, value, high = operands(instruction)
    same_types(instruction, [low, value, high])
    require(value.element_type.kind is not Kind.COMPLEX, f"clamp needs an order, which {value.element_type} has not")
    for name, bound in (("lower", low), ("upper", high)):
        fits = not bound.dims or dims_agree(bound, value)
        require(fits, f"the {name} bound {bound} of clamp must be a scalar or have the dimensions of {value}")
    return ArrayShape(value.element_type, value.dims, value.dynamic)


def _clamp(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    element_type = instruction.operands[1].array.element_type
    low, value, high = (widen(value, element_type, precise=False) for value in values)
    if not element_type.is_float:
        return np.asarray(np.minimum(np.maximum(low, value), high), dtype=element_type.dtype)
    return narrow(minimum(maximum(low, value), high), element_type)


_IS_FINITE = Row(
    "is-finite", 1, "Neither NaN nor infinite.", kinds(real=np.isfinite), result=lambda _: PRED, traits=Trait.EXACT
)


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "compare",
            (2, 2),
            _infer_compare,
            _compare,
            "Whether the first stands in the given relation to the second.",
            required=("direction",),
            optional=("type",),
            traits=Trait.ELEMENTWISE | Trait.EXACT,
        ),
        Op(
            "select",
            (3, 3),
            _infer_select,
            _select,
            "The second where the first holds, else the third.",
            traits=Trait.ELEMENTWISE | Trait.EXACT | Trait.SIGNED_ZEROS,
        ),
        Op(
            "clamp",
            (3, 3),
            _infer_clamp,
            _clamp,
            "The second, kept between the first and the third.",
            traits=Trait.ELEMENTWISE | Trait.EXACT,
        ),
        _IS_FINITE.op(),
    )
}
