"""Every rounding is the one that rational arithmetic gives, and NaN is always the canonical one."""

from fractions import Fraction

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import rounding
from compiler.backends.nvptx.simulator.rounding import FORMATS, fma_f64, fma_for_f32, fma_odd, from_wide, to_wide

MODES = ("rn", "rz", "rm", "rp")
NARROW = [name for name in FORMATS if name != "f64"]
WIDE = np.array([0.0, -0.0, 1.0, 1 + 2**-11, 1 + 2**-8, 1 / 3, -1 / 3, 65504.0, 3.0e38, 1e-40, 6e-8, 2.0**-149, -1e-45])


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_holds_goes_through_wide_and_back(name):
    form = FORMATS[name]
    raw = np.arange(1 << 16, dtype=np.uint16).astype(form.storage)
    raw = raw << form.storage.type(8 * form.storage.itemsize - 16)
    with np.errstate(invalid="ignore"):
        back = from_wide(to_wide(raw, form), form)
    is_nan = rounding.is_nan_bits(raw, form)
    np.testing.assert_array_equal(back[~is_nan], raw[~is_nan])
    assert set(back[is_nan].tolist()) <= {form.nan}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NARROW)
def test_a_number_is_rounded_in_the_direction_that_is_asked_for(name, mode):
    form = FORMATS[name]
    with np.errstate(over="ignore", under="ignore"):
        rounded = to_wide(from_wide(WIDE, form, mode), form)
        nearest = to_wide(from_wide(WIDE, form), form)
    up, down, shorter = rounded >= WIDE, rounded <= WIDE, np.abs(rounded) <= np.abs(WIDE)
    assert {"rn": (rounded == nearest), "rp": up, "rm": down, "rz": shorter}[mode].all()
    exact = nearest == WIDE
    assert (rounded[exact] == WIDE[exact]).all()


@pytest.mark.parametrize("name", FORMATS)
def test_subnormal_numbers_become_zeros_of_their_sign(name):
    form = FORMATS[name]
    raw = np.array([1, form.sign | 1, form.one, form.infinity, 0], form.storage)
    assert rounding.flush(raw, form).tolist() == [0, form.sign, form.one, form.infinity, 0]


@pytest.mark.parametrize("name", FORMATS)
def test_saturation_clamps_and_takes_nan_for_zero(name):
    form = FORMATS[name]
    raw = np.array([form.nan, form.sign | form.one, form.infinity, form.one, form.sign, 1], form.storage)
    assert rounding.saturate(raw, form).tolist() == [0, 0, form.one, form.one, 0, 1]


@pytest.mark.parametrize("mode", MODES)
def test_a_fraction_is_rounded_to_the_next_double(mode):
    for exact in (Fraction(1, 3), Fraction(-1, 3), Fraction(1), Fraction(10) ** 400, -(Fraction(10) ** 400)):
        found = rounding.round_fraction(exact, mode)
        if mode == "rp":
            assert found == np.inf or Fraction(found) >= exact
        if mode == "rm":
            assert found == -np.inf or Fraction(found) <= exact
        if mode == "rz":
            assert abs(Fraction(found)) <= abs(exact)
        if mode == "rn":
            assert found == float(exact) if abs(exact) < 2 else np.isinf(found)


def drawn(seed, count, low=-30, high=30):
    draw = np.random.default_rng(seed)
    return np.ldexp(draw.standard_normal(count), draw.integers(low, high, count))


@pytest.mark.parametrize("seed", range(4))
def test_a_fused_multiply_add_is_rounded_once(seed):
    a, b = drawn(seed, 300), drawn(seed + 100, 300)
    c = np.where(np.arange(300) % 3, drawn(seed + 200, 300), -a * b)
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    assert fma_f64(a, b, c).tolist() == [float(value) for value in exact]


@pytest.mark.parametrize("seed", range(4))
def test_a_fused_multiply_add_of_f32_is_right_after_rounding_to_f32(seed):
    a, b, c = (drawn(seed + n, 400, -60, 10).astype(np.float32).astype(np.float64) for n in (0, 100, 200))
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    expected = from_wide(fma_odd(a, b, c), FORMATS["f32"])
    np.testing.assert_array_equal(from_wide(fma_for_f32(a, b, c), FORMATS["f32"]), expected)
    found = expected.view(np.float32).astype(np.float64)
    step = np.spacing(np.abs(found).astype(np.float32)).astype(np.float64)
    assert all(abs(Fraction(f) - e) <= Fraction(s) / 2 for f, e, s in zip(found, exact, step, strict=True))


def test_special_values_of_a_fused_multiply_add_are_those_of_arithmetic():
    inf, nan = np.inf, np.nan
    rows = [
        (inf, 0.0, 1.0, nan),
        (inf, 1.0, -inf, nan),
        (0.0, 5.0, -0.0, 0.0),
        (1.0, 1.0, inf, inf),
        (-0.0, 5, -0.0, -0.0),
    ]
    a, b, c, expected = (np.array(column) for column in zip(*rows, strict=True))
    with np.errstate(invalid="ignore"):
        found = fma_f64(a, b, c)
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found[[2, 4]]).tolist() == [False, True]
