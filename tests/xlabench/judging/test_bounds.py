"""Error bounds as the judge: strict where nothing rounds, lenient where rounding is large, honest about the rest."""

from __future__ import annotations

import json

import numpy as np
import pytest

import compiler
from xlabench import jobs
from xlabench.engines import build, engine, execute
from xlabench.judging import bounds, residuals
from xlabench.judging.bounds import Basis, Bounds, basis_of, checked
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.judge import Standard, judge
from xlabench.worker import Outcome

EXPONENTIAL = "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] exponential(x) }"
DOUBLED = "HloModule m\nENTRY e { x = f32[4] parameter(0) ROOT r = f32[4] add(x, x) }"
SINE_AND_EXPONENTIAL = """ENTRY e { x = f32[4] parameter(0) s = f32[4] sine(x) g = f32[4] exponential(x)
  ROOT r = (f32[4], f32[4]) tuple(s, g) }"""
FACTOR_AND_EXPONENTIAL = """ENTRY e { x = f32[2,2] parameter(0) g = f32[2,2] exponential(x)
  c = (f32[2,2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  s = f32[2,2] get-tuple-element(c), index=0 ROOT r = (f32[2,2], f32[2,2]) tuple(s, g) }"""
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


def _break_bounds(monkeypatch):
    """Wide mode is wrong about result 0."""
    real = bounds.checked
    monkeypatch.setattr(bounds, "checked", lambda found, own: real([Bounds(-found[0].value, 0 * X), *found[1:]], own))


def _break_residual(monkeypatch):
    """The relation of the factor, result 0, is wrong about every one."""
    monkeypatch.setattr(residuals, "RELATIONS", {"potrf": lambda _: [((0,), 2.0)]})


BROKEN = {
    "lies outside of its bounds": (_break_bounds, SINE_AND_EXPONENTIAL, X),
    "is not what potrf gives": (_break_residual, FACTOR_AND_EXPONENTIAL, np.eye(2, dtype=np.float32) * 4),
}


@pytest.mark.parametrize("flaw", BROKEN)
def test_what_the_reference_itself_breaks_is_not_trusted_of_that_result_alone(flaw, monkeypatch):
    """A slip that no tolerance sees is found in result 1, beside result 0, of which the tolerance decides."""
    plant, text, x = BROKEN[flaw]
    plant(monkeypatch)
    module = compiler.parse(text)
    expected = compiler.interpret(module, x)
    slip, rough = np.float32(1 + 2.0**-18), np.float32(1.25)
    said = f"result 0 is judged by tolerance, since the reference's own result 0 {flaw}"

    def says(first, second):
        found = judge(module, [x], expected, [expected[0] * first, expected[1] * second])
        assert said in found.message
        return found.verdict, found.wrong_results

    assert says(slip, 1)[0] == "within"
    assert says(1, slip) == says(slip, slip) == ("wrong", (1,))
    assert says(rough, slip) == ("wrong", (0, 1))
    by_tolerance = judge(module, [x], expected, [expected[0], expected[1] * slip], Standard(wide=False))
    assert by_tolerance.verdict == "within"


def test_a_result_of_another_shape_than_its_bounds_is_not_judged_by_them():
    kept = Bounds(np.ones(2), np.zeros(2))
    basis = checked([Bounds(np.zeros(3), np.zeros(3)), kept], [np.ones(2, np.float32)] * 2)
    assert basis.bounds == (None, kept)
    assert basis.flaws == {0: "the reference's own result 0 has another shape than its bounds"}
    assert basis.of(0) is None


def test_bounds_of_some_results_reach_who_judges_in_another_process(tmp_path, monkeypatch):
    _break_bounds(monkeypatch)
    module = compiler.parse(SINE_AND_EXPONENTIAL)
    expected = compiler.interpret(module, X)
    files = {name: tmp_path / name for name in ("program", "inputs", "expected", "results")}
    jobs.write_program(files["program"], module)
    jobs.write_arrays(files["inputs"], [X])
    jobs.write_arrays(files["expected"], expected)
    answer = jobs.bound({name: str(file) for name, file in files.items()}, lambda _: None)
    basis = jobs.basis_of(Outcome("answered", value=json.loads(json.dumps(answer))), files["results"])
    here = basis_of(module, [X], expected)
    assert (basis.flaws, basis.rounds, basis.bounds[0]) == (here.flaws, True, None)
    assert basis.bounds[1].error.tobytes() == here.bounds[1].error.tobytes()


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
