"""Where a failure comes and goes: the same engine with its checks on, with which it comes every time.

What reads memory that nobody wrote, or writes where it must not, gives one result now and another later, or ends the
process, by what lies there; and a race may well be won.  Nothing can be reduced or blamed by that, nor in a process
that was written over: checks end it before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

_APART: Mapping[str, Mapping[str, str]] = {"nvptx": {"persistent": "off"}}
"""By engine what it is told for every kernel to be launched by itself."""

_MAY_BE_CHANCE = RIGHT | {"flaky"}
_ENDED = ("crash", "run")
_ASKED_AGAIN = 2
_MAY_BE_HIT = frozenset({("wrong", ""), ("timeout", "run")})
"""Verdicts, and the stages in which an engine was."""


def checked(spec: str) -> str:
    """The spec with all that the engine can check."""
    name, options = split_spec(spec)
    for (engine, device), checks in _CHECKS.items():
        if name == engine and (not device or device in options):
            return with_options(spec, checks)
    return spec


def apart(spec: str) -> str:
    """The spec with which nothing is put together of what kernels launch, where the engine can be told."""
    return with_options(spec, _APART.get(split_spec(spec)[0], {}))


def is_right_apart(prober: Prober, case: Case, judgement: Judgement, note: Callable[[str, str], None]) -> bool:
    """Whether it is how launches are put together that is wrong, not what a kernel of several launches computes.

    Args:
        prober: asks the engine.
        case: the kernel as a program.
        judgement: what it shows.
        note: hears who was asked, and what it showed.
    """
    plain = apart(prober.setup.engine)
    if plain == prober.setup.engine:
        return False
    verdict = prober.judge(case, engine=plain, expected=judgement.expected).verdict
    note(f"{plain} on the kernel alone", verdict)
    return verdict in RIGHT


def confirm(probers: Sequence[Prober], case: Case) -> Judgement:
    """Judge a case once more, with the engine's checks on where its failure may depend on chance or on stray writes.

    Checks make a failure certain that comes and goes, that ends the process, or that does not show now that the case is
    run again.  What is wrong each time, or hangs, may be so by a write elsewhere, at which checks end the process.

    Args:
        probers: what runs cases; where checks have confirmed the failure, all of them run with checks from then on.
        case: the program with its inputs.

    Returns:
        The judgement with checks on where that is the certain one, else the one without.
    """
    first, *_ = probers
    judgement, closer = first.judge(case), replace(first.setup, engine=checked(first.setup.engine))
    how = (judgement.verdict, judgement.stage)
    may_be_chance, may_be_hit = judgement.verdict in _MAY_BE_CHANCE or how == _ENDED, how in _MAY_BE_HIT
    if closer == first.setup or not (may_be_chance or may_be_hit):
        return judgement
    first.renew()
    again = first.judge(case, engine=closer.engine, expected=judgement.expected)
    is_sure = again.is_failure and again.verdict != "flaky"
    if not is_sure or (may_be_hit and (again.verdict, again.stage) != _ENDED):
        return judgement
    for prober in probers:
        prober.setup = closer
    return again


def is_by_chance(prober: Prober, case: Case, judgement: Judgement, other: str) -> bool:
    """Whether that a case ends the engine's process, and not `other`'s, depends on what lies in memory.

    Then new processes, in which nothing was compiled before, do not all say so again.

    Args:
        prober: asks the engine.
        case: the program and its inputs.
        judgement: what it shows on the engine.
        other: the engine on which it does not.
    """
    if judgement.verdict != "crash":
        return False
    for engine, is_to_fail in ((prober.setup.engine, True), (other, False)) * _ASKED_AGAIN:
        prober.renew()
        if prober.judge(case, engine=engine, expected=judgement.expected).is_failure != is_to_fail:
            return True
    return False
