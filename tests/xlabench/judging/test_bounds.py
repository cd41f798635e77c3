"""Error bounds as the judge: strict where nothing rounds, lenient where rounding is large, honest about the rest."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.engines import build, engine, execute
from xlabench.judging import bounds
from xlabench.judging.bounds import Basis, Bounds, basis_of, checked
from xlabench.judging.differ import Agreement, compare

EXPONENTIAL = "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] exponential(x) }"
DOUBLED = "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] add(x, x) }"
FACTOR = "HloModule m\nENTRY e { x = f32[2,2] parameter(0) ROOT r = f32[2,2] cholesky(x) }"
X = np.array([0.5, 1.0, 1.5, 2.0], np.float32)


def judged(text: str, factor: float, x: np.ndarray = X) -> tuple[Agreement, str]:
    module = compiler.parse(text)
    expected = compiler.interpret(module, x)
    actual = [result * np.float32(factor) for result in expected]
    comparison = compare(expected, actual, basis=basis_of(module, [x], expected))
    return comparison.agreement, comparison.describe()


def test_a_last_digit_of_a_function_is_within_its_bounds_and_a_thousandth_is_not():
    assert judged(EXPONENTIAL, 1 + 2.0**-23) == (Agreement.WITHIN, "all results are within their error bounds")
    assert judged(EXPONENTIAL, 1 + 1e-3)[0] is Agreement.WRONG


def test_a_last_digit_of_what_nothing_rounds_is_wrong():
    assert judged(DOUBLED, 1 + 2.0**-23)[0] is Agreement.WRONG


def test_factors_are_judged_by_what_their_matrix_allows():
    matrix = np.eye(2, dtype=np.float32) * 4
    agreement, says = judged(FACTOR, 1 + 2.0**-23, matrix)
    assert agreement is Agreement.WITHIN
    assert "judged by tolerance" not in says
    assert judged(FACTOR, 1 + 2.0**-12, matrix)[0] is Agreement.WRONG


def test_a_large_program_is_not_asked_about(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_ELEMENTS", 7)
    assert "its values have 8 elements" in judged(EXPONENTIAL, 1 + 2.0**-23)[1]


def test_bounds_that_the_reference_leaves_are_not_trusted():
    basis = checked([Bounds(np.zeros(2), np.zeros(2))], [np.ones(2, np.float32)])
    assert basis == Basis(reason="the reference's own result 0 lies outside of its bounds")


@pytest.mark.parametrize(("actual", "agreement"), [(1.0 + 1e-7, Agreement.WITHIN), (3.0, Agreement.UNDECIDED)])
def test_where_bounds_say_nothing_the_tolerance_excuses_only_what_is_near(actual, agreement):
    basis = Basis((Bounds(np.ones(1), np.full(1, np.inf)),))
    expected = [np.ones(1, np.float32)]
    assert compare(expected, [np.full(1, actual, np.float32)], basis=basis).agreement is agreement


def test_the_wide_reference_is_an_engine():
    subject = engine("reference:wide")
    (result,) = execute(subject, build(subject, compiler.parse(EXPONENTIAL)), [X]).results
    assert result.dtype == np.float32
    assert np.array_equal(result, np.exp(X.astype(np.float64)).astype(np.float32))
