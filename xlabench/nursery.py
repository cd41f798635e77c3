"""Processes that have everything loaded the moment they begin: each is forked from one that did nothing but load.

Where programs crash their process again and again, as those of a campaign do on engines of others and those of a
reduction on any, loading takes most of the time: Python, NumPy, the compiler and jaxlib a second, a program a few
hundredths.  So that is done once.  The process that loads runs nothing of anybody's: whatever a job does to its own
process, the next one begins as clean as the first.

A process is asked for over a socket, with the pipes that it is to have; it answers itself, when it has a session of its
own.  How one ended, only the process that forked it gets to know, and is asked.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Sequence
from importlib import import_module
from types import TracebackType
from typing import IO, Any, Self

from xlabench import startup
from xlabench.worker import DIES_WITH_PARENT, Process, serve_alone, use_custom_calls

_LOADING_S = 60.0
_LOOK_S = 0.005
_MOST_BYTES = 4096
_BEGIN = "from xlabench.nursery import main; main()"
_FEWEST_CORES = 2
"""Cores of each of several that are at work at once: on one, nothing of a program is shared out."""


def share_of_cores(number: int, count: int) -> frozenset[int]:
    """The cores of one of several processes that are at work at once.

    A program runs on a thread for each core that its process has, and where every kernel is to be shared it waits for
    all of them: those of 15 processes with 16 threads each hardly ever run at the same time.

    Args:
        number: of the one, from 0.
        count: how many there are.
    """
    cores = sorted(os.sched_getaffinity(0))
    first, end = (n * len(cores) // count for n in (number, number + 1))
    return frozenset((cores * 2)[first : max(end, first + _FEWEST_CORES)])


class Nursery:
    """Begins processes, for workers of one thread; a context manager, to be left when these are stopped.

    What is to be loaded are modules, and functions as `module:function` that are called.  What is not there is left to
    whoever needs it.  The processes run on `cores` only, where these are given.
    """

    def __init__(self, preload: Sequence[str], cores: Collection[int] = ()) -> None:
        self._preload, self._cores = preload, cores
        self._lock = threading.Lock()
        self._loaded: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def begin(self, answers: int, output: IO[bytes], memory_bytes: int) -> Process:
        """A process that serves requests; where none can be loaded, what is left of the one that should have been.

        Args:
            answers: the end of a pipe that it writes to.
            output: takes what it prints.
            memory_bytes: the most that it may have, 0 for any.
        """
        if self._loaded is None or self._loaded.poll() is not None:
            self.stop()
            self._load(output)
        assert self._loaded is not None
        theirs, ours = os.pipe()
        stdin = os.fdopen(ours, "wb", buffering=0)
        begun = self.ask({"memory_bytes": memory_bytes}, [theirs, answers, output.fileno()])
        os.close(theirs)
        if begun is None:
            loaded, self._loaded = self._loaded, None
            loaded.stdin = stdin
            return loaded
        return Begun(self, begun["pid"], stdin)

    def ask(self, question: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any] | None:
        """What is answered; None where nobody is there to do so."""
        with self._lock:
            if self._socket is None:
                return None
            try:
                socket.send_fds(self._socket, [json.dumps(question).encode()], list(descriptors))
                answer: dict[str, Any] = json.loads(self._socket.recv(_MOST_BYTES))
            except (OSError, ValueError):
                return None
            return answer

    def stop(self) -> None:
        """End the process, and with it all that it began."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._loaded is not None:
            self._loaded.kill()
            self._loaded.wait()
            self._loaded = None

    def _load(self, output: IO[bytes]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_LOADING_S)
        begin = f"import sys; sys.path[:] = [*dict.fromkeys([*{startup.search_path()!r}, *sys.path])]; {_BEGIN}"
        self._loaded = subprocess.Popen(
            [*startup.python(), "-c", begin, str(theirs.fileno()), str(os.getpid()), *self._preload],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=startup.without_helpers(os.environ),
        )
        if self._cores:
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(self._loaded.pid, self._cores)
        theirs.close()


class Begun:
    """A process that a nursery began, as far as `Worker` looks at one."""

    def __init__(self, nursery: Nursery, pid: int, stdin: IO[bytes]) -> None:
        self.pid, self.stdin = pid, stdin
        self._nursery = nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        """How it ended, None of one that runs; what a nursery began that is gone itself was killed with it."""
        if self._code is None:
            found = self._nursery.ask({"ended": self.pid})
            self._code = -signal.SIGKILL if found is None else found["code"]
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            subprocess.TimeoutExpired: it does not end in time.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a worker", timeout or 0.0)
            time.sleep(_LOOK_S)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def main() -> None:
    """Load what is named, then begin processes until nobody is left to ask for one."""
    descriptor, parent = map(int, sys.argv[1:3])
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        return
    for name in sys.argv[3:]:
        module, _, function = name.partition(":")
        with contextlib.suppress(ImportError):
            loaded = import_module(module)
            if function:
                getattr(loaded, function)()
    use_custom_calls()
    gc.collect()
    gc.freeze()  # or looking for cycles would copy every page that is shared
    with socket.socket(fileno=descriptor) as asked:
        while True:
            question, descriptors, *_ = socket.recv_fds(asked, _MOST_BYTES, 3)
            if not question:
                return
            _answer(asked, json.loads(question), descriptors)


def _answer(asked: socket.socket, question: dict[str, Any], descriptors: Sequence[int]) -> None:
    if "ended" in question:
        ended, status = os.waitpid(question["ended"], os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if ended else None
        asked.send(json.dumps({"code": code}).encode())
        return
    loaded = os.getpid()
    if os.fork():
        for descriptor in descriptors:
            os.close(descriptor)
        return
    code = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() == loaded:
            questions, answers, output = descriptors
            for stream, number in ((questions, 0), (output, 1), (output, 2)):
                os.dup2(stream, number)
            os.close(questions)
            os.close(output)
            sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
            asked.send(json.dumps({"pid": os.getpid()}).encode())
            asked.close()
            serve_alone(answers, question["memory_bytes"])
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
