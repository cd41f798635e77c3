"""Ask an engine about many programs, each in a watched process, and judge the answers by the reference.

The reference and the engine run in processes of their own: a candidate of a reduction may loop for ever in either, and
an engine that crashes or writes where it must not takes nobody along.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import compiler
from xlabench import jobs
from xlabench.cases.layouts import ALIGNED
from xlabench.diagnosis import pass_dumps
from xlabench.diagnosis.budget import Bounded, Budget
from xlabench.diagnosis.case import Case, Recorded
from xlabench.engines import files_of
from xlabench.engines.spec import split_spec
from xlabench.errors import BenchError, Undecidable
from xlabench.judging import judge as judging
from xlabench.judging.tolerance import Array, TolerancePolicy
from xlabench.nursery import Nursery
from xlabench.survival import Bug
from xlabench.worker import ENGINES, Outcome, Worker

FAILURES = frozenset({"wrong", "crash", "compile-error", "timeout", "flaky"})
"""The verdicts that somebody is to blame for."""
REFUSED = "refused"
"""The kind of failure of an engine that takes all, and says of a program that it does not."""

_REFERENCE_FACTORY = "xlabench.engines:engine"
_RUNNING = re.compile(r"^BISECT: running pass \(\d+\) (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Setup:
    """Who is asked, who is right, how near is near enough, and how long and with how much memory either may work.

    An engine that `takes_all` that it is asked about fails where it refuses anything; `layout` says how inputs lie.
    """

    engine: str
    reference: str = "reference"
    policy: TolerancePolicy = TolerancePolicy()  # noqa: RUF009 - frozen
    timeout_s: float = 60.0
    factory: str = _REFERENCE_FACTORY
    memory_bytes: int | None = None
    takes_all: bool = False
    layout: str = ALIGNED


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of one case; `actual` is empty where the engine gave no answer, and `stage` says where it was then.

    `wrong` are the numbers of the results that have wrong elements; of what takes all, a refusal is a failure too.
    """

    verdict: str
    message: str
    expected: tuple[Array, ...] = ()
    actual: tuple[Array, ...] = ()
    mismatches: int = 0
    max_ulps: int | None = None
    stage: str = ""
    wrong: tuple[int, ...] = ()
    is_refusal: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether the engine is to blame for something."""
        return self.verdict in FAILURES


@dataclass(frozen=True, slots=True)
class PassStep:
    """A module after a pass that changed it; `rewrites` counts those done so far."""

    number: int
    name: str
    rewrites: int
    text: str


class RewriteStep(NamedTuple):
    """A rewrite of an engine's passes: its number, from 1, the pass, the rule, and where."""

    number: int
    pass_name: str
    rule: str
    where: str


@dataclass(frozen=True, slots=True)
class Passes:
    """What the passes of an engine did.

    Of a foreign engine there are texts only, some of which may not be ours to evaluate.
    """

    steps: tuple[PassStep, ...]
    rewrites: tuple[RewriteStep, ...]
    broken_pass: str = ""
    error: str = ""
    is_foreign: bool = False

    def after(self, number: int) -> str | None:
        """The module after the pass run of that number, which may not have changed it."""
        known = [step.text for step in self.steps if step.number <= number]
        return known[-1] if known else None


def with_options(spec: str, options: Mapping[str, object]) -> str:
    """An engine's spec with options set."""
    name, written = split_spec(spec)
    merged = {**written, **{key: str(value) for key, value in options.items()}}
    items = [f"{key}={value}" if value else key for key, value in merged.items()]
    return f"{name}:{','.join(items)}" if items else name


class Prober:
    """Keeps the two processes, which are asked within a budget; a context manager."""

    def __init__(self, setup: Setup, budget: Budget | None = None) -> None:
        self.setup, self.budget = setup, budget or Budget()
        self._folder = tempfile.TemporaryDirectory(prefix="xlabench-probe-")
        self._scratch = Path(self._folder.name)
        self._nursery = Nursery((*ENGINES, *files_of([setup.engine])))
        self._reference, self._subject = self._worker(), self._worker()
        self._llvm_listing = ""

    def _worker(self) -> Bounded:
        return Bounded(Worker(memory_bytes=self.setup.memory_bytes, begin=self._nursery.begin), self.budget)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reference.stop()
        self._subject.stop()
        self._nursery.stop()
        self._folder.cleanup()

    def expected(self, case: Case) -> tuple[Array, ...] | None:
        """What the reference says; None where it says nothing."""
        return self.expected_of(case.module, case.inputs)

    def expected_of(self, source: compiler.Module | str, inputs: Sequence[Array]) -> tuple[Array, ...] | None:
        """What the reference says of a program, which may be a text that nobody has read."""
        _, expected = self._by_reference(source, inputs)
        return None if expected is None else tuple(expected)

    def bug_of_reference(self, case: Case) -> str:
        """The error that the reference breaks down with, and where; "" where it does not: a refusal is none."""
        outcome, _ = self._by_reference(case.module, case.inputs)
        kinds = outcome.error.split() if outcome.ending == "raised" else []
        is_refusal = not {"CompilerError", "BenchError"}.isdisjoint(kinds)
        return "" if not kinds or is_refusal else _bug_in(outcome).kind

    def refusal_of_reference(self, case: Case) -> tuple[str, str]:
        """What the reference says where it refuses what a shape rule does, and the opcode whose rule that is."""
        outcome, _ = self._by_reference(case.module, case.inputs)
        is_raised = outcome.ending == "raised"
        return (outcome.message, _bug_in(outcome).subject) if is_raised else ("", "")

    def _by_reference(
        self, source: compiler.Module | str, inputs: Sequence[Array]
    ) -> tuple[Outcome, list[Array] | None]:
        who = {"factory": _REFERENCE_FACTORY, "engine": self.setup.reference}
        arguments = self._arguments(source, inputs) | who
        return jobs.evaluated(self._reference, arguments, timeout_s=self.setup.timeout_s)

    def judge(self, case: Case, *, engine: str = "", expected: tuple[Array, ...] | None = None) -> Judgement:
        """The verdict on a `case` of the engine, or of another `engine`, by what is `expected` where that is known.

        Without a reference's results it is `undecided`.
        """
        if expected is None:
            expected = self.expected(case)
        if expected is None:
            return Judgement("undecided", f"{self.setup.reference} gives no result")
        outcome, actual = self._evaluated(case, engine)
        if actual is None:
            verdict = jobs.without_results(outcome, takes_all=self.setup.takes_all)
            said = "" if verdict in ("unsupported", "assembled") else outcome.output.strip()
            message = "\n".join(filter(None, [outcome.message, said]))
            is_refusal = jobs.is_refusal(outcome)
            return Judgement(verdict, message, expected, stage=outcome.stage, is_refusal=is_refusal)
        judged, value = self._judged(case, expected, actual), outcome.value
        comparison = judged.comparison
        changed, flaky, otherwise = (value[name] for name in ("changed_inputs", "flaky", "otherwise"))
        verdict, message = jobs.of_calls(changed, flaky, judged.verdict, judged.message, otherwise=otherwise)
        elements, ulps, wrong = comparison.mismatches, comparison.max_ulps, judged.wrong_results
        return Judgement(verdict, message, expected, tuple(actual), elements, ulps, wrong=wrong)

    def is_by_layout(self, case: Case, judgement: Judgement) -> bool:
        """Whether what a `judgement` says of a `case` comes of how inputs lie: it is right where they are aligned."""
        if self.setup.layout == ALIGNED:
            return False
        kept, self.setup = self.setup, replace(self.setup, layout=ALIGNED)
        try:
            return not self.judge(case, expected=judgement.expected).is_failure
        finally:
            self.setup = kept

    def judge_llvm(self, case: Case, expected: tuple[Array, ...], limit: int) -> tuple[Judgement, list[str]]:
        """The verdict with that many of LLVM's passes, and the names of those that ran; in a process of its own.

        Args:
            case: the program and its inputs.
            expected: the reference's results.
            limit: passes that LLVM may run.
        """
        engine = with_options(self.setup.engine, {"llvm_limit": limit})
        listing = self._scratch / "llvm"
        listing.write_bytes(b"")
        self._llvm_listing = str(listing)
        with self._fresh_process():
            judgement = self.judge(case, engine=engine, expected=expected)
        return judgement, _RUNNING.findall(listing.read_text(encoding="utf-8", errors="replace"))

    def llvm_text(self, case: Case, limit: int) -> str:
        """LLVM's IR after that many of its passes, made in a process of its own; "" where the engine shows none."""
        arguments = self._arguments(case.module, case.inputs)
        with self._fresh_process():
            outcome = self._ask(
                "xlabench.diagnosis.probe_jobs:show_llvm",
                arguments,
                with_options(self.setup.engine, {"llvm_limit": limit}),
            )
        return str(outcome.value["text"]) if outcome.ending == "answered" else ""

    def renew(self) -> None:
        """Ask the engine in a new process from now on; what was asked so far may have damaged the one it had."""
        self._subject.stop()

    @contextmanager
    def _fresh_process(self) -> Iterator[None]:
        """Have a process that has compiled nothing take the place of the engine's for a while."""
        kept, self._subject = self._subject, self._worker()
        try:
            yield
        finally:
            self._subject.stop()
            self._subject, self._llvm_listing = kept, ""

    def agrees(self, case: Case, expected: Sequence[Array], actual: Sequence[Array]) -> bool:
        """Whether results are right, or may be.

        Args:
            case: the program and its inputs.
            expected: the reference's results.
            actual: those that are asked about.
        """
        return self._judged(case, expected, actual).verdict != "wrong"

    def _judged(self, case: Case, expected: Sequence[Array], actual: Sequence[Array]) -> judging.Judgement:
        """The judgement on results, as by all commands."""
        files = self._arguments(case.module, case.inputs)
        program, inputs = Path(files["program"]), Path(files["inputs"])
        asked = jobs.Watched(self._reference, program, inputs, self._scratch, self.setup.timeout_s)
        standard = jobs.standard_of(self.setup.engine, self.setup.reference, self.setup.policy)
        return judging.judged(expected, actual, standard, asked)

    def record(self, case: Case) -> Recorded:
        """The values at every place of the program on the reference."""
        arguments = self._arguments(case.module, case.inputs)
        outcome = self._reference.run(
            "xlabench.diagnosis.probe_jobs:record_values", arguments, timeout_s=self.setup.timeout_s
        )
        if outcome.ending != "answered":
            return Recorded({}, {}, outcome.message or outcome.ending)
        instruction_ids = [(computation, name) for computation, name in outcome.value["places"]]
        arrays = jobs.read_arrays(Path(arguments["results"]))
        first = dict(zip(instruction_ids, arrays[: len(instruction_ids)], strict=True))
        again = {
            instruction_ids[number]: array
            for number, array in zip(outcome.value["again"], arrays[len(instruction_ids) :], strict=True)
        }
        return Recorded(first, {**first, **again})

    def graph_values(self, case: Case, endpoints: Sequence[str]) -> dict[str, Array]:
        """What outputs of nodes are in the graph that a program carries, by the reference; dead ones are left out."""
        arguments = self._arguments(case.module, case.inputs) | {"places": list(endpoints)}
        job = "xlabench.diagnosis.probe_jobs:record_graph"
        outcome = self._reference.run(job, arguments, timeout_s=self.setup.timeout_s)
        if outcome.ending != "answered":
            return {}
        return dict(zip(outcome.value["places"], jobs.read_arrays(Path(arguments["results"])), strict=True))

    def passes(self, case: Case, *, engine: str = "", withhold_required: bool = False) -> Passes | None:
        """What passes, of this or another `engine`, make of a `case`; None where they are not shown.

        Fuel is withheld from required rewrites too if that is asked for, by `withhold_required`.
        """
        arguments = self._arguments(case.module, ()) | {"withhold_required": withhold_required}
        arguments["dumps"] = tempfile.mkdtemp(prefix="passes-", dir=self._scratch)
        outcome = self._ask("xlabench.diagnosis.probe_jobs:show_passes", arguments, engine)
        dumped = pass_dumps.read(Path(arguments["dumps"]))
        shutil.rmtree(arguments["dumps"])
        if dumped:
            return _foreign(dumped, outcome)
        running = outcome.stage.removeprefix("pass ")
        if outcome.ending in jobs.ENDINGS and running != outcome.stage:
            return Passes((), (), running, jobs.ENDINGS[outcome.ending])
        if outcome.ending != "answered" or not outcome.value:
            return None
        steps = tuple(PassStep(*step) for step in outcome.value["steps"])
        rewrites = tuple(RewriteStep(*rewrite) for rewrite in outcome.value["rewrites"])
        return Passes(steps, rewrites, outcome.value["broken_pass"], outcome.value["error"])

    def _evaluated(self, case: Case, engine: str) -> tuple[Outcome, list[Array] | None]:
        arguments = self._arguments(case.module, case.inputs) | self._who(engine)
        if not self._llvm_listing:
            return jobs.evaluated(self._subject, arguments, timeout_s=self.setup.timeout_s)
        arguments["listing"] = self._llvm_listing
        job = "xlabench.diagnosis.probe_jobs:evaluate_listing_llvm"
        return jobs.evaluated(self._subject, arguments, timeout_s=self.setup.timeout_s, job=job)

    def _ask(self, job: str, arguments: dict[str, Any], engine: str) -> Outcome:
        return self._subject.run(job, arguments | self._who(engine), timeout_s=self.setup.timeout_s)

    def _who(self, engine: str) -> dict[str, str]:
        return {"factory": self.setup.factory, "engine": engine or self.setup.engine, "layout": self.setup.layout}

    def _arguments(self, source: compiler.Module | str, inputs: Sequence[Array]) -> dict[str, Any]:
        paths = {name: self._scratch / name for name in ("program", "inputs", "results")}
        jobs.write_program(paths["program"], source)
        jobs.write_arrays(paths["inputs"], inputs)
        return {name: str(path) for name, path in paths.items()}


def _bug_in(outcome: Outcome) -> Bug:
    """What a worker raised."""
    return Bug(f"{outcome.error.partition(' ')[0]}: {outcome.message}", outcome.output)


def _foreign(dumped: Sequence[tuple[pass_dumps.PassDump, str]], outcome: Outcome) -> Passes:
    """What a foreign engine left; where it did not come to an end, some pass after the last of these is broken."""
    steps = tuple(PassStep(dump.number, dump.step, 0, text) for dump, text in dumped)
    broken = "" if outcome.ending == "answered" else f"after {steps[-1].name}"
    return Passes(steps, (), broken, outcome.message if broken else "", is_foreign=True)


def require_failure(judgement: Judgement) -> None:
    """Refuse to look for the cause of what is no failure."""
    if not judgement.is_failure:
        kind = Undecidable if judgement.verdict in ("undecided", "unsupported") else BenchError
        raise kind(f"there is no failure to look into: {judgement.verdict}: {judgement.message}")
