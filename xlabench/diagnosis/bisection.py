"""Where it begins to be wrong, among numbers in order of which the first is right and the last is not."""

from __future__ import annotations

from collections.abc import Callable


def nearest(good: int, bad: int, is_bad: Callable[[int], bool]) -> tuple[int, int]:
    """Neighbours between a `good` and a `bad` number, of which the first is good and the second bad, by `is_bad`."""
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if is_bad(middle) else (middle, bad)
    return good, bad
