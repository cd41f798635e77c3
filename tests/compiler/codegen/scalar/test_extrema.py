"""Maximum and minimum of floats with a constant on either side, to the bit, on x86 of three generations."""

from __future__ import annotations

import numpy as np
import pytest

import compiler

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
