"""Functions of complex numbers against the reference, special values and branch cuts first."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import compiler

PARTS = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 1e300, 0.5, -2.0, 3.0)
SPECIAL = np.array([complex(a, b) for a, b in product(PARTS, PARTS)])
TYPES = {"c64": (np.complex64, 2e-7), "c128": (np.complex128, 1e-15)}
INVERSE = ("acos", "acosh", "asin", "asinh", "atanh")


def numbers():
    """Of every size, and near the branch points at -1 and 1."""
    generator = np.random.default_rng(0)
    sizes = np.exp(generator.uniform(-20, 20, (2, 500)))
    drawn = generator.standard_normal((2, 500)) * sizes
    near = generator.choice([-1, 1], 500) + 1e-6 * generator.standard_normal(500)
    above = generator.standard_normal(500) * 10.0 ** generator.uniform(-12, 0, 500)
    return np.concatenate([drawn[0] + 1j * drawn[1], near + 1j * above])


def results(opcode, element_type, inputs):
    module = compiler.parse(f"""HloModule m
      ENTRY e {{
        x = {element_type}[{inputs.size}] parameter(0)
        ROOT r = {element_type}[{inputs.size}] {opcode}(x)
      }}""")
    (expected,) = compiler.interpret(module, inputs)
    (native,) = compiler.compile(module, "cpu", compiler.CompileOptions())(inputs)
    return expected, native


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("opcode", INVERSE)
def test_inverse_functions_are_those_of_the_reference(opcode, element_type):
    dtype, tolerance = TYPES[element_type]
    expected, native = results(opcode, element_type, numbers().astype(dtype))
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(native, part), getattr(expected, part), rtol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("opcode", INVERSE)
def test_special_values_are_those_of_the_reference(opcode, element_type):
    dtype, tolerance = TYPES[element_type]
    with np.errstate(all="ignore"):
        expected, native = results(opcode, element_type, SPECIAL.astype(dtype))
    for part in ("real", "imag"):
        want, have = getattr(expected, part), getattr(native, part)
        np.testing.assert_allclose(have, want, rtol=tolerance)
        known = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(have[known]), np.signbit(want[known]))


EXTREMES = (0.0, 5e-324, 1.5e-323, 2.5e-308, 1.5e-154, 1e-9, 0.5, 3.25, 88.0, 1.4e154, 8.9e307, 1.7e308)
FUNCTIONS = (
    *INVERSE, "cbrt", "cosh", "cosine", "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic",
    "rsqrt", "sign", "sine", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip


def every_pair(element_type):
    dtype, _ = TYPES[element_type]
    parts = np.array([*EXTREMES, *(-x for x in EXTREMES)])
    if dtype is np.complex64:
        parts = np.clip(parts, -3e38, 3e38)
    return (parts[:, None] + np.zeros(parts.size) + 1j * parts).ravel().astype(dtype)


def check_bounds(text, *inputs):
    module = compiler.parse(text)
    (wide,) = compiler.interpret(module, *inputs, wide=True)
    for (array,) in (compiler.interpret(module, *inputs), compiler.compile(module, "cpu")(*inputs)):
        wrong = ~wide.allows(array)
        assert not wrong.any(), [x[wrong][:3] for x in (*inputs, array, wide.value, wide.bound)]
    return wide.value


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("opcode", FUNCTIONS)
def test_numbers_of_any_size_keep_the_bounds(opcode, element_type):
    inputs = every_pair(element_type)
    kind = f"{element_type}[{inputs.size}]"
    check_bounds(f"ENTRY e {{ x = {kind} parameter(0) ROOT r = {kind} {opcode}(x) }}", inputs)


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("opcode", ["atan2", "divide", "power", "multiply"])
def test_pairs_of_numbers_of_any_size_keep_the_bounds(opcode, element_type):
    inputs = every_pair(element_type)
    others = np.random.default_rng(0).permutation(inputs)
    kind = f"{element_type}[{inputs.size}]"
    text = f"ENTRY e {{ x = {kind} parameter(0) y = {kind} parameter(1) ROOT r = {kind} {opcode}(x, y) }}"
    check_bounds(text, inputs, others)


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("divisor", [0.0, -0.0, -3.0, 1e-30, np.inf, np.nan])
def test_quotients_by_a_real_number_are_those_of_the_reference(divisor, element_type):
    dtype, tolerance = TYPES[element_type]
    # Where one part is far larger the reference, which scales both alike, loses the other.
    moderate = [z for z in SPECIAL if not {abs(z.real), abs(z.imag)} & {1e300, 1e-300}]
    inputs = np.tile(np.array(moderate), 8).astype(dtype)  # enough of them for the form that is tried first
    module = compiler.parse(f"""ENTRY e {{
      x = {element_type}[{inputs.size}] parameter(0)
      c = {element_type}[] constant(({divisor}, 0))
      d = {element_type}[{inputs.size}] broadcast(c), dimensions={{}}
      ROOT r = {element_type}[{inputs.size}] divide(x, d)
    }}""")
    with np.errstate(all="ignore"):
        (want,) = compiler.interpret(module, inputs)
    (have,) = compiler.compile(module, "cpu")(inputs)
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(have, part), getattr(want, part), rtol=tolerance)


def test_magnitudes_that_no_number_holds_are_no_obstacle():
    huge = np.array([complex(1.7e308, 1.7e308), complex(-1.7e308, 8e307), complex(1.5e-323, 1.5e-323)])
    expected, native = results("sign", "c128", huge)
    np.testing.assert_allclose(np.abs(expected), 1.0, rtol=1e-15)
    np.testing.assert_allclose(native, expected, rtol=1e-15)
    expected, native = results("cbrt", "c128", huge)
    np.testing.assert_allclose(expected, np.exp(np.log(huge) / 3), rtol=1e-13)
    np.testing.assert_allclose(native, expected, rtol=1e-15)
    own = check_bounds("ENTRY e { x = c128[3] parameter(0) ROOT r = c128[3] divide(x, x) }", huge)
    np.testing.assert_array_equal(own, 1.0)
