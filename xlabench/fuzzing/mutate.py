"""Campaigns of programs that are made of real ones: each is held against its original on the same engine.

Bitwise where an engine promises it: the reference always.  A compiled engine may round otherwise when a program is
written otherwise, so where bits differ, both programs must stay within the error bounds of the reference.

A finding names the change that brings it about: the fewest of the changes, in their order, with which it still shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import compiler
from compiler import mutation
from xlabench.diagnosis.budget import Budget
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.errors import BenchError
from xlabench.fuzzing import corpus
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.corpus import Entry
from xlabench.fuzzing.own_failures import OwnFailure, bug_in
from xlabench.fuzzing.progress import Progress
from xlabench.fuzzing.support_probe import SupportProbe
from xlabench.judging.tolerance import EXACTLY, TolerancePolicy
from xlabench.survival import Bug
from xlabench.worker import Outcome, Worker

_SHARE = 0.5  # of the time for one program, which the reference may take before anything is changed
_OF_PROGRAMS = frozenset({"BenchError", "CompilerError", "MemoryError"})
"""What may be raised about a program that is not right, or too large; all else is a failure of our own."""


@dataclass(frozen=True, slots=True)
class Mutated:
    """Programs made of those of a corpus by up to so many changes each."""

    entries: Sequence[Entry]
    most: int

    @property
    def identity(self) -> Mapping[str, Any]:
        """The files, by names and hashes, and the number of changes."""
        return {"corpus": [[entry.name, entry.digest] for entry in self.entries], "most_changes": self.most}

    def support(self, config: Config, support_probe: SupportProbe) -> Any:
        """The programs that the reference cannot evaluate, or not in time, and why; `failed` those by our own fault.

        Raises:
            BenchError: the reference evaluates no program of the corpus.
        """

        def evaluate(worker: Worker, entry: Entry) -> Outcome:
            arguments = {"entry": asdict(entry), "seed": config.seed}
            return worker.run("xlabench.fuzzing.corpus:evaluates", arguments, timeout_s=config.timeout_s * _SHARE)

        answers = zip(self.entries, support_probe.each(evaluate, self.entries), strict=True)
        unanswered = {entry.name: outcome for entry, outcome in answers if outcome.ending != "answered"}
        skipped = {name: (outcome.message or outcome.ending).partition("\n")[0] for name, outcome in unanswered.items()}
        bugs = {
            name: bug_in(outcome)
            for name, outcome in unanswered.items()
            if outcome.ending == "raised" and not _OF_PROGRAMS & set(outcome.error.split())
        }
        if len(skipped) == len(self.entries) and not bugs:
            name, reason = next(iter(skipped.items()))
            raise BenchError(f"the reference evaluates no program of the corpus; {name}: {reason}")
        return {"skipped": skipped, "failed": [[name, bug.said, bug.traceback] for name, bug in bugs.items()]}

    def beforehand(self, _config: Config, support: Any) -> Iterator[OwnFailure]:
        """The programs that we failed on, unchanged as they were."""
        for number, (name, *bug) in enumerate(support.get("failed", ()), start=1):
            yield OwnFailure(-number, f"evaluating {name} on the reference, before anything is changed", Bug(*bug))

    def size(self, support: Any) -> int | None:
        """None of a corpus in which there is no program that the reference evaluates, else as many as are asked for."""
        return None if len(support["skipped"]) < len(self.entries) else 0

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """By the programs that the reference evaluates."""
        entries = [asdict(entry) for entry in self.entries if entry.name not in support["skipped"]]
        return {"drawer": "xlabench.fuzzing.corpus:drawer", "entries": entries, "seed": config.seed, "most": self.most}

    def narrowed(self, config: Config, support: Any, failure: CaseFailure, budget: Budget) -> CaseFailure:
        """The finding with the fewest changes that still show it.

        Args:
            config: what the campaign runs.
            support: what is known beforehand.
            failure: the finding.
            budget: the time that there is.
        """
        mutants = corpus.mutants(self.drawing(config, support))
        whole = mutants(failure.number)
        policy = EXACTLY if failure.is_about_reference else TolerancePolicy()
        setup = Setup(
            failure.engine,
            policy=policy,
            timeout_s=config.timeout_s,
            factory=config.factory,
            memory_bytes=config.memory_bytes,
        )
        with Prober(setup, budget) as prober:

            def shows(count: int) -> bool:
                case = mutants.with_changes(failure.number, count)
                verdict = prober.judge(
                    Case(case.module, tuple(failure.inputs)), expected=tuple(failure.expected)
                ).verdict
                return verdict == failure.verdict

            few, many = 0, len(whole.changes)
            if not many or shows(few) or not shows(many):
                return failure
            while many - few > 1:
                middle = (few + many) // 2
                few, many = (few, middle) if shows(middle) else (middle, many)
        case = mutants.with_changes(failure.number, many)
        return replace(failure, module_text=compiler.to_text(case.module), note=case.note)

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """The kinds of changes that were reached, of those that there are."""
        known, reached = set(mutation.MUTATIONS), set(progress.changes)
        return {
            "of": "kinds of changes",
            "allowed": len(known),
            "reached": len(reached),
            "missing": sorted(known - reached),
            "unsupported": 0,
            "changes": dict(progress.changes),
            "skipped": support["skipped"],
        }
