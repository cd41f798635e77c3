"""When a call of a campaign is to end: drawing, running and following up share one time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


def _nobody_does() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of the clock that only goes forward, or somebody's wish before it; without either there is no end."""

    at_s: float = math.inf
    wants_an_end: Callable[[], bool] = _nobody_does

    @classmethod
    def after(cls, seconds: float | None, wants_an_end: Callable[[], bool] = _nobody_does) -> Deadline:
        """So many seconds from now, None for no limit.

        Args:
            seconds: the time.
            wants_an_end: whether somebody wants an end before.
        """
        return cls(math.inf if seconds is None else time.monotonic() + seconds, wants_an_end)

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be begun any more."""
        return self.wants_an_end() or self.left_s <= 0

    @property
    def left_s(self) -> float:
        """Seconds until then, less than none behind it."""
        return self.at_s - time.monotonic()
