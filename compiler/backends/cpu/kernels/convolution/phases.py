"""Dilated inputs taken apart: positions whose windows meet the input's elements at the same taps are one *phase*.

A dilation of n puts n - 1 zeros behind every element of the input.  Of neighbouring positions, each meets elements at
every n-th tap only, starting from another one.  So the positions of a phase, n apart, are those of a convolution of the
input as it is with those taps; every tap belongs to one phase.  None is multiplied with a zero in between.

Products with zeros do matter where weights are NaN or infinite: they are NaN, as those with padding are.  So each phase
starts its sums from zero times the taps of all the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.ir.attributes import Window, WindowDimension

_MOST = 8
"""Phases of one convolution: there is code for each."""


@dataclass(frozen=True, slots=True)
class PhaseDimension:
    """One spatial dimension of a phase.

    It has `count` positions, the `first` and then one in `every`, and `taps` taps, `first_tap` and then one in `every`.
    The first of both meets element `skipped` of the copy.
    """

    every: int = 1
    first: int = 0
    count: int = 1
    first_tap: int = 0
    taps: int = 1
    skipped: int = 0


Phase: TypeAlias = tuple[PhaseDimension, ...]


def phases(window: Window, counts: Sequence[int]) -> tuple[Phase, ...]:
    """The phases of a convolution with so many positions in each spatial dimension; the first has the most in all."""
    apart, total = [], 1
    for dimension, count in zip(window, counts, strict=True):
        options = _dimension_phases(dimension, count)
        if total * len(options) > _MOST:
            options = [_whole(dimension, count)]
        total *= len(options)
        apart.append(options)
    return tuple(itertools.product(*apart))


def copied(window: Window, found: tuple[Phase, ...]) -> Window:
    """The window over the copy that all phases read: from the first element that one of them meets to the last."""
    result = []
    for dim, dimension in enumerate(window):
        options = [phase[dim] for phase in found if phase[dim].taps]
        if all(one.every == 1 for one in options):
            result.append(dimension)
            continue
        reach = max(one.skipped + (one.taps - 1) * dimension.rhs_dilate for one in options) + 1
        start = min(_start(dimension, one) for one in options)
        result.append(replace(dimension, size=reach, pad_low=-start, lhs_dilate=1, rhs_dilate=1))
    return tuple(result)


def _whole(dimension: WindowDimension, count: int) -> PhaseDimension:
    return PhaseDimension(count=count, taps=dimension.size)


def _dimension_phases(dimension: WindowDimension, count: int) -> list[PhaseDimension]:
    every = dimension.lhs_dilate
    if every == 1 or dimension.stride > 1 or math.gcd(every, dimension.rhs_dilate) > 1 or count < every:
        # Of fewer positions than phases, some would have taps, but no positions.
        return [_whole(dimension, count)]
    found = []
    for first in range(every):
        tap = next(t for t in range(every) if (first + t * dimension.rhs_dilate - dimension.pad_low) % every == 0)
        taps = max(0, -(-(dimension.size - tap) // every))
        found.append(PhaseDimension(every, first, -(-(count - first) // every), tap, taps))
    start = min((_start(dimension, one) for one in found if one.taps), default=0)
    return [replace(one, skipped=_start(dimension, one) - start) if one.taps else one for one in found]


def _start(dimension: WindowDimension, one: PhaseDimension) -> int:
    """The input's element that the first tap meets at the first position; outside of the input it is padding."""
    return (one.first + one.first_tap * dimension.rhs_dilate - dimension.pad_low) // one.every
