"""What is simpler than what: sizes, element types and values of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from compiler import edit
from xlabench.judging.tolerance import Array, is_inexact

_SMALL = (0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 256)

_RANKS = ("pred", "f32", "s32", "u32", "f64", "s64", "u64", "bf16", "f16", "s8", "u8", "s16", "u16", "c64", "c128")

_NARROW_FLOATS = (
    "f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e3m4", "f8e8m0fnu",
    "f6e2m3fn", "f6e3m2fn", "f4e2m1fn",
)  # fmt: skip
_NARROW_INTEGERS = ("s4", "u4", "s2", "u2", "s1", "u1")

TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("f64", "f16", "bf16", *_NARROW_FLOATS), ("f32",)),
    **dict.fromkeys(("s64", "s16", "s8", "u8", "u16", "u32", "u64", *_NARROW_INTEGERS), ("s32",)),
    "c64": ("f32",),
    "c128": ("f32", "c64"),
}
"""The types worth trying instead of a type."""


def type_rank(name: str) -> int:
    """How unusual an element type is."""
    return _RANKS.index(name) if name in _RANKS else len(_RANKS)


def sizes(module: Any) -> Iterator[tuple[int, int]]:
    """Pairs of a size of dimensions and a smaller one to try, the largest size first, the smallest try first."""
    present = {d for i in module.instructions() if isinstance(i.shape, edit.ArrayShape) for d in i.shape.dims}
    for size in sorted(present, reverse=True):
        for smaller in (*(s for s in _SMALL[1:] if s < size), size // 2, size - 1):
            if 0 < smaller < size:
                yield size, smaller


def values_for(array: Array) -> list[Array]:
    """Simpler arrays of the same shape and type, the simplest first."""
    size, dtype = array.size, array.dtype
    kinds = [np.zeros(size), np.ones(size), np.arange(size) % 8]
    if is_inexact(dtype):
        with np.errstate(all="ignore"):
            wide = array.reshape(-1).astype(np.complex128).real
            kinds.append(np.where(np.isfinite(wide), np.round(wide), wide))
    else:
        kinds.append(array.reshape(-1))
    return [np.asarray(kind.astype(dtype)).reshape(array.shape) for kind in kinds]


def value_rank(array: Array) -> int:
    """0 for zeros, 1 for ones, 2 for counting, 3 for whole numbers, 4 for anything else."""
    found = (rank for rank, simple in enumerate(values_for(array)) if simple.tobytes() == array.tobytes())
    return next(found, 4)
