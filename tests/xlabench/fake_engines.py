"""Engines for tests of the harness, loaded by worker processes: right, wrong, crashing, hanging, unsupported.

A "program" is any text that says `sum` or not; what an engine does depends on its spec and on words in the text.
"""

import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np

from compiler.backends.executable import ExecutableInfo, KernelResources, LaunchModel


class UnsupportedError(Exception):
    """Told apart by its name, as the compiler's is."""


class Fake:
    def __init__(self, spec):
        self.spec = spec

    def compile(self, text):
        if f"hang-in-{self.spec}" in text:
            time.sleep(600)
        if f"unsupported-by-{self.spec}" in text:
            raise UnsupportedError("opcode frobnicate is not supported by the fake back end")
        if f"uncompilable-by-{self.spec}" in text:
            raise RuntimeError("LLVM ERROR: cannot select")
        return self.call(text)

    def call(self, text):
        calls = 0

        def run(x):
            nonlocal calls
            calls += 1
            if f"crash-in-{self.spec}" in text:
                os.abort()
            if f"raise-in-{self.spec}" in text:
                raise RuntimeError("kernel launch failed")
            if f"clobber-in-{self.spec}" in text:
                x[0] += 1
            shift = 1 if f"wrong-in-{self.spec}" in text else 0
            shift = calls if f"flaky-in-{self.spec}" in text else shift
            return [np.asarray(x * 2 + shift)]

        kernels = (KernelResources("first", 40, 0, 0, 0), KernelResources("second", 40, 0, 0, 8))
        run.facts = ExecutableInfo(
            kernels if f"kernels-of-{self.spec}" in text else (),
            proven="1 kernel assembled" if f"assembled-by-{self.spec}" in text else "",
            ran="simulated 7 lane-instructions" if self.spec == "nvptx:sim" else "",
        )
        if f"modelled-by-{self.spec}" in text:
            run.launch_models = (LaunchModel("main/add 1", 2500.0, 2400.0, "memory", 16, 1.0, 0.0, 8, 8, 0, 0, 0, 0),)
        if f"decided-by-{self.spec}" in text:
            run.decisions_digest = "0123456789abcdef"
        return run


def engine(spec):
    return Fake(spec)


class Clock:
    """Time that passes only inside the engines and canaries below, so that a run's samples are what a test says.

    `FAKE_SECONDS` in the environment gives the seconds of a call as JSON, by spec and by `canary`.
    """

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def taking(self, name, call):
        """A call that takes its time, and a little more by turns, as measured ones do."""
        seconds = json.loads(os.environ["FAKE_SECONDS"]).get(name, 1.0)
        calls = itertools.count()

        def run(*inputs):
            self.now += seconds * (1 + next(calls) % 3 / 1000)
            return call(*inputs)

        return run


clock = Clock()


class TimedFake(Fake):
    """Takes the time that the test states."""

    def call(self, text):
        return clock.taking(self.spec, super().call(text))


def timed(spec):
    return TimedFake(spec)


def canaries():
    return {name: clock.taking("canary", lambda: None) for name in ("compute", "memory")}


class Refusing(Fake):
    """Supports nothing."""

    def compile(self, text):
        raise UnsupportedError("there is no such device here")


def refusing(spec):
    return Refusing(spec)


def echo(arguments, say):
    sys.stdout.write("chatter on standard output\n")
    say("thinking")
    return {"got": arguments}


def fail(arguments, say):
    say("thinking")
    raise KeyError("no such thing")


def die(arguments, say):
    say("dying")
    os.kill(os.getpid(), arguments["signal"])


def leave(arguments, say):
    os.write(1, b"last words\n")
    os._exit(3)


def leave_a_thread(arguments, say):
    say("leaving")
    threading.Thread(target=time.sleep, args=(600,)).start()
    raise SystemExit(3)


def close_everything(arguments, say):
    say("closing")
    os.closerange(3, 64)
    time.sleep(600)


def babble(arguments, say):
    say("babbling")
    os.write(int(sys.argv[1]), bytes(arguments["what"]) + b"\n")
    return {}


def hang(arguments, say):
    say("hanging")
    time.sleep(600)


def hog(arguments, say):
    return {"size": len(bytearray(1 << 32))}


def process(arguments, say):
    return {"pid": os.getpid()}


def multiply(arguments, say):
    """The library that NumPy multiplies by begins its threads when the process does, or at the first large product."""
    large = np.ones((300, 300), np.complex128)
    assert (large @ large == 300).all()
    return {"threads": threading.active_count(), "of_system": sum(1 for _ in Path("/proc/self/task").iterdir())}
