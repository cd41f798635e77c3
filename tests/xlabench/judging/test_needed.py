"""The bounds of some results are those that they have in the whole program."""

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import generate
from xlabench.judging import needed
from xlabench.judging.bounds import Basis, basis_of
from xlabench.judging.differ import Agreement
from xlabench.judging.judge import Standard, judged
from xlabench.judging.needed import Partly, Slices, basis_of_some

X = np.array([0.5, 1.0, 1.5, 2.0], np.float32)
SEVERAL = """ENTRY e { y = f32[4] parameter(0) x = f32[4] parameter(1) s = f32[4] sine(x) g = f32[4] exponential(y)
  ROOT r = (f32[4], f32[4], f32[4]) tuple(s, g, s) }"""
FACTOR = """ENTRY e { x = f32[2,2] parameter(0) g = f32[2,2] exponential(x)
  c = (f32[2,2], s32[]) custom-call(x), custom_call_target="lapack_spotrf_ffi", backend_config={uplo = 76 : ui8}
  s = f32[2,2] get-tuple-element(c), index=0 ROOT r = (f32[2,2], f32[2,2]) tuple(s, g) }"""
EXCHANGE = """HloModule m, replica_count=2
  add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
  ENTRY e { x = f32[4] parameter(0)  y = f32[4] all-reduce(x), to_apply=add
    ROOT r = (f32[4], f32[4]) tuple(x, y) }"""


def of(text, *inputs):
    module = compiler.parse(text)
    return module, list(inputs), compiler.interpret(module, *inputs)


def test_bounds_of_some_results_are_theirs_in_the_whole():
    module, inputs, expected = of(SEVERAL, X, -X)
    whole = basis_of(module, inputs, expected)
    for numbers in ({0}, {1}, {2}, {0, 2}, {1, 2}):
        some = basis_of_some(Slices(module), inputs, expected, numbers)
        assert {number for number, bound in enumerate(some.bounds) if bound} == numbers
        for number in numbers:
            np.testing.assert_array_equal(some.bounds[number].value, whole.bounds[number].value)
            np.testing.assert_array_equal(some.bounds[number].error, whole.bounds[number].error)


def test_so_they_are_in_drawn_programs():
    compared = 0
    for number in range(1_000, 1_030):
        case = generate.draw_case(generate.PROFILES["discovery"], 5, number)
        _, inputs = case.calls[number % len(case.calls)]
        if compiler.device_count(case.module) > 1 or sum(map(np.size, inputs)) > 1 << 12:
            continue
        expected = compiler.interpret(case.module, *inputs)
        some = basis_of_some(Slices(case.module), inputs, expected, {number % len(expected)})
        if some is not None:
            bound, whole = some.bounds[number % len(expected)], basis_of(case.module, inputs, expected)
            assert bound.error.tobytes() == whole.bounds[number % len(expected)].error.tobytes()
            compared += 1
    assert compared


@pytest.mark.parametrize("numbers", [(), (0, 1, 2)])
def test_all_results_or_none_are_the_whole(numbers):
    module, inputs, expected = of(SEVERAL, X, X)
    assert basis_of_some(Slices(module), inputs, expected, numbers) is None


@pytest.mark.parametrize("text", [FACTOR, EXCHANGE], ids=["routine", "devices"])
def test_results_that_depend_on_each_other_are_the_whole(text):
    module = compiler.parse(text)
    inputs = [np.eye(2, dtype=np.float32)] if text is FACTOR else [X, X]
    expected = [np.zeros(0, np.float32)] * 2
    assert basis_of_some(Slices(module), inputs, expected, {0}) is None


def test_where_the_reference_breaks_the_bounds_of_some_that_is_said_of_the_whole(monkeypatch):
    module, inputs, expected = of(SEVERAL, X, X)
    expected[0] = expected[0] + np.float32(0.25)
    assert basis_of_some(Slices(module), inputs, expected, {0}) is None
    assert basis_of_some(Slices(module), inputs, expected, {1}) is not None
    actual = [expected[0] + np.float32(0.25), *expected[1:]]
    found = judged(expected, actual, Standard(), Partly(module, inputs, needed={0}))
    assert set(found.comparison.basis.flaws) == {0}
    monkeypatch.setattr(needed.Bounding, "basis", lambda *_: Basis(reason="too large"))
    assert basis_of_some(Slices(module), inputs, expected, {1}) is None


def test_what_differs_is_judged_by_the_bounds_of_some():
    module, inputs, expected = of(SEVERAL, X, X)
    for factor, agreement in ((1 + 2.0**-23, Agreement.WITHIN), (1.001, Agreement.WRONG)):
        actual = [expected[0], expected[1] * np.float32(factor), expected[2]]
        found = judged(expected, actual, Standard(), Partly(module, inputs, needed={1}))
        assert found.comparison.agreement is agreement


def test_a_program_is_made_ready_for_wide_mode_once_for_all_calls_and_sets_of_results(monkeypatch):
    module, inputs, _ = of(SEVERAL, X, -X)
    prepared = []
    made = compiler.prepare
    monkeypatch.setattr(compiler, "prepare", lambda one, **more: prepared.append(one) or made(one, **more))
    slices = Slices(module)
    for factor in (1, 2, 3):
        given = [array * factor for array in inputs]
        own = compiler.interpret(module, *given)
        for numbers in ({0}, {0, 2}, {0, 1, 2}):
            found = Partly(module, given, needed=numbers, slices=slices).basis(own)
            alone = Partly(module, given, needed=numbers).basis(own)
            for one, other in zip(found.bounds, alone.bounds, strict=True):
                assert (one is None) == (other is None)
                assert one is None or (one.value.tobytes(), one.error.tobytes()) == (
                    other.value.tobytes(),
                    other.error.tobytes(),
                )
    sets, calls = 3, 3
    assert len(prepared) == sets + sets * calls  # those that are asked alone are made ready each time
