"""Verdicts on generated programs: rounding is forgiven, everything else is not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import compiler
from xlabench.cases.inputs import DTYPES
from xlabench.judging.judge import Standard, judge
from xlabench.judging.liberties import without_denormals
from xlabench.judging.perturb import move, perturbed
from xlabench.judging.tolerance import finfo, is_inexact, real_dtype

CANCELLING = """HloModule cancelling
ENTRY main {
  x = f32[4] parameter(0)
  big = f32[] constant(16777216)
  bigs = f32[4] broadcast(big), dimensions={}
  sum = f32[4] add(x, bigs)
  ROOT rest = f32[4] subtract(sum, bigs)
}
"""

FLOOR = """HloModule floor
ENTRY main {
  x = f32[64] parameter(0)
  y = f32[64] parameter(1)
  product = f32[64] multiply(x, y)
  ROOT whole = s32[64] convert(product)
}
"""

INTEGERS = """HloModule integers
ENTRY main {
  x = s32[4] parameter(0)
  ROOT sum = s32[4] add(x, x)
}
"""


def verdict(text, inputs, change):
    module = compiler.parse(text)
    expected = compiler.interpret(module, *inputs)
    return judge(module, inputs, expected, [change(result.copy()) for result in expected]).verdict


def test_equal_results_are_bitwise():
    assert verdict(INTEGERS, [np.arange(4, dtype=np.int32)], lambda r: r) == "bitwise"


def test_one_wrong_integer_of_a_program_that_does_not_round_is_wrong():
    assert verdict(INTEGERS, [np.arange(4, dtype=np.int32)], lambda r: r + np.array([0, 0, 1, 0], np.int32)) == "wrong"


def test_a_difference_that_rounding_explains_is_undecided_and_no_other_is():
    halfway, x = np.ones(4, np.float32), np.array([0.3, 1.7, 2.2, 3.9], np.float32)
    assert verdict(CANCELLING, [halfway], lambda r: r + np.float32(2)) == "undecided"
    assert verdict(CANCELLING, [x], lambda r: r + np.float32(2)) == "wrong"
    assert verdict(CANCELLING, [x], lambda r: r + np.float32(1000)) == "wrong"


DENORMALS = """HloModule denormals
ENTRY main {
  x = f32[4] parameter(0)
  up = f32[4] ceil(x)
  big = f32[4] constant({16777216, 16777216, 16777216, 16777216})
  sum = f32[4] add(x, big)
  rest = f32[4] subtract(sum, big)
  numbers = f32[8] concatenate(up, rest), dimensions={0}
  ROOT pair = (f32[8], f32[4]) tuple(numbers, x)
}
"""


def test_zeros_for_denormal_numbers_are_undecided_of_an_engine_that_says_so_and_nothing_else_is():
    module, x = compiler.parse(DENORMALS), np.array([1e-45, 0.5, -1e-45, 2e-38], np.float32)
    flushed, wrong = np.array([0, 1, -0.0, 1], np.float32), np.array([0, 2, -0.0, 1], np.float32)
    expected = compiler.interpret(module, x)
    rest = expected[0][4:] + np.float32([0, 0.5, 0, 0])  # rounded otherwise, beside what was flushed
    for result, flushes, verdict in ((flushed, True, "undecided"), (flushed, False, "wrong"), (wrong, True, "wrong")):
        actual = [np.concatenate([result, rest]), x]
        standard = Standard(liberties=frozenset({"denormals"} if flushes else ()))
        assert judge(module, [x], expected, actual, standard).verdict == verdict


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16", "float64", "float16", "float8_e5m2", "int32"])
def test_denormal_numbers_are_those_of_the_types_that_are_computed_on_as_they_are(dtype):
    kind = np.dtype(dtype)
    tiny = (
        np.asarray(3, kind)
        if kind.kind == "i"
        else np.asarray(np.ldexp(1.0, -1060 if dtype == "float64" else -130), kind)
    )
    flushes = dtype in ("bfloat16", "float64", "complex64")
    given = np.asarray([tiny, 1], kind)
    wanted = np.asarray([0 if flushes else tiny, 1], kind)
    for spread in (given, np.broadcast_to(given, (3, 2)), np.broadcast_to(given[:1], 5)):
        assert np.array_equal(
            without_denormals(spread), np.broadcast_to(wanted if spread.shape[-1] == 2 else wanted[:1], spread.shape)
        )


def test_integers_are_undecided_only_where_rounding_decides_them():
    third = np.full(64, np.float32(1) / np.float32(3), np.float32)
    three = np.full(64, 3.0, np.float32)
    assert verdict(FLOOR, [third, three], lambda r: r - 1) == "undecided"
    assert verdict(FLOOR, [three, three], lambda r: r + 5) == "wrong"
    assert verdict(FLOOR, [np.full(64, 2.5, np.float32), np.ones(64, np.float32)], lambda r: r - 1) == "wrong"


def test_a_nan_for_a_number_is_wrong():
    x = np.ones(4, np.float32)
    assert verdict(CANCELLING, [x], lambda r: r * np.float32(np.nan)) == "wrong"


def test_results_of_another_shape_are_wrong():
    assert verdict(INTEGERS, [np.arange(4, dtype=np.int32)], lambda r: r[:3]) == "wrong"


def test_what_does_not_round_is_not_perturbed():
    x = np.arange(4, dtype=np.int32)
    (runs,) = perturbed(compiler.parse(INTEGERS), [x], runs=1, seed=0)
    assert np.array_equal(runs[0], 2 * x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_moving_keeps_zeros_and_infinities_and_stays_near(dtype):
    rng = np.random.default_rng(0)
    values = np.array([0.0, -0.0, 1.0, -1.5, 0.25], dtype)
    moved = move(values, rng, 1).astype(np.float64)
    wide = values.astype(np.float64)
    assert np.array_equal(np.signbit(moved), np.signbit(wide))
    assert (moved[:2] == 0).all()
    assert (np.abs(moved - wide) <= np.abs(wide) * float(ml_dtypes.finfo(dtype).eps)).all()


def test_a_nan_gets_either_sign():
    moved = move(np.full(100, np.nan, np.float32), np.random.default_rng(0), 1)
    assert np.isnan(moved).all()
    assert 0 < np.signbit(moved).sum() < 100


def test_what_an_infinity_makes_of_a_complex_number_is_left_open():
    text = "HloModule open\nENTRY main {\n  x = c64[2] parameter(0)\n  ROOT s = c64[2] sign(x)\n}\n"
    x = np.array([complex(np.inf, 0), 3 + 4j], np.complex64)
    assert verdict(text, [x], lambda r: np.array([1, r[1]], np.complex64)) == "undecided"
    assert verdict(text, [x], lambda r: np.array([r[0], 1], np.complex64)) == "wrong"


def test_infinities_in_a_complex_product_may_come_out_as_nan_where_nothing_bounds_them():
    text = """
    ENTRY main {
      x = c64[2,3] parameter(0)
      d = c64[3] dot(x, x), lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={0}, rhs_contracting_dims={0}
      p = c64[2,2] parameter(1)
      c = c64[2,2] cholesky(p), lower=true
      ROOT r = (c64[3], c64[2,2]) tuple(d, c)
    }
    """
    module = compiler.parse(text)
    inputs = [np.array([[np.inf, 1, 2], [1, 2, 3]], np.complex64), np.eye(2, dtype=np.complex64)]
    expected = compiler.interpret(module, *inputs)
    other = expected[0].copy()
    other[0] = complex(np.inf, np.nan) if np.isnan(expected[0][0].real) else complex(np.nan, np.nan)
    assert judge(module, inputs, expected, [other, expected[1]]).verdict == "undecided"
    other[1] = 99
    assert judge(module, inputs, expected, [other, expected[1]]).verdict == "wrong"


def test_the_kind_of_wrong_is_that_of_the_elements_beyond_their_bounds():
    module = compiler.parse(
        """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
        ENTRY e { x = f32[2,8] parameter(0) o = f32[] constant(0)
          ROOT r = f32[2] reduce(x, o), dimensions={1}, to_apply=add }"""
    )
    x = np.linspace(0.1, 1.7, 16, dtype=np.float32).reshape(2, 8)
    (expected,) = compiler.interpret(module, x)
    actual = np.asarray([np.nextafter(expected[0], np.float32(9)), np.nan], np.float32)
    judgement = judge(module, [x], [expected], [actual])
    assert judgement.verdict == "wrong"
    assert judgement.message.endswith("(special)")


@pytest.mark.parametrize("name", sorted(n for n, dtype in DTYPES.items() if is_inexact(dtype)))
def test_any_bits_are_judged_without_a_warning(name):
    dtype = DTYPES[name]
    width = min(8, finfo(real_dtype(dtype)).bits)
    garbage = np.random.default_rng(0).integers(0, 1 << width, 4096, np.uint8).view(dtype)
    module = compiler.parse(f"ROOT x = {name}[{garbage.size}] parameter(0)")
    expected = compiler.interpret(module, garbage)
    assert judge(module, [garbage], expected, [garbage.copy()]).verdict == "bitwise"
    assert judge(module, [garbage], expected, [garbage[::-1].copy()]).verdict == "wrong"


@pytest.mark.parametrize(
    ("root", "verdict"), [("negate(x)", "wrong"), ("subtract(x, x)", "wrong"), ("maximum(x, x)", "within")]
)
def test_the_sign_of_a_zero_counts_where_nobody_may_choose_it(root, verdict):
    module = compiler.parse(f"ENTRY e {{ x = f32[2] parameter(0) ROOT r = f32[2] {root} }}")
    inputs = [np.array([0.0, 3.0], np.float32)]
    [expected] = compiler.interpret(module, *inputs)
    actual = np.where(expected == 0, -expected, expected)
    judgement = judge(module, inputs, [expected], [actual])
    assert (judgement.verdict, "zero" in judgement.message) == (verdict, verdict == "wrong")


FACTORED = """ENTRY e { x = TYPE[2,2] parameter(0)
  ROOT r = (TYPE[2,2], s32[2], s32[]) custom-call(x), custom_call_target="lapack_LETTERgetrf_ffi" }"""


@pytest.mark.parametrize(("name", "letter"), [("f32", "s"), ("c64", "c")])
@pytest.mark.parametrize("scale", [0.25, 100, 2.0**30])
def test_where_denormal_numbers_are_zeros_a_matrix_that_may_come_to_some_may_be_singular(name, letter, scale):
    """As XLA:CPU finds it, which leaves a column as it is then."""
    module, dtype = compiler.parse(FACTORED.replace("TYPE", name).replace("LETTER", letter)), DTYPES[name]
    matrix = np.array([[1.5, 1.5], [1.5, 1.625]], dtype) * dtype.type(np.finfo(dtype).tiny * scale)
    expected = compiler.interpret(module, matrix)
    singular = [matrix, expected[1], np.int32(1)]
    assert judge(module, [matrix], expected, singular).verdict == "wrong"
    flushes = Standard(liberties=frozenset({"denormals"}))
    assert judge(module, [matrix], expected, singular, flushes).verdict == ("wrong" if scale > 100 else "undecided")


ROUTINES = {
    "getrf": '(f64[2,3,3], s32[2,3], s32[2]) custom-call(x), custom_call_target="lapack_dgetrf_ffi"',
    "geqrf": '(f64[2,3,3], f64[2,3]) custom-call(x), custom_call_target="lapack_dgeqrf_ffi"',
    "potrf": '(f64[2,3,3], s32[2]) custom-call(x), custom_call_target="lapack_dpotrf_ffi", '
    "backend_config={uplo = 76 : ui8}",
    "syevd": '(f64[2,3,3], f64[2,3], s32[2]) custom-call(x), custom_call_target="lapack_dsyevd_ffi", '
    "backend_config={mode = 86 : ui8, uplo = 76 : ui8}",
}


@pytest.mark.parametrize("routine", ROUTINES)
def test_a_routine_that_meets_denormal_numbers_may_give_up_where_they_are_zeros(routine):
    module = compiler.parse(f"ENTRY e {{ x = f64[2,3,3] parameter(0) ROOT r = {ROUTINES[routine]} }}")
    usual = np.array([[4, 1, 0.5], [1, 5, 2], [0.5, 2, 6]])
    given = np.stack([usual * 1e-308, usual])
    expected = compiler.interpret(module, given)
    flushing = Standard(liberties=frozenset({"denormals"}))
    exactly = Standard() if routine in ("potrf", "syevd") else None  # of the others rounding may explain it as well
    for matrix, standard, verdict in ((0, flushing, "undecided"), (1, flushing, "wrong"), (0, exactly, "wrong")):
        failed = [result.copy() for result in expected]
        for result in failed:
            result[matrix] = 3 if result.dtype.kind == "i" else np.nan
        assert standard is None or judge(module, [given], expected, failed, standard).verdict == verdict
