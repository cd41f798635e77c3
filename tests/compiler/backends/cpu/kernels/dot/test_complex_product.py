"""Dots of complex numbers of every form against NumPy in twice the precision."""

import numpy as np
import pytest

import compiler

_TYPES = {"c64": (np.complex64, np.complex128, 2**-23), "c128": (np.complex128, np.clongdouble, 2**-52)}


def numbers(generator, shape, dtype):
    return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("kind", _TYPES)
@pytest.mark.parametrize("swapped", ["", "l", "r", "lr"])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (2, 17, 19, 23), (1, 5, 1, 40), (2, 1, 7, 9), (1, 33, 3, 70), (1, 70, 40, 1100)], ids=str
)
def test_a_dot_of_complex_numbers(kind, swapped, shape):
    batch, m, n, k = shape
    dtype, wide, epsilon = _TYPES[kind]
    left, right = (batch, m, k), (batch, k, n)
    if "l" in swapped:
        left = (batch, k, m)
    if "r" in swapped:
        right = (batch, n, k)
    contracted = 1 if "l" in swapped else 2, 2 if "r" in swapped else 1
    text = (
        f"ENTRY e {{ a = {kind}{list(left)} parameter(0) b = {kind}{list(right)} parameter(1) "
        f"ROOT d = {kind}{[batch, m, n]} dot(a, b), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, "
        f"lhs_contracting_dims={{{contracted[0]}}}, rhs_contracting_dims={{{contracted[1]}}} }}"
    ).replace(", ", ",")
    generator = np.random.default_rng(5)
    a, b = numbers(generator, left, dtype), numbers(generator, right, dtype)
    results = [
        compiler.compile(text, backend="cpu", options=compiler.CompileOptions(threads=threads))(a, b)[0]
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*results)
    one = (a.swapaxes(1, 2) if "l" in swapped else a).astype(wide)
    other = (b.swapaxes(1, 2) if "r" in swapped else b).astype(wide)
    bound = epsilon * (2 * np.sqrt(k) + 4) * (np.abs(one) @ np.abs(other))
    assert (np.abs(results[0] - one @ other) <= bound).all()
