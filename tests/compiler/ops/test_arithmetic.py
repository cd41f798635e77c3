"""What a complex zero is to any power: C's and NumPy's answer, in which only a positive real part makes it vanish."""

import itertools

import numpy as np
import pytest

import compiler

PARTS = (-np.inf, -2.0, -0.25, -0.0, 0.0, 0.5, 1.0, np.inf, np.nan)
EXPONENTS = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "cpu", "nvptx"])
@pytest.mark.parametrize("kind", ["c64", "c128"])
def test_a_complex_zero_to_any_power_is_what_numpy_says(kind, engine):
    exponents = EXPONENTS.astype({"c64": np.complex64, "c128": np.complex128}[kind])
    zeros = np.zeros_like(exponents)
    zeros[::2] *= -1
    dims = f"{kind}[{exponents.size}]"
    text = f"ENTRY e {{ x = {dims} parameter(0) y = {dims} parameter(1) ROOT r = {dims} power(x, y) }}"
    if engine == "reference":
        (result,) = compiler.interpret(text, zeros, exponents)
    else:
        device = "sim" if engine == "nvptx" else ""
        (result,) = compiler.compile(text, backend=engine, options=compiler.CompileOptions(device=device))(
            zeros, exponents
        )

    with np.errstate(all="ignore"):
        expected = np.power(zeros, exponents)
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    assert np.array_equal(result[~np.isnan(result)], expected[~np.isnan(expected)])
