"""What a campaign found: reduced, blamed, told apart, one verified bundle for each.

A case is first looked up by its *signature*: for an error where it was raised, for wrong results the opcodes and types
that they depend on, for what took the process along those of the whole program.  One whose set contains that of a known
finding of the same kind of engine and verdict says nothing new, and costs nothing more.  Any other is reduced, and is a
new finding unless the reduced program has a known signature, or a known cause: the same rewrite, or a kernel with the
opcodes of a known one, whatever its types, or of a kind all of which are wrong, or memory, whatever the verdict.  What
that hides is found when the first is fixed.  Of the cases of a finding that were reduced the smallest is bundled.
`max_probes` 0 keeps cases as they are.

What fails of our own (`own_failures`) is one finding for each type of exception and place where it was raised.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import compiler
from xlabench import atomic
from xlabench.bundles import bundle, saving
from xlabench.bundles.failure import Failure, Original
from xlabench.diagnosis.blame import Blame
from xlabench.diagnosis.budget import Budget, OutOfTime
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.moves import instruction_count
from xlabench.diagnosis.probe import Setup
from xlabench.diagnosis.triage import triage
from xlabench.diagnosis.witness import REFERENCE
from xlabench.engines import is_complete
from xlabench.errors import BenchError, RecordsLost
from xlabench.fuzzing import causes, own_failures
from xlabench.fuzzing.case_failure import CaseFailure, to_bundle
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.fuzzing.sharing import Showing, is_one_bug
from xlabench.fuzzing.signature import ENDED, signature_of, unasked_in
from xlabench.jobs import ENGINES
from xlabench.judging.differ import Agreement, compare
from xlabench.judging.known_bugs import Failure as Asked
from xlabench.judging.known_bugs import known_bug
from xlabench.survival import ERROR, US, Bug

_LINE = "\n"
_ONCE = ", once"
_LATE = "the time for looking into it was up"
_FEW = 4
"""Instructions of a case that a reader takes in at a glance."""
_SHORTEST_S, _LONGER = 60.0, 2
"""A bundle is verified in at least so long, or so many times the limit: Python and both engines in one process."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One distinct kind of failure, with the smallest case that showed it and the numbers of all.

    `instructions` counts those of all computations, parameters aside; `probes` says how often the engine was asked
    while the case was reduced.  The number of a case that was found before any was drawn is negative.  Only what failed
    of our own has a traceback; `bundle` is its folder then, `note` the step and `signature` the kind.  `bug` names a
    bug that was known before, if it is one; `unasked` are functions in which Python raised what its cases showed.
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


class _Triaged(NamedTuple):
    """A case that was reduced, what is to blame for it ("" where it failed no second time), and the probes it took."""

    case: CaseFailure
    cause: str
    probes: int


class Findings:
    """The findings of a campaign, kept in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        max_probes: int = 0,
        timeout_s: float = 60.0,
        factory: str = ENGINES,
        memory_bytes: int | None = None,
    ) -> None:
        self._folder, self._memory_bytes = folder, memory_bytes
        self._list = folder / "findings.json"
        self._max_probes, self._timeout_s, self._factory = max_probes, timeout_s, factory
        self.all: list[Finding] = []
        if self._list.exists():
            self.all = atomic.stored(self._list, _from_json, "give a new folder")

    def add(
        self,
        unreduced: CaseFailure,
        *,
        narrow: Callable[[CaseFailure], CaseFailure] | None = lambda unreduced: unreduced,
    ) -> None:
        """Count a case to the finding that it shows, or bundle it as a new one, narrowed first and then reduced.

        A case that was reduced further than that of its finding takes its place.  Without `narrow` it is kept as it is.

        Raises:
            RecordsLost: the disk is full, or the list of findings cannot be written.
        """
        known = self._known(unreduced, self._signature(unreduced), "")
        if known is not None and not self._is_own(known):
            return
        cause, probes, original, bug = "", 0, None, ""
        unreduced = narrow(unreduced) if narrow else unreduced
        signature = self._signature(unreduced)
        if narrow and self._max_probes and not _contradicts_itself(unreduced):
            original = Original(unreduced.module_text, unreduced.inputs)
            unreduced, cause, probes = self._triaged(unreduced)
            bug, signature = _bug_of(unreduced), self._signature(unreduced, is_lost=not cause)
            reduced = self._known_reduced(unreduced, signature, cause, bug)
            known = known if reduced is None else reduced
        if known is not None:
            self._count(known, unreduced, unasked_in(signature))
        instructions = instruction_count(compiler.parse(unreduced.module_text))
        if known is not None and not self._is_own(known) and instructions >= self.all[known].instructions:
            return
        name = f"{len(self.all):03d}-{unreduced.verdict}"
        if known is not None:
            name = _name_beside(self.all[known], unreduced.number)
        saved = self._saved(to_bundle(unreduced, cause, original), name)
        finding = Finding(
            name=name,
            engines=(unreduced.engine,),
            verdict=unreduced.verdict,
            signature=signature,
            cause=cause,
            message=unreduced.message.partition(_LINE)[0],
            instructions=instructions,
            bundle=f"findings/{name}",
            verified=saved.verified,
            doubt=saved.message,
            cases=(unreduced.number,),
            note=unreduced.note,
            probes=probes,
            bug=bug,
        )
        if known is not None:
            self._replace(known, finding)
            return
        self.all.append(finding)
        self._write()

    def add_own(self, failure: OwnFailure, drawing: Mapping[str, Any]) -> None:
        """Count a case to what failed of our own in the same place, or keep it as a new finding.

        An engine that raises the same shows the same bug, and with a program.  `drawing` are the arguments that its
        program is drawn by.

        Raises:
            RecordsLost: it cannot be written.
        """
        for index, known in enumerate(self.all):
            if _shows(known, failure):
                self._keep(index, failure.number, known.engines, unasked_in((failure.key,)))
                return
        name = f"{len(self.all):03d}-{ERROR}"
        own_failures.write(self._folder / name, failure, drawing)
        finding = Finding(
            name=name,
            engines=(US,),
            verdict=ERROR,
            signature=(failure.bug.kind,),
            cause=failure.cause,
            message=failure.bug.said,
            instructions=0,
            bundle=f"findings/{name}",
            verified=False,
            doubt="a bug of xlabench's own, which no engine shows",
            cases=(failure.number,),
            note=f"in: {failure.step}",
            traceback=failure.bug.traceback,
        )
        self.all.append(finding)
        self._write()

    def _saved(self, failure: Failure, name: str) -> saving.Saved:
        """A bundle; of a disk that is full the end of the campaign is the answer, not one case."""
        try:
            return saving.save(failure, self._folder / name, timeout_s=max(_SHORTEST_S, _LONGER * self._timeout_s))
        except (OSError, BenchError) as error:
            if own_failures.is_full(error):
                raise RecordsLost(f"the campaign cannot go on: {error}; make room, and run it again") from error
            raise

    def _is_own(self, known: int) -> bool:
        """Whether a finding is of what failed of our own, and has no program."""
        return self.all[known].verdict == ERROR

    def _replace(self, known: int, finding: Finding) -> None:
        """Let a finding show another case; the bundle of the one before goes when the list is written."""
        before = self.all[known]
        if not self._is_own(known):
            finding = replace(finding, verdict=before.verdict, signature=before.signature, cause=before.cause)
        kept = {name: getattr(before, name) for name in ("name", "engines", "cases", "unasked")}
        self.all[known] = replace(finding, **kept)
        self._write()
        shutil.rmtree(self._folder / Path(before.bundle).name, ignore_errors=True)

    def _signature(self, unreduced: CaseFailure, *, is_lost: bool = False) -> tuple[str, ...]:
        """That of the case; of programs that are not reduced, the opcodes would tell every crash from every other.

        So they would of those that are lost: asked again, nothing ends. That it was seen once is all that is known.
        """
        if unreduced.key in ENDED and is_lost:
            return (f"{unreduced.key}{_ONCE}",)
        if unreduced.key in ENDED and not self._max_probes:
            return (unreduced.key,)
        return signature_of(unreduced.module_text, unreduced.verdict, unreduced.key)

    def _known(
        self, unreduced: CaseFailure, signature: tuple[str, ...], cause: str, bug: str | None = None
    ) -> int | None:
        """Count a case to a known finding, if it shows one; returns its number.

        `bug` is the known bug that a reduced case shows, if any: that is all that tells it from others.  Cases that are
        not reduced and hold more than one shows may show another: now and then, ever more seldom, one is looked at.
        """
        shown = causes.Shown((unreduced.engine,), unreduced.verdict, signature, cause)
        for index, known in enumerate(self.all):
            if bug is None and known.bug and len(known.cases).bit_count() == 1:
                continue
            is_by_name = bug or (bug is not None and known.bug)
            is_own = self._is_own(index) and cause == f"{REFERENCE}/{_kind(known)}"
            if is_own or (known.bug == bug if is_by_name else causes.are_one(_shown_by(known), shown)):
                return self._count(index, unreduced)
        return None

    def _count(self, index: int, unreduced: CaseFailure, unasked: tuple[str, ...] = ()) -> int:
        """Count a case to a known finding, with what it was found by; returns its number."""
        self._keep(index, unreduced.number, (*self.all[index].engines, unreduced.engine), unasked)
        return index

    def _keep(self, index: int, number: int, engines: tuple[str, ...], unasked: tuple[str, ...]) -> None:
        known = self.all[index]
        self.all[index] = replace(
            known,
            engines=tuple(dict.fromkeys(engines)),
            cases=tuple(dict.fromkeys((*known.cases, number))),
            unasked=tuple(dict.fromkeys((*known.unasked, *unasked))),
        )
        self._write()

    def _known_reduced(self, reduced: CaseFailure, signature: tuple[str, ...], cause: str, bug: str) -> int | None:
        """Count a reduced case to a known finding, on whatever engine it is known; returns its number."""
        known = self._known(reduced, signature, cause, bug)
        return self._shared(reduced, cause) if known is None and not bug else known

    def _shared(self, reduced: CaseFailure, cause: str) -> int | None:
        """Count a case to what is known of another engine and shows on this one alike; returns its number."""
        shown = causes.Shown((reduced.engine,), reduced.verdict, (), cause)
        found = _showing(shown, reduced)
        budget = Budget.of_a_finding(self._timeout_s)
        for index, known in enumerate(self.all):
            if known.bug or not causes.may_be_shared(_shown_by(known), shown):
                continue
            smallest = _showing(_shown_by(known), bundle.load(self._folder / Path(known.bundle).name))
            if is_one_bug(smallest, found, self._setup, budget):
                return self._count(index, reduced)
        return None

    def _is_small(self, engine: str, found: Blame) -> bool:
        """Whether a pass is blamed that few instructions show already (of graphs any); of a kernel less is, reduced."""
        shown = causes.Shown((engine,), found.verdict, ("",), found.signature)
        is_told = causes.is_told_by_blame(found.stage)
        small = (_shown_by(one) for one in self.all if (is_told or one.instructions <= _FEW) and not one.bug)
        return (is_told or found.stage == "pass") and any(causes.are_one(known, shown) for known in small)

    def _setup(self, engine: str, layout: str) -> Setup:
        return Setup(
            engine,
            timeout_s=self._timeout_s,
            factory=self._factory,
            memory_bytes=self._memory_bytes,
            takes_all=is_complete(engine),
            layout=layout,
        )

    def _triaged(self, unreduced: CaseFailure) -> _Triaged:
        """The case reduced and blamed; the case itself where it fails no second time."""
        try:
            small = triage(
                self._setup(unreduced.engine, unreduced.layout),
                unreduced.module_text,
                unreduced.inputs,
                max_probes=self._max_probes,
                is_known=partial(self._is_small, unreduced.engine),
            )
        except OutOfTime:
            return _Triaged(unreduced.noted(_LATE), f"engine/{unreduced.engine}", 0)
        if small is None:
            return _Triaged(unreduced, "", 0)
        reduced = replace(
            unreduced,
            engine=small.engine,
            module_text=small.module_text,
            inputs=small.inputs,
            expected=small.expected,
            actual=small.actual,
            message=small.message,
            verdict=small.verdict,
            key=unreduced.key_reduced(small.verdict, small.message),
        )
        reduced = reduced.noted(small.source and f"from {small.source}", _LATE if small.unfinished else "")
        return _Triaged(reduced, small.cause, small.probes)

    def _write(self) -> None:
        content = [asdict(finding) for finding in self.all]
        with own_failures.kept_in(self._list):
            self._folder.mkdir(parents=True, exist_ok=True)
            atomic.write(self._list, (json.dumps(content, indent=1) + "\n").encode())


def _showing(shown: causes.Shown, by: CaseFailure | Failure) -> Showing:
    return Showing(shown, by.engine, Case(compiler.parse(by.module_text), tuple(by.inputs)), by.layout)


def _name_beside(known: Finding, number: int) -> str:
    """A name for another bundle of a finding, whose own goes only then; engines may fail on one case in turn."""
    name = f"{known.name}-by-{number}"
    return f"{name}-again" if Path(known.bundle).name == name else name


def _shown_by(known: Finding) -> causes.Shown:
    is_own = known.verdict == ERROR
    signature = (own_failures.key_of_bug(Bug(known.message, known.traceback)),) if is_own else known.signature
    return causes.Shown(known.engines, known.verdict, signature, known.cause, known.unasked)


def _shows(known: Finding, failure: OwnFailure) -> bool:
    """Whether a known finding is of what failed of our own: it is of the same kind, or an engine raises the same."""
    shown = causes.Shown((US,), ERROR, (failure.key,), failure.cause)
    if failure.bug.kind == _kind(known):
        return True
    return (known.verdict != ERROR or bool(failure.cause)) and causes.are_one(_shown_by(known), shown)


def _kind(known: Finding) -> str:
    """The kind of what failed of our own, or of what the reference broke down with; "" of anything else."""
    kind = known.cause.removeprefix(f"{REFERENCE}/")
    return known.signature[0] if known.verdict == ERROR else kind if kind != known.cause else ""


def _contradicts_itself(unreduced: CaseFailure) -> bool:
    """Whether the reference gives two results, so that there is none to reduce by; what it breaks down with is one."""
    return unreduced.is_about_reference and unreduced.key not in ENDED


def _bug_of(reduced: CaseFailure) -> str:
    """The bug that was known before and that a reduced case shows, if it does."""
    found = compare(reduced.expected, reduced.actual).results if reduced.verdict == "wrong" else ()
    wrong = tuple(result.index for result in found if result.agreement is Agreement.WRONG)
    return known_bug(
        Asked(reduced.engine, reduced.verdict, reduced.message, reduced.module_text, reduced.inputs, wrong)
    )


def _from_json(entries: Any) -> list[Finding]:
    if not isinstance(entries, list):
        raise TypeError("it is no list")
    tuples = ("engines", "signature", "cases", "unasked")
    return [Finding(**{**entry, **{key: tuple(entry.get(key, ())) for key in tuples}}) for entry in entries]
