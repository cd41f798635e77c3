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
