"""Who wrote over a process's memory, where that ended it while something else was at work."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from xlabench.diagnosis.checks import checked
from xlabench.engines.spec import split_spec
from xlabench.fuzzing.case_failure import CaseFailure


def attribute_crash(
    ended: CaseFailure,
    engines: Sequence[str],
    cases: Sequence[int],
    again: Callable[[Sequence[str], Sequence[int]], list[CaseFailure]],
) -> CaseFailure:
    """What is behind the end of a process: what it was doing, or an engine before that wrote over its memory.

    With the checks on that engines have, who does so is told at once: another engine on the same case, or where that
    ends no process alone, one on a case before.

    Args:
        ended: what the process was doing.
        engines: that were asked.
        cases: numbers of those that ran in it.
        again: runs cases on engines in a new process, up to the first that ends it.
    """
    closer = [checked(spec) for spec in engines]
    if ended.verdict != "crash" or closer == list(engines):
        return ended
    for numbers in ([ended.number], [*itertools.takewhile(lambda case: case != ended.number, cases)]):
        found = again(closer, numbers) if numbers else []
        crash = next((failure for failure in found if failure.verdict == "crash"), None)
        if crash is not None:
            is_same = crash.number == ended.number and split_spec(crash.engine) == split_spec(checked(ended.engine))
            return ended if is_same else crash
    return ended
