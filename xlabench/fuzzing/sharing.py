"""Whether two engines fail by one bug behind their passes: they are asked about each other's programs.

Kernels that two back ends make share code, and not all of it.  That the program of a known finding fails on the other
engine too says so where both name an opcode in common.  Where they do not, it says nothing of what else fails there: a
program that the judge is wrong about, or that shows a bug of all kernels, fails wherever it runs.  Then the other
program has to fail on the known engine as well.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.fuzzing import causes


@dataclass(frozen=True, slots=True)
class Showing:
    """A failure with a program that shows it, whose inputs lay in memory in a `layout`, on one engine."""

    shown: causes.Shown
    engine: str
    case: Case
    layout: str


def is_one_bug(known: Showing, found: Showing, setup_of: Callable[[str, str], Setup], budget: Budget) -> bool:
    """Whether each engine that has to be asked fails on the other's program as it does on its own.

    Args:
        known: what is known of one engine.
        found: what another one shows.
        setup_of: how an engine is asked about inputs in a layout.
        budget: the time that there is; what is not asked in time is another bug.
    """
    asked = [(found, known)]
    if not causes.have_an_opcode_in_common(known.shown, found.shown):
        asked.append((known, found))
    return all(_fails_alike(one, other.case, setup_of(one.engine, other.layout), budget) for one, other in asked)


def _fails_alike(one: Showing, case: Case, setup: Setup, budget: Budget) -> bool:
    with Prober(setup, budget) as prober, suppress(OutOfTime):
        return causes.is_alike(one.shown, prober.judge(case).verdict)
    return False
