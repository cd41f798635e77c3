"""Campaigns of programs that are made of real ones: each is held against its original on the same engine.

Bitwise where an engine promises it: the reference always.  A compiled engine may round otherwise when a program is
written otherwise, so where bits differ, both programs must stay within the error bounds of the reference.

A finding names the change that brings it about: the fewest of the changes, in their order, with which it still shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import compiler
from compiler import mutation
from xlabench.diagnosis.case import Case
from xlabench.diagnosis.probe import Prober, Setup
from xlabench.errors import BenchError
from xlabench.fuzzing import corpus
from xlabench.fuzzing.campaign import Progress
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.corpus import Entry
from xlabench.fuzzing.findings import Raw
from xlabench.fuzzing.inquiry import Inquiry
from xlabench.judging.tolerance import EXACTLY, TolerancePolicy
from xlabench.worker import Outcome, Worker

_SHARE = 0.5  # of the time for one program, which the reference may take before anything is changed


@dataclass(frozen=True, slots=True)
class Mutated:
    """Programs made of those of a corpus by up to so many changes each."""

    entries: Sequence[Entry]
    most: int

    @property
    def identity(self) -> Mapping[str, Any]:
        """The files, by names and hashes, and the number of changes."""
        return {"corpus": [[entry.name, entry.digest] for entry in self.entries], "most_changes": self.most}

    def support(self, config: Config, inquiry: Inquiry) -> Any:
        """The programs that the reference cannot evaluate, or not in time, and why."""

        def evaluate(worker: Worker, entry: Entry) -> Outcome:
            arguments = {"entry": asdict(entry), "seed": config.seed}
            return worker.run("xlabench.fuzzing.corpus:evaluates", arguments, timeout_s=config.timeout_s * _SHARE)

        skipped = {
            entry.name: (outcome.message or outcome.ending).partition("\n")[0]
            for entry, outcome in zip(self.entries, inquiry.each(evaluate, self.entries), strict=True)
            if outcome.ending != "answered"
        }
        if len(skipped) == len(self.entries):
            name, reason = next(iter(skipped.items()))
            raise BenchError(f"the reference evaluates no program of the corpus; {name}: {reason}")
        return {"skipped": skipped}

    def beforehand(self, _config: Config, _support: Any) -> tuple[Raw, ...]:
        """Nothing."""
        return ()

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """By the programs that the reference evaluates."""
        entries = [asdict(entry) for entry in self.entries if entry.name not in support["skipped"]]
        return {"drawer": "xlabench.fuzzing.corpus:drawer", "entries": entries, "seed": config.seed, "most": self.most}

    def narrowed(self, config: Config, support: Any, raw: Raw) -> Raw:
        """The finding with the fewest changes that still show it."""
        mutants = corpus.mutants(self.drawing(config, support))
        whole = mutants(raw.number)
        policy = EXACTLY if raw.is_about_reference else TolerancePolicy()
        setup = Setup(
            raw.engine,
            policy=policy,
            timeout_s=config.timeout_s,
            factory=config.factory,
            memory_bytes=config.memory_bytes,
        )
        with Prober(setup) as prober:

            def shows(count: int) -> bool:
                case = mutants.with_changes(raw.number, count)
                verdict = prober.judge(Case(case.module, tuple(raw.inputs)), expected=tuple(raw.expected)).verdict
                return verdict == raw.verdict

            few, many = 0, len(whole.changes)
            if not many or shows(few) or not shows(many):
                return raw
            while many - few > 1:
                middle = (few + many) // 2
                few, many = (few, middle) if shows(middle) else (middle, many)
        case = mutants.with_changes(raw.number, many)
        return replace(raw, module_text=compiler.to_text(case.module), note=case.note)

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """Kinds of changes."""
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
