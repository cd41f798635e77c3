"""Names that are free: the one that is asked for, or the first of its numbered forms.

Where calls are unfolded one name is asked for thousands of times, so the search goes on where it ended; and what was
given back below is kept in order, since passes take and give back names of one stem in turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush


class Names:
    """The names of a computation; of each stem all numbers below `_first` are taken, or among those `_released`."""

    __slots__ = ("_first", "_released", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._first: dict[str, int] = {}
        self._released: dict[str, list[int]] = {}

    def take(self, base: str) -> str:
        """`base`, or else its stem with the least number from 1 that is free; it is taken from then on."""
        name = base
        if name in self._taken:
            stem, _ = _split(base)
            while name in self._taken:
                name = f"{stem}.{self._next(stem)}"
        self._taken.add(name)
        return name

    def _next(self, stem: str) -> int:
        """The least number of a stem that may be free."""
        if released := self._released.get(stem):
            return heappop(released)
        number = self._first.get(stem, 1)
        self._first[stem] = number + 1
        return number

    def release(self, names: Iterable[str]) -> None:
        """Make names free."""
        for name in names:
            self._taken.discard(name)
            stem, digits = _split(name)
            # What is longer was never counted up to.
            if digits.isdecimal() and len(digits) < 10 and int(digits) < self._first.get(stem, 0):
                heappush(self._released.setdefault(stem, []), int(digits))


def _split(name: str) -> tuple[str, str]:
    """A stem and the digits after its dot, "" for none."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix) if dot and suffix.isdigit() else (name, "")
