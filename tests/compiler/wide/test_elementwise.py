"""Bounds of ops whose results depend on the type's own digits, over every float type, denormals in front."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.ir.types import TYPES, Kind

FLOATS = [name for name, kind in TYPES.items() if kind.kind is Kind.FLOAT and kind.bits >= 8]
FORMATS = [(5, 2), (4, 3), (2, 1), (8, 7), (3, 0), (11, 1)]


def numbers(name: str) -> np.ndarray:
    """All of a type of 8 bits; of others denormals first, then any."""
    dtype = TYPES[name].dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    if dtype.itemsize == 1:
        return np.arange(256, dtype=bits).view(dtype)
    rng = np.random.default_rng(0)
    digits = {2: 7, 4: 23, 8: 52}[dtype.itemsize]
    few, any_ = rng.integers(0, 1 << digits, 100), rng.integers(0, 1 << 8 * dtype.itemsize - 1, 156)
    return np.concatenate([few, any_]).astype(bits).view(dtype)


@pytest.mark.parametrize("name", FLOATS)
def test_numbers_of_fewer_digits_are_within_their_bounds(name: str) -> None:
    x = numbers(name)
    for exponent, mantissa in FORMATS:
        module = compiler.parse(
            f"HloModule m\nENTRY e {{ x = {name}[256] parameter(0)  ROOT r = {name}[256] reduce-precision(x), "
            f"exponent_bits={exponent}, mantissa_bits={mantissa} }}"
        )
        (found,), (bound,) = compiler.interpret(module, x), compiler.interpret(module, x, wide=True)
        assert bound.allows(found).all(), (exponent, mantissa)
