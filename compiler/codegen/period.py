"""Iterations of a loop that belong together, because something new begins after every so many.

An index that a loop's counter moves is divided where arrays are dilated, put together in turns or reshaped.  What
stands between two iterations at which the quotient changes is emitted knowing that it does not; of few iterations each
is emitted on its own, with quotient and remainder known, however many elements the index moves in one iteration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

SHORT_PERIOD = 4
"""Iterations of a period that are written out one by one: as many elements apart LLVM's vectors take together."""


@dataclass(frozen=True, slots=True, order=True)
class Division:
    """`(factor * counter + constant) // divisor`, which a body asks for."""

    divisor: int
    factor: int
    constant: int

    @property
    def length(self) -> int:
        """After how many iterations the remainder is the same again."""
        return self.divisor // math.gcd(self.divisor, self.factor)

    @property
    def phase(self) -> int:
        """An iteration, below `length`, at which the quotient changes, where the factor divides the divisor."""
        ahead, step = self.constant, abs(self.factor)
        return (-(ahead // step) if self.factor > 0 else ahead // step + 1) % self.length

    @property
    def period(self) -> Period | None:
        """The period of this division alone; None where the quotient changes within it, too, and it is long."""
        if self.length > SHORT_PERIOD and self.divisor % self.factor:
            return None
        return Period(self.length, self.phase)


@dataclass(frozen=True, slots=True)
class Period:
    """Iterations of a loop that belong together because something new begins after every `length`, from `phase`."""

    length: int
    phase: int

    def pieces(self, first: int, stop: int) -> list[tuple[int, int]]:
        """A piece of the loop as what is before, in and behind whole periods."""
        start = min(first + (self.phase - first) % self.length, stop)
        end = start + (stop - start) // self.length * self.length
        return [piece for piece in ((first, start), (start, end), (end, stop)) if piece[0] < piece[1]]

    def fits(self, first: int, stop: int) -> bool:
        """Whether a piece is several whole periods."""
        return (first - self.phase) % self.length == (stop - first) % self.length == 0 and stop - first > self.length


def common_period(divisions: Iterable[Division]) -> Period | None:
    """A period that suits all divisions; None where there is none.

    Where each iteration is emitted on its own, it does not matter with which a period begins.
    """
    periods = [division.period for division in sorted(divisions)]
    found = {period for period in periods if period}
    if len(found) < 2 or None in periods:
        return found.pop() if len(found) == 1 and None not in periods else None
    length = math.lcm(*(period.length for period in found))
    return Period(length, min(period.phase for period in found)) if length <= SHORT_PERIOD else None
