"""Work of a campaign in processes that are forked from one that has everything loaded.

Loading would take longer than most searches, and a busy machine must not count, so time is the CPU time of those
processes.  A program that hangs is told by its CPU time as well.
"""

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from xlabench import worker
from xlabench.worker import Worker

TIMEOUT_S = 20.0
_LONGEST_S = 1200  # a batch on a machine that is very busy
_RAISED = 70


def forked(work, say_to, timeout_s=TIMEOUT_S):
    """Run something in a process of its own; returns how it ended, the last stage it said, and its CPU time.

    It ends as jobs of workers do: `answered`, `raised`, `died` or `timeout`; what was raised is in a file `.log`.  The
    limit is CPU seconds since it said a stage.
    """
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            _alone(work, say_to, timeout_s)
        os._exit(1)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    endings = {0: "answered", _RAISED: "raised", -signal.SIGXCPU: "timeout", -signal.SIGALRM: "timeout"}
    return endings.get(code, "died"), read(say_to), usage.ru_utime + usage.ru_stime


def _alone(work, say_to, timeout_s):
    """What the process does that `forked` made."""
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(os.open(say_to.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    signal.alarm(_LONGEST_S)
    stages = os.open(say_to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def say(stage):
        os.pwrite(stages, stage.ljust(100).encode(), 0)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + timeout_s) + 1, most))

    try:
        work(say)
    except Exception:  # noqa: BLE001 - how it ended is the answer
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(_RAISED)
    os._exit(0)


def read(path):
    """A file's text, "" where there is none."""
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


class Ended:
    """A forked process, as far as `Worker` looks at one."""

    def __init__(self, pid, stdin):
        self.pid, self.stdin, self.code = pid, stdin, None

    def poll(self, flags=os.WNOHANG):
        if self.code is None:
            ended, status = os.waitpid(self.pid, flags)
            self.code = os.waitstatus_to_exitcode(status) if ended else None
        return self.code

    def wait(self, timeout=None):
        until = time.monotonic() + (timeout or 0)
        while timeout and self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(0.01)
        return self.poll(0)

    def send_signal(self, number):
        os.kill(self.pid, number)


class Forked(Worker):
    """A worker that has everything loaded from the start."""

    def start(self):
        if self._process is None:
            self._is_ready, self._pending = False, b""
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            self._answers, theirs = os.pipe()
            questions, ours = os.pipe()
            child = os.fork()
            if not child:
                with contextlib.suppress(BaseException):
                    self._serve(questions, theirs)
                os._exit(1)
            os.close(theirs)
            os.close(questions)
            self._process = Ended(child, os.fdopen(ours, "wb"))
        return self._process

    def _serve(self, questions, answers):
        os.setsid()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it dies with its parent
        for number in (1, 2):
            os.dup2(self._output.fileno(), number)
        faulthandler.enable()
        sys.stdin = os.fdopen(questions)
        with os.fdopen(answers, "w", encoding="utf-8") as stream:
            stream.write("{}\n")
            stream.flush()
            worker._serve(stream)
