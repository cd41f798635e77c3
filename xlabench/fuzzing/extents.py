"""How long the inputs of a program are that are known at run time only: anything up to their bounds, and the ends.

Sizes are drawn for each call, so that one compiled program meets several; what was left behind the elements of a longer
input by the call before shows in a shorter one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Generator = np.random.Generator

_ENDS_PERCENT, _ENDS = 30, (0, 1, -1, -1)
"""How often a size is one of the ends: nothing, one, or all that there is room for."""


def drawn_dims(rng: Generator, shape: Any) -> tuple[int, ...]:
    """The dimensions of an input: those of the shape, of which dynamic ones are bounds.

    Args:
        rng: what is drawn by, where there is something to draw.
        shape: of a parameter.
    """
    flags = shape.dynamic or (False,) * len(shape.dims)
    return tuple(_size(rng, bound) if is_bound else bound for bound, is_bound in zip(shape.dims, flags, strict=True))


def _size(rng: Generator, bound: int) -> int:
    if rng.integers(100) >= _ENDS_PERCENT:
        return int(rng.integers(min(1, bound), bound, endpoint=True))
    end = int(rng.choice(_ENDS))
    return bound if end < 0 else min(end, bound)
