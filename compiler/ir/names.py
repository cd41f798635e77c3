"""Names that are free: the one that is asked for, or the first of its numbered forms.

Where calls are unfolded one name is asked for thousands of times, so the search goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names of a computation; of each stem all numbers below `_first` are taken."""

    __slots__ = ("_first", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._first: dict[str, int] = {}

    def take(self, base: str) -> str:
        """`base`, or else its stem with the least number from 1 that is free; it is taken from then on."""
        name = base
        if name in self._taken:
            stem, _ = _split(base)
            number = self._first.get(stem, 1)
            while (name := f"{stem}.{number}") in self._taken:
                number += 1
            self._first[stem] = number + 1
        self._taken.add(name)
        return name

    def release(self, names: Iterable[str]) -> None:
        """Make names free."""
        for name in names:
            self._taken.discard(name)
            stem, digits = _split(name)
            # What is longer was never counted up to.
            if digits.isdecimal() and len(digits) < 10 and int(digits) < self._first.get(stem, 0):
                self._first[stem] = int(digits)


def _split(name: str) -> tuple[str, str]:
    """A stem and the digits after its dot, "" for none."""
    stem, dot, suffix = name.rpartition(".")
    return (stem, suffix) if dot and suffix.isdigit() else (name, "")
