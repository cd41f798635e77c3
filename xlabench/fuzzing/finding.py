"""One finding of a campaign, as its list keeps it, and what that says of the bug behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlabench.diagnosis.witness import REFERENCE
from xlabench.fuzzing import causes, own_failures
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.survival import ERROR, US, Bug


@dataclass(frozen=True, slots=True)
class Finding:
    """One distinct kind of failure, with the smallest case that showed it and the numbers of all.

    `instructions` counts those of all computations, parameters aside; `probes` says how often the engine was asked
    while the case was reduced.  The number of a case that was found before any was drawn is negative.  Only what failed
    of our own has a traceback; `bundle` is its folder then, `note` the step and `signature` the kind.  `bug` names a
    bug that was known before, if it is one; `unasked` are functions in which Python raised what its cases showed.  What
    `is_cut_short` was not followed up, or not to the end, before the campaign's time was up: it is as small as it had
    become, and `key` (`CaseFailure`) is there to go on with it.
    """

    name: str
    engines: tuple[str, ...]
    verdict: str
    signature: tuple[str, ...]
    cause: str
    message: str
    instructions: int
    bundle: str
    verified: bool
    doubt: str
    cases: tuple[int, ...]
    note: str = ""
    probes: int = 0
    traceback: str = ""
    bug: str = ""
    unasked: tuple[str, ...] = ()
    key: str = ""
    is_cut_short: bool = False

    @property
    def number(self) -> int:
        """What its name begins with."""
        return int(self.name.partition("-")[0])


def next_number(known: Iterable[Finding]) -> int:
    """The number of a new finding beside those that are known."""
    return max((one.number for one in known), default=-1) + 1


def name_beside(known: Finding, number: int) -> str:
    """A name for another bundle of a finding, whose own goes only then; engines may fail on one case in turn."""
    name = f"{known.name}-by-{number}"
    return f"{name}-again" if Path(known.bundle).name == name else name


def shown_by(known: Finding) -> causes.Shown:
    """What a known finding says of its failure."""
    is_own = known.verdict == ERROR
    signature = (own_failures.key_of_bug(Bug(known.message, known.traceback)),) if is_own else known.signature
    return causes.Shown(known.engines, known.verdict, signature, known.cause, known.unasked)


def shows(known: Finding, failure: OwnFailure) -> bool:
    """Whether a known finding is of what failed of our own: it is of the same kind, or an engine raises the same."""
    shown = causes.Shown((US,), ERROR, (failure.key,), failure.cause)
    if failure.bug.kind == kind_of(known):
        return True
    return (known.verdict != ERROR or bool(failure.cause)) and causes.are_one(shown_by(known), shown)


def kind_of(known: Finding) -> str:
    """The kind of what failed of our own, or of what the reference broke down with; "" of anything else."""
    kind = known.cause.removeprefix(f"{REFERENCE}/")
    return known.signature[0] if known.verdict == ERROR else kind if kind != known.cause else ""


def from_json(entries: Any) -> list[Finding]:
    """Findings as they were stored.

    Raises:
        TypeError: they are no list.
    """
    if not isinstance(entries, list):
        raise TypeError("it is no list")
    tuples = ("engines", "signature", "cases", "unasked")
    return [Finding(**{**entry, **{key: tuple(entry.get(key, ())) for key in tuples}}) for entry in entries]
