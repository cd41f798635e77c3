"""An engine that takes liberties, and besides is imprecise, loaded by the workers of all commands that judge.

Named `xla` it takes those of XLA: denormal numbers are zeros.  Its logarithm of a number plus one is wrong by some 450
units of the last place, but in a program named `original`.
"""

import numpy as np

import compiler
from xlabench import engines
from xlabench.fuzzing.case import Case
from xlabench.judging.liberties import without_denormals

IMPRECISE = "ENTRY main { x = f64[64] parameter(0) a = f64[64] abs(x) ROOT y = f64[64] log-plus-one(a) }"
FLUSHED = """ENTRY main { x = f64[4] parameter(0) d = f64[4] constant({1e-310, 2, 1e-310, 0}) u = f64[4] ceil(d)
  ROOT y = f64[4] add(x, u) }"""
SPOILT = """ENTRY main { x = f64[4] parameter(0) d = f64[4] constant({1e-310, 2, 1e-310, 0}) u = f64[4] ceil(d)
  a = f64[4] abs(x) l = f64[4] log-plus-one(a) ROOT y = f64[4] add(l, u) }"""


class Imprecise:
    def __init__(self, spec):
        self.spec = spec

    def compile(self, module):
        module = compiler.parse(module) if isinstance(module, str) else module

        def around(instruction, operands, evaluate):
            value = without_denormals(evaluate([without_denormals(operand) for operand in operands]))
            is_imprecise = instruction.opcode == "log-plus-one" and module.name != "original"
            return value * (1 + 1e-13) if is_imprecise else value

        return lambda *inputs: compiler.interpret(module, *inputs, around=around)


def engine(spec, **options):
    return Imprecise(spec) if spec == "xla" else engines.engine(spec, **options)


def draw(arguments):
    """A drawer of one program, whose original is another of the same meaning if there is one."""
    module = compiler.parse(f"HloModule mutant\n{arguments['text']}")
    original = compiler.parse(f"HloModule original\n{arguments['text']}") if arguments["is_mutant"] else None
    (shape,) = {parameter.shape.dims for parameter in module.entry.parameters}
    inputs = [np.linspace(0.5, 3, shape[0])]
    return lambda number: Case(number, module, inputs, original=original)
