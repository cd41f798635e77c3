"""What the language, or rounding, leaves open is undecided, and nothing else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from wide_results import wide

import compiler
from compiler.ir.types import TYPES


def test_infinities_beside_what_may_overflow_the_other_way_are_undecided() -> None:
    lines = ("x = f32[3] parameter(0)", "y = f32[3] parameter(1)")
    end = "ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    (result,) = wide(*lines, end, inputs=(np.array([np.inf, 3e38, 1], np.float32), np.array([1, -7, 1], np.float32)))
    assert result.undecided
    (result,) = wide(*lines, end, inputs=(np.array([np.inf, 1e37, 1], np.float32), np.array([1, -7, 1], np.float32)))
    assert not result.undecided
    assert result.value == np.inf


@pytest.mark.parametrize(
    ("lines", "is_open"),
    [
        (("p = {t}[2] multiply(x, y)", "ROOT r = {t}[2] subtract(z, p)"), True),
        (("p = {t}[2] multiply(x, y)", "n = {t}[2] negate(p)", "ROOT r = {t}[2] add(n, z)"), True),
        (("p = {t}[2] maximum(x, y)", "q = {t}[2] add(p, p)", "ROOT r = {t}[2] subtract(z, q)"), False),
    ],
)
@pytest.mark.parametrize("element_type", ["f32", "bf16"])
def test_a_product_that_overflows_alone_need_not_do_so_in_a_sum(lines, is_open, element_type) -> None:
    dtype = TYPES[element_type].dtype
    largest = float(ml_dtypes.finfo(dtype).max)
    inputs = [np.array(values, dtype) for values in ([largest, 1], [-4, 2], [-np.inf, 3])]
    if not is_open:
        inputs[1] = -inputs[1]
    head = (f"{name} = {element_type}[2] parameter({n})" for n, name in enumerate("xyz"))
    (result,) = wide(*head, *(line.format(t=element_type) for line in lines), inputs=inputs)
    assert result.undecided.tolist() == [is_open and element_type != "bf16", False]


def test_a_sum_of_products_of_which_one_overflows_is_undecided() -> None:
    text = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
    ENTRY e { x = f32[2,2] parameter(0) p = f32[2,2] multiply(x, x) o = f32[] constant(0)
      ROOT r = f32[2] reduce(p, o), dimensions={1}, to_apply=add }"""
    x = np.array([[3e38, 1], [2, 1]], np.float32)
    (result,) = compiler.interpret(compiler.parse(text), x, wide=True)
    assert result.undecided.tolist() == [True, False]


@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("left", [True, False])
def test_what_follows_an_overflow_in_a_triangular_system_is_undecided(left, transpose) -> None:
    lower = (transpose == "NO_TRANSPOSE") == left
    rows = np.array([[8, 0, 0], [3e38, 5, 0], [1, 0, 8]], np.float32)
    right = np.array([[3e38, 0.008], [0, 5], [0, 8]], np.float32)
    shape = "f32[3,2]" if left else "f32[2,3]"
    lines = ("a = f32[3,3] parameter(0)", f"b = {shape} parameter(1)")
    end = f"ROOT r = {shape} triangular-solve(a, b), left_side={str(left).lower()}, lower={str(lower).lower()}"
    inputs = (rows if lower else rows.T.copy(), right if left else right.T.copy())
    (result,) = wide(*lines, f"{end}, unit_diagonal=false, transpose_a={transpose}", inputs=inputs)
    assert (result.undecided if left else result.undecided.T).tolist() == [[True, False]] * 3


def test_scaled_factors_that_leave_the_range_are_undecided() -> None:
    lines = ("x = f32[1,1] parameter(0)", "y = f32[1,1] parameter(1)")
    end = "ROOT r = f32[1,1] scaled-dot(x, y, x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    (result,) = wide(*lines, end, inputs=(np.zeros((1, 1), np.float32), np.full((1, 1), -3e38, np.float32)))
    assert result.undecided.all()


def test_a_token_is_copied_like_any_value() -> None:
    text = """ENTRY e { x = f32[] parameter(0) t = token[] after-all() c = token[] copy(t)
      ROOT d = f32[] add-dependency(x, c) }"""
    (result,) = compiler.interpret(compiler.parse(text), np.float32(0.5), wide=True)
    assert (float(result.value), float(result.bound)) == (0.5, 0.0)


def test_a_batch_whose_variance_leaves_the_range_is_undecided() -> None:
    lines = ("x = f32[4,1] parameter(0)", "s = f32[1] constant({4})")
    end = "ROOT r = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1"
    normal, mean, variance = wide(*lines, end, inputs=(np.array([[0.5], [-2.6e36], [1], [0]], np.float32),))
    assert normal.undecided.all()
    assert variance.undecided.all()
    assert not mean.undecided.any()


def test_the_place_of_a_nan_in_the_total_order_is_undecided() -> None:
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)")
    end = "ROOT r = pred[2] compare(x, y), direction=LT, type=TOTALORDER"
    (result,) = wide(*lines, end, inputs=(np.array([-4, 0.25], np.float32),))
    assert result.undecided.tolist() == [True, False]


@pytest.mark.parametrize(("dtype", "bits"), [("f8e4m3fn", "u8"), ("bf16", "s16"), ("f8e4m3fn", "f8e5m2fnuz")])
def test_the_bits_of_a_nan_are_undecided(dtype: str, bits: str) -> None:
    lines = (f"x = {dtype}[2] parameter(0)", f"y = {dtype}[2] add(x, x)")
    end = f"ROOT r = {bits}[2] bitcast-convert(y)"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else ml_dtypes.float8_e4m3fn
    (result,) = wide(*lines, end, inputs=(np.array([np.nan, 1], kind),))
    assert result.undecided.tolist() == [True, False]


def test_the_place_of_a_nan_among_the_first_is_undecided() -> None:
    lines = ("x = bf16[2,3] parameter(0)", "y = f16[2,3] bitcast-convert(x)")
    end = "ROOT r = (f16[2,1], s32[2,1]) topk(y), k=1"
    values, places = wide(*lines, end, inputs=(np.array([[1, -np.nan, 2], [1, 2, 3]], ml_dtypes.bfloat16),))
    assert values.undecided.tolist() == places.undecided.tolist() == [[True], [False]]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_an_infinity_times_what_may_be_taken_for_zero_is_undecided(dtype: str) -> None:
    lines = (f"x = {dtype}[2,1] parameter(0)", f"y = {dtype}[1] parameter(1)")
    end = f"ROOT r = {dtype}[2] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else np.float32
    (result,) = wide(*lines, end, inputs=(np.array([[np.inf], [1]], kind), np.array([1e-39], kind)))
    assert result.undecided.tolist() == [True, False]


def test_terms_that_leave_the_range_beside_one_that_hides_them_are_undecided() -> None:
    lines = ("x = f32[1,2] parameter(0)", "y = f32[2] parameter(1)")
    end = "ROOT r = f32[1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    x, y = np.array([[3e38, -2]], np.float32), np.array([3e38, 3e38], np.float32)
    (result,) = wide(*lines, end, inputs=(x, y))
    assert result.undecided.all()
    (result,) = wide(*lines, end, inputs=(np.array([[1e20, -2]], np.float32), np.array([1e20, 1], np.float32)))
    assert not result.undecided.any()


def test_the_logarithm_of_a_complex_number_that_may_be_taken_for_zero_is_undecided() -> None:
    lines = ("x = c64[2] parameter(0)", "ROOT r = c64[2] log(x)")
    (result,) = wide(*lines, inputs=(np.array([1e-40, 1e-30], np.complex64),))
    assert result.undecided.tolist() == [True, False]


def test_a_complex_angle_on_the_cut_of_its_root_is_undecided() -> None:
    lines = ("y = c128[2] parameter(0)", "x = c128[2] parameter(1)", "ROOT r = c128[2] atan2(y, x)")
    (result,) = wide(*lines, inputs=(np.array([3j, 3]), np.array([1e-20, 1 + 1j])))
    assert result.undecided.tolist() == [True, False]
    (result,) = wide(*lines, inputs=(np.array([0j, 0j]), np.array([-3 + 2j, 3 + 2j])))
    assert result.undecided.tolist() == [True, False]


def test_a_transform_whose_sums_leave_the_range_is_undecided() -> None:
    lines = ("x = f64[4] parameter(0)", "ROOT r = c128[3] fft(x), fft_type=RFFT, fft_length={4}")
    (result,) = wide(*lines, inputs=(np.array([1e308, -1e308, 1e308, 0]),))
    assert result.undecided.all()
    (result,) = wide(*lines, inputs=(np.array([1e300, -1e300, 1e300, 0]),))
    assert not result.undecided.any()


@pytest.mark.parametrize(("rows", "start"), [(1, 7), (1, 0), (2, 7)])
@pytest.mark.parametrize("kind", ["s32", "f32"])
def test_the_initial_value_of_a_reduction_takes_part_once(rows: int, start: int, kind: str) -> None:
    add = f"add {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT c = {kind}[] add(a, b) }}"
    (result,) = wide(
        f"x = {kind}[3,{rows}] parameter(0)",
        f"start = {kind}[] constant({start})",
        f"ROOT sums = {kind}[3] reduce(x, start), dimensions={{1}}, to_apply=add",
        inputs=(np.full((3, rows), -5, TYPES[kind].dtype),),
        computations=add,
    )
    assert result.value.tolist() == [start - 5 * rows] * 3
    assert result.undecided.tolist() == [False] * 3
    assert not result.allows(np.full(3, -5 * rows, TYPES[kind].dtype)).any() or start == 0


def test_a_small_complex_angle_is_as_good_as_the_quotient_it_is_the_logarithm_of() -> None:
    y, x = np.array(2.05347776352205 + 0.4932130314708993j), np.array(39858.996043876425 + 183963.43182733632j)
    (angle,) = wide("y = c128[] parameter(0)", "x = c128[] parameter(1)", "ROOT a = c128[] atan2(y, x)", inputs=(y, x))
    exact = 4.870913649632488e-6 - 1.0107052348392266e-5j
    assert angle.allows(np.asarray(exact)).all()
    assert not angle.allows(np.asarray(exact + 1e-13)).any()


def test_the_remainder_by_what_may_be_zero_is_undecided() -> None:
    lines = ("x = f32[3] parameter(0)", "one = f32[3] constant({1, 1, 1})", "a = f32[3] cosine(x)")
    lines += ("d = f32[3] subtract(a, one)", "ROOT r = f32[3] remainder(x, d)")
    (result,) = wide(*lines, inputs=(np.array([1e-9, 0.0, 1.0], np.float32),))
    assert result.undecided.tolist() == [True, True, False]


def test_a_batch_that_leaves_the_range_before_its_mean_is_taken_off_is_undecided() -> None:
    lines = ("x = f64[2,1] parameter(0)", "s = f64[2] constant({-1.7976931348623157e308, 1})")
    lines += ("o = f64[2] constant({0, 0})", "m = f64[2] constant({1, 1})")
    lines += ("ROOT r = f64[2,1] batch-norm-inference(x, s, o, m, m), epsilon=0.0625, feature_index=0",)
    (result,) = wide(*lines, inputs=(np.array([[1.9], [1.9]]),))
    assert result.undecided.ravel().tolist() == [True, False]


def test_zeros_that_nobody_sends_are_undecided_in_a_type_without_zero() -> None:
    lines = ("x = KIND[2] parameter(0)", "ROOT r = KIND[2] collective-permute(x), source_target_pairs={}")
    for kind, is_open in (("f8e8m0fnu", True), ("f8e5m2", False), ("s32", False)):
        (result,) = wide(*(line.replace("KIND", kind) for line in lines), inputs=(np.ones(2, TYPES[kind].dtype),))
        assert result.undecided.tolist() == [is_open] * 2


def test_a_part_of_a_complex_product_may_be_lost_on_the_way() -> None:
    multiply = "multiply { a = c64[] parameter(0) b = c64[] parameter(1) ROOT c = c64[] multiply(a, b) }"
    lines = ("x = c64[8] parameter(0)", "one = c64[] constant((1, 0))")
    lines += ("ROOT r = c64[] reduce(x, one), dimensions={0}, to_apply=multiply",)
    factors = (
        1.85 + 0.55j,
        1.4 + 0.58j,
        -1.1754944e-38,
        1.72 + 1.2j,
        1.67 + 0.58j,
        1.66 + 1.48j,
        1.53 + 1j,
        1.92 + 1.83j,
    )
    (result,) = wide(*lines, inputs=(np.array(factors, np.complex64),), computations=multiply)
    flushed = np.complex64(1)
    for factor in np.array(factors, np.complex64):
        product = np.complex64(flushed * factor)
        least = np.finfo(np.float32).tiny
        parts = [part if abs(part) >= least else 0.0 for part in (product.real, product.imag)]
        flushed = np.complex64(complex(*parts))
    assert result.allows(np.asarray(flushed)).all()
    assert not result.allows(np.asarray(flushed * 1e6)).any()


def test_the_gradient_of_a_batch_is_open_where_sums_leave_the_range() -> None:
    lines = ("x = f16[16,2] parameter(0)", "s = f16[2] constant({1, 1})", "m = f16[2] constant({-83, -40})")
    lines += ("ROOT r = (f16[16,2], f16[2], f16[2]) batch-norm-grad(x, s, m, s, x), epsilon=0.0625, feature_index=1",)
    gradient, *_ = wide(*lines, inputs=(np.ones((16, 2), np.float16),))
    assert gradient.undecided.tolist() == [[True, False]] * 16


def test_the_gradient_of_a_batch_is_open_where_a_small_variance_takes_its_sums_out_of_the_range() -> None:
    lines = ("x = f16[16,2] parameter(0)", "s = f16[2] constant({1, 1})", "v = f16[2] constant({0, 1})")
    lines += ("m = f16[2] constant({-2, -2})", "i = f16[16,2] iota(), iota_dimension=0")
    lines += ("ROOT r = (f16[16,2], f16[2], f16[2]) batch-norm-grad(i, s, m, v, x), epsilon=0.0625, feature_index=1",)
    gradient, *_ = wide(*lines, inputs=(np.full((16, 2), 8, np.float16),))
    assert gradient.undecided.tolist() == [[place > 1, False] for place in range(16)]


def test_a_mean_of_a_batch_is_open_where_its_sum_leaves_the_range() -> None:
    lines = ("x = f16[64,2] parameter(0)", "s = f16[2] constant({1, 1})")
    lines += ("ROOT r = (f16[64,2], f16[2], f16[2]) batch-norm-training(x, s, s), epsilon=0.0625, feature_index=1",)
    _, mean, _ = wide(*lines, inputs=(np.tile(np.array([2000, 200], np.float16), (64, 1)),))
    assert mean.undecided.tolist() == [True, False]


def test_the_gradient_of_a_batch_may_be_lost_when_its_factor_is_divided_first() -> None:
    lines = ("x = f64[12,1] parameter(0)", "s = f64[1] parameter(1)")
    lines += ("ROOT r = (f64[12,1], f64[1], f64[1]) batch-norm-grad(x, s, s, s, x), epsilon=0.0625, feature_index=1",)
    for scale, may_be_lost in ((-2.2250738585072014e-308, True), (-2.2250738585072014e-300, False)):
        gradient, *_ = wide(*lines, inputs=(np.ones((12, 1)), np.array([scale])))
        assert gradient.value.ravel().tolist() == pytest.approx([-64 * scale] * 12, rel=1e-12)
        assert gradient.allows(np.zeros((12, 1))).all() == may_be_lost


def test_an_extremum_of_what_may_be_nan_is_undecided() -> None:
    less = "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT, "
    less += "type=TOTALORDER }\nmost { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }"
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)", "least = f32[] constant(-inf)")
    lines += ("s = f32[2] sort(y), dimensions={0}, to_apply=less", "t = f32[2,1] reshape(s)")
    lines += ("n = f32[2,1] constant({{nan}, {nan}})", "u = f32[2,2] concatenate(t, n), dimensions={1}")
    lines += ("a = f32[2] reduce(t, least), dimensions={1}, to_apply=most",)
    lines += ("b = f32[2] reduce(u, least), dimensions={1}, to_apply=most", "ROOT r = (f32[2], f32[2]) tuple(a, b)")
    some, every = wide(*lines, inputs=(np.array([-1, 4], np.float32),), computations=less)
    assert some.undecided.all()  # the NaN has either sign, and so either place
    assert np.isnan(every.value).all()
    assert not every.undecided.any()


@pytest.mark.parametrize(
    ("opcode", "singular"),
    [
        *[(opcode, 0) for opcode in ("log", "rsqrt")],
        ("log-plus-one", -1),
        ("tan", -np.pi / 2),
        ("tanh", 1.5j * np.pi),
        ("logistic", -3j * np.pi),
    ],
)
def test_a_complex_function_is_open_where_its_argument_may_be_singular(opcode, singular) -> None:
    lines = ("x = c64[2] parameter(0)", "y = c64[2] parameter(1)", "o = c64[2] constant({(1, 0), (1, 0)})")
    far, near = np.complex64(8 + 8j), np.complex64(singular + 4e-6)
    inputs = (np.array([far, 3], np.complex64), np.array([near - far, near - 1], np.complex64))
    rounded = ("p = c64[2] multiply(x, o)", "s = c64[2] add(p, y)")
    (result,) = wide(*lines, *rounded, f"ROOT r = c64[2] {opcode}(s)", inputs=inputs)
    assert np.isinf(result.bound).tolist() == [True, False]


def test_a_complex_power_is_open_where_its_base_may_be_zero() -> None:
    lines = ("x = c64[] parameter(0)", "y = c64[] parameter(1)", "n = c64[] parameter(2)", "o = c64[] constant((1, 0))")
    inputs = [np.array(value, np.complex64) for value in (8 + 8j, 4e-6 - 8 - 8j, -0.5)]
    rounded = ("p = c64[] multiply(x, o)", "s = c64[] add(p, y)")
    (result,) = wide(*lines, *rounded, "ROOT r = c64[] power(s, n)", inputs=inputs)
    assert np.isinf(result.bound)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_complex_angle_is_open_where_its_square_may_be_zero(sign) -> None:
    lines = ("y = c64[2] parameter(0)", "x = c64[2] parameter(1)", "z = c64[2] parameter(2)")
    far, side = np.complex64(512 + 512j), np.complex64(2 + 1j)
    near = np.complex64(sign * 1j * side + 1e-3)
    inputs = [np.array(values, np.complex64) for values in ([side] * 2, [far, 3], [near - far, 1])]
    rounded = ("o = c64[2] constant({(1, 0), (1, 0)})", "p = c64[2] multiply(x, o)", "s = c64[2] add(p, z)")
    (result,) = wide(*lines, *rounded, "ROOT r = c64[2] atan2(y, s)", inputs=inputs)
    assert np.isinf(result.bound).tolist() == [True, False]


def test_a_complex_power_is_open_where_its_logarithm_spoils_a_part() -> None:
    lines = ("x = c64[5] parameter(0)", "y = c64[5] parameter(1)", "ROOT r = c64[5] power(x, y)")
    bases = np.array([1.5, 0, 0, -6 - 4j, 2], np.complex64)
    exponents = np.array([-np.inf, 2 + 1j, 2, -3e38, -20], np.complex64)
    (result,) = wide(*lines, inputs=(bases, exponents))
    assert result.undecided.tolist() == [True, True, False, True, False]


def test_a_complex_quotient_is_open_where_its_divisor_is_infinite() -> None:
    lines = ("x = c64[2] parameter(0)", "y = c64[2] parameter(1)", "ROOT r = c64[2] divide(x, y)")
    (result,) = wide(*lines, inputs=(np.array([1, 1], np.complex64), np.array([np.inf, 1e30], np.complex64)))
    assert result.undecided.tolist() == [True, False]


def test_a_complex_product_is_open_where_a_part_may_leave_the_range_on_the_way() -> None:
    lines = ("x = c64[3] parameter(0)", "y = c64[3] parameter(1)", "ROOT r = c64[3] multiply(x, y)")
    near = np.complex64(np.sqrt(1.05 * 3.4e38) + 1j * np.sqrt(0.06 * 3.4e38))  # its square's real part is 0.99 * 3.4e38
    inputs = (np.array([near, near, 3e38 + 3e38j], np.complex64), np.array([near, near.conj() / 2, 1], np.complex64))
    (result,) = wide(*lines, inputs=inputs)
    assert result.undecided.tolist() == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["", "k = pred[] compare(x, one), direction=LT"])
def test_a_loop_of_which_rounding_decides_the_end_ends(guard) -> None:
    loop = """count { p = f16[] parameter(0) one = f16[] constant(1) ROOT n = f16[] add(p, one) }
    goes_on { p = f16[] parameter(0) one = f16[] constant(1) n = f16[] add(p, one)
      ROOT r = pred[] compare(n, p), direction=NE }
    endless { p = f16[] parameter(0) ROOT r = pred[] constant(true) }
    never { p = f16[] parameter(0) ROOT w = f16[] while(p), condition=endless, body=count }
    always { p = f16[] parameter(0) ROOT w = f16[] while(p), condition=goes_on, body=count }"""
    lines = ["x = f16[] parameter(0)", "ROOT w = f16[] while(x), condition=goes_on, body=count"]
    if guard:
        lines[1:] = [
            "third = f16[] constant(0.333)",
            "y = f16[] divide(x, third)",
            "limit = f16[] constant(3)",
            "k = pred[] compare(y, limit), direction=EQ",
            "ROOT w = f16[] conditional(k, x, x), true_computation=never, false_computation=always",
        ]
    (result,) = wide(*lines, inputs=(np.array(1, np.float16),), computations=loop)
    assert result.undecided


@pytest.mark.parametrize(("algorithm", "allowed"), [("dot_f16_f16_f16", True), ("dot_f16_f16_f32", False)])
def test_a_dot_may_sum_in_what_its_algorithm_says(algorithm, allowed) -> None:
    rng, size = np.random.default_rng(0), 2048
    x, y = (rng.uniform(low, 2 * low, size).astype(np.float16) for low in (0.1, 0.5))
    lines = (f"x = f16[{size}] parameter(0)", f"y = f16[{size}] parameter(1)")
    end = "ROOT r = f16[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}, algorithm="
    (result,) = wide(*lines, end + algorithm, inputs=(x, y))
    in_f16 = np.float16(0)
    for product in x * y:
        in_f16 += product
    assert result.allows(in_f16) == allowed
    assert not result.allows(in_f16 * np.float16(2))
