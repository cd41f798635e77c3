"""Dilated inputs taken apart: places whose windows meet the input's elements at the same taps are one *phase*.

A dilation of n puts n - 1 zeros behind every element of the input.  Of neighbouring places, each meets elements at
every n-th tap only, starting from another one.  So the places of a phase, n apart, are those of a convolution of the
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
class Part:
    """One spatial dimension of a phase.

    It has `count` places, the `first` and then one in `every`, and `taps` taps, `first_tap` and then one in `every`.
    The first of both meets element `skipped` of the copy.
    """

    every: int = 1
    first: int = 0
    count: int = 1
    first_tap: int = 0
    taps: int = 1
    skipped: int = 0


Phase: TypeAlias = tuple[Part, ...]


def phases(window: Window, places: Sequence[int]) -> tuple[Phase, ...]:
    """The phases of a convolution with so many places in each spatial dimension; the first has the most in all."""
    apart, total = [], 1
    for part, count in zip(window, places, strict=True):
        parts = _parts(part, count)
        if total * len(parts) > _MOST:
            parts = [_whole(part, count)]
        total *= len(parts)
        apart.append(parts)
    return tuple(itertools.product(*apart))


def copied(window: Window, found: tuple[Phase, ...]) -> Window:
    """The window over the copy that all phases read: from the first element that one of them meets to the last."""
    result = []
    for dim, part in enumerate(window):
        parts = [phase[dim] for phase in found if phase[dim].taps]
        if all(one.every == 1 for one in parts):
            result.append(part)
            continue
        reach = max(one.skipped + (one.taps - 1) * part.rhs_dilate for one in parts) + 1
        start = min(_start(part, one) for one in parts)
        result.append(replace(part, size=reach, pad_low=-start, lhs_dilate=1, rhs_dilate=1))
    return tuple(result)


def _whole(part: WindowDimension, count: int) -> Part:
    return Part(count=count, taps=part.size)


def _parts(part: WindowDimension, count: int) -> list[Part]:
    every = part.lhs_dilate
    if every == 1 or part.stride > 1 or math.gcd(every, part.rhs_dilate) > 1 or count < every:
        # Of fewer places than phases, some would have taps, but no places.
        return [_whole(part, count)]
    found = []
    for first in range(every):
        tap = next(t for t in range(every) if (first + t * part.rhs_dilate - part.pad_low) % every == 0)
        taps = max(0, -(-(part.size - tap) // every))
        found.append(Part(every, first, -(-(count - first) // every), tap, taps))
    start = min((_start(part, one) for one in found if one.taps), default=0)
    return [replace(one, skipped=_start(part, one) - start) if one.taps else one for one in found]


def _start(part: WindowDimension, one: Part) -> int:
    """The input's element that the first tap meets at the first place; outside of the input it is padding."""
    return (one.first + one.first_tap * part.rhs_dilate - part.pad_low) // one.every
