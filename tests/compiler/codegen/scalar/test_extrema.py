"""Maximum and minimum of floats with a constant on either side, to the bit, and what they cost, on x86."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Module, floating, vector_type
from compiler.codegen.scalar.extrema import extremum
from compiler.ir.types import TYPES

FLOATS = {"f32": np.float32, "f64": np.float64}
CONSTANTS = ("0", "-0", "1", "-1", "inf", "-inf", "nan", "1e-40", "-1e-40")
NUMBERS = np.array([float(text) for text in CONSTANTS] + [5e-324, -5e-324, 3e38, -3e38, 0.5])
FORMS = ("maximum(x, c)", "maximum(c, x)", "minimum(x, c)", "minimum(c, x)", "maximum(x, y)", "minimum(x, y)")


def program(type_: str, form: str, constant: str, count: int) -> str:
    return f"""ENTRY main {{
      x = {type_}[{count}] parameter(0)
      y = {type_}[{count}] parameter(1)
      number = {type_}[] constant({constant})
      c = {type_}[{count}] broadcast(number), dimensions={{}}
      ROOT r = {type_}[{count}] {form}
    }}"""


def expected(form: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By the order of numbers, then that of the signs of zeros."""
    is_max = form.startswith("maximum")
    above = (left > right) | ((left == right) & (np.signbit(left) < np.signbit(right)))
    chosen = np.where(above == is_max, left, right)
    return np.where(np.isnan(left) | np.isnan(right), np.nan, chosen)


@pytest.mark.usefixtures("each_cpu")
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("type_", FLOATS)
def test_nan_wins_and_zeros_have_an_order(type_, form, opt):
    x, y = (side.ravel().astype(FLOATS[type_]) for side in np.meshgrid(NUMBERS, NUMBERS))

    for constant in CONSTANTS if "c" in form else CONSTANTS[:1]:
        text = program(type_, form, constant, x.size)
        (found,) = compiler.compile(text, options=compiler.CompileOptions(opt=opt, threads=1))(x, y)

        other = np.full_like(x, float(constant)) if "c" in form else y
        wanted = expected(form, x, other)
        same = (np.isnan(found) & np.isnan(wanted)) | ((found == wanted) & (np.signbit(found) == np.signbit(wanted)))
        assert same.all(), (constant, x[~same], found[~same], wanted[~same])


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize("constant", [text for text in CONSTANTS if text != "nan"])
def test_a_constant_leaves_a_comparison_and_a_choice(constant, type_, lanes):
    element_type = TYPES["f32" if type_ == "float" else "f64"]
    operand = vector_type(type_, lanes) if lanes else type_
    for name, winner in (("max", "0"), ("min", "-0")):
        function = Module(frozenset(["avx"])).function("f", operand, [(operand, "x")])
        builder = LaneBuilder(function)
        literal = floating(float(constant), operand)
        sides = (literal, *function.arguments)
        for left, right in (sides, sides[::-1]):
            before = len(function.lines)
            extremum(builder, element_type, name, (left, right))
            # Beside these, only the zero that wins over the other one needs its sign written.
            most = 4 if constant == winner else 2
            assert len(function.lines) - before <= most
