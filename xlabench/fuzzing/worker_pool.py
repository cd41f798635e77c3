"""The worker processes of a campaign: each runs batches of cases, and is replaced when a case takes it along.

A thread waits for each worker.  Where engines are not to share a process it has one for each part of them, and puts
together what these say of a case.

What fails of our own, in a worker or while its end is followed up, belongs to the case at hand (`own_failures`).  Only
what no other case can be free of ends the pool: no worker that starts, or none that comes to a program, and a disk that
is full.
"""

from __future__ import annotations

import math
import queue
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import compiler
from xlabench.engines import apart, files_of, is_foreign
from xlabench.errors import BenchError, RecordsLost
from xlabench.fuzzing import case_failure, packs
from xlabench.fuzzing.asking import Phase, phase_in
from xlabench.fuzzing.attribution import attribute_crash
from xlabench.fuzzing.blocks import Todo
from xlabench.fuzzing.case import Case
from xlabench.fuzzing.case_failure import CaseFailure
from xlabench.fuzzing.case_records import count_ended, nothing_known, records_in
from xlabench.fuzzing.config import Config
from xlabench.fuzzing.deadline import Deadline
from xlabench.fuzzing.fuzz_jobs import drawer_of
from xlabench.fuzzing.own_failures import OwnFailure, attempt, bug_in
from xlabench.fuzzing.reached import names_in
from xlabench.nursery import Nursery, share_of_cores
from xlabench.survival import US
from xlabench.worker import Outcome, Worker

PRELOAD = ("xlabench.fuzzing.fuzz_jobs", "xlabench.engines")
"""What a worker imports before its first batch, whose time is for programs."""
_LOADED = (*PRELOAD, "xlabench.fuzzing.reached:seeds")

_STOPPING_S = 0.1
_DRAWING = "generate"
_LINE = "\n"


@dataclass(slots=True)
class Done:
    """A batch that ended: its cases, their records by number, what went wrong in it, and what failed of our own."""

    cases: Sequence[int]
    folder: Path
    records: dict[int, dict[str, Any]] = field(default_factory=dict)
    unreduced: list[CaseFailure] = field(default_factory=list)
    own: list[OwnFailure] = field(default_factory=list)

    def add(self, found: CaseFailure | OwnFailure) -> None:
        """Take in what went wrong, with whom it may."""
        if isinstance(found, OwnFailure):
            self.own.append(found)
        else:
            self.unreduced.append(found)

    def count_own(self) -> None:
        """Let the records of cases say what failed of our own: of some nothing else is known."""
        for failure in self.own:
            if failure.number >= 0:
                record = self.records.setdefault(failure.number, nothing_known())
                record["verdicts"] = record["verdicts"] | {US: failure.verdict}


@dataclass(frozen=True, slots=True)
class Ended:
    """The case that ended a worker: the verdicts that this is, by engine, and what is found.

    `members` are the cases of a pack, where it was at work on one.
    """

    number: int
    verdicts: dict[str, list[str]]
    found: CaseFailure | OwnFailure
    members: tuple[int, ...] = ()

    @property
    def is_timeout(self) -> bool:
        """Whether it took too long."""
        return self.found.verdict == "timeout"


@dataclass(frozen=True, slots=True)
class Blamed:
    """Whose work ended a worker, in which phase, on which inputs; `doing` says the same in words.

    `members` are the cases of a pack, where it was at work on one.
    """

    number: int
    engine: str
    phase: Phase
    doing: str
    members: tuple[int, ...] = ()


class WorkerPool:
    """Worker processes, driven by threads that wait for them: one for each, or two where there are others' engines."""

    def __init__(self, config: Config, drawing: dict[str, Any], scratch: str) -> None:
        self._config, self._drawing, self._scratch = config, drawing, Path(scratch)
        self._drawings: dict[int, dict[str, Any]] = {}
        self._results: queue.Queue[Done | BaseException | None] = queue.Queue()
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            while thread.is_alive():  # a worker may only just be starting
                for worker in self._workers:
                    worker.interrupt()
                thread.join(_STOPPING_S)

    def start(self, pending: Iterator[tuple[int, list[int]]]) -> None:
        """Begin to run batches, of which there are numbers and cases."""
        shares = [share_of_cores(number, self._config.workers) for number in range(self._config.workers)]
        self._threads = [threading.Thread(target=self._work, args=(pending, cores)) for cores in shares]
        for thread in self._threads:
            thread.start()

    def batches(self, deadline: Deadline) -> Iterator[Done]:
        """Each batch as it ends.

        What still runs when a program could have been begun and given up since the `deadline` is left undone, but for
        the first: a batch that takes longer than all the time there is would otherwise be begun by each call, for ever.
        """
        running, left_s = len(self._threads), None
        while running:
            try:
                result = self._results.get(timeout=left_s)
            except queue.Empty:
                return
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
                left_s = self._left_s(deadline)

    def _left_s(self, deadline: Deadline) -> float | None:
        """Seconds that workers still have, without end None."""
        left_s = deadline.left_s + self._config.timeout_s
        return None if math.isinf(left_s) else max(0.0, left_s)

    def _work(self, pending: Iterator[tuple[int, list[int]]], cores: Collection[int]) -> None:
        try:
            with ExitStack() as stack:
                workers = [(self._worker(stack, engines, cores), engines) for engines in apart(self._config.engines)]
                while not self._stop.is_set():
                    with self._lock:
                        batch = next(pending, None)
                    done = None if batch is None else self._run(workers, *batch)
                    if done is None:
                        break
                    self._results.put(done)
            self._results.put(None)
        except BaseException as error:  # noqa: BLE001 - it is raised again where the results are read
            self._results.put(error)

    def _worker(self, stack: ExitStack, engines: Sequence[str], cores: Collection[int]) -> Worker:
        """A worker for engines, on its cores; what these end again and again is each time begun at once."""
        nursery = stack.enter_context(Nursery((*_LOADED, *files_of(engines)), cores))
        worker = stack.enter_context(Worker(memory_bytes=self._config.memory_bytes, begin=nursery.begin))
        self._workers.append(worker)
        return worker

    def _run(self, workers: Sequence[tuple[Worker, Sequence[str]]], number: int, cases: list[int]) -> Done | None:
        """Run one batch in each process, on the engines that may share it; None where it is to stop."""
        folder = self._scratch / str(number)
        folder.mkdir()
        self._drawings |= dict.fromkeys(cases, self._begun())
        done = Done(cases, folder)
        for index, (worker, engines) in enumerate(workers):
            inner = folder / str(index)
            if not self._run_on(worker, engines, inner, done):
                return None
            for left in case_failure.folders_in(inner):
                number = int(left.name.partition("-")[0])
                done.add(attempt(partial(case_failure.left_at, left), number, "reading what a worker left"))
            for record in records_in(inner):
                known = done.records.setdefault(record["number"], record)
                known["verdicts"] |= record["verdicts"]
                if known is not record:
                    known["seconds"] = Counter(known["seconds"]) + Counter(record["seconds"])
        return done

    def _begun(self) -> dict[str, Any]:
        """What a batch is drawn by that begins now: of a corpus what is there."""
        corpus = self._drawing.get("corpus")
        if corpus is None:
            return self._drawing
        return {**self._drawing, "corpus": {**corpus, "names": names_in(Path(corpus["folder"]))}}

    def _run_on(self, worker: Worker, engines: Sequence[str], folder: Path, done: Done) -> bool:
        """Run cases to their end, going on behind each that took the worker along; False where it is to stop."""
        folder.mkdir()
        todo: Todo[Ended] = Todo.of(done.cases, is_packed=bool(self._drawings[done.cases[0]].get("packed")))
        while todo.cases:
            ended = self._ended(worker, engines, folder, todo)
            if ended and ended.members:
                todo.broken.append(ended)
            elif ended:
                todo.ending.add(ended.number)
                self._take(worker, engines, folder, ended, todo.cases, done)
            if self._stop.is_set():
                return False
            todo.go_on(ended)
        for ended in todo.unexplained():
            self._take(worker, engines, folder, ended, list(ended.members), done)
        return not self._stop.is_set()

    def _take(
        self, worker: Worker, engines: Sequence[str], folder: Path, ended: Ended, cases: Sequence[int], done: Done
    ) -> None:
        """Count what ended a worker, and look for what is behind it."""
        count_ended(folder, ended.number, ended.verdicts)
        self._attribute_crash(ended, engines, cases, partial(self._again, worker, folder), done)
        if isinstance(ended.found, OwnFailure):
            worker.stop()  # nobody knows in what state it was left

    def _attribute_crash(
        self,
        ended: Ended,
        engines: Sequence[str],
        cases: Sequence[int],
        again: Callable[[Sequence[str], Sequence[int]], list[CaseFailure]],
        done: Done,
    ) -> None:
        """Take in what is behind the end of a worker; what is known already where that cannot be found out."""
        if isinstance(ended.found, CaseFailure):
            search = partial(attribute_crash, ended.found, engines, cases, again)
            step = f"looking for what is behind the {ended.found.verdict} of {ended.found.engine}"
            found = attempt(search, ended.number, step, ended.found.module_text)
            done.add(found)
            if isinstance(found, CaseFailure):
                return
        done.add(ended.found)

    def _ended(self, worker: Worker, engines: Sequence[str], folder: Path, todo: Todo[Ended]) -> Ended | None:
        """Run cases until one ends the worker; returns what is found about that.

        Raises:
            BenchError: no worker can be started, or none comes to a program.
            RecordsLost: a worker cannot write what it finds out.
        """
        outcome = self._asked(worker, engines, folder, todo)
        if not (outcome.stage or self._is_late(outcome, engines) or self._stop.is_set()):  # of what was before, maybe
            worker.stop()
            outcome = self._asked(worker, engines, folder, todo)
        if outcome.ending == "answered" or self._stop.is_set():
            return None
        outcome.require_start()
        if "RecordsLost" in outcome.error.split():
            raise RecordsLost(f"a worker cannot go on: {outcome.message}")
        return self._guilty(outcome, self._blamed(outcome, engines, todo.cases))

    def _asked(self, worker: Worker, engines: Sequence[str], folder: Path, todo: Todo[Ended]) -> Outcome:
        """Run cases; how that ended."""
        arguments = {
            "factory": self._config.factory,
            "engines": engines,
            "drawing": self._drawings[todo.cases[0]],
            "folder": str(folder),
            "numbers": todo.cases,
            "packs": todo.packs,
            "is_examined": engines == apart(self._config.engines)[0],
        }
        return worker.run(
            "xlabench.fuzzing.fuzz_jobs:batch",
            arguments,
            timeout_s=self._config.timeout_s,
            is_for_each_stage=True,
        )

    def _again(self, worker: Worker, folder: Path, engines: Sequence[str], cases: Sequence[int]) -> list[CaseFailure]:
        """What goes wrong in a new process, up to the case that ends it."""
        worker.stop()
        inner = Path(tempfile.mkdtemp(prefix="again-", dir=folder))
        ended = self._ended(worker, engines, inner, Todo(list(cases)))
        found = [ended.found] if ended and isinstance(ended.found, CaseFailure) else []
        return [*case_failure.left_in(inner), *found]

    def _guilty(self, outcome: Outcome, blamed: Blamed) -> Ended:
        """What is found about the case that ended a worker."""
        number, spec = blamed.number, blamed.engine
        if spec == US:
            text = "" if blamed.phase.bare == _DRAWING else self._text(number)  # what failed may hang, or end us, here
            return Ended(number, {}, OwnFailure(number, blamed.doing, bug_in(outcome), text))
        verdict = "timeout" if outcome.ending == "timeout" else "crash"
        message = f"{outcome.message} {blamed.doing}\n{outcome.output}"

        def drawn_again() -> CaseFailure:
            drawn = self._drawn(blamed)
            phase, kind, layout = blamed.phase
            inputs, note = drawn.given(kind), drawn.noted(kind)
            expected = [] if spec == "reference" else compiler.interpret(drawn.module, *inputs)
            text = compiler.to_text(drawn.module)
            return CaseFailure(
                number, drawn.on(spec), verdict, message, phase, text, inputs, expected, [], note, layout
            )

        found = attempt(drawn_again, number, f"following up the {verdict} of {spec}: {message.partition(_LINE)[0]}")
        if isinstance(found, OwnFailure):
            found = replace(found, module_text=self._text(number))
        said = [verdict, message.partition(_LINE)[0], blamed.phase.bare]
        return Ended(number, {spec: said}, found, blamed.members)

    def _drawn(self, blamed: Blamed) -> Case:
        """The case or the pack that is to blame."""
        draw = drawer_of(self._drawings[blamed.number])
        return packs.pack(list(map(draw, blamed.members))) if blamed.members else draw(blamed.number)

    def _text(self, number: int) -> str:
        """The text of a case; empty where it cannot be had."""
        text = attempt(lambda: compiler.to_text(drawer_of(self._drawings[number])(number).module), number, _DRAWING)
        return text if isinstance(text, str) else ""

    def _is_late(self, outcome: Outcome, engines: Sequence[str]) -> bool:
        """Whether a thread of others' engines may have ended a worker."""
        return outcome.ending == "died" and is_foreign(engines[0])

    def _blamed(self, outcome: Outcome, engines: Sequence[str], cases: Sequence[int]) -> Blamed:
        """Who ended a worker.

        What engines raise is their answer, so that whatever else is raised is ours, but for what the reference says of
        a program.  A thread of others' engines may end a worker at any time, and damaged memory may: while the
        reference is at work, or while the next case is drawn, which is put down to the one before, if the worker had
        any.
        """
        label, spec, stage = outcome.stage.split(" ") if outcome.stage else ("", "", "")
        case, *others = label.split("+")
        members = tuple(map(int, (case, *others))) if others else ()
        phase = phase_in(stage)
        is_late = self._is_late(outcome, engines)
        if outcome.ending == "raised" and case and (spec, phase.bare) != ("reference", "run"):
            return _ours(case, phase, spec)
        if spec == "reference":
            blamed = engines[0] if is_late else spec
            return Blamed(int(case), blamed, phase, f"in {phase.bare} of the reference", members)
        if spec == US:
            after = Blamed(int(case), engines[0], Phase("run"), f"in {phase.bare} after it")
            return after if is_late else _ours(case, phase)
        if spec:
            return Blamed(int(case), spec, phase, f"in {phase.bare}", members)
        drawn = int(case or cases[0])
        earlier = cases[: cases.index(drawn)]
        if is_late or (outcome.ending == "died" and earlier):
            return Blamed([cases[0], *earlier][-1], engines[0], Phase("run"), f"while case {drawn} was drawn")
        if not case:
            raise BenchError(f"no worker comes to a program: {outcome.message}\n{outcome.output}")
        return _ours(case, phase)


def _ours(case: str, phase: Phase, engine: str = US) -> Blamed:
    """The blame for what fails of our own, in a phase of the work on an engine or of ours alone."""
    return Blamed(int(case), US, phase, f"{phase.bare} of {engine}" if engine not in ("", US) else phase.bare)
