"""A machine may take denormal numbers for zeros on the way to a result that is none: every term so lost is allowed."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from wide_results import wide

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
