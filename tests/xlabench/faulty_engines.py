"""Engines that are right, or fail in every way an engine can; the spec says how, and in which stage."""

import ctypes
import sys
import time

import numpy as np

import compiler


def segfault():
    sys.stderr.write("about to read address 0\n")
    sys.stderr.flush()
    ctypes.string_at(0)


def hang():
    while True:
        time.sleep(3600)


def hog():
    kept = []
    while True:
        kept.append(np.ones(1 << 24, np.uint8))


def raise_error():
    raise RuntimeError("kernel launch failed")


def refuse():
    raise compiler.UnsupportedError("opcode fft", "this engine")


def complain():
    raise compiler.InputError("give another option")


FAULTS = {
    "segfault": segfault,
    "hang": hang,
    "hog": hog,
    "raise": raise_error,
    "refuse": refuse,
    "complain": complain,
}


class Faulty:
    def __init__(self, spec):
        self.spec = spec
        self.fault, _, self.stage = spec.partition("@")
        self.calls = 0

    def _fail(self, stage):
        if self.stage == stage:
            FAULTS[self.fault]()

    def compile(self, module):
        self._fail("compile")
        module = compiler.parse(module) if isinstance(module, str) else module

        def run(*arrays):
            self._fail("run")
            self.calls += 1
            results = compiler.interpret(module, *arrays)
            if self.fault == "clobber":
                arrays[0][...] = 0
            return [result + (self.calls if self.fault == "flaky" else 0) for result in results]

        return run


def engine(spec, *, dump_to=""):
    return Faulty(spec)
