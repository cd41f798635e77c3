"""How long engines are asked about one finding: a campaign goes on only behind the last question.

Probes alone are no measure: one of who is to blame for a loop that an engine does not end is many questions, each of
which takes all the time that it may.  So a finding has a deadline, and an answer that is cut off by it is none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xlabench.errors import BenchError
from xlabench.jobs import Asked
from xlabench.worker import Outcome

FOLLOW_UP_S = 300.0
"""Seconds for all that is asked about one finding: of hundreds of kernels the simulator takes a minute a question, and
most findings are done in less than one."""
_FEWEST_QUESTIONS = 5
"""Questions that may take all their time at least: the reference's and the engine's results, and once more under
checks, and bounds."""
_LONGER, _LEAST_S = 4.0, 5.0
"""A smaller program is given up after so many times as long as the slowest question about the original that ended, and
not before so many seconds, in which a process begins and compiles on a busy machine."""


class OutOfTime(BenchError):
    """The time for looking into a finding is up."""

    def __init__(self) -> None:
        super().__init__("the time for looking into it is up")


class Budget:
    """The time that is left for a finding, which probers share; without `seconds` there is no end to it."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._end = time.monotonic() + seconds
        self._is_bounded = seconds < math.inf
        self._slowest_s, self._is_for_smaller, self._is_last = 0.0, False, False

    @classmethod
    def of_a_finding(cls, timeout_s: float, left_s: float = math.inf) -> Budget:
        """That of one finding.

        Args:
            timeout_s: seconds that a question may take.
            left_s: seconds that there are for all findings.
        """
        return cls(min(left_s, max(FOLLOW_UP_S, _FEWEST_QUESTIONS * timeout_s)))

    @property
    def is_spent(self) -> bool:
        """Whether nothing more may be asked."""
        return time.monotonic() >= self._end

    @contextmanager
    def for_smaller(self, verdict: str) -> Iterator[None]:
        """Give smaller programs less time than the original, unless that they do not end is the `verdict` to be."""
        self._is_for_smaller = self._is_bounded and verdict != "timeout"
        try:
            yield
        finally:
            self._is_for_smaller = False

    @contextmanager
    def for_the_last(self) -> Iterator[None]:
        """Have what is kept judged, however late it is."""
        self._is_last = True
        try:
            yield
        finally:
            self._is_last = False

    def ask(self, worker: Asked, job: str, arguments: Mapping[str, Any], timeout_s: float) -> Outcome:
        """Ask a worker for as long as there is time.

        Args:
            worker: who is asked.
            job: the function, as `module:name`.
            arguments: its arguments.
            timeout_s: seconds that it has where enough are left.

        Raises:
            OutOfTime: it is up, before the question or while it was asked.
        """
        begin = time.monotonic()
        wanted = min(timeout_s, max(_LEAST_S, _LONGER * self._slowest_s)) if self._is_for_smaller else timeout_s
        limit = wanted if self._is_last else min(wanted, self._end - begin)
        if limit <= 0:
            raise OutOfTime
        outcome = worker.run(job, arguments, timeout_s=limit)
        if outcome.ending == "timeout" and limit < wanted:
            raise OutOfTime
        if outcome.ending != "timeout" and not self._is_for_smaller:
            self._slowest_s = max(self._slowest_s, time.monotonic() - begin)
        return outcome


class Bounded:
    """A worker that is asked within a budget."""

    def __init__(self, worker: Asked, budget: Budget) -> None:
        self._worker, self._budget = worker, budget

    def run(self, job: str, arguments: Mapping[str, Any], *, timeout_s: float) -> Outcome:
        """Ask it.

        Args:
            job: the function, as `module:name`.
            arguments: its arguments.
            timeout_s: seconds that it has.

        Raises:
            OutOfTime: there is no more.
        """
        return self._budget.ask(self._worker, job, arguments, timeout_s)

    def stop(self) -> None:
        """End it and all it started."""
        self._worker.stop()
