"""What complex functions leave open at their singularities and cuts, and nothing else."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from exact_functions import MPMATH
from wide_results import wide


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


def test_a_small_complex_angle_is_as_good_as_the_quotient_it_is_the_logarithm_of() -> None:
    y, x = np.array(2.05347776352205 + 0.4932130314708993j), np.array(39858.996043876425 + 183963.43182733632j)
    (angle,) = wide("y = c128[] parameter(0)", "x = c128[] parameter(1)", "ROOT a = c128[] atan2(y, x)", inputs=(y, x))
    exact = 4.870913649632488e-6 - 1.0107052348392266e-5j
    assert angle.allows(np.asarray(exact)).all()
    assert not angle.allows(np.asarray(exact + 1e-13)).any()


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
    near = np.complex64(sign * 1j * side + 1e-4)
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


FUNCTIONS = sorted(MPMATH.keys() - {"cbrt", "atan2", "power", "erf"})


@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_the_bound_of_a_complex_function_is_no_more_than_its_roundings_and_what_moves_it(opcode: str) -> None:
    generator = np.random.default_rng(len(opcode))
    x = (generator.normal(size=40) + 1j * generator.normal(size=40)).astype(np.complex64)
    (result,) = wide("x = c64[40] parameter(0)", f"ROOT r = c64[40] {opcode}(x)", inputs=(x,))
    unit = float(np.finfo(np.float32).eps) / 2
    truth = [MPMATH[opcode](mpmath.mpmathify(one)) for one in x.tolist()]
    away = [abs(exact - mpmath.mpmathify(complex(v))) for exact, v in zip(truth, result.value, strict=True)]
    moved = [abs(mpmath.diff(MPMATH[opcode], mpmath.mpmathify(one))) * abs(one) for one in x.tolist()]
    allowed = unit * (32 * np.abs(result.value) + 2.1 * np.array(moved, np.float64)) + 1e-30
    assert all(off <= bound / 4 for off, bound in zip(away, result.bound, strict=True))
    assert (result.bound <= allowed * (1 + 1e-3)).all()


@pytest.mark.parametrize("point", [0, 1, -1, 1j, -1j])
@pytest.mark.parametrize("opcode", ["acos", "acosh", "asin", "asinh", "atanh", "log", "log-plus-one", "sqrt", "cbrt"])
def test_a_branch_point_that_rounding_may_reach_is_within_the_bound(opcode: str, point: complex) -> None:
    lines = tuple(f"{name} = c64[] parameter({n})" for n, name in enumerate("xyz"))
    lines += ("s = c64[] add(x, y)", "t = c64[] add(s, z)", f"ROOT r = c64[] {opcode}(t)")
    large, small = np.array(1.8446744e19, np.complex64), np.array(4.2949673e9, np.complex64)
    (result,) = wide(*lines, inputs=(-large, small, large))
    with np.errstate(all="ignore"):
        there = complex(MPMATH[opcode](mpmath.mpc(point))) if _is_defined(opcode, point) else None
    assert result.undecided.all() or there is None or result.allows(np.asarray(there)).all()


def _is_defined(opcode: str, point: complex) -> bool:
    return (opcode, point) not in {("log", 0), ("log-plus-one", -1), ("atanh", 1), ("atanh", -1)}
