"""What factors must satisfy, told from NumPy's own: they are right, and a little beside them is wrong.

`test_residuals.py` has every routine as programs call it.
"""

import numpy as np
import pytest

import compiler
from xlabench.judging import relations
from xlabench.judging.bounds import basis_of
from xlabench.judging.judge import judge
from xlabench.judging.lapack_call import Call
from xlabench.judging.relations import RELATIONS
from xlabench.judging.residuals import found, residuals_of

EPS = 2.0**-52
MATRIX = np.random.default_rng(1).standard_normal((5, 5))
DEFINITE = MATRIX @ MATRIX.T + np.eye(5)


def held(routine, given, results, **options):
    """The greatest share of its bound that anything is off by."""
    call = Call(given, [np.zeros_like(one, float) for one in given], results, options, EPS, 2.0**-1022)
    return max((off for _, off in RELATIONS[routine](call)), default=0.0)


def cholesky(matrix):
    return [np.linalg.cholesky(matrix), np.array(0)]


def triangle():
    return np.tril(MATRIX) + 3 * np.eye(5)


FACTORS = {
    "potrf": ([DEFINITE], cholesky(DEFINITE), {"uplo": "L"}),
    "syevd": ([DEFINITE], [np.linalg.eigh(DEFINITE)[1], np.linalg.eigh(DEFINITE)[0], np.array(0)], {"uplo": "L"}),
    "trsm": (
        [triangle(), MATRIX],
        [np.linalg.solve(triangle(), MATRIX)],
        {"uplo": "L", "side": "L", "diag": "N", "trans_x": "N"},
    ),
    "qr": ([MATRIX], list(np.linalg.qr(MATRIX)), {}),
}


@pytest.mark.parametrize("routine", FACTORS)
def test_numpys_factors_are_right(routine):
    given, results, options = FACTORS[routine]
    assert 0 <= held(routine, given, results, **options) <= 1


@pytest.mark.parametrize("routine", FACTORS)
@pytest.mark.parametrize("change", [1e-9, np.nan])
def test_with_one_element_changed_they_are_wrong(routine, change):
    given, (first, *others), options = FACTORS[routine]
    changed = first.copy()
    changed[2, 1] += change
    assert held(routine, given, [changed, *others], **options) > 1


def test_signs_of_vectors_are_free_and_those_of_a_diagonal_are_not():
    given, (vectors, *others), options = FACTORS["syevd"]
    assert held("syevd", given, [vectors * [1, -1, 1, -1, -1], *others], **options) <= 1
    given, (factor, info), options = FACTORS["potrf"]
    assert held("potrf", given, [factor * [1, -1, 1, 1, 1], info], **options) == np.inf


@pytest.mark.parametrize("uplo", ["U", "L"])
@pytest.mark.parametrize("place", range(4))
def test_what_is_no_part_of_a_hermitian_diagonal_may_stay_there(uplo, place):
    """LAPACK's blocked `zhetrd` leaves the imaginary part of the last element where it was."""
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    packed, *others = compiler.interpret(compiler.parse(_TRIDIAGONAL.format(uplo=ord(uplo))), matrix)
    assert held("hetrd", [matrix], [packed, *others], uplo=uplo) <= 1
    for change, is_right in ((1j * matrix[place, place].imag, True), (0.25j, False), (1e-9, False)):
        changed = packed.copy()
        changed[place, place] += change
        assert (held("hetrd", [matrix], [changed, *others], uplo=uplo) <= 1) is is_right


_TRIDIAGONAL = """ENTRY main {{
  a = c128[4,4] parameter(0)
  ROOT t = (c128[4,4], f64[4], f64[3], c128[3], s32[]) custom-call(a), custom_call_target="lapack_zhetrd_ffi",
    api_version=API_VERSION_TYPED_FFI, backend_config={{uplo = {uplo} : ui8}}
}}"""


def test_of_a_routine_that_gave_up_nothing_is_said():
    assert held("potrf", [-DEFINITE], [-DEFINITE, np.array(1)], uplo="L") == 0


@pytest.mark.parametrize(("pivots", "right"), [([2, 2], True), ([1, 2], False), ([3, 2], False), ([0, 2], False)])
def test_pivots_are_those_of_the_greatest_elements(pivots, right):
    matrix = np.array([[1.0, 2.0], [4.0, 4.0]])
    packed = np.array([[4.0, 4.0], [0.25, 1.0]])
    assert (held("getrf", [matrix], [packed, np.array(pivots), np.array(0)]) <= 1) is right


@pytest.mark.parametrize(
    ("routine", "given", "results", "options"),
    [
        ("getrf", [[[2.0**60, 0], [2.0**-1015, 1]]], [[[2.0**60, 0], [0, 1]], [1, 2], 0], {}),
        ("potrf", [[[2.0**80, 0], [2.0**-983, 1]]], [[[2.0**40, 0], [0, 1]], 0], {"uplo": "L"}),
        (
            "trsm",
            [[[2.0**60, 0], [0, 1]], [[2.0**-1015], [1]]],
            [[[0.0], [1.0]]],
            {"uplo": "L", "side": "L", "diag": "N", "trans_x": "N"},
        ),
    ],
)
def test_a_quotient_too_small_for_its_type_is_right_however_large_its_divisor(routine, given, results, options):
    assert held(routine, [np.asarray(one) for one in given], [np.asarray(one) for one in results], **options) <= 1


@pytest.mark.parametrize("exponent", [-400, 0, 100, 500])
def test_eigenvalues_are_held_to_matrices_of_any_size(exponent):
    matrix = np.triu(MATRIX).astype(np.complex128) * 2.0**exponent
    results = [matrix, np.zeros_like(matrix), np.diag(matrix).copy(), np.array(0), np.array(0)]
    assert held("gees", [matrix], results, mode=f"{ord('N')} : ui8") <= 1
    results[2][1] *= 1.5
    assert held("gees", [matrix], results, mode=f"{ord('N')} : ui8") > 1


@pytest.mark.parametrize("small", [1.0, 2.0**-40])
def test_a_solution_is_held_to_each_column_of_a_tridiagonal_system(small):
    """A column far smaller than the others makes its unknown no freer, but for what is lost beside theirs."""
    lower, diagonal, upper = np.array([0, 1, 1.5 * small]), np.array([4, 5 * small, 6]), np.array([2 * small, 1, 0])
    system = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    solution = np.array([[1.0], [2.0], [3.0]])
    given = [lower, diagonal, upper, system @ solution]
    for row in range(3):
        for by, is_right in ((0, True), (1e-9 if row != 1 else 1e-9 / small, False), (1e30, False)):
            found = solution + by * np.eye(3)[:, [row]]
            assert (held("gtsv", given, [lower, diagonal, upper, found, np.array(0)]) <= 1) is is_right


def test_of_pivots_that_nobody_sees_an_engine_may_have_others():
    text = """ENTRY e { x = f64[3,3] parameter(0)  z = s32[3] parameter(1)
      c = (f64[3,3], s32[3], f64[3]) custom-call(x, z), custom_call_target="lapack_dgeqp3_ffi"
      p = f64[3,3] get-tuple-element(c), index=0  v = s32[3] get-tuple-element(c), index=1
      t = f64[3] get-tuple-element(c), index=2  ROOT r = RESULTS }"""
    given = [MATRIX[:3, :3], np.zeros(3, np.int32)]
    all_three, without = "(f64[3,3], s32[3], f64[3]) tuple(p, v, t)", "(f64[3,3], f64[3]) tuple(p, t)"
    for results, is_decided in ((all_three, True), (without, False)):
        module = compiler.parse(text.replace("RESULTS", results))
        expected = compiler.interpret(module, *given)
        (residual,) = residuals_of(module, given, expected)
        for decided in found(residual, expected).values():
            assert bool(decided.right.all()) is is_decided
            assert not decided.wrong.any()


@pytest.mark.parametrize(("rows", "count"), [(0, 0), (1, 1), (3, 0), (5, 3), (64, 64)])
@pytest.mark.parametrize("imaginary", [0.0, 1.0])
def test_reflections_are_multiplied_with_the_first_on_the_left(rows, count, imaginary):
    rng = np.random.default_rng(count)
    vectors = rng.standard_normal((rows, count)) + imaginary * 1j * rng.standard_normal((rows, count))
    factors = rng.uniform(0, 2, count) / np.maximum(1, (np.abs(vectors) ** 2).sum(axis=0))
    factors[::3] = 0
    product = np.eye(rows, dtype=np.complex128)
    for vector, factor in zip(vectors.T, factors, strict=True):
        product = product @ (np.eye(rows) - factor * np.outer(vector, np.conj(vector)))
    np.testing.assert_allclose(relations._reflected(vectors, factors), product, rtol=0, atol=1e-13)
    if count:
        factors[0] = np.nan
        assert np.isnan(relations._reflected(vectors, factors)).any()


SIZE = 6
PROGRAM = """ENTRY e {{ x = f64[{n},{n}] parameter(0)
  ROOT r = (f64[{n},{n}], f64[{m}], s32[]) custom-call(x), custom_call_target="lapack_dgehrd_ffi",
    backend_config={{low = {low} : i32, high = {high} : i32}} }}"""


def made(low, high):
    """The program, and a matrix with zeros below the diagonal but within the rows."""
    matrix = np.random.default_rng(3).standard_normal((SIZE, SIZE))
    block = matrix[low - 1 : high, low - 1 : high].copy()
    matrix = np.triu(matrix)
    matrix[low - 1 : high, low - 1 : high] = block
    return compiler.parse(PROGRAM.format(n=SIZE, m=SIZE - 1, low=low, high=high)), matrix


@pytest.mark.parametrize(("low", "high"), [(1, 6), (1, 4), (3, 6), (2, 5), (4, 4)])
def test_a_part_of_the_rows_is_decided(low, high):
    module, matrix = made(low, high)
    expected = compiler.interpret(module, matrix)
    near = compiler.interpret(module, matrix * (1 + np.finfo(matrix.dtype).eps * np.tri(SIZE)))
    assert judge(module, [matrix], expected, near).verdict in ("bitwise", "within")
    basis = basis_of(module, [matrix], expected)
    for number in (0, 1):
        for at in range(expected[number].size):
            changed = [np.array(result) for result in expected]
            changed[number].reshape(-1)[at] += 0.01 * np.abs(matrix).max()
            assert judge(module, [matrix], expected, changed, basis=basis).verdict == "wrong", (number, at)


def test_of_rows_around_that_are_not_triangular_nothing_is_said():
    module, matrix = made(2, 5)
    matrix[5, 0] = 1
    expected = compiler.interpret(module, matrix)
    changed = [expected[0] + 1, *expected[1:]]
    assert judge(module, [matrix], expected, changed).verdict == "undecided"
