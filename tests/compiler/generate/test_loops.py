"""Loops are drawn that one kernel may do although they ask whether any element goes on."""

from __future__ import annotations

import pytest

from compiler.analysis import iteration
from compiler.generate import RandomChoices, Space
from compiler.generate.loops import loop
from compiler.generate.scope import Program, Scope
from compiler.generate.table import step
from compiler.ir.module import Computation, Module
from compiler.ir.types import F32

SPACE = Space(frozenset({"while", "add", "multiply", "maximum"}), frozenset({"f32", "s32", "u8"}), most_elements=64)


def drawn(seed):
    """A loop, as one that one kernel may do, or None."""
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    scope = Scope(Program(RandomChoices(seed), SPACE, module, step), module.entry, depth=0)
    loop(scope, "while", F32)
    return next(iteration.find(one) for one in module.entry.instructions if one.opcode == "while")


@pytest.mark.slow
def test_loops_that_ask_whether_any_element_goes_on_may_be_one_kernel():
    found = [one for seed in range(150) if (one := drawn(seed)) is not None]
    assert sum(one.alive is not None for one in found) > 10
