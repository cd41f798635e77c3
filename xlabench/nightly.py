"""The main job: every program of a suite on every engine, judged, timed, recorded, and a bundle for each failure.

One thing runs at a time: engines are judged one after the other in a watched worker, and timing has the machine to
itself, in fresh processes, since the process is the unit of replication.  Whatever happens to a worker becomes a
record, and so does what goes wrong here: the program's verdict is `error` then, and the next has its turn.  Each record
is durable when the next step begins, so a run that was killed is resumed at the case it was in.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import compiler
from xlabench import environment, jobs, survival, verdicts
from xlabench.bundles import saving
from xlabench.bundles.failure import Failure
from xlabench.cases.subject import Subject, by_variant, digest_of
from xlabench.cases.suite import Suite, SuiteProgram, Variant
from xlabench.database import Records
from xlabench.errors import BenchError, verdict_of
from xlabench.judging import differ
from xlabench.judging.judge import judged
from xlabench.results import RIGHT, Bundle, Canary, Case, Decided, Kernel, Launch, Opened, Run, Timing, Verdict
from xlabench.timing import change
from xlabench.timing.measure import Plan
from xlabench.worker import ENGINES, Outcome, Worker

Array = jobs.Array
Progress = Callable[[str, str], None]

DONE = "done"
_WORTH_A_BUNDLE = ("wrong", "flaky", "compile-error", "crash", "timeout")
_REPLAY_START_S = 30.0


class _Results(NamedTuple):
    """What the reference gave and what an engine did; nothing where there were none."""

    expected: list[Array]
    actual: list[Array]


@dataclass(frozen=True, slots=True)
class Config:
    """What to do in a run; everything but the memory limit, the factory and other stand-ins becomes part of its record.

    `timed` are the baseline, the candidate, and further engines whose own time is followed from night to night.
    """

    engines: tuple[str, ...] = ("cpu", "cpu:fusion=off", "nvptx:sim")
    reference: str = "reference"
    timed: tuple[str, ...] = ("cpu:fusion=off", "cpu")
    seed: int | None = None
    timeout_s: float = 120.0
    processes: int = 3
    plan: Plan = field(default_factory=Plan)
    memory_bytes: int | None = None
    factory: str = jobs.ENGINES
    canaries: str = jobs.CANARIES
    clock: str = jobs.CLOCK
    wide: bool = True
    twins: bool = False

    @property
    def times(self) -> bool:
        """Whether the run has something to time: all that is to be timed, at least once."""
        return self.processes > 0 and set(self.timed) <= set(self.engines)

    def options(self) -> dict[str, Any]:
        """What a resumed run must have in common with the one it goes on with."""
        return {
            "timed": list(self.timed),
            "input_seed": self.seed,
            "timeout_s": self.timeout_s,
            "processes": self.processes,
            "plan": asdict(self.plan),
            "wide": self.wide,
            "twins": self.twins,
        }


def begin(records: Records, suite: Suite, config: Config, *, resume: bool) -> int:
    """The number of a new run, or of the unfinished one to go on with; BenchError where that is another's.

    Args:
        records: the database.
        suite: the programs.
        config: engines, seed and the like.
        resume: whether the latest run is gone on with if it is unfinished.
    """
    run = Run(
        suite=suite.name,
        description=suite.description,
        reference=config.reference,
        engines=list(config.engines),
        seed=config.seed or 0,
        options=config.options(),
        environment=environment.capture().to_json(),
    )
    latest = records.latest_run() if resume else None
    if latest is None:
        return records.start_run(run)
    run_id, earlier = latest
    for name, was, would_be in _differences(earlier, run):
        raise BenchError(
            f"--resume: the run to go on with has {name} {was}, this one {would_be}; "
            "make them the same, or leave out --resume to start anew"
        )
    return run_id


class _Difference(NamedTuple):
    """A field in which two halves of a run differ."""

    name: str
    was: object
    would_be: object


def _differences(earlier: Run, run: Run) -> Iterator[_Difference]:
    """What two halves of one run must have in common, and have not; half a run on another machine is no run."""
    for name in ("suite", "reference", "engines", "seed", "options"):
        was, would_be = getattr(earlier, name), getattr(run, name)
        if was != would_be:
            yield _Difference(name, was, would_be)
    for name in ("machine", "cpu", "python", "versions", "commit"):
        was, would_be = earlier.environment.get(name), run.environment.get(name)
        if was != would_be:
            yield _Difference(name, was, would_be)


def work(records: Records, run_id: int, suite: Suite, config: Config, folder: Path, progress: Progress) -> None:
    """Do what is left of a run, `run_id`, of a `suite` under a `config`, into `records` and a `folder`.

    `progress` hears the program and each step of it, `DONE` at its end.
    """
    earlier = _earlier_times(records, run_id)
    finished = records.finished_cases(run_id)
    memory_bytes = config.memory_bytes or environment.capture().memory_bytes
    workers = Worker(memory_bytes=memory_bytes, preload=ENGINES)
    with tempfile.TemporaryDirectory(prefix="xlabench-") as scratch, workers as worker:
        for program in suite.programs:
            case = Case(program.name, digest_of(program, config.engines))
            if program.name in finished:
                _check_unchanged(case, finished[program.name])
            else:
                night = _Night(records, run_id, config, folder, Path(scratch), worker, progress, earlier)
                night.case(program, case)
            progress(program.name, DONE)
    records.finish_run(run_id)


@dataclass(frozen=True, slots=True)
class _Night:
    """One case being worked on, and what it needs."""

    records: Records
    run_id: int
    config: Config
    folder: Path
    scratch: Path
    worker: Worker
    progress: Progress
    earlier: Mapping[tuple[str, str], change.Measured]
    at_hand: list[Subject] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)

    def case(self, program: SuiteProgram, case: Case) -> None:
        """Do all there is to do for a program; what goes wrong meanwhile is its verdict."""
        case_id = self.records.start_case(self.run_id, case)
        if not self._survived(lambda: self._judge_and_time(program, case, case_id), case_id):
            self.worker.stop()  # nobody knows in what state it was left
            self._survived(lambda: self._keep_error(program, case_id), case_id)
        self.records.finish_case(case_id)

    def _survived(self, work: Callable[[], None], case_id: int) -> bool:
        """Whether nothing was raised; what was is a record."""
        bug = survival.caught(work)
        if bug is not None:
            self.records.add(case_id, Verdict(survival.US, survival.ERROR, bug.message, self.steps[-1]))
        return bug is None

    def _step(self, program: SuiteProgram, step: str) -> None:
        """Say what is done next: to whoever looks on, and to the record of what goes wrong in it."""
        self.steps.append(step)
        self.progress(program.name, step)

    def _keep_error(self, program: SuiteProgram, case_id: int) -> None:
        """Save what the program was that we failed on, where that was known already."""
        failed_in = self.steps[-1]
        self._step(program, f"bundle of {survival.US}")
        for subject in self.at_hand[-1:]:
            said = f"failed in: {failed_in}"
            verdict = Verdict(self.config.reference, survival.ERROR, said, reduced=subject.variant.reduced)
            self._save(case_id, subject, verdict, _Results([], []), of=survival.US)

    def _judge_and_time(self, program: SuiteProgram, case: Case, case_id: int) -> None:
        """Judge all engines, then time those that deserve it."""
        self._step(program, "load")
        if program.unmade:
            self.records.add(case_id, Verdict(survival.US, survival.ERROR, program.unmade, "twin"))
            return
        right = set()
        for variant, engines in by_variant(program, self.config.engines):
            for verdict in self._judge_all(program, variant, engines, case_id):
                self.records.add(case_id, verdict)
                right |= {verdict.engine} if verdict.verdict in RIGHT else set()
        timed = [engine for engine in self.config.timed if engine in right]
        if program.is_timed and self.config.times and self.config.timed[1] in timed:
            self._time_and_confirm(program, timed, case_id, self.earlier.get((case.name, case.digest)))

    def _judge_all(
        self, program: SuiteProgram, variant: Variant, engines: Sequence[str], case_id: int
    ) -> Iterator[Verdict]:
        """The verdicts of the engines that run this variant; one on the reference only when it fails."""
        try:
            subject = Subject.load(variant, self.config.seed)
        except (BenchError, compiler.CompilerError) as error:
            yield Verdict(self.config.reference, _verdict_of(error), str(error), "load", variant.reduced)
            return
        self.at_hand.append(subject)
        if subject.opened:
            self.records.add(case_id, Opened(variant.path.name, subject.opened))
        self._step(program, self.config.reference)
        jobs.write_arrays(self._inputs_path, subject.inputs)
        outcome, expected = self._evaluate(self.config.reference, variant)
        if expected is None:
            verdict = verdicts.of_no_results(self.config.reference, variant, outcome)
            yield verdict
            self._keep(program, case_id, subject, verdict, _Results([], []))
        asked = jobs.Watched(self.worker, variant.path, self._inputs_path, self.scratch, self.config.timeout_s)
        for engine in engines:
            self._step(program, engine)
            verdict, actual = self._judge(engine, subject, expected, asked)
            yield verdict
            self._keep(program, case_id, subject, verdict, _Results(expected or [], actual))
            for record, path in ((Kernel, self._kernels_path), (Launch, self._launches_path)):
                for row in json.loads(path.read_text()) if path.exists() else ():
                    self.records.add(case_id, record(engine, **row))
            if self._decisions_path.exists() and (digest := self._decisions_path.read_text()):
                self.records.add(case_id, Decided(engine, digest))

    def _judge(
        self, engine: str, subject: Subject, expected: list[Array] | None, asked: jobs.Watched
    ) -> tuple[Verdict, list[Array]]:
        """One verdict, and the results; a wrong result that a second process does not repeat is flaky."""
        variant = subject.variant
        outcome, actual = self._evaluate(engine, variant)
        if actual is None:
            return verdicts.of_no_results(engine, variant, outcome), []
        if expected is None:
            message = f"ran, but {self.config.reference} did not, so there is nothing to judge it by"
            return Verdict(engine, "undecided", message, reduced=variant.reduced), actual
        standard = jobs.standard_of(engine, self.config.reference, subject.policy, wide=self.config.wide)
        verdict = verdicts.of_answer(engine, variant, outcome, judged(expected, actual, standard, asked))
        if verdict.verdict == "wrong" and not self._repeats(engine, variant, actual):
            message = f"a second process gave other results; of the first, {verdict.message}"
            verdict = replace(verdict, verdict="flaky", message=message)
        return verdict, actual

    def _repeats(self, engine: str, variant: Variant, actual: list[Array]) -> bool:
        """Whether a fresh process gives the same bits."""
        self.worker.stop()
        _, again = self._evaluate(engine, variant)
        return again is not None and differ.compare(actual, again).agreement is differ.Agreement.BITWISE

    @property
    def _inputs_path(self) -> Path:
        return self.scratch / "inputs"

    @property
    def _kernels_path(self) -> Path:
        return self.scratch / "kernels"

    @property
    def _launches_path(self) -> Path:
        return self.scratch / "launches"

    @property
    def _decisions_path(self) -> Path:
        return self.scratch / "decisions"

    def _evaluate(self, engine: str, variant: Variant) -> tuple[Outcome, list[Array] | None]:
        for path in (self._kernels_path, self._launches_path, self._decisions_path):
            path.unlink(missing_ok=True)
        arguments = {
            "factory": self.config.factory,
            "engine": engine,
            "program": str(variant.path),
            "inputs": str(self._inputs_path),
            "results": str(self.scratch / "results"),
            "kernels": str(self._kernels_path),
            "launches": str(self._launches_path),
            "decisions": str(self._decisions_path),
        }
        return jobs.evaluated(self.worker, arguments, timeout_s=self.config.timeout_s)

    def _keep(self, program: SuiteProgram, case_id: int, subject: Subject, verdict: Verdict, results: _Results) -> None:
        """Save a repro bundle of a failure of an engine."""
        if verdict.verdict in _WORTH_A_BUNDLE:
            self._step(program, f"bundle of {verdict.engine}")
            self._save(case_id, subject, verdict, results, of=verdict.engine)

    def _save(self, case_id: int, subject: Subject, verdict: Verdict, results: _Results, *, of: str) -> None:
        """Save a repro bundle, under a name that says what it is of."""
        failure = Failure(
            module_text=subject.text,
            inputs=subject.inputs,
            expected=results.expected,
            actual=results.actual,
            engine=verdict.engine,
            reference=self.config.reference,
            seed=self.config.seed,
            verdict=verdict.verdict,
            message=verdict.message,
            policy=subject.policy,
            is_unanswered=not results.expected,
        )
        path = f"bundles/run-{self.run_id}/" + re.sub(r"[^\w.-]+", "-", f"{subject.variant.path.stem}.{of}")
        saved = saving.save(failure, self.folder / path, timeout_s=self.config.timeout_s + _REPLAY_START_S)
        self.records.add(case_id, Bundle(of, path, saved.verified, saved.message))

    def _time_and_confirm(
        self, program: SuiteProgram, timed: Sequence[str], case_id: int, earlier: change.Measured | None
    ) -> None:
        """Time a program, and once more where it looks slower than it was before."""
        self._step(program, "timing")
        found = self._time(program, timed, case_id, first=0)
        if earlier and change.looks_slower(earlier, found):
            self._step(program, "timing once more: slower than before")
            self._time(program, timed, case_id, first=self.config.processes)

    def _time(self, program: SuiteProgram, timed: Sequence[str], case_id: int, *, first: int) -> change.Measured:
        """Time engines in fresh processes, numbered from `first`; a failure is a verdict on who was being compiled."""
        variant = Variant(program.path)
        jobs.write_arrays(self._inputs_path, Subject.load(variant, self.config.seed).inputs)
        found: dict[str, list[dict[str, Any]]] = {"timings": [], "canaries": []}
        for process in range(first, first + self.config.processes):
            self.worker.stop()
            arguments = {
                **{name: getattr(self.config, name) for name in ("factory", "canaries", "clock")},
                "engines": list(timed),
                "program": str(program.path),
                "inputs": str(self._inputs_path),
                "plan": asdict(self.config.plan),
                "seed": process,
            }
            outcome = self.worker.run("xlabench.jobs:time_engines", arguments, timeout_s=self.config.timeout_s)
            if outcome.ending != "answered":
                compiled = outcome.stage.removeprefix("compile ")
                blamed = compiled if compiled in timed else self.config.timed[1]
                self.records.add(case_id, verdicts.of_no_results(blamed, variant, outcome))
                break
            for kind, records in (("timings", _timings(outcome, process)), ("canaries", _canaries(outcome, process))):
                for record in records:
                    self.records.add(case_id, record)
                    found[kind].append(asdict(record))
        return change.Measured.of(found)


def _check_unchanged(case: Case, digest: str) -> None:
    if case.digest != digest:
        raise BenchError(
            f"--resume: program {case.name!r} has changed since it was run; leave out --resume to start anew"
        )


def _verdict_of(error: Exception) -> str:
    """The verdict on a program that could not even be read; no engine is to blame for it."""
    return verdict_of(error) or "bad-input"


def _earlier_times(records: Records, run_id: int) -> dict[tuple[str, str], change.Measured]:
    """What the run before measured, by name and digest of the program."""
    earlier = records.exports_before(run_id, 1)
    return {(case["name"], case["digest"]): change.Measured.of(case) for run in earlier for case in run["cases"]}


def _canaries(outcome: Outcome, process: int) -> list[Canary]:
    """The records of the canaries of one process."""
    return [Canary(one["name"], process, one["calls"], one["samples"]) for one in outcome.value["canaries"]]


def _timings(outcome: Outcome, process: int) -> list[Timing]:
    """The records of one process; a doubt about all engines stands with each."""
    timings = []
    for series in outcome.value["series"]:
        doubts = [
            [doubt["kind"], doubt["message"]]
            for doubt in outcome.value["doubts"]
            if doubt["subject"] in ("", series["name"])
        ]
        timings.append(Timing(series["name"], process, series["calls"], series["samples"], doubts))
    return timings
