"""Engines that are the reference but for one planted bug each, loaded by the workers of fuzzing campaigns."""

import os
import threading
import time
from dataclasses import replace

import numpy as np

import compiler
from xlabench.fuzzing import generate
from xlabench.fuzzing.case import Case

REVERSING = 3
SPOILT_BY = set()
_SOON = 3  # calls with inputs of other kinds, before the first is made again
_INTERPRET = compiler.interpret  # whatever an engine makes of it


class Broken:
    def __init__(self, spec):
        self.spec = spec
        self.calls = []
        self.is_whole = True

    def compile(self, module):
        module = compiler.parse(module) if isinstance(module, str) else module
        if self.spec == "xla":
            SPOILT_BY.add(self.spec)
        if self.spec == "right" and SPOILT_BY:
            raise RuntimeError("another engine has spoilt the memory of this process")
        opcodes = {instruction.opcode for instruction in module.instructions()}
        if self.spec == "refuses" and "negate" in opcodes:
            raise compiler.UnsupportedError("opcode negate", "this engine")
        if self.spec == "raises" and "abs" in opcodes:
            raise RuntimeError("cannot select abs")
        is_probe = not module.name.startswith("fuzz")
        if "abs" in opcodes and (self.spec == "perishes" or (self.spec == "dies" and not is_probe)):
            os.abort()
        if _is_pack(module):
            self.compile_together()
        if self.spec == "falls" and "reverse" in opcodes:
            raise RuntimeError("cannot select reverse")
        if self.spec == "hangs" and "abs" in opcodes and not is_probe:
            time.sleep(600)
        if self.spec == "stalls" and module.name == "fuzz_20":
            time.sleep(600)

        return lambda *inputs: self.run(module, inputs)

    def compile_together(self):
        if self.spec == "dies-together":
            os.abort()
        if self.spec == "raises-together":
            raise RuntimeError("too much at once")

    def run(self, module, inputs):
        self.is_whole = all(array.flags.c_contiguous for array in inputs)
        if self.spec.startswith("cpu") and module.name == "fuzz_0":  # it writes where it must not
            if "check_memory=on" in self.spec:
                os.abort()
            SPOILT_BY.add(self.spec)
        if self.spec == "cpu" and module.name == "fuzz_6" and SPOILT_BY:
            os.abort()
        is_nan = any(np.isnan(array).any() for array in inputs if array.dtype.kind == "f")
        if self.spec == "dies-of-nan" and is_nan:
            os.abort()
        results = _INTERPRET(module, *inputs, around=self.evaluate)
        if self.spec == "errs-on-nan" and is_nan:
            return [np.zeros_like(result) for result in results]
        if self.spec == "errs-together" and _is_pack(module):
            return [np.zeros_like(result) for result in results]
        if self.spec == "xla:late":
            compiler.interpret = compiler.prepare = lambda *_arguments, **_named: os.abort()
        if self.spec == "xla:later":
            generate.draw_case = lambda *_arguments, **_named: os.abort()
        if self.spec == "spoils":
            inputs[0][...] = 99
        return self.remembered(results)

    def remembered(self, results):
        if self.spec == "dies-of-views" and not self.is_whole:
            os.abort()
        if self.spec == "takes-views-for-zeros" and not self.is_whole:
            return [np.zeros_like(result) for result in results]
        self.calls.append(results)
        if self.spec == "writes-on" and len(self.calls) > 1:
            self.calls[0][0][...] = 7
        if self.spec == "errs-beside-others" and threading.current_thread() is not threading.main_thread():
            return [np.zeros_like(result) for result in results]
        is_late = self.spec == "forgets" and len(self.calls) > _SOON
        return [np.zeros_like(result) for result in results] if is_late else results

    def evaluate(self, instruction, operands, evaluate):
        value = evaluate(operands)
        if self.spec == "drops" and instruction.opcode == "reverse":
            return value + value
        if self.spec == "reference:off" and instruction.opcode == "reverse":
            return np.nextafter(value, 0) if value.dtype == np.float32 else value
        return ~value if self.spec == "wrong" and instruction.opcode == "is-finite" else value


def _is_pack(module):
    return "_to_" in module.name


def engine(spec):
    return Broken(spec)


def draw_what_the_reference_cannot_evaluate(_arguments):
    """A drawer of programs every second of which has a constant that nobody knows."""
    whole, elided = "1, 2, 3, 4", "..."

    def draw(number):
        value = elided if number % 2 else whole
        text = f"HloModule fuzz_{number} ENTRY main {{ ROOT c = f32[4] constant({{{value}}}) }}"
        return Case(number, compiler.parse(text), [])

    return draw


def draw_with_the_same_inputs(_arguments):
    """A drawer of cases that share arrays, as the mutants of a program do."""
    module = compiler.parse("ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] negate(x) }")
    inputs = [np.arange(3, dtype=np.float32)]
    return lambda number: Case(number, module, inputs)


def draw_with_two_kinds_of_inputs(arguments):
    """A drawer of cases that are called a second time, with a NaN, and a third time."""
    draw = draw_with_the_same_inputs(arguments)

    def drawn(number):
        case = draw(number)
        others = {"special": [np.asarray([1, np.nan, 2], np.float32)], "equal": [np.full(3, 5, np.float32)]}
        return replace(case, others=others)

    return drawn


def draw_small_ones(_arguments):
    """A drawer of small programs that are called twice, of which one reverses."""

    def draw(number):
        opcode = "reverse(x), dimensions={0}" if number == REVERSING else "negate(x)"
        text = f"HloModule fuzz_{number} ENTRY main {{ x = f32[3] parameter(0) ROOT y = f32[3] {opcode} }}"
        inputs = np.arange(number + 1, number + 4, dtype=np.float32)
        return Case(number, compiler.parse(text), [inputs], others={"sorted": [np.sort(inputs)]})

    return draw


class _Threaded(Broken):
    """Wrong, or gone, where it is to use seven threads."""

    def __init__(self, spec, end):
        super().__init__(spec)
        self.end = end

    def run(self, module, inputs):
        return self.end(module, inputs) if "threads=7" in self.spec else _INTERPRET(module, *inputs)


def cpu_dies_with_seven_threads(spec):
    return _Threaded(spec, lambda *_: os.abort())


def cpu_errs_with_seven_threads(spec):
    return _Threaded(spec, lambda module, inputs: [np.ones_like(array) for array in _INTERPRET(module, *inputs)])


def draw_for_a_variant(arguments):
    """A drawer of cases that are for seven threads."""
    draw = draw_with_the_same_inputs(arguments)
    return lambda number: replace(draw(number), options={"cpu": {"opt": "0", "threads": "7"}})


def draw_what_we_fail_on(arguments):
    """A drawer that ends its process over the first case, raises something over the third and hangs over the fifth."""
    draw = draw_with_the_same_inputs(arguments)

    def failing(number):
        if number == 0:
            os.abort()
        if number == 2:
            raise ValueError("no such thing")
        if number == 4:
            time.sleep(600)
        return draw(number)

    return failing
