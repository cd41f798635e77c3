"""Values that ops are called on."""

import numpy as np

from compiler.ir.types import PRED, ElementType


def specials(element_type: ElementType) -> np.ndarray:
    """Values where functions are odd: zeros of both signs, ones, halves, large ones, bounds, infinities, NaN."""
    if element_type is PRED:
        return np.array([False, True])
    if element_type.is_integer:
        info = np.iinfo(element_type.dtype)
        given = [0, 1, 2, 3, 7, 31, 100, info.max, *([-1, -2, -3, -7, info.min, info.min + 1] if info.min else [])]
        return np.array(given, element_type.dtype)
    values = [0.0, -0.0, 1, -1, 0.5, -0.5, 0.25, 1.5, 2.5, -2.5, 3.5, 7, -7.25, 0.9, 1e-3, -1e-3, 30, -30]
    values += [np.inf, -np.inf, np.nan]
    if element_type.is_complex:
        parts = [0, 1, -1, 0.5, -2.5, 3]
        return np.array([complex(a, b) for a in parts for b in parts], element_type.dtype)
    return np.array(values).astype(element_type.dtype)


def numbers(element_type: ElementType, *dims: int, seed: int = 0) -> np.ndarray:
    """Ordinary numbers."""
    rng = np.random.default_rng(seed)
    if element_type is PRED:
        return rng.integers(0, 2, dims).astype(bool)
    if element_type.is_integer:
        return rng.integers(0 if not element_type.is_signed else -9, 10, dims).astype(element_type.dtype)
    values = rng.integers(-16, 17, dims) / 4
    if element_type.is_complex:
        values = values + 1j * rng.integers(-16, 17, dims) / 4
    return values.astype(element_type.dtype)


def ints(*values: int) -> np.ndarray:
    """A vector of indices."""
    return np.array(values, np.int32)


def scalar(value: int) -> np.ndarray:
    """An index."""
    return np.array(value, np.int32)
