"""Instructions from opcode and operands."""

from __future__ import annotations

import pytest

from compiler.diagnostics import ShapeError, UnsupportedError
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation
from compiler.ir.shape import ArrayShape
from compiler.ir.types import BF16, F32, PRED, S32
from compiler.ops.build import build, constant, parameter


def test_the_shape_follows_from_operands_and_attributes() -> None:
    computation = Computation("f")
    x = parameter(computation, 0, ArrayShape(F32, (2, 3)))
    moved = build(computation, "transpose", [x], dimensions=(1, 0))
    assert moved.shape == ArrayShape(F32, (3, 2))
    assert build(computation, "compare", [moved, moved], direction="LT").shape == ArrayShape(PRED, (3, 2))
    assert moved.name == "transpose"
    assert moved.parent is computation


def test_a_shape_that_does_not_follow_must_be_stated() -> None:
    computation = Computation("f")
    x = parameter(computation, 0, ArrayShape(F32, (2,)))
    with pytest.raises(ShapeError, match="the result shape of convert cannot be inferred: state it"):
        build(computation, "convert", [x])
    assert build(computation, "convert", [x], shape=ArrayShape(BF16, (2,))).array.element_type is BF16


def test_a_refused_instruction_leaves_no_trace() -> None:
    computation = Computation("f")
    x = parameter(computation, 0, ArrayShape(F32, (2,)))
    y = constant(computation, scalar_literal(1, S32))
    with pytest.raises(ShapeError, match="differ in element type"):
        build(computation, "add", [x, y])
    assert not x.users
    assert not y.users
    assert computation.instructions == [x, y]


def test_an_unknown_opcode_is_named() -> None:
    with pytest.raises(UnsupportedError, match="opcode frobnicate"):
        build(Computation("f"), "frobnicate")
