"""What kind of wrong a result is: the first thing that somebody who looks for the bug wants to know.

| kind            | what it looks like                                                                       |
|-----------------|------------------------------------------------------------------------------------------|
| `special`       | the wrong elements are NaN or infinite on one side only                                  |
| `index`         | the values are right but stand elsewhere                                                 |
| `rounding`      | a few units of the last place                                                            |
| `reassociation` | far less than the largest element, as sums in another order differ, but beyond the bound |
| `garbage`       | far more than the largest element                                                        |
| `value`         | anything else                                                                            |
| `zero`          | nothing but zeros of the other sign                                                      |

They are told by the arrays alone, so they are a hint and no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlabench.judging.tolerance import Array, finfo, is_inexact, raw_bits, real_dtype

_ULPS = 64
_FAR = 1e4
_MOVED = 0.9


@np.errstate(all="ignore")  # a NaN that is to be signalled is one like others here
def kind_of(expected: Sequence[Array], actual: Sequence[Array]) -> str:
    """The kind of the first result that differs; empty where none does, or their shapes do."""
    for want, got in zip(expected, actual, strict=False):
        if want.shape != got.shape or want.dtype != got.dtype:
            return ""
        differing = _differing(want, got)
        if differing.any():
            return _kind(want, got, differing)
    return "zero" if any(map(_is_turned, expected, actual)) else ""


def _is_turned(want: Array, got: Array) -> bool:
    """Whether zeros of one result have the other sign."""
    if not is_inexact(want.dtype) or want.dtype.kind == "c":
        return False
    want, got = want.astype(np.float64), got.astype(np.float64)
    return bool(((want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got))).any())


def _differing(want: Array, got: Array) -> NDArray[np.bool_]:
    unequal = raw_bits(want) != raw_bits(got)
    if unequal.ndim > want.ndim:
        unequal = unequal.any(axis=-1)
    if not is_inexact(want.dtype):
        return np.asarray(unequal)
    return np.asarray(unequal & ~(np.isnan(want) & np.isnan(got)) & (want != got))


def _kind(want: Array, got: Array, differing: NDArray[np.bool_]) -> str:
    left, right = _wide(want[differing]), _wide(got[differing])
    finite = np.isfinite(left) & np.isfinite(right)
    if not finite.any():
        return "special"
    if np.count_nonzero(differing) > 1 and _is_moved(want, got, differing):
        return "index"
    error = np.abs(left - right)[finite]
    sizes = np.abs(left)[finite]
    everything = np.abs(_wide(want))
    largest = float(np.max(everything, where=np.isfinite(everything), initial=0.0))
    if is_inexact(want.dtype):
        epsilon = float(finfo(real_dtype(want.dtype)).eps)
        if bool((error <= _ULPS * epsilon * sizes).all()):
            return "rounding"
        if bool((error <= np.sqrt(epsilon) * largest).all()):
            return "reassociation"
    return "garbage" if bool((error > _FAR * max(largest, 1.0)).any()) else "value"


def _is_moved(want: Array, got: Array, differing: NDArray[np.bool_]) -> bool:
    """Whether wrong elements are mostly others of the same array, and not all the same one."""
    known = {value.tobytes() for value in want.reshape(-1)}
    wrong: list[Any] = [value.tobytes() for value in got[differing]]
    return len(known) > 2 and len(set(wrong)) > 1 and sum(value in known for value in wrong) >= _MOVED * len(wrong)


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
