"""Engines for tests of the harness, loaded by worker processes: right, wrong, crashing, hanging, unsupported.

A "program" is any text that says `sum` or not; what an engine does depends on its spec and on words in the text.
"""

import os
import sys
import threading
import time

import numpy as np

from compiler.backends.executable import Facts, KernelResources


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
        run.facts = Facts(
            kernels if f"kernels-of-{self.spec}" in text else (),
            proven="1 kernel assembled" if f"assembled-by-{self.spec}" in text else "",
            ran="simulated 7 lane-instructions" if self.spec == "nvptx:sim" else "",
        )
        return run


def engine(spec):
    return Fake(spec)


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
