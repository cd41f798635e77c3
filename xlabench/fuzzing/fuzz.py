"""Campaigns of programs that are made up: which pairs of opcode and element type are drawn, and which were reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import compiler
from xlabench.errors import BenchError
from xlabench.fuzzing.campaign import Config, Progress
from xlabench.fuzzing.findings import Raw
from xlabench.fuzzing.generate import PROFILES
from xlabench.worker import Worker

# What an engine's compiler makes itself after some pass and refuses before it, or cannot be told on the way in.
_INTERNAL: Mapping[str, frozenset[str]] = {
    "xla": frozenset(
        {"bitcast", "copy-start", "copy-done", "async-start", "async-update", "async-done", "mulhi", "scaled-dot"}
    )
}


@dataclass(frozen=True, slots=True)
class Generated:
    """Programs of a profile, which is a key of `xlabench.fuzzing.generate.PROFILES`."""

    profile: str = "ratchet"

    @property
    def identity(self) -> Mapping[str, Any]:
        """The profile."""
        return {"profile": self.profile}

    def support(self, config: Config, worker: Worker) -> Any:
        """What some engine does not support, or the reference does not give a meaning."""
        drawable = sorted(self._drawable())
        found: set[tuple[str, str]] = set()
        for spec in config.engines:
            internal = _INTERNAL.get(spec.partition(":")[0], frozenset())
            for opcode, group in groupby(drawable, key=itemgetter(0)):
                pairs = list(group)
                found |= set(pairs) if opcode in internal else _probe(worker, config, spec, pairs)
        return {"banned": sorted([o, k] for o, k in found)}

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """By profile, seed and what is banned."""
        return {
            "drawer": "xlabench.fuzzing.generate:drawer",
            "profile": self.profile,
            "seed": config.seed,
            "banned": support["banned"],
        }

    def narrowed(self, _config: Config, _support: Any, raw: Raw) -> Raw:
        """Nothing is known not to matter."""
        return raw

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """Pairs of opcode and element type."""
        drawable, banned = self._drawable(), {(o, k) for o, k in support["banned"]}
        allowed = {f"{opcode} {kind}" for opcode, kind in drawable - banned}
        reached = allowed & set(progress.pairs)
        return {
            "of": "pairs of opcode and element type",
            "allowed": len(allowed),
            "reached": len(reached),
            "missing": sorted(allowed - reached),
            "unsupported": len(drawable) - len(allowed),
        }

    def _drawable(self) -> set[tuple[str, str]]:
        return {(o, k) for o, k in compiler.generate.PAIRS if k in PROFILES[self.profile].space.element_types}


def _probe(worker: Worker, config: Config, spec: str, pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the pairs of one opcode that an engine does not support."""
    arguments = {"factory": config.factory, "engine": spec, "pairs": pairs}
    job = "xlabench.fuzzing.fuzz_jobs:probe"
    outcome = worker.run(job, arguments, timeout_s=config.timeout_s, is_for_each_stage=True)
    if outcome.ending == "answered":
        return {(opcode, kind) for opcode, kind in outcome.value["unsupported"]}
    if outcome.ending == "raised":
        raise BenchError(f"{spec}: {outcome.message}")
    # A probe that kills the engine is no verdict; the campaign will find the bug and bundle it.
    return set()
