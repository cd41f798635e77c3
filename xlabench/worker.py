"""A worker process that is watched: what kills or hangs it is a finding about a job, not the end of the run.

The parent starts Python with this module, which looks for packages where the parent does and not in the working
directory (`xlabench.startup`), writes one JSON request per line to its standard input and reads JSON answers from a
pipe of their own, so that nothing a compiler prints can be taken for one.  A request names a job as `module:function`;
the function takes the arguments and a callable to say which stage it is in.  Standard output and error go to a file,
whose end is kept when the worker dies; `faulthandler` puts the Python stacks of a crash or a hang there.

A job's time runs from the moment that the worker is ready for it: how long Python and the modules to be loaded
beforehand take to start says nothing about the job.  Nor does the time that it spends waiting for a CPU, while others
are at work on a busy machine: that is granted on top, up to a few times the limit.

The worker dies with its parent, however that ends, and a killed worker takes its whole session along.  Where memory
runs out for all, the kernel ends the worker first.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType
from typing import IO, Any, Protocol, Self

from xlabench import startup
from xlabench.errors import BenchError

OnStage = Callable[[str], None]
Job = Callable[[dict[str, Any], OnStage], dict[str, Any]]

ENGINES = ("xlabench.jobs", "xlabench.engines")
"""What a worker that runs engines loads before a job's time begins."""


_STARTING = "start"  # the stage of a job whose process is not ready yet
_MOST_STARTS = 3  # a machine that is busy is no finding about an engine
_LAST_OUTPUT = 4000
_LAST_WORDS_S = 2.0
_START_S = 60.0
_LONGEST_WAIT = 4.0  # times the limit
_LEAST_WAIT_S = 0.05
_ANSWERS = ({"stage"}, {"ending", "value"}, {"ending", "error", "message", "output"})
_OOM_SCORE = Path("/proc/self/oom_score_adj")
DIES_WITH_PARENT = 1
"""The number of the option of `prctl` by which a process gets a signal when its parent ends."""
_BEGIN = "from xlabench.worker import main; main()"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: `answered`, `raised`, `died` or `timeout`, and the last stage it said it was in."""

    ending: str
    stage: str = ""
    value: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    message: str = ""
    output: str = ""

    def require_start(self) -> None:
        """Refuse to go on where there was no process to do the job."""
        if self.stage == _STARTING:
            raise BenchError(f"no worker can be started: {self.message}\n{self.output}".strip())


class Process(Protocol):
    """What is asked of a worker's process."""

    @property
    def pid(self) -> int:
        """The process's number."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """The pipe that takes requests."""

    def poll(self) -> int | None:
        """How it ended, None of one that runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, or raise `subprocess.TimeoutExpired`."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal."""


Begin = Callable[[int, IO[bytes], int], Process]
"""Begins a process: it takes the end of a pipe for answers, a file for what is printed, and the most bytes."""


class Worker:
    """A reusable worker; started when first needed and again after it died.  A context manager.

    `begin` begins its processes, which load what is named beforehand; by default each is a new Python.
    """

    def __init__(
        self, *, memory_bytes: int | None = None, preload: Sequence[str] = (), begin: Begin | None = None
    ) -> None:
        self._memory_bytes = memory_bytes
        self._preload = preload
        self._begin = begin or self._new_python
        self._process: Process | None = None
        self._output: IO[bytes] | None = None
        self._answers = -1
        self._pending, self._unsent = b"", memoryview(b"")
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def run(
        self, job: str, arguments: Mapping[str, Any], *, timeout_s: float, is_for_each_stage: bool = False
    ) -> Outcome:
        """Run one job to its end, whatever that is; a worker that died or hung is replaced for the next.

        The time is for all of the job, or begins anew with each stage that it says.

        Args:
            job: the function, as `module:name`.
            arguments: its arguments, which JSON can hold.
            timeout_s: seconds after which the process is ended.
            is_for_each_stage: whether each stage of the job has as long.
        """
        stage = _STARTING
        try:
            process = self._started()
            if process is None:
                return Outcome("timeout", stage, message=f"the process was not ready after {_START_S:g} s, nor others")
            stage = ""
            clock = _Clock(process.pid, timeout_s)
            self._unsent = memoryview(json.dumps({"job": job, "arguments": arguments}).encode() + b"\n")
            while True:
                line = self._read_line(clock.deadline) if self._is_sent(clock.deadline) else None
                if line is None:
                    if clock.is_extended():
                        continue
                    return self._lost(Outcome("timeout", stage, message=f"no result after {timeout_s:g} s"))
                answer = _parsed(line)
                if answer is None:
                    return self._lost(Outcome("died", stage, message="what the process answered cannot be read"))
                if "stage" not in answer:
                    return Outcome(stage=stage, **answer)
                stage = answer["stage"]
                if is_for_each_stage:
                    clock = _Clock(process.pid, timeout_s)
        except (BrokenPipeError, EOFError):
            return self._lost(Outcome("died", stage))

    def stop(self) -> None:
        """End the worker and all it started."""
        if self._process is None:
            return
        self._kill()
        os.close(self._answers)
        assert self._output is not None
        self._output.close()
        self._process = None

    def interrupt(self) -> None:
        """End the job at hand from another thread: whoever waits for it gets to know that the worker died."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def start(self) -> Process:
        """Start the process, unless it runs already, and do not wait for it."""
        if self._process is None:
            self._is_ready = False
            self._answers, theirs = os.pipe()
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._pending, self._unsent = b"", memoryview(b"")
            self._process = self._begin(theirs, self._output, self._memory_bytes or 0)
            os.close(theirs)
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    def _new_python(self, answers: int, output: IO[bytes], memory_bytes: int) -> Process:
        begin = f"import sys; sys.path[:] = [*dict.fromkeys([*{startup.search_path()!r}, *sys.path])]; {_BEGIN}"
        numbers = map(str, (answers, memory_bytes, os.getpid()))
        return subprocess.Popen(
            [*startup.python(), "-c", begin, *numbers, *self._preload],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[answers],
            start_new_session=True,
        )

    def _started(self) -> Process | None:
        """A process that is ready, None where none gets so in time."""
        for _ in range(_MOST_STARTS):
            process = self.start()
            if self._await_ready():
                return process
            self._lost(Outcome("timeout", _STARTING))
        return None

    def _await_ready(self) -> bool:
        """Wait for the worker's first line, once."""
        if not self._is_ready:
            self._is_ready = self._read_line(time.monotonic() + _START_S) is not None
        return self._is_ready

    def _is_sent(self, deadline: float) -> bool:
        """Send what is left of the request; False when the time is up, as a process that hangs takes no more of it."""
        assert self._process is not None
        assert self._process.stdin is not None
        while self._unsent:
            if not _is_ready_for(selectors.EVENT_WRITE, self._process.stdin.fileno(), deadline):
                return False
            self._unsent = self._unsent[os.write(self._process.stdin.fileno(), self._unsent) :]
        return True

    def _read_line(self, deadline: float) -> bytes | None:
        """The next line of the answers, or None when the time is up."""
        while b"\n" not in self._pending:
            if not _is_ready_for(selectors.EVENT_READ, self._answers, deadline):
                return None
            chunk = os.read(self._answers, 1 << 16)
            if not chunk:
                raise EOFError
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _lost(self, outcome: Outcome) -> Outcome:
        """Complete the outcome of a job that took the worker along, and clear the worker away."""
        assert self._process is not None
        assert self._output is not None
        message = outcome.message
        if outcome.ending == "died" and not message:
            code = self._last_words()
            message = f"the process {'closed its pipe and went on' if code is None else _describe(code)}"
        if outcome.stage == _STARTING and self._memory_bytes:
            message += f"; its memory is limited to {self._memory_bytes >> 20} MiB, give more if it needs that"
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGABRT)  # faulthandler says where every thread hangs
            self._last_words()
        self._kill()
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - _LAST_OUTPUT))
        output = self._output.read().decode(errors="replace")
        self.stop()
        return Outcome(outcome.ending, outcome.stage, message=message, output=output)

    def _last_words(self) -> int | None:
        """The exit status of a process that is to end by itself; None where it does not, which threads may prevent."""
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_LAST_WORDS_S)
        return None

    def _kill(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()


class _Clock:
    """When a job's time is up, which a process that gets no CPU is not to blame for."""

    def __init__(self, process: int, timeout_s: float) -> None:
        self._process, self._timeout_s = process, timeout_s
        self._begin, self._before, self._granted_s = time.monotonic(), _waits(process), 0.0

    @property
    def deadline(self) -> float:
        """The moment, on the monotonic clock."""
        return self._begin + self._timeout_s + self._granted_s

    def is_extended(self) -> bool:
        """Whether the deadline, which is over, is put off; as far as the thread that waited most did wait."""
        waits = [waited - self._before.get(thread, 0.0) for thread, waited in _waits(self._process).items()]
        granted = min(max(waits, default=0.0), _LONGEST_WAIT * self._timeout_s)
        is_later = granted > self._granted_s + _LEAST_WAIT_S
        self._granted_s = max(self._granted_s, granted)
        return is_later


def _waits(process: int) -> dict[str, float]:
    """How many seconds each thread of a process has been ready to run while others ran."""
    waits = {}
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # threads end
            waits[file.parent.name] = int(file.read_text(encoding="utf-8").split()[1]) / 1e9
    return waits


def _is_ready_for(event: int, descriptor: int, deadline: float) -> bool:
    """Wait until a pipe can be read from or written to; False when the time is up."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        return bool(selector.select(max(0.0, deadline - time.monotonic())))


def _parsed(line: bytes) -> dict[str, Any] | None:
    """An answer; None for what is none, as a process whose memory was written over may give."""
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    is_known = isinstance(answer, dict) and answer.keys() in _ANSWERS
    return answer if is_known else None


def _describe(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    return f"was killed by {signal.Signals(-code).name}"


def _serve(answers: IO[str]) -> None:
    """Answer requests until the parent closes its end."""

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in sys.stdin:
        request = json.loads(line)
        try:
            job: Job = resolve_name(request["job"])
            answer({"ending": "answered", "value": job(request["arguments"], lambda stage: answer({"stage": stage}))})
        except Exception as error:  # noqa: BLE001 - this is the boundary: every error is an answer
            names = [kind.__name__ for kind in type(error).__mro__]
            output = traceback.format_exc()[-_LAST_OUTPUT:]
            answer({"ending": "raised", "error": " ".join(names), "message": str(error), "output": output})


def main() -> None:
    """Bind this process to its parent's life and to its memory limit, then serve."""
    descriptor, memory_bytes, parent = map(int, sys.argv[1:4])
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        return
    serve_alone(descriptor, memory_bytes, sys.argv[4:])


def serve_alone(descriptor: int, memory_bytes: int, preload: Sequence[str] = ()) -> None:
    """Keep this process to its memory limit, then serve; loading is done within it.

    Args:
        descriptor: the end of a pipe for the answers.
        memory_bytes: the limit, 0 for none.
        preload: modules to be loaded before anything is asked.
    """
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory_bytes:
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    with contextlib.suppress(OSError):  # a system may not let us volunteer
        _OOM_SCORE.write_text("1000", encoding="utf-8")
    with os.fdopen(descriptor, "w", encoding="utf-8") as answers:
        for module in preload:
            importlib.import_module(module)
        use_custom_calls()
        answers.write("{}\n")
        answers.flush()
        _serve(answers)


def use_custom_calls() -> None:
    """Give custom calls the meanings that they have where this process was started, if any."""
    if os.environ.get(startup.CUSTOM_CALLS):
        importlib.import_module("xlabench.custom_calls").use_inherited()
