"""What `info` may be: known where no rounding decides of a pivot, either answer right where one does."""

import numpy as np
import pytest

import compiler
from xlabench.engines import engine
from xlabench.judging.judge import judge
from xlabench.judging.lapack_call import Call
from xlabench.judging.relations import RELATIONS

EPS, LEAST = 2.0**-52, 2.0**-1022
TYPES = [np.float64, np.complex128]
REGULAR = np.random.default_rng(3).standard_normal((5, 5))
ONES = np.ones((5, 5))


def said(routine, given, results, unseen=(), errors=None, **options):
    """For each result whether it is right, as the judge puts claims together; None where nothing is said of it."""
    errors = [np.zeros(np.shape(one)) for one in given] if errors is None else errors
    call = Call(given, errors, results, options, EPS, LEAST, frozenset(unseen))
    found = dict.fromkeys(range(len(results)))
    hidden = {number for number in unseen if np.ndim(results[number])}
    with np.errstate(all="ignore"):
        for numbers, off in RELATIONS[routine](call):
            for number in () if hidden.intersection(numbers) else numbers:
                found[number] = found[number] is not False and off <= 1
    return found


def alike(values):
    """A system whose rows are a number each, three times: it is singular where two are left of every three rows."""
    return [values, values, values]


def bands(lower, diagonal, upper, dtype):
    return [np.asarray(one, dtype) for one in (lower, diagonal, upper)]


SYSTEMS = {
    "dominated by its diagonal": (([0, 1, 2, 1], [5, 6, 7, 8], [1, 2, 1, 0]), 0),
    "dominated by what is below": (([0, 9, 8, 7], [1, 2, 1, 2], [1, 1, 2, 0]), 0),
    "of one size each": (([0, 0, 0, 0], [1e150, 1e-150, 1, 1e-20], [0, 0, 0, 0]), 0),
    "with equal rows below another": (([0, 0, 1, 0], [3, 1, 3, 1], [1, 1, 1, 0]), 0),
    "without a first column": (([0, 0, 1, 1], [0, 5, 6, 7], [1, 1, 1, 0]), 1),
    "without a column in the middle": (([0, 1, 0, 0], [4, 1, 0, 5], [0, 1, 0, 0]), 3),
    "without a last row": (([0, 1, 1, 0], [4, 5, 6, 0], [1, 1, 1, 0]), 4),
    "without a last row behind an exchange": (([0, 9, 0, 0], [1, 5, 6, 0], [1, 1, 1, 0]), 4),
}


@pytest.mark.parametrize("dtype", TYPES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", SYSTEMS)
def test_where_no_rounding_decides_of_a_pivot_a_tridiagonal_system_has_one_info(name, dtype):
    lines, known = SYSTEMS[name]
    lower, diagonal, upper = bands(*lines, dtype)
    given = [lower, diagonal, upper, np.ones((4, 1), dtype)]
    nothing = np.full((4, 1), np.nan, dtype)
    system = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    solution = nothing if known else np.linalg.solve(system, given[3])
    for info in range(-1, 6):
        assert said("gtsv", given, [*given[:3], solution, np.array(info)])[4] is (info == known), info
    assert said("gtsv", given, [*given[:3], nothing, np.array(0)])[3] is False


@pytest.mark.parametrize("dtype", TYPES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("size", [2, 5, 17])
def test_where_a_rounding_decides_either_info_is_right(size, dtype):
    rng = np.random.default_rng(size)
    values = (rng.standard_normal(size) * 10.0 ** rng.integers(-9, 9, size)).astype(dtype)
    given = [*alike(values), np.ones((size, 1), dtype)]
    nothing, anything = np.full((size, 1), np.nan, dtype), np.full((size, 1), 1e9, dtype)
    failed, well = (np.array(info) for info in (size, 0))
    assert said("gtsv", given, [*given[:3], nothing, failed]) == {0: None, 1: None, 2: None, 3: True, 4: True}
    assert said("gtsv", given, [*given[:3], nothing, well]) == {0: None, 1: None, 2: None, 3: None, 4: True}
    assert said("gtsv", given, [*given[:3], anything, well])[3] is False
    for solution in (nothing, anything):
        assert said("gtsv", given, [*given[:3], solution, well], unseen={4})[3] is None
    for info in (-1, 1, size + 1):
        assert said("gtsv", given, [*given[:3], nothing, np.array(info)])[4] is False, info


def test_what_operands_may_be_off_may_take_a_pivot():
    given = [*bands([0, 0], [1, 1e-9], [0, 0], np.float64), np.ones((2, 1))]
    found = [*given[:3], np.full((2, 1), np.inf)]
    off = [np.zeros(2), np.array([0, 1e-8]), np.zeros(2), np.zeros((2, 1))]
    for info in (0, 2):
        assert said("gtsv", given, [*found, np.array(info)], errors=off)[4]
        assert said("gtsv", given, [*found, np.array(info)], errors=off)[3] is (True if info else None)
    assert said("gtsv", given, [*found, np.array(2)])[4] is False
    assert said("gtsv", given, [*found, np.array(0)])[3] is False


DEFINITE = REGULAR @ REGULAR.T + np.eye(5)
GRADED = DEFINITE * np.outer(10.0 ** np.arange(0, 100, 20), 10.0 ** np.arange(0, 100, 20))
BLOCKS = {
    "definite": (DEFINITE, {0}),
    "of all sizes": (GRADED, {0}),
    "negative": (-DEFINITE, {1}),
    "with a zero on its diagonal": (np.diag([1.0, 2, 0, 4, 5]), {3}),
    "definite up to a column": (DEFINITE - 1e3 * np.diag([0, 0, 0, 1, 0]), {4}),
    "nothing": (np.zeros((5, 5)), {1}),
    "of rank one": (ONES, {0, 2, 3, 4, 5}),
    "with equal rows at its end": (np.diag([1.0, 1, 1, 0, 0]) + np.pad(np.ones((2, 2)), (3, 0)), {0, 5}),
}


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("name", BLOCKS)
def test_info_of_a_hermitian_matrix_is_that_of_its_blocks(name, uplo):
    matrix, known = BLOCKS[name]
    for info in range(-1, 7):
        found = said("potrf", [matrix], [matrix, np.array(info)], unseen={0}, uplo=uplo)
        assert found[1] is (info in known), info


def test_of_a_factor_nothing_is_said_where_another_engine_may_have_given_up():
    none, info = np.full((5, 5), np.nan), np.array(0)
    assert said("potrf", [ONES], [none, info], unseen={1}, uplo="L")[0] is None
    assert said("potrf", [ONES], [none, info], uplo="L")[0] is False
    assert said("potrf", [DEFINITE], [none, info], unseen={1}, uplo="L")[0] is False


COLUMNS = {
    "regular": (REGULAR, {0}),
    "with columns of all sizes": (REGULAR * 10.0 ** np.arange(0, 250, 50), {0}),
    "with equal candidates": (np.array([[1.0, 1, 1], [1, -1, 1], [1, 1, -1]]), {0}),
    "with a column of zeros": (REGULAR * [1, 1, 0, 1, 1], {3}),
    "with two": (REGULAR * [1, 0, 0, 1, 1], {2}),
    "of rank one": (np.outer([1.0, 3, 7, 2, 5], [3.0, 2, 7, 9, 4]), {0, 2, 3, 4, 5}),
    "wide": (REGULAR[:3], {0}),
    "tall": (REGULAR[:, :3], {0}),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_info_names_a_column_that_depends_on_those_before_it(name):
    matrix, known = COLUMNS[name]
    scipy = pytest.importorskip("scipy.linalg.lapack", reason="SciPy is not installed")
    packed, pivots, _ = scipy.dgetrf(matrix)
    for info in range(-1, 7):
        found = said("getrf", [matrix], [packed, pivots + 1, np.array(info)], unseen={0, 1})
        # A column of zeros is the first that depends, or behind the first.
        assert found[2] is (info in known), info


def test_of_factors_whose_info_nobody_sees_another_pivot_may_be_zero():
    matrix = np.array([[1.0, 3], [1, 3]])
    for last, info in ((0.0, 0), (1e-16, 2)):
        results = [np.array([[1.0, 3], [1, last]]), np.array([1, 2]), np.array(info)]
        assert said("getrf", [matrix], results, unseen={2})[0]
        assert said("getrf", [matrix], results)[0] is False


def test_a_triangle_whose_diagonal_may_be_zero_need_have_no_solution():
    options = {"uplo": "L", "side": "L", "diag": "N", "trans_x": "N"}
    given, errors = [np.diag([1.0, 1e-9]), np.ones((2, 1))], [np.diag([0, 1e-8]), np.zeros((2, 1))]
    for solution, by_errors, exactly in (([1, 1e9], None, True), ([1, np.inf], None, False), ([2, 1e9], False, False)):
        found = [np.array(solution)[:, np.newaxis]]
        assert said("trsm", given, found, errors=errors, **options)[0] is by_errors
        assert said("trsm", given, found, **options)[0] is exactly


GIVEN_UP = """ENTRY e {{ {parameters}
  c = ({shapes}) custom-call({operands}), custom_call_target="lapack_d{name}_ffi"{config}
  x = {shape} get-tuple-element(c), index={number}  i = s32[] get-tuple-element(c), index={last}
  zero = s32[] constant(0)  good = pred[] compare(i, zero), direction=EQ  all = {mask} broadcast(good), dimensions={{}}
  none = f64[] constant(nan)  nones = {shape} broadcast(none), dimensions={{}}
  ROOT r = {shape} select(all, x, nones) }}"""


def tridiagonal():
    lines = " ".join(f"p{n} = f64[5] parameter({n})" for n in range(3)) + " p3 = f64[5,2] parameter(3)"
    text = GIVEN_UP.format(
        parameters=lines,
        shapes="f64[5], f64[5], f64[5], f64[5,2], s32[]",
        operands="p0, p1, p2, p3",
        name="gtsv",
        config="",
        shape="f64[5,2]",
        mask="pred[5,2]",
        number=3,
        last=4,
    )
    regular = [np.ones(5), np.full(5, 4.0), np.ones(5), REGULAR[:, :2].copy()]
    return compiler.parse(text), regular, [*alike(np.array([0.1, 0.7, 3.1, 0.3, 0.9])), REGULAR[:, :2].copy()]


def factored():
    text = GIVEN_UP.format(
        parameters="p = f64[5,5] parameter(0)",
        shapes="f64[5,5], s32[]",
        operands="p",
        name="potrf",
        config=", backend_config={uplo = 76 : ui8}",
        shape="f64[5,5]",
        mask="pred[5,5]",
        number=0,
        last=1,
    )
    vectors = REGULAR[:, :4]
    return compiler.parse(text), [DEFINITE], [vectors @ vectors.T]


@pytest.mark.parametrize("made", [tridiagonal, factored], ids=lambda made: made.__name__)
def test_programs_that_put_nan_where_a_routine_gave_up_may_have_it_where_rounding_decides(made):
    """As JAX makes them: `info` is no result."""
    module, regular, singular = made()
    for given, verdicts in ((regular, {"wrong"}), (singular, {"undecided", "bitwise"})):
        expected = compiler.interpret(module, *given)
        none = [np.full_like(one, np.nan) for one in expected]
        assert judge(module, given, expected, none).verdict in verdicts
        own = engine("cpu").compile(module)(*given)
        assert judge(module, given, expected, own).verdict in {"bitwise", "within", "undecided"}


@pytest.mark.parametrize("name", BLOCKS)
def test_programs_are_held_to_info_where_nothing_is_left_of_a_matrix(name):
    matrix, known = BLOCKS[name]
    text = """ENTRY e { p = f64[5,5] parameter(0)
      c = (f64[5,5], s32[]) custom-call(p), custom_call_target="lapack_dpotrf_ffi", backend_config={uplo = 76 : ui8}
      ROOT i = s32[] get-tuple-element(c), index=1 }"""
    module = compiler.parse(text)
    expected = compiler.interpret(module, matrix)
    for info in range(6):
        verdict = judge(module, [matrix], expected, [np.array(info, np.int32)]).verdict
        assert (verdict != "wrong") is (info in known), info


TYPED = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}


@pytest.mark.parametrize("kind", TYPED)
def test_a_singular_tridiagonal_system_is_no_false_alarm(kind):
    """Every row is a number three times; whether the last pivot is zero hangs on roundings, which engines choose."""
    text = f"""ENTRY e {{ x = {kind}[17] parameter(0) b = {kind}[17,2] parameter(1)
      ROOT r = ({kind}[17], {kind}[17], {kind}[17], {kind}[17,2], s32[]) custom-call(x, x, x, b),
        custom_call_target="lapack_{TYPED[kind]}gtsv_ffi" }}"""
    module = compiler.parse(text)
    executable = engine("cpu").compile(module)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(17) * 10.0 ** rng.integers(-8, 8, 17)
        x = x * np.exp(1j * rng.uniform(0, 7, 17)) if kind[0] == "c" else x
        dtype = module.entry.parameters[0].array.element_type.dtype
        given = [x.astype(dtype), rng.standard_normal((17, 2)).astype(dtype)]
        expected = compiler.interpret(module, *given)
        own = executable(*given)
        assert judge(module, given, expected, own).verdict in {"bitwise", "within", "undecided"}
        too_early = [*own[:4], np.ones_like(own[4])]
        assert judge(module, given, expected, too_early).wrong_results == (4,)
