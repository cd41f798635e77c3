"""What a campaign found: reduced, blamed, told apart, one verified bundle for each.

A case is first looked up by its *signature*: for an error where it was raised, for wrong results the opcodes and types
that they depend on, for what took the process along those of the whole program.  One whose set contains that of a known
finding of the same kind of engine and verdict says nothing new, and costs nothing more.  Any other is reduced, and is a
new finding unless the reduced program has a known signature, or a known cause: the same rewrite, or a kernel with the
opcodes of a known one, whatever its types, or of a kind all of which are wrong, or memory, whatever the verdict.  What
that hides is found when the first is fixed.  Of the cases of a finding that were reduced the smallest is bundled.
`max_probes` 0 keeps cases as they are.

A case for which a campaign has no time left is kept as it is, or as small as it has become, and says so: that is a
finding that is cut short, and is opened again when the campaign goes on.

What fails of our own (`own_failures`) is one finding for each type of exception and place where it was raised.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

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
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.deadline import Deadline
from xlabench.fuzzing.finding import Finding, from_json, kind_of, name_beside, next_number, shown_by, shows
from xlabench.fuzzing.followed_up import CUT_SHORT, LATE, FollowedUp, bug_of, contradicts_itself, failure_of
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.fuzzing.sharing import Showing, is_one_bug
from xlabench.fuzzing.signature import ENDED, signature_of, unasked_in
from xlabench.jobs import ENGINES
from xlabench.survival import ERROR, US

_Value = TypeVar("_Value")
_ONCE = ", once"
_FEW = 4
"""Instructions of a case that a reader takes in at a glance."""
_SHORTEST_S, _LONGER = 60.0, 2
"""A bundle is verified in at least so long, or so many times the limit: Python and both engines in one process."""


class _Reopened(NamedTuple):
    """A finding that was cut short and is followed up again, and what it was before anything was reduced."""

    finding: Finding
    original: Original | None


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
        self.deadline = Deadline()
        self._reopened: _Reopened | None = None
        if self._list.exists():
            self.all = atomic.stored(self._list, from_json, "give a new folder")

    def add(
        self,
        unreduced: CaseFailure,
        *,
        narrow: Callable[[CaseFailure, Budget], CaseFailure] | None = lambda unreduced, _: unreduced,
    ) -> None:
        """Count a case to the finding that it shows, or bundle it as a new one, narrowed first and then reduced.

        A case that was reduced further than that of its finding takes its place.  Without `narrow` it is kept as it is.

        Raises:
            RecordsLost: the disk is full, or the list of findings cannot be written.
        """
        known = self._known(unreduced, self._signature(unreduced), "")
        if known is not None and not self._is_own(known):
            return
        done = self._followed_up(unreduced, narrow)
        signature, bug = self._signature(done.case, is_lost=done.is_asked and not done.cause), ""
        if done.is_asked:
            bug = bug_of(done)
            reduced = self._known_reduced(done.case, signature, done.cause, bug)
            known = known if reduced is None else reduced
        if known is not None:
            self._count(known, done.case, unasked_in(signature))
        self._keep(done, signature, bug, known)

    def _followed_up(
        self, unreduced: CaseFailure, narrow: Callable[[CaseFailure, Budget], CaseFailure] | None
    ) -> FollowedUp:
        """A case narrowed, reduced and blamed, as far as there is time; without `narrow` it is as it was."""
        is_wanted = narrow is not None and self._max_probes > 0 and not contradicts_itself(unreduced)
        if self.deadline.is_over:
            return FollowedUp(unreduced.noted(CUT_SHORT if is_wanted else ""), "", 0, is_cut_short=is_wanted)
        budget = Budget.of_a_finding(self._timeout_s, self.deadline.left_s)
        original = self._reopened and self._reopened.original
        try:
            narrowed = narrow(unreduced, budget) if narrow and original is None else unreduced
        except OutOfTime:
            return self._late(unreduced)
        if not is_wanted:
            return FollowedUp(narrowed, "", 0)
        done = self._triaged(narrowed, budget)
        return done._replace(original=original or Original(narrowed.module_text, narrowed.inputs))

    def _keep(self, done: FollowedUp, signature: tuple[str, ...], bug: str, known: int | None) -> None:
        """Bundle a case as a new finding, or in place of the larger one that a known finding shows so far."""
        instructions = instruction_count(compiler.parse(done.case.module_text))
        if known is not None and not self._is_own(known) and instructions >= self.all[known].instructions:
            return
        before = self._reopened.finding if self._reopened else None
        name = f"{before.number if before else next_number(self.all):03d}-{done.case.verdict}"
        if known is not None:
            name = name_beside(self.all[known], done.case.number)
        saved = self._saved(failure_of(done), name)
        finding = Finding(
            name=name,
            engines=(done.case.engine,),
            verdict=done.case.verdict,
            signature=signature,
            cause=done.cause,
            message=done.case.message.partition("\n")[0],
            instructions=instructions,
            bundle=f"findings/{name}",
            verified=saved.verified,
            doubt=saved.message,
            cases=before.cases if before else (done.case.number,),
            note=done.case.note,
            probes=done.probes + (before.probes if before else 0),
            bug=bug,
            key=done.case.key if done.is_cut_short else "",
            is_cut_short=done.is_cut_short,
        )
        if known is not None:
            self._replace(known, finding)
            return
        self.all.append(finding)
        self._write()

    @property
    def cut_short(self) -> list[Finding]:
        """The findings that were cut short and whose bundles are still there."""
        return [one for one in self.all if one.is_cut_short and (self._folder / Path(one.bundle).name).exists()]

    @contextmanager
    def reopened(self, cut_short: Finding) -> Iterator[CaseFailure]:
        """The case of a finding that was cut short, which is none of the known ones while its case is added again."""
        folder = self._folder / Path(cut_short.bundle).name
        kept = bundle.load(folder)
        self._reopened = _Reopened(cut_short, kept.original)
        self.all.remove(cut_short)
        try:
            yield CaseFailure(
                number=cut_short.cases[0],
                engine=kept.engine,
                verdict=kept.verdict,
                message=cut_short.message,
                key=cut_short.key,
                module_text=kept.module_text,
                inputs=kept.inputs,
                expected=kept.expected,
                actual=kept.actual,
                note=cut_short.note.removesuffix(CUT_SHORT).removesuffix("; "),
                layout=kept.layout,
            )
        except BaseException:
            self.all.append(cut_short)
            raise
        finally:
            self._reopened = None
            self.all.sort(key=lambda finding: finding.number)
            self._write()
        if all(finding.bundle != cut_short.bundle for finding in self.all):
            shutil.rmtree(folder, ignore_errors=True)

    def add_own(self, failure: OwnFailure, drawing: Mapping[str, Any]) -> None:
        """Count a case to what failed of our own in the same place, or keep it as a new finding.

        An engine that raises the same shows the same bug, and with a program.  `drawing` are the arguments that its
        program is drawn by.

        Raises:
            RecordsLost: it cannot be written.
        """
        for index, known in enumerate(self.all):
            if shows(known, failure):
                self._tell(index, (failure.number,), known.engines, unasked_in((failure.key,)))
                return
        name = f"{next_number(self._listed):03d}-{ERROR}"
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
            return saving.save(
                failure,
                self._folder / name,
                timeout_s=max(_SHORTEST_S, _LONGER * self._timeout_s),
                is_verified=not self.deadline.is_over,
            )
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
        self.all[known] = replace(
            finding, name=before.name, engines=before.engines, cases=before.cases, unasked=before.unasked
        )
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
            is_own = self._is_own(index) and cause == f"{REFERENCE}/{kind_of(known)}"
            if is_own or (known.bug == bug if is_by_name else causes.are_one(shown_by(known), shown)):
                return self._count(index, unreduced)
        return None

    def _count(self, index: int, unreduced: CaseFailure, unasked: tuple[str, ...] = ()) -> int:
        """Count a case to a known finding, with what it was found by; returns its number."""
        cases = self._reopened.finding.cases if self._reopened else (unreduced.number,)
        self._tell(index, cases, (*self.all[index].engines, unreduced.engine), unasked)
        return index

    def _tell(self, index: int, cases: tuple[int, ...], engines: tuple[str, ...], unasked: tuple[str, ...]) -> None:
        known = self.all[index]
        self.all[index] = replace(
            known,
            engines=_once(engines),
            cases=_once((*known.cases, *cases)),
            unasked=_once((*known.unasked, *unasked)),
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
        budget = Budget.of_a_finding(self._timeout_s, self.deadline.left_s)
        for index, known in enumerate(self.all):
            if known.bug or not causes.may_be_shared(shown_by(known), shown):
                continue
            smallest = _showing(shown_by(known), bundle.load(self._folder / Path(known.bundle).name))
            if is_one_bug(smallest, found, self._setup, budget):
                return self._count(index, reduced)
        return None

    def _is_small(self, engine: str, found: Blame) -> bool:
        """Whether a pass is blamed that few instructions show already (of graphs any); of a kernel less is, reduced."""
        shown = causes.Shown((engine,), found.verdict, ("",), found.signature)
        is_told = causes.is_told_by_blame(found.stage)
        small = (shown_by(one) for one in self.all if (is_told or one.instructions <= _FEW) and not one.bug)
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

    def _triaged(self, unreduced: CaseFailure, budget: Budget) -> FollowedUp:
        """The case reduced and blamed; the case itself where it fails no second time."""
        try:
            small = triage(
                self._setup(unreduced.engine, unreduced.layout),
                unreduced.module_text,
                unreduced.inputs,
                max_probes=self._max_probes,
                is_known=partial(self._is_small, unreduced.engine),
                budget=budget,
            )
        except OutOfTime:
            return self._late(unreduced)
        if small is None:
            return FollowedUp(unreduced, "", 0)
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
        is_cut_short = small.unfinished and self.deadline.is_over
        unfinished = CUT_SHORT if is_cut_short else LATE if small.unfinished else ""
        reduced = reduced.noted(small.source and f"from {small.source}", unfinished)
        return FollowedUp(reduced, small.cause, small.probes, unfinished=small.unfinished, is_cut_short=is_cut_short)

    def _late(self, unreduced: CaseFailure) -> FollowedUp:
        """A case for which the time was up before anybody was to blame."""
        is_cut_short = self.deadline.is_over
        noted = unreduced.noted(CUT_SHORT if is_cut_short else LATE)
        return FollowedUp(noted, f"engine/{unreduced.engine}", 0, unfinished=True, is_cut_short=is_cut_short)

    @property
    def _listed(self) -> list[Finding]:
        """All findings, and that which is followed up again."""
        return [*self.all, *([self._reopened.finding] if self._reopened else [])]

    def _write(self) -> None:
        content = [asdict(finding) for finding in self._listed]
        with own_failures.kept_in(self._list):
            self._folder.mkdir(parents=True, exist_ok=True)
            atomic.write(self._list, (json.dumps(content, indent=1) + "\n").encode())


def _showing(shown: causes.Shown, by: CaseFailure | Failure) -> Showing:
    return Showing(shown, by.engine, Case(compiler.parse(by.module_text), tuple(by.inputs)), by.layout)


def _once(values: tuple[_Value, ...]) -> tuple[_Value, ...]:
    """Each value where it comes first."""
    return tuple(dict.fromkeys(values))
