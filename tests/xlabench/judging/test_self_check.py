"""A judge that overlooks something is noticed, and one that does not is left in peace."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import patients
from xlabench.fuzzing.values import make_inputs
from xlabench.judging import bounds, differ, self_check
from xlabench.judging.bounds import Bounds
from xlabench.judging.self_check import JudgeError, check

_allows, _compare, _wide = Bounds.allows, differ.compare, compiler.interpret


def _swallows_nan(self, actual):
    return _allows(self, actual) | np.isnan(actual)


def _swallows_signs(self, actual):
    return _allows(self, actual) | _allows(self, -actual)


def _wide_bounds(module, *inputs, wide=False, **kept):
    results = _wide(module, *inputs, wide=wide, **kept)
    return (
        [bounds.compiler.WideResult(r.value, r.bound * 1e9, r.undecided, r.element_type) for r in results]
        if wide
        else results
    )


def _wrong_reference(module, *inputs, wide=False, **kept):
    results = _wide(module, *inputs, wide=wide, **kept)
    return results if wide else [result + 1 for result in results]


WRONG = {
    "bounds that swallow a NaN": (Bounds, "allows", _swallows_nan),
    "bounds that swallow a sign": (Bounds, "allows", _swallows_signs),
    "bounds that allow everything": (Bounds, "allows", lambda _, actual: np.ones(actual.shape, np.bool_)),
    "bounds that allow nothing": (Bounds, "allows", lambda _, actual: np.zeros(actual.shape, np.bool_)),
    "wide bounds": (compiler, "interpret", _wide_bounds),
    "a wrong reference": (compiler, "interpret", _wrong_reference),
    "a tolerance that takes every number": (
        differ._Differing, "wrong", lambda self, *_: np.zeros(self.expected.shape, np.bool_),
    ),
}  # fmt: skip


def _asked(times: int) -> None:
    module = compiler.parse("ENTRY e { x = f32[8] parameter(0) ROOT r = f32[8] tanh(x) }")
    for number in range(times):
        rng = np.random.default_rng(number)
        check(module, make_inputs(module, rng), rng, is_tame=True)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_judge_overlooks_is_noticed(monkeypatch, wrong):
    _asked(4)
    monkeypatch.setattr(*WRONG[wrong])
    with pytest.raises(JudgeError):
        _asked(4)


@pytest.mark.parametrize("change", self_check.CHANGES)
def test_every_change_is_made_of_some_operation(monkeypatch, change):
    made = self_check.CHANGES[change].make
    elements = [
        self_check.Element(np.asarray(own).astype(kind)[()], own, error, 1.0)
        for own, error in ((1.0, 0.25), (0.0, -0.0), (np.nan, 0.0))
        for kind in ("f4", "f8", "i4", "?")
        if kind[0] == "f" or own == own
    ]
    assert any(made(element) is not None for element in elements)


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("change", self_check.CHANGES)
def test_the_largest_numbers_are_changed_too(change, kind):
    """The absolute value of a complex number may exceed its type though its components do not."""
    largest = np.finfo(kind).max
    own = np.asarray(complex(largest, largest) if kind[0] == "c" else largest).astype(kind)[()]
    with np.errstate(over="ignore"):
        other = self_check.CHANGES[change].make(self_check.Element(own, own, float(largest), float(largest)))
    assert other is None or other != own


def test_a_number_within_its_bound_may_be_wrong_beside_the_others_of_its_routine():
    config = "{diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}"
    module = compiler.parse(f"""ENTRY e {{ a = f64[2,2] constant({{ {{2, 0}}, {{1, 4}} }}) b = f64[2,3] parameter(0)
      ROOT x = f64[2,3] custom-call(a, b), custom_call_target="lapack_dtrsm_ffi", backend_config={config} }}""")
    for number in range(8):
        rng = np.random.default_rng(number)
        check(module, make_inputs(module, rng, "equal"), rng)


@pytest.mark.slow
def test_operations_come_by_turns_and_the_judge_is_right_about_them():
    opcodes = set()
    for number in range(90):
        module = patients.operation(number)
        if module is not None:
            opcodes |= {instruction.opcode for instruction in module.instructions()}
            rng = np.random.default_rng(number)
            check(module, make_inputs(module, rng), rng, is_tame=True)
    assert len(opcodes) > 40


def test_bounds_that_are_no_numbers_are_noticed_though_the_reference_is_what_they_are_about():
    module, x = compiler.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }"), np.float32([1, 2])
    found = [Bounds(np.float64([-1, -2]), np.array([0, np.nan]))]
    with pytest.raises(JudgeError, match="no numbers"):
        self_check.check_sizes(module, [x], [-x], found, is_tame=False)


TIES = """less {{ a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3)
  ROOT lt = pred[] compare(a, b), direction=LT }}
ENTRY e {{ k = s32[3] constant({{1, 0, 0}}) n = s32[3] iota(), iota_dimension=0 ROOT r = {root} }}"""
SORT = "(s32[3], s32[3]) sort(k, n), dimensions={0}, to_apply=less"


@pytest.mark.parametrize(
    "root", ["u32[64] rng(low, high), distribution=rng_uniform", "pred[] rng(no, yes), distribution=rng_uniform"]
)
def test_what_is_random_is_open(root):
    text = f"""ENTRY e {{ low = u32[] constant(3) high = u32[] constant(9)
      no = pred[] constant(0) yes = pred[] constant(1)  ROOT r = {root} }}"""
    check(compiler.parse(text), [], np.random.default_rng(0))


def test_what_another_order_may_give_is_undecided():
    """The initial value may be taken in again, behind the number too: the square of a square is infinite."""
    text = """square { unused = f32[] parameter(0) r = f32[] parameter(1) ROOT s = f32[] multiply(r, r) }
    ENTRY e { x = f32[2] parameter(0) zero = f32[] constant(1e30)
      ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=square }"""
    given = np.array([3e12, 2e12], np.float32)
    for seed in range(20):
        check(compiler.parse(text), [given], np.random.default_rng(seed))


def test_only_what_is_sorted_or_random_may_leave_integers_open():
    module = compiler.parse(TIES.format(root=SORT))
    check(module, [], np.random.default_rng(0))
    expected = compiler.interpret(module)
    by_one = [Bounds(array, np.ones(array.shape)) for array in expected]
    with pytest.raises(JudgeError, match="not 0"):
        self_check.check_sizes(module, [], expected, by_one, is_tame=False)
    module = compiler.parse(TIES.format(root="s32[3] add(k, n)"))
    expected = compiler.interpret(module)
    unknown = [Bounds(array, np.full(array.shape, np.inf)) for array in expected]
    with pytest.raises(JudgeError, match="not 0"):
        self_check.check_sizes(module, [], expected, unknown, is_tame=False)
