"""Sums of many terms: each may be lost among denormal numbers, or leave the range on the way, and nothing else is open.

A machine may take denormal numbers for zeros on the way to a result that is none: every term so lost is allowed.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from wide_results import wide

import compiler
from compiler.ir.types import TYPES

TINY = np.finfo(np.float32).tiny
ADD = "add { a = TYPE[] parameter(0) b = TYPE[] parameter(1) ROOT s = TYPE[] add(a, b) }"
TWO = ("x = TYPE[N] parameter(0)", "y = TYPE[N] parameter(1)")


def _lines(*lines: str, element_type: str, size: int) -> tuple[str, ...]:
    return tuple(line.replace("TYPE", element_type).replace("N]", f"{size}]") for line in lines)


def test_every_product_of_a_dot_may_be_lost() -> None:
    lines = _lines(
        *TWO,
        "ROOT r = TYPE[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        element_type="f32",
        size=8,
    )
    (result,) = wide(*lines, inputs=(np.full(8, TINY, np.float32), np.full(8, 0.9, np.float32)))
    assert result.value > 7 * TINY
    assert result.allows(np.float32(0)).all()
    (result,) = wide(*lines, inputs=(np.full(8, TINY * 1e6, np.float32), np.full(8, 0.9, np.float32)))
    assert not result.allows(np.float32(0)).any()


@pytest.mark.parametrize("element_type", ["bf16", "f32"])
def test_a_denormal_operand_of_a_dot_may_be_lost_in_bf16(element_type: str) -> None:
    dtype = TYPES[element_type].dtype
    end = "ROOT r = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    inputs = (np.array([3e38, 1], dtype), np.array([9e-41, 5], dtype))
    (result,) = wide(*_lines(*TWO, end, element_type=element_type, size=2), inputs=inputs)
    assert result.value > 5.02
    assert result.allows(np.float32(5)).all() == (element_type == "bf16")


def test_every_sum_on_the_way_may_be_lost() -> None:
    lines = _lines(
        "x = TYPE[N] parameter(0)",
        "z = TYPE[] constant(0)",
        "ROOT r = TYPE[] reduce(x, z), dimensions={0}, to_apply=add",
        element_type="f32",
        size=8,
    )
    terms = np.array([1.5, -1, 1.5, -1, 1.5, -1, 1.5, -1], np.float32) * TINY
    (result,) = wide(*lines, inputs=(terms,), computations=ADD.replace("TYPE", "f32"))
    assert result.value == 2 * TINY
    assert result.allows(np.float32(0)).all()


def test_a_product_keeps_what_rounding_in_the_denormals_cost_it() -> None:
    lines = _lines(
        "x = TYPE[N] parameter(0)",
        "z = TYPE[] constant(1)",
        "ROOT r = TYPE[] reduce(x, z), dimensions={0}, to_apply=multiply",
        element_type="f16",
        size=6,
    )
    factors = np.array([2**-24, 1.75, 1.75, 1.75, 1.75, 1.75], np.float16)
    step_by_step = np.float16(1)
    for factor in factors:
        step_by_step = step_by_step * factor
    multiply = ADD.replace("TYPE", "f16").replace("add", "multiply")
    (result,) = wide(*lines, inputs=(factors,), computations=multiply)
    assert step_by_step == 21 * 2.0**-24
    assert result.value < 17 * 2.0**-24
    assert result.allows(step_by_step).all()
    factors[0] = 2**-8
    (result,) = wide(*lines, inputs=(factors,), computations=multiply)
    assert not result.allows(np.float16(21 * 2.0**-8)).any()


@pytest.mark.parametrize(("element_type", "dtype"), [("c64", np.complex64), ("c128", np.complex128)])
def test_the_terms_of_a_complex_product_may_be_lost(element_type: str, dtype: type) -> None:
    tiny = np.finfo(dtype).tiny
    lines = _lines(*TWO, "ROOT r = TYPE[N] multiply(x, y)", element_type=element_type, size=1)
    (result,) = wide(*lines, inputs=(np.array([tiny * (1 + 1j)], dtype), np.array([0.9 + 0.9j], dtype)))
    assert abs(result.value[0]) > tiny
    assert result.allows(np.zeros(1, dtype)).all()


@pytest.mark.parametrize(("element_type", "dtype"), [("c64", np.complex64), ("c128", np.complex128)])
def test_a_part_of_a_complex_quotient_may_be_lost_before_it_is_divided(element_type: str, dtype: type) -> None:
    lines = _lines(*TWO, "ROOT r = TYPE[N] divide(x, y)", element_type=element_type, size=2)
    tiny = np.finfo(dtype).tiny
    divisors = np.array([-0.0487 + 0.0602j, 1e30], dtype)
    (result,) = wide(*lines, inputs=(np.array([tiny, 1], dtype), divisors))
    assert abs(result.value[0].real) > 8 * tiny
    assert result.allows(np.array([1j * result.value[0].imag, result.value[1]], dtype)).all()
    (result,) = wide(*lines, inputs=(np.array([tiny * 1e6, 1], dtype), divisors))
    assert result.allows(np.array([1j * result.value[0].imag, 0], dtype)).tolist() == [False, False]


@pytest.mark.parametrize("result", ["c64", "f32"])
@pytest.mark.parametrize("size", [1, 3])
def test_what_a_complex_product_that_overflows_is_stays_open_where_a_number_is_taken_of_it(size, result) -> None:
    line = f"ROOT r = {result}[] dot(x, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}"
    lines, ones = _lines(*TWO, line, element_type="c64", size=size), np.ones(size, np.complex64)
    for factor, is_open in ((-1e19, True), (-1e17, False)):
        (found,) = wide(*lines, inputs=((2e19 + 1.9e19j) * ones, factor * (1 - 1j) * ones))
        assert found.allows(np.asarray(np.nan, TYPES[result].dtype)).all() == is_open


def test_sizes_of_groups_that_a_close_decision_made_leave_sums_of_groups_open() -> None:
    lines = (
        "x = f32[2,3] parameter(0)",
        "y = f32[3,2] parameter(1)",
        "t = f32[1] parameter(2)",
        "n = s32[1] convert(f32[1] multiply(t, t))",
        """ROOT r = f32[1,2,2] ragged-dot(x, y, n), lhs_contracting_dims={1}, rhs_contracting_dims={0},
           lhs_ragged_dims={1}, rhs_group_dims={}""",
    )
    ones = [np.ones(shape, np.float32) for shape in ((2, 3), (3, 2))]
    for length, is_open in ((np.sqrt(np.float32(2)), True), (np.float32(1.5), False)):
        (result,) = wide(*lines, inputs=(*ones, np.array([length])))
        assert result.allows(np.zeros((1, 2, 2), np.float32)).all() == is_open


def test_more_factors_than_elements_round_as_often() -> None:
    lines = (
        "x = bf16[1] parameter(0)",
        "i = s32[96,1] parameter(1)",
        "u = bf16[96] parameter(2)",
        "ROOT r = bf16[1] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, index_vector_dim=1,",
        "scatter_dims_to_operand_dims={0}, to_apply=multiply",
    )
    multiply = ADD.replace("TYPE", "bf16").replace("add", "multiply")
    one, factor = ml_dtypes.bfloat16(1), ml_dtypes.bfloat16(0.81)
    step_by_step = one
    for _ in range(96):
        step_by_step = step_by_step * factor
    inputs = (np.array([one]), np.zeros((96, 1), np.int32), np.full(96, factor))
    (result,) = wide(*lines, inputs=inputs, computations=multiply)
    assert result.allows(step_by_step).all()
    assert not result.allows(step_by_step * ml_dtypes.bfloat16(2)).any()


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


def test_scaled_factors_that_leave_the_range_are_undecided() -> None:
    lines = ("x = f32[1,1] parameter(0)", "y = f32[1,1] parameter(1)")
    end = "ROOT r = f32[1,1] scaled-dot(x, y, x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
    (result,) = wide(*lines, end, inputs=(np.zeros((1, 1), np.float32), np.full((1, 1), -3e38, np.float32)))
    assert result.undecided.all()


def test_terms_that_leave_the_range_beside_one_that_hides_them_are_undecided() -> None:
    lines = ("x = f32[1,2] parameter(0)", "y = f32[2] parameter(1)")
    end = "ROOT r = f32[1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    x, y = np.array([[3e38, -2]], np.float32), np.array([3e38, 3e38], np.float32)
    (result,) = wide(*lines, end, inputs=(x, y))
    assert result.undecided.all()
    (result,) = wide(*lines, end, inputs=(np.array([[1e20, -2]], np.float32), np.array([1e20, 1], np.float32)))
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


@pytest.mark.parametrize(
    ("window", "groups", "is_open"),
    [("size=2", "", False), ("size=2 pad=0_1", "", True), ("size=2 pad=0_1", ", feature_group_count=2", True)],
)
def test_what_is_not_finite_in_a_kernel_may_be_left_out_where_it_meets_padding(window, groups, is_open) -> None:
    size, features = (1, 1 if groups else 2) if is_open else (2, 2)
    lines = (f"x = f32[1,{size},2] parameter(0)", f"k = f32[2,{features},2] parameter(1)")
    end = f"ROOT c = f32[1,1,2] convolution(x, k), dim_labels=b0f_0io->b0f, window={{{window}}}{groups}"
    kernel = np.ones((2, features, 2), np.float32)
    kernel[1, 0, 1] = np.nan
    (result,) = wide(*lines, end, inputs=(np.ones((1, size, 2), np.float32), kernel))
    assert result.undecided.ravel().tolist() == [False, is_open]
    kernel[0, 0, 1] = np.nan
    (result,) = wide(*lines, end, inputs=(np.ones((1, size, 2), np.float32), kernel))
    assert not result.undecided.any()


def test_what_may_overflow_in_a_kernel_may_be_an_infinity_beside_padding() -> None:
    (result,) = wide(
        "x = bf16[1,1,1] parameter(0)",
        "k = f32[2,1,2] parameter(1)",
        "narrow = bf16[2,1,2] convert(k)",
        "ROOT c = bf16[1,1,2] convolution(x, narrow), dim_labels=b0f_0io->b0f, window={size=2 pad=0_1}",
        inputs=(np.ones((1, 1, 1), TYPES["bf16"].dtype), np.float32([1, 1, 1, 3.4e38]).reshape(2, 1, 2)),
    )
    assert result.undecided.ravel().tolist() == [False, True]


BOTH = """both { a = TYPE[] parameter(0) b = TYPE[] parameter(1) c = TYPE[] parameter(2) d = TYPE[] parameter(3)
  s = TYPE[] add(c, a) p = TYPE[] multiply(b, d) ROOT t = (TYPE[], TYPE[]) tuple(s, p) }"""


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32"])
def test_of_several_results_of_a_reduction_each_is_known_in_any_order(element_type: str) -> None:
    lines = _lines(
        *TWO,
        "z = TYPE[] constant(0)",
        "o = TYPE[] constant(1)",
        "ROOT r = (TYPE[], TYPE[]) reduce(x, y, z, o), dimensions={0}, to_apply=both",
        element_type=element_type,
        size=9,
    )
    dtype, rng = TYPES[element_type].dtype, np.random.default_rng(0)
    for _ in range(20):
        inputs = tuple(rng.normal(0.9, 0.5, 9).astype(dtype) for _ in "xy")
        results = wide(*lines, inputs=inputs, computations=BOTH.replace("TYPE", element_type))
        for result, array, function in zip(results, inputs, (np.add, np.multiply), strict=True):
            for ordered in (array, array[::-1], rng.permutation(array)):
                total = ordered[0]
                for one in ordered[1:]:
                    total = function(total, one)
                assert result.allows(total).all()
            assert not result.allows(total + total + 1).any()


def test_an_operand_that_leaves_out_zeros_is_the_one_that_it_stands_for() -> None:
    given = ("x = f32[2,8] parameter(0)", "e = f32[2,1] parameter(1)")
    sparse = (
        "at = s8[2,1] constant({{3}, {0}})",
        "k = (f32[2,1], s8[2,1]) tuple(e, at)",
    )
    how = "dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=1x4 dimension=0 stride=1}}"
    x, elements = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8), np.float32([[0.3], [1.7]])
    (result,) = wide(*given, *sparse, f"ROOT c = f32[2,1] convolution(x, k), {how}", inputs=(x, elements))
    assert result.allows(x[:, [3]] * elements[0] + x[:, [4]] * elements[1]).all()
    assert 0 < result.bound.max() < 1e-5


def test_products_of_a_sparse_matrix_that_leave_the_range_with_both_signs_are_undecided() -> None:
    """What is one infinity in f64 is none of both in f32."""
    lines = ("e = f32[4] parameter(0)", "r = f32[2] parameter(1)", "at = s32[3] constant({0, 2, 4})")
    lines += ("c = s32[4] constant({0, 1, 0, 0})",)
    end = 'ROOT p = f32[2] custom-call(e, at, c, r), custom_call_target="cpu_csr_sparse_dense_ffi"'
    (result,) = wide(*lines, end, inputs=(np.full(4, 3e30, np.float32), np.float32([1e10, -5e9])))
    assert result.undecided.tolist() == [True, False]
    assert result.value[1] == np.inf


@pytest.mark.parametrize(("opcode", "terms"), [("dot", 24), ("dot", 300), ("add", 300), ("multiply", 300)])
def test_bounds_hold_what_any_order_rounds_to_and_not_much_more(opcode: str, terms: int) -> None:
    """Rounding errors of either sign cancel, so that what is seen grows with the root of the number of terms."""
    end = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
    roots = {
        "dot": f"dot(x, y), {end}",
        **dict.fromkeys(("add", "multiply"), "reduce(x, z), dimensions={0}, to_apply=add"),
    }
    lines = _lines(*TWO, "z = TYPE[] constant(1)", f"ROOT r = TYPE[] {roots[opcode]}", element_type="f32", size=terms)
    generator, ratios = np.random.default_rng(0), []
    combine = np.multiply if opcode == "multiply" else np.add
    for _ in range(8):
        x, y = (generator.uniform(0.8, 1.25, terms).astype(np.float32) for _ in "xy")
        computations = ADD.replace("TYPE", "f32").replace(" add(", f" {opcode}(" if opcode != "dot" else " add(")
        (result,) = wide(*lines, inputs=(x, y), computations=computations)
        each = x * y if opcode == "dot" else np.append(x, np.float32(1))
        found = [combine.accumulate(generator.permutation(each))[-1] for _ in range(12)]
        assert all(map(np.all, map(result.allows, found)))
        seen = np.max(np.abs(np.float64(found) - result.value))
        ratios.append(result.bound / max(seen, np.finfo(np.float32).eps / 2 * abs(result.value)))
    assert np.median(ratios) <= 4 * np.sqrt(terms)


def test_integers_are_factors_of_infinities_and_never_lost() -> None:
    module = compiler.parse(
        """ENTRY e { x = f32[1,2,3] parameter(0) k = u64[2,1,2] parameter(1)
        ROOT r = f32[1,1,2] convolution(x, k), window={size=2}, dim_labels=bf0_io0->bf0 }"""
    )
    x, kernel = np.full((1, 2, 3), np.inf, np.float32), np.ones((2, 1, 2), np.uint64)
    (found,) = compiler.interpret(module, x, kernel, wide=True)
    assert np.array_equal(found.value, np.full((1, 1, 2), np.inf))
    assert not found.bound.any()


@pytest.mark.parametrize("element_type", ["s8", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("result", ["bf16", "f32", "f64"])
@pytest.mark.parametrize("opcode", ["dot", "ragged-dot", "convolution"])
@pytest.mark.parametrize("ends", [False, True], ids=["any", "ends among small ones"])
def test_integers_that_are_summed_as_floats_count_by_their_magnitude(
    opcode: str, element_type: str, result: str, *, ends: bool
) -> None:
    """The least integer as well, whose magnitude its type does not hold."""
    given, rule = {
        "dot": ("x = T[4,9] parameter(0)  y = T[9,5] parameter(1)", "[4,5] dot(x, y), C={1}, rhs_contracting_dims={0}"),
        "ragged-dot": (
            "x = T[4,9] parameter(0)  y = T[2,9,5] parameter(1)  n = s32[2] constant({1, 3})",
            "[4,5] ragged-dot(x, y, n), C={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
        ),
        "convolution": (
            "x = T[1,9,3] parameter(0)  y = T[4,3,5] parameter(1)",
            "[1,6,5] convolution(x, y), window={size=4}, dim_labels=b0f_0io->b0f",
        ),
    }[opcode]
    rule = rule.replace("C=", "lhs_contracting_dims=")
    module = compiler.parse(f"ENTRY e {{ {given.replace('T', element_type)}  ROOT r = {result}{rule} }}")
    dtype, rng = TYPES[element_type].dtype, np.random.default_rng(5)
    low, high = max(int(np.iinfo(dtype).min), -(2**60)), min(int(np.iinfo(dtype).max), 2**60)
    arrays = [rng.integers(low, high, p.array.dims, dtype, endpoint=True) for p in module.entry.parameters]
    if ends:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        arrays = [np.where(a % 7 == 0, least, np.where(a % 11 == 0, most, a % 5)).astype(dtype) for a in arrays]
    (found,), (expected,) = compiler.interpret(module, *arrays, wide=True), compiler.interpret(module, *arrays)
    exact = sum_of_products(opcode, *(array.astype(object) for array in arrays))
    for right in (expected, exact):
        assert (np.abs(right.astype(np.float64) - found.value) <= np.abs(found.bound)).all()


def sum_of_products(opcode, x, y):
    """The exact results, in Python's integers."""
    if opcode == "convolution":
        return np.stack([sum(x[0, at + k] @ y[k] for k in range(4)) for at in range(6)])[None]
    return x @ y if opcode == "dot" else np.concatenate([x[:1] @ y[0], x[1:] @ y[1]])
