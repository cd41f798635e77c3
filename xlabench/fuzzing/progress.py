"""How far a campaign is: which cases are done, and counts of what they came to, in a form that a file keeps.

Counts are all that a campaign remembers of a case that found nothing; so what its page says follows from them alone,
and a campaign that is resumed says the same as one that was never stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xlabench.fuzzing.reached import known

BATCH = 20
"""Cases that a worker is given at a time: findings are bundled, and progress is kept, behind each batch."""
_COUNTERS = ("verdicts", "seconds", "pairs", "rules", "ways", "tellingly", "changes", "variants", "asked", "told")


@dataclass(slots=True)
class Progress:
    """What has been done; `done` says how many cases of a batch, by its number: a count may end amid one."""

    done: dict[int, int] = field(default_factory=dict)
    cases: int = 0
    instructions: int = 0
    elapsed_s: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    tellingly: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    variants: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any]) -> None:
        """Count one case."""
        self.cases += 1
        self.instructions += record["instructions"]
        self.verdicts.update(f"{spec} {verdict}" for spec, (verdict, *_) in record["verdicts"].items())
        self.seconds.update(record["seconds"])
        self.pairs.update(record["pairs"])
        self.rules.update(record["rules"])
        self.ways.update(record["ways"])
        self.tellingly.update(record["tellingly"])
        self.changes.update(record["changes"])
        self.variants.update(record["variants"])
        self.asked.update(record["asked"])
        self.told.update(record["told"])

    def finish(self, cases: Sequence[int]) -> None:
        """Count the rest of a batch, or the next of it, as done."""
        batch, last = divmod(cases[-1], BATCH)
        self.done[batch] = last + 1

    def to_json(self) -> dict[str, Any]:
        """The counts as they are stored."""
        plain = {"cases": self.cases, "instructions": self.instructions, "elapsed_s": self.elapsed_s}
        counters = {key: dict(getattr(self, key)) for key in _COUNTERS}
        return {**plain, **counters, "done": self._ranges()}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Progress:
        """Counts as they were stored."""
        counts = int(content["cases"]), int(content["instructions"]), float(content["elapsed_s"])
        result = cls(_batches(content["done"]), *counts)
        for key in _COUNTERS:
            getattr(result, key).update(dict(content.get(key, {})))
        return result

    def reach(self) -> dict[str, Any]:
        """What the passes and back ends came to, and what of it that small programs of our own do was never come to."""
        if not self.ways:
            return {"rules": dict(self.rules)}
        reached = {f"rule {rule}" for rule in self.rules} | set(self.ways)
        return {
            "rules": dict(self.rules),
            "tellingly": dict(self.tellingly),
            "ways": dict(self.ways),
            "never": sorted(known() - reached),
        }

    def telling(self) -> dict[str, Any]:
        """How many of the instructions asked showed in a result when their values were changed, by opcode too."""
        asked, told = sum(self.asked.values()), sum(self.told.values())
        by_opcode = {opcode: [count, self.told[opcode]] for opcode, count in sorted(self.asked.items())}
        return {"asked": asked, "told": told, "share": told / asked if asked else 0.0, "by_opcode": by_opcode}

    def rate_per_core(self) -> float:
        """Programs in a second of the CPU time of workers: drawing, running, judging."""
        worked_s = sum(self.seconds.values())
        return self.cases / worked_s if worked_s else 0.0

    def _ranges(self) -> list[list[int]]:
        """The cases that are done, as the first of those in a row and the one behind them."""
        ranges: list[list[int]] = []
        for batch, count in sorted(self.done.items()):
            first = batch * BATCH
            if ranges and ranges[-1][1] == first:
                ranges[-1][1] = first + count
            else:
                ranges.append([first, first + count])
        return ranges


def _batches(stored: Sequence[Any]) -> dict[int, int]:
    """How many cases of a batch are done, from ranges of cases.

    Formerly the numbers of batches were stored: of those the last, which may have been short, is taken for undone.
    """
    if stored and isinstance(stored[0], int):
        return dict.fromkeys(sorted(stored)[:-1], BATCH)
    firsts = ((first, behind) for begin, behind in stored for first in range(begin, behind, BATCH))
    return {first // BATCH: min(behind - first, BATCH) for first, behind in firsts}
