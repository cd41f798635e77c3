"""How much one kernel may hold."""

import numpy as np
import pytest

import compiler
from compiler.analysis.joining import MOST_FUNCTIONS
from compiler.analysis.opcodes import FUNCTIONS
from compiler.ops import OPS

COUNT = 3 * MOST_FUNCTIONS


def functions_of_kernels(text):
    module = compiler.optimize(compiler.parse(text), compiler.CompileOptions())
    found = [sum(i.opcode in FUNCTIONS for i in c.instructions) for c in module.computations]
    assert sum(found) == COUNT
    return sorted(found)[-len([i for i in module.entry.instructions if i.opcode == "fusion"]) :]


@pytest.mark.parametrize("opcode", sorted(FUNCTIONS))
def test_a_chain_of_functions_is_cut(opcode):
    rest = ", p" * (OPS[opcode].operands[0] - 1)
    steps = "\n".join(f"x{i + 1} = f32[8] {opcode}(x{i}{rest})" for i in range(COUNT))
    text = f"ENTRY e {{ x0 = f32[8] parameter(0)  p = f32[8] parameter(1)\n{steps}\nROOT r = f32[8] abs(x{COUNT}) }}"
    assert functions_of_kernels(text) == [MOST_FUNCTIONS] * 3


def test_kernels_of_several_results_hold_no_more():
    chains = []
    for chain in range(6):
        first = f"k{chain} = f32[] constant({chain})  b{chain} = f32[8] broadcast(k{chain}), dimensions={{}}"
        rows = [f"x{chain}.{i + 1} = f32[8] sine(x{chain}.{i})" for i in range(COUNT // 6)]
        chains += [first, f"x{chain}.0 = f32[8] add(x, b{chain})", *rows]
    roots = ", ".join(f"x{chain}.{COUNT // 6}" for chain in range(6))
    shapes = ", ".join(["f32[8]"] * 6)
    text = "ENTRY e { x = f32[8] parameter(0)\n" + "\n".join(chains) + f"\nROOT t = ({shapes}) tuple({roots}) }}"
    assert max(functions_of_kernels(text)) <= MOST_FUNCTIONS


def test_scalars_that_are_reduced_are_no_columns():
    text = (
        "least { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] minimum(a, b) }\n"
        "ENTRY e { x = f32[] parameter(0)  y = f32[] reduce(x, x), dimensions={}, to_apply=least\n"
        "z = f32[] reduce(x, x), dimensions={}, to_apply=least  ROOT t = f32[] subtract(y, z) }"
    )
    options = compiler.CompileOptions(disable_passes=("algebraic-simplification", "cse"))
    optimized = compiler.optimize(compiler.parse(text), options)
    assert compiler.interpret(optimized, np.float32(2)) == [0]
