"""Error-free transforms: what rounding loses of a sum, as a second number, for whatever adds as floats do.

The math library writes them as code and the simulator computes them on arrays: one algorithm, with one proof.
"""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T", bound=Any)
"""Numbers of one format: arrays of them, or expressions that code is emitted for."""


def two_sum(a: T, b: T) -> tuple[T, T]:
    """The rounded sum and its exact error, in any order of size, unless the sum overflows.

    Knuth, The Art of Computer Programming, volume 2, section 4.2.2, theorem B.

    Args:
        a: a number.
        b: another, of the same format.
    """
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)
