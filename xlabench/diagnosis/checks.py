"""Where a failure comes and goes: the same engine with its checks on, with which it comes every time.

What reads memory that nobody wrote, or writes where it must not, gives one result now and another later, or ends the
process, by what lies there; and a race may well be won.  Nothing can be reduced or blamed by that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Judgement, Prober, with_options
from xlabench.engines.spec import split_spec
from xlabench.results import RIGHT

_CHECKS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("cpu", ""): {"check_memory": "on"},
    ("nvptx", "sim"): {"check_races": "on"},
}
"""By engine and device; of memory the simulator has every access checked anyway."""

_MAY_BE_CHANCE = RIGHT | {"flaky"}


def checked(spec: str) -> str:
    """The spec with all that the engine can check."""
    name, options = split_spec(spec)
    for (engine, device), checks in _CHECKS.items():
        if name == engine and (not device or device in options):
            return with_options(spec, checks)
    return spec


def settle(probers: Sequence[Prober], case: Case) -> Judgement:
    """Judge a case; where what it does may be chance, all are to ask with checks on, if it fails so every time.

    That is where it comes and goes, ends the process, or does not fail at all, now that it is asked about again.
    """
    first, *_ = probers
    judgement, closer = first.judge(case), replace(first.setup, engine=checked(first.setup.engine))
    is_chance = judgement.verdict in _MAY_BE_CHANCE or (judgement.verdict, judgement.stage) == ("crash", "run")
    if not is_chance or closer == first.setup:
        return judgement
    first.renew()
    again = first.judge(case, engine=closer.engine, expected=judgement.expected)
    if not again.is_failure or again.verdict == "flaky":
        return judgement
    for prober in probers:
        prober.setup = closer
    return again
