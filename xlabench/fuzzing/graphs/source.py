"""Campaigns of random graphs: each run op by op, in clusters and whole, on every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xlabench.diagnosis.budget import Budget
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.graphs.cases import NAME
from xlabench.fuzzing.graphs.drawing import PLAIN
from xlabench.fuzzing.own_failures import OwnFailure
from xlabench.fuzzing.progress import Progress
from xlabench.fuzzing.support_probe import SupportProbe


@dataclass(frozen=True, slots=True)
class Graphs:
    """Graphs that are drawn from the records of ops, clustered and compiled in variants or not."""

    varied: bool = True

    @property
    def identity(self) -> Mapping[str, Any]:
        """The profile, and whether engines are varied."""
        return {"profile": NAME, "varied": self.varied}

    def support(self, _config: Config, _support_probe: SupportProbe) -> Any:
        """Nothing is asked beforehand: what an engine does not support of a graph it says of that graph."""
        return {}

    def beforehand(self, _config: Config, _support: Any) -> Iterator[CaseFailure | OwnFailure]:
        """Nothing goes wrong beforehand, where nothing is tried."""
        return iter(())

    def size(self, _support: Any) -> int | None:
        """There is always another one."""
        return None

    def drawing(self, config: Config, _support: Any) -> dict[str, Any]:
        """What a worker draws by: the seed."""
        return {"drawer": "xlabench.fuzzing.graphs.cases:drawer", "seed": config.seed, "varied": self.varied}

    def narrowed(self, _config: Config, _support: Any, failure: CaseFailure, _budget: Budget) -> CaseFailure:
        """Nothing is known not to matter of a `failure`, whatever `_config`, `_support` and `_budget` are."""
        return failure

    def coverage(self, progress: Progress, _support: Any) -> dict[str, Any]:
        """The ops that were reached, of those that are drawn."""
        reached = set(PLAIN) & set(progress.pairs)
        return {
            "of": "ops of TensorFlow's",
            "allowed": len(PLAIN),
            "reached": len(reached),
            "missing": sorted(set(PLAIN) - reached),
            "unsupported": 0,
        }
