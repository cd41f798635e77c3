"""A campaign: batches of drawn programs in worker processes, and what they found, in one folder.

    campaign.json   what is run: the source of the programs, engines, seed; a campaign is resumed only as it was begun
    support.json    what the source found out beforehand, such as what some engine does not support
    progress.json   batches done, counts, coverage; written after each batch
    findings/       one bundle per distinct finding, and findings.json that lists them
    results.json    the summary (`--json` prints the same)

Where programs come from is a `Source`: they are made up (`xlabench.fuzzing.fuzz`), or made of others
(`xlabench.fuzzing.mutate`).

A batch counts as done only when its findings are bundled, so a campaign that is killed loses none and repeats at most
the batches that were running.  Case N of a seed is the same program whatever the batches and workers.
"""

from __future__ import annotations

import json
import queue
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import compiler
from xlabench import atomic
from xlabench.engines import apart, is_foreign
from xlabench.errors import BenchError
from xlabench.fuzzing import findings
from xlabench.fuzzing.findings import Finding, Findings, Raw
from xlabench.fuzzing.fuzz_jobs import drawer_of
from xlabench.fuzzing.inquiry import Inquiry
from xlabench.jobs import ENGINES
from xlabench.worker import Outcome, Worker

_BATCH = 20
_STOPPING_S = 0.1
_PRELOAD = ("xlabench.fuzzing.fuzz_jobs", "xlabench.engines")
"""What a worker imports before its first batch, whose time is for programs."""

_COUNTERS = ("verdicts", "seconds", "pairs", "rules", "changes")


@dataclass(frozen=True, slots=True)
class Config:
    """What a campaign runs.

    Attributes:
        engines: specs of the engines that are held against the reference.
        seed: of everything that is drawn.
        count: how many programs, None for as many as the time allows.
        budget_s: how long, None for no limit.
        workers: processes at work at once.
        timeout_s: for one program on one engine, to compile it or to run it.
        memory_bytes: for one worker.
        max_probes: how often a finding may be tried while it is reduced; 0 reduces nothing.
        factory: what makes engines of specs in a worker.
    """

    engines: tuple[str, ...]
    seed: int = 0
    count: int | None = None
    budget_s: float | None = None
    workers: int = 1
    timeout_s: float = 60.0
    memory_bytes: int | None = 8 << 30
    max_probes: int = 200
    factory: str = ENGINES


@dataclass(slots=True)
class Progress:
    """What has been done; `done` are the numbers of batches."""

    done: set[int] = field(default_factory=set)
    cases: int = 0
    instructions: int = 0
    elapsed_s: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)

    def add(self, record: dict[str, Any]) -> None:
        """Count one case."""
        self.cases += 1
        self.instructions += record["instructions"]
        self.verdicts.update(f"{spec} {verdict}" for spec, (verdict, *_) in record["verdicts"].items())
        self.seconds.update(record["seconds"])
        self.pairs.update(record["pairs"])
        self.rules.update(record["rules"])
        self.changes.update(record["changes"])

    def to_json(self) -> dict[str, Any]:
        """The counts as they are stored."""
        plain = {"cases": self.cases, "instructions": self.instructions, "elapsed_s": self.elapsed_s}
        counters = {key: dict(getattr(self, key)) for key in _COUNTERS}
        return {**plain, **counters, "done": sorted(self.done)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Progress:
        """Counts as they were stored."""
        result = cls(set(content["done"]), content["cases"], content["instructions"], content["elapsed_s"])
        for key in _COUNTERS:
            getattr(result, key).update(content.get(key, {}))
        return result


class Source(Protocol):
    """Where a campaign's programs come from."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes two campaigns with the same engines and seed different ones."""

    def support(self, config: Config, inquiry: Inquiry) -> Any:
        """What is to be known before anything is drawn, as JSON; watched workers may be asked."""

    def beforehand(self, config: Config, support: Any) -> Iterable[Raw]:
        """What went wrong before anything was drawn."""

    def drawing(self, config: Config, support: Any) -> dict[str, Any]:
        """What a worker draws by: `drawer`, a function as `module:function`, and what that takes."""

    def narrowed(self, config: Config, support: Any, raw: Raw) -> Raw:
        """A finding with less of what is known not to matter, before it is reduced."""

    def coverage(self, progress: Progress, support: Any) -> dict[str, Any]:
        """What was reached of what can be."""


Observe = Callable[[Progress, Sequence[Finding]], None]


def _unobserved(_answered: int, _questions: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Done:
    """A batch that ended: its records, and what went wrong in it."""

    number: int
    folder: Path
    records: list[dict[str, Any]]
    raw: list[Raw]


def run(
    config: Config, source: Source, folder: Path, *, observe: Observe, asked: Callable[[int, int], None] = _unobserved
) -> dict[str, Any]:
    """Run or resume a campaign; returns the summary.

    Args:
        config: what it runs.
        source: where its programs come from.
        folder: of a campaign that is to go on, or a new one.
        observe: is told what is done and found, after each batch.
        asked: is told how many of how many questions are answered that come before the first program.
    """
    progress = _open(config, source, folder)
    found = Findings(
        folder / "findings",
        max_probes=config.max_probes,
        factory=config.factory,
        memory_bytes=config.memory_bytes,
    )
    support = _support(config, source, folder, asked)
    drawing = source.drawing(config, support)
    for raw in source.beforehand(config, support):
        found.add(raw)
    for left in folder.glob(".batches-*"):  # by a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    begin, before = time.monotonic(), progress.elapsed_s
    observe(progress, found.all)
    with (
        tempfile.TemporaryDirectory(prefix=".batches-", dir=folder) as scratch,
        _Crew(config, drawing, scratch) as crew,
    ):
        for done in crew.batches(_pending(config, progress)):
            for raw in done.raw:
                found.add(raw, narrow=lambda raw: source.narrowed(config, support, raw))
            for record in done.records:
                progress.add(record)
            progress.done.add(done.number)
            progress.elapsed_s = before + time.monotonic() - begin
            _write(folder / "progress.json", progress.to_json())
            shutil.rmtree(done.folder)
            observe(progress, found.all)
    summary = {
        "config": {**asdict(config), **source.identity},
        "cases": progress.cases,
        "instructions_per_case": progress.instructions / progress.cases if progress.cases else 0.0,
        "elapsed_s": progress.elapsed_s,
        "cases_per_s": progress.cases / progress.elapsed_s if progress.elapsed_s else 0.0,
        "cases_per_s_and_core": _rate_per_core(progress),
        "seconds": dict(progress.seconds),
        "verdicts": dict(progress.verdicts),
        "coverage": {"rules": dict(progress.rules), **source.coverage(progress, support)},
        "findings": [asdict(finding) for finding in found.all],
    }
    _write(folder / "results.json", summary)
    return summary


def _rate_per_core(progress: Progress) -> float:
    """Programs in a second of the time that workers were at work: drawing, running, judging."""
    worked_s = sum(progress.seconds.values())
    return progress.cases / worked_s if worked_s else 0.0


def _open(config: Config, source: Source, folder: Path) -> Progress:
    """The campaign of a folder, begun where there is none."""
    identity = {"engines": list(config.engines), "seed": config.seed, **source.identity}
    stored = folder / "campaign.json"
    folder.mkdir(parents=True, exist_ok=True)
    if not stored.exists():
        if any(folder.iterdir()):
            raise BenchError(f"{folder}: holds something else; give a new folder for the campaign")
        _write(stored, identity)
        return Progress()
    if _read(stored) != identity:
        raise BenchError(f"{folder}: holds another campaign, {_read(stored)}; give a new folder, or resume that one")
    progress = folder / "progress.json"
    return Progress.from_json(_read(progress)) if progress.exists() else Progress()


def _pending(config: Config, progress: Progress) -> Iterator[tuple[int, list[int]]]:
    """Batches that are not done, until the count is reached or the time is up."""
    deadline = None if config.budget_s is None else time.monotonic() + config.budget_s
    batch = 0
    while config.count is None or batch * _BATCH < config.count:
        if deadline is not None and time.monotonic() >= deadline:
            return
        if batch not in progress.done:
            last = (batch + 1) * _BATCH if config.count is None else min((batch + 1) * _BATCH, config.count)
            yield batch, list(range(batch * _BATCH, last))
        batch += 1


def _support(config: Config, source: Source, folder: Path, observe: Callable[[int, int], None]) -> Any:
    """What the source wants to know beforehand, found out once per campaign."""
    stored = folder / "support.json"
    if not stored.exists():
        inquiry = Inquiry(config.workers, config.memory_bytes, _PRELOAD, observe)
        _write(stored, source.support(config, inquiry))
    return _read(stored)


class _Crew:
    """Worker processes, driven by threads that wait for them: one for each, or two where there are others' engines."""

    def __init__(self, config: Config, drawing: dict[str, Any], scratch: str) -> None:
        self._config, self._drawing, self._scratch = config, drawing, Path(scratch)
        self._results: queue.Queue[_Done | BaseException | None] = queue.Queue()
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            while thread.is_alive():  # a worker may only just be starting
                for worker in self._workers:
                    worker.interrupt()
                thread.join(_STOPPING_S)

    def batches(self, pending: Iterator[tuple[int, list[int]]]) -> Iterator[_Done]:
        """Run batches and yield each as it ends."""
        self._threads = [threading.Thread(target=self._work, args=(pending,)) for _ in range(self._config.workers)]
        for thread in self._threads:
            thread.start()
        running = len(self._threads)
        while running:
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result

    def _work(self, pending: Iterator[tuple[int, list[int]]]) -> None:
        try:
            with ExitStack() as stack:
                parts = [(stack.enter_context(self._worker()), engines) for engines in apart(self._config.engines)]
                while not self._stop.is_set():
                    with self._lock:
                        batch = next(pending, None)
                    done = None if batch is None else self._run(parts, *batch)
                    if done is None:
                        break
                    self._results.put(done)
            self._results.put(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the results are read
            self._results.put(error)

    def _worker(self) -> Worker:
        worker = Worker(memory_bytes=self._config.memory_bytes, preload=_PRELOAD)
        self._workers.append(worker)
        return worker

    def _run(self, parts: Sequence[tuple[Worker, Sequence[str]]], number: int, cases: list[int]) -> _Done | None:
        """Run one batch in each process, on the engines that may share it; None where it is to stop."""
        folder = self._scratch / str(number)
        folder.mkdir()
        records: dict[int, dict[str, Any]] = {}
        raw: list[Raw] = []
        for place, (worker, engines) in enumerate(parts):
            inner = folder / str(place)
            deaths = self._run_on(worker, engines, inner, cases)
            if deaths is None:
                return None
            raw += [*deaths, *findings.left_in(inner)]
            for record in _records(inner):
                known = records.setdefault(record["number"], record)
                known["verdicts"] |= record["verdicts"]
                if known is not record:
                    known["seconds"] = Counter(known["seconds"]) + Counter(record["seconds"])
        return _Done(number, folder, list(records.values()), raw)

    def _run_on(self, worker: Worker, engines: Sequence[str], folder: Path, cases: list[int]) -> list[Raw] | None:
        """Run cases to their end, going on behind each that took the worker along; None where it is to stop."""
        folder.mkdir()
        deaths: list[Raw] = []
        left = cases
        while left:
            arguments = {
                "factory": self._config.factory,
                "engines": engines,
                "drawing": self._drawing,
                "folder": str(folder),
                "numbers": left,
            }
            outcome = worker.run(
                "xlabench.fuzzing.fuzz_jobs:batch",
                arguments,
                timeout_s=self._config.timeout_s,
                is_for_each_stage=True,
            )
            if outcome.ending == "answered":
                break
            if self._stop.is_set():
                return None
            outcome.require_start()
            guilty = self._guilty(outcome, engines, left)
            deaths.append(guilty)
            left = [case for case in left if case > guilty.number]
        return deaths

    def _guilty(self, outcome: Outcome, engines: Sequence[str], cases: Sequence[int]) -> Raw:
        """The finding about the case that ended a worker; of others' engines a thread may do so at any time.

        If that was while the next case was drawn, it is put down to the one before, if the worker had any.
        """
        case, spec, phase = outcome.stage.split(" ") if outcome.stage else ("", "", "")
        is_late = outcome.ending == "died" and is_foreign(engines[0])
        doing = f"in {phase} of the reference" if spec == "reference" else f"in {phase}"
        if not spec and is_late:
            drawn_last = int(case or cases[0])
            doing = f"while case {drawn_last} was drawn"
            case, spec, phase = str(max([c for c in cases if c < drawn_last], default=cases[0])), engines[0], "run"
        elif not spec:
            where = f"case {case or 'unknown'} of seed {self._config.seed} failed in the generator"
            raise BenchError(f"{where}: {outcome.message}\n{outcome.output}")
        elif spec == "reference" and is_late:
            spec = engines[0]
        drawn = drawer_of(self._drawing)(int(case))
        verdict = "timeout" if outcome.ending == "timeout" else "crash"
        expected = [] if spec == "reference" else compiler.interpret(drawn.module, *drawn.inputs)
        message = f"{outcome.message} {doing}\n{outcome.output}"
        text = compiler.to_text(drawn.module)
        return Raw(int(case), spec, verdict, message, phase, text, drawn.inputs, expected, [], drawn.note)


def _records(folder: Path) -> list[dict[str, Any]]:
    """What a batch has written of its cases; nothing if it never came to that."""
    stored = folder / "records.jsonl"
    return [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()] if stored.exists() else []


def _write(path: Path, content: Any) -> None:
    atomic.write(path, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: cannot be read: {error}; give the folder of a campaign") from error
