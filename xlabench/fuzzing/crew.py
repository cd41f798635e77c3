"""The worker processes of a campaign: each runs batches of cases, and is replaced when a case takes it along.

A thread waits for each worker.  Where engines are not to share a process it has one for each part of them, and puts
together what these say of a case.
"""

from __future__ import annotations

import contextlib
import json
import queue
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import compiler
from xlabench.diagnosis.checks import checked
from xlabench.engines import apart, is_foreign
from xlabench.errors import BenchError
from xlabench.fuzzing import findings
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.findings import Raw
from xlabench.fuzzing.fuzz_jobs import drawer_of
from xlabench.worker import Outcome, Worker

PRELOAD = ("xlabench.fuzzing.fuzz_jobs", "xlabench.engines")
"""What a worker imports before its first batch, whose time is for programs."""

_STOPPING_S = 0.1
_RECORDS = "records.jsonl"
_NOTHING_KNOWN: Mapping[str, Any] = {
    "instructions": 0, "pairs": (), "rules": (), "changes": (), "verdicts": {}, "seconds": {}
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Done:
    """A batch that ended: its cases, their records, and what went wrong in it."""

    cases: Sequence[int]
    folder: Path
    records: list[dict[str, Any]]
    raw: list[Raw]


class Crew:
    """Worker processes, driven by threads that wait for them: one for each, or two where there are others' engines."""

    def __init__(self, config: Config, drawing: dict[str, Any], scratch: str) -> None:
        self._config, self._drawing, self._scratch = config, drawing, Path(scratch)
        self._results: queue.Queue[Done | BaseException | None] = queue.Queue()
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            while thread.is_alive():  # a worker may only just be starting
                for worker in self._workers:
                    worker.interrupt()
                thread.join(_STOPPING_S)

    def batches(self, pending: Iterator[tuple[int, list[int]]]) -> Iterator[Done]:
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
        worker = Worker(memory_bytes=self._config.memory_bytes, preload=PRELOAD)
        self._workers.append(worker)
        return worker

    def _run(self, parts: Sequence[tuple[Worker, Sequence[str]]], number: int, cases: list[int]) -> Done | None:
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
        return Done(cases, folder, list(records.values()), raw)

    def _run_on(self, worker: Worker, engines: Sequence[str], folder: Path, cases: list[int]) -> list[Raw] | None:
        """Run cases to their end, going on behind each that took the worker along; None where it is to stop."""
        folder.mkdir()
        deaths: list[Raw] = []
        left = cases
        while left:
            ended = self._ended(worker, engines, folder, left)
            if ended:
                _count(folder, ended)
                deaths.append(culprit(ended, engines, left, partial(self._again, worker, folder)))
            if self._stop.is_set():
                return None
            left = [case for case in left if ended and case > ended.number]
        return deaths

    def _ended(self, worker: Worker, engines: Sequence[str], folder: Path, cases: Sequence[int]) -> Raw | None:
        """Run cases until one ends the worker; returns the finding about that."""
        arguments = {
            "factory": self._config.factory,
            "engines": engines,
            "drawing": self._drawing,
            "folder": str(folder),
            "numbers": cases,
        }
        outcome = worker.run(
            "xlabench.fuzzing.fuzz_jobs:batch",
            arguments,
            timeout_s=self._config.timeout_s,
            is_for_each_stage=True,
        )
        if outcome.ending == "answered" or self._stop.is_set():
            return None
        outcome.require_start()
        if (
            "OSError" in outcome.error.split()
        ):  # one of an engine is an answer; this is a disk that is full, or the like
            raise BenchError(f"a worker cannot go on: {outcome.message}; see to that, and run the campaign again")
        return self._guilty(outcome, engines, cases)

    def _again(self, worker: Worker, folder: Path, engines: Sequence[str], cases: Sequence[int]) -> list[Raw]:
        """What goes wrong in a new process, up to the case that ends it."""
        worker.stop()
        inner = Path(tempfile.mkdtemp(prefix="again-", dir=folder))
        ended = self._ended(worker, engines, inner, cases)
        return [*findings.left_in(inner), *([ended] if ended else [])]

    def _guilty(self, outcome: Outcome, engines: Sequence[str], cases: Sequence[int]) -> Raw:
        """The finding about the case that ended a worker."""
        number, spec, phase, doing = self._blamed(outcome, engines, cases)
        drawn = drawer_of(self._drawing)(number)
        verdict = "timeout" if outcome.ending == "timeout" else "crash"
        expected = [] if spec == "reference" else compiler.interpret(drawn.module, *drawn.inputs)
        message = f"{outcome.message} {doing}\n{outcome.output}"
        text = compiler.to_text(drawn.module)
        return Raw(number, spec, verdict, message, phase, text, drawn.inputs, expected, [], drawn.note)

    def _blamed(self, outcome: Outcome, engines: Sequence[str], cases: Sequence[int]) -> tuple[int, str, str, str]:
        """The case that ended a worker, the engine, the phase, and in words what the worker was doing.

        A thread of others' engines may end it at any time, and damaged memory may: while the reference is at work, or
        while the next case is drawn, which is put down to the one before, if the worker had any.
        """
        case, spec, phase = outcome.stage.split(" ") if outcome.stage else ("", "", "")
        is_late = outcome.ending == "died" and is_foreign(engines[0])
        if spec == "reference":
            return int(case), engines[0] if is_late else spec, phase, f"in {phase} of the reference"
        if spec:
            return int(case), spec, phase, f"in {phase}"
        drawn = int(case or cases[0])
        earlier = [number for number in cases if number < drawn]
        if is_late or (outcome.ending == "died" and earlier):
            return max(earlier, default=cases[0]), engines[0], "run", f"while case {drawn} was drawn"
        where = f"case {case or 'unknown'} of seed {self._config.seed} failed in the generator"
        raise BenchError(f"{where}: {outcome.message}\n{outcome.output}")


def culprit(
    ended: Raw, engines: Sequence[str], cases: Sequence[int], again: Callable[[Sequence[str], Sequence[int]], list[Raw]]
) -> Raw:
    """What is behind the end of a process: what it was doing, or an engine before that wrote over its memory.

    With the checks on that engines have, who does so is told at once: another engine on the same case, or where that
    ends no process alone, one on a case before.  `again` runs cases in a new process, up to the first that ends it.
    """
    closer = [checked(spec) for spec in engines]
    if ended.verdict != "crash" or closer == list(engines):
        return ended
    for numbers in ([ended.number], [case for case in cases if case < ended.number]):
        found = again(closer, numbers) if numbers else []
        crash = next((raw for raw in found if raw.verdict == "crash"), None)
        if crash is not None:
            is_same = (crash.number, crash.engine) == (ended.number, checked(ended.engine))
            return ended if is_same else crash
    return ended


def _count(folder: Path, ended: Raw) -> None:
    """Let the case that ended a process count, with that as its verdict on the engine that did so."""
    verdict = [ended.verdict, ended.message.partition("\n")[0], ended.key]
    line = json.dumps({"number": ended.number, "verdicts": {ended.engine: verdict}})
    with (folder / _RECORDS).open("a", encoding="utf-8") as records:
        records.write(f"\n{line}\n")  # behind what the process may not have come to the end of


def _records(folder: Path) -> list[dict[str, Any]]:
    """What a batch has written of its cases, put together; of no line that it did not finish."""
    stored = folder / _RECORDS
    found: dict[int, dict[str, Any]] = {}
    for line in stored.read_bytes().splitlines() if stored.exists() else ():
        with contextlib.suppress(ValueError):
            part = json.loads(line)
            record = found.setdefault(part["number"], dict(_NOTHING_KNOWN))
            for key, value in part.items():
                record[key] = record[key] | value if isinstance(value, dict) else value
    return list(found.values())
