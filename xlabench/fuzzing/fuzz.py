"""Campaigns of programs that are made up: which pairs of opcode and element type are drawn, and which were reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

import compiler
from xlabench import custom_calls
from xlabench.diagnosis.budget import Budget
from xlabench.engines import is_complete
from xlabench.errors import BenchError
from xlabench.fuzzing import small
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.generate import PROFILES, probe_module
from xlabench.fuzzing.limits import UNLIMITED, Limits
from xlabench.fuzzing.own_failures import OwnFailure, attempt, bug_in
from xlabench.fuzzing.progress import Progress
from xlabench.fuzzing.support_probe import SupportProbe
from xlabench.fuzzing.values import make_inputs
from xlabench.fuzzing.variants import quickest
from xlabench.jobs import ENGINES
from xlabench.survival import ERROR, Bug
from xlabench.worker import Worker

# What an engine's compiler makes itself after some pass and refuses before it, or cannot be told on the way in; and
# select-and-scatter, where the language leaves open which of equal elements is selected.
_INTERNAL: Mapping[str, frozenset[str]] = {
    "xla": frozenset({
        "bitcast", "copy-start", "copy-done", "async-start", "async-update", "async-done", "mulhi", "scaled-dot",
        "select-and-scatter", "ragged-all-to-all",
    })
}  # fmt: skip


_MOST_DEATHS = 3


class _Question(NamedTuple):
    """An engine's spec, an opcode, and the pairs of it and a type that are asked about."""

    spec: str
    opcode: str
    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Generated:
    """Programs of a profile, which is a key of `xlabench.fuzzing.generate.PROFILES`, in variants of engines or not.

    `corpus` is a folder that keeps the programs that come to something new, "" for none; `limits` are for small ones.
    """

    profile: str = "ratchet"
    varied: bool = True
    corpus: str = ""
    limits: Limits = UNLIMITED

    def __post_init__(self) -> None:
        """Workers inherit what programs call, and bundles record it."""
        custom_calls.use_own()

    @property
    def identity(self) -> Mapping[str, Any]:
        """The profile, whether engines are varied, and the corpus and limits if there are any."""
        corpus = {"corpus": self.corpus} if self.corpus else {}
        return {"profile": self.profile, "varied": self.varied, **corpus, **self._limits()}

    def support(self, config: Config, support_probe: SupportProbe) -> Any:
        """What some engine does not support, or the reference does not give a meaning.

        Of engines of ours that take all that is generated nothing is asked: that they do, tests say, and an opcode that
        one refuses or dies of comes up in the campaign like any other.  Others are asked about the profile's types,
        and are given no others, nor control flow in the code of one element.
        """
        by_opcode = [(o, list(pairs)) for o, pairs in groupby(sorted(self._drawable()), key=itemgetter(0))]
        found, fatal, questions = set[tuple[str, str]](), [], list[_Question]()
        for spec in config.engines:
            if config.factory == ENGINES and is_complete(spec):
                continue
            found |= {*(compiler.generate.PAIRS - self._drawable()), compiler.generate.FLOW}
            internal = _INTERNAL.get(spec.partition(":")[0], frozenset())
            found |= {pair for opcode, pairs in by_opcode if opcode in internal for pair in pairs}
            questions += [_Question(spec, opcode, pairs) for opcode, pairs in by_opcode if opcode not in internal]
        answers = support_probe.each(lambda worker, question: _probe(worker, config, question), questions)
        for (spec, opcode, _), (unsupported, killing) in zip(questions, answers, strict=True):
            found |= unsupported | {(opcode, kind) for kind, *_ in killing}
            fatal += [[spec, opcode, *killed] for killed in killing]
        return {"banned": sorted([o, k] for o, k in found), "fatal": fatal}

    def beforehand(self, config: Config, support: Any) -> Iterator[CaseFailure | OwnFailure]:
        """The programs of about one instruction that an engine's process did not survive; such are not drawn again."""
        for number, (spec, opcode, kind, verdict, *bug) in enumerate(support.get("fatal", ()), start=1):
            note = f"{opcode} of {kind}, tried alone beforehand"
            if verdict == ERROR:
                yield OwnFailure(-number, note, Bug(*bug))
                continue
            yield attempt(
                partial(_killing, -number, _Killed(spec, opcode, kind, verdict), config.seed, note), -number, note
            )

    def size(self, _support: Any) -> int | None:
        """There is always another one."""
        return None

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """By profile, seed, what is banned and limits."""
        return {
            "drawer": "xlabench.fuzzing.generate:drawer",
            "packed": True,
            "profile": self.profile,
            "seed": config.seed,
            "banned": support["banned"],
            "varied": self.varied,
            **({"corpus": {"folder": self.corpus, "names": []}} if self.corpus else {}),
            **self._limits(),
        }

    def _limits(self) -> dict[str, Any]:
        return {"limits": asdict(self.limits)} if self.limits else {}

    def narrowed(self, _config: Config, _support: Any, failure: CaseFailure, _budget: Budget) -> CaseFailure:
        """Nothing is known not to matter of a `failure`, whatever `_config`, `_support` and `_budget` are."""
        return failure

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
        return {(o, k) for o, k in compiler.generate.PAIRS if k in self._space_types()}

    def _space_types(self) -> frozenset[str]:
        return PROFILES[self.profile].space.element_types


class _Killed(NamedTuple):
    """An engine whose process did not survive an opcode on a type, and the verdict on it."""

    spec: str
    opcode: str
    kind: str
    verdict: str


def _killing(number: int, killed: _Killed, seed: int, note: str) -> CaseFailure:
    """The finding about a pair that an engine's process did not survive."""
    spec, opcode, kind, verdict = killed
    module = probe_module(opcode, kind)
    made = make_inputs(module, np.random.default_rng(seed))
    expected, text = compiler.interpret(module, *made), compiler.to_text(module)
    return CaseFailure(number, spec, verdict, f"{verdict} in compile", "compile", text, made, expected, [], note)


def _probe(worker: Worker, config: Config, question: _Question) -> tuple[set[tuple[str, str]], list[tuple[str, ...]]]:
    """Those of the pairs of one opcode that an engine does not support, and the types that its process dies of.

    Of each such type there is the verdict too; where that is `error`, we failed, and what was raised is said behind it.
    An opcode that it dies of again and again is left alone.
    """
    spec, _, pairs = question
    unsupported, fatal, left, was_early = set[tuple[str, str]](), list[tuple[str, ...]](), list(pairs), False
    while left:
        arguments = {"factory": config.factory, "engine": quickest(spec), "pairs": left}
        job = "xlabench.fuzzing.fuzz_jobs:probe"
        outcome = worker.run(job, arguments, timeout_s=config.timeout_s, is_for_each_stage=True)
        if outcome.ending == "raised" and not outcome.stage:
            raise BenchError(f"{spec}: {outcome.message}")
        if outcome.ending == "answered":
            return unsupported | {(opcode, kind) for opcode, kind in outcome.value["unsupported"]}, fatal
        outcome.require_start()
        if not outcome.stage:  # of what it did before, or of what keeps every process from beginning
            if was_early:
                raise BenchError(f"{spec}: no process of it comes to a question: {outcome.message}\n{outcome.output}")
            was_early = True
            continue
        opcode, kind, *others = outcome.stage.split(" ")
        unsupported |= {(opcode, other) for other in others}
        if outcome.ending == "raised":  # what an engine raises is an answer
            bug = bug_in(outcome)
            fatal.append((kind, ERROR, bug.said, bug.traceback))
        else:
            fatal.append((kind, "timeout" if outcome.ending == "timeout" else "crash"))
        left = left[left.index((opcode, kind)) + 1 :]
        if len(fatal) == _MOST_DEATHS:
            return unsupported | set(left), fatal
    return unsupported, fatal


@dataclass(frozen=True, slots=True)
class Exhaustive(Generated):
    """All small programs, or those of one shard: `shard` says which of how many, from 0 on."""

    profile: str = small.NAME
    shard: tuple[int, int] = (0, 1)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Which of how many shards."""
        return {"profile": self.profile, "varied": self.varied, "shard": list(self.shard)}

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """By number, seed and what is banned."""
        return {
            "drawer": "xlabench.fuzzing.small:drawer",
            "shard": list(self.shard),
            "seed": config.seed,
            "banned": support["banned"],
            "varied": self.varied,
        }

    def size(self, support: Any) -> int:
        """How many modules there are."""
        return small.packs(_banned(support), self.shard[1])

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """Small programs that are done, of all of the shard."""
        whole = small.count(_banned(support))
        of_shard = min(whole, self.size(support) * small.PACK)
        return {
            "of": "programs of one instruction to three",
            "allowed": of_shard,
            "reached": min(of_shard, progress.cases * small.PACK),
            "missing": [],
            "unsupported": 0,
        }

    def _space_types(self) -> frozenset[str]:
        return PROFILES["ratchet"].space.element_types


def _banned(support: Any) -> frozenset[tuple[str, str]]:
    return frozenset((opcode, kind) for opcode, kind in support["banned"])
