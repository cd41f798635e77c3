"""Loops over slices come to the one product that a compiler may make of theirs, and to the same results."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices
from compiler.generate.recurrences import RECURRENCES
from compiler.generate.scope import Program, Scope, Space
from compiler.ir.module import Computation, Module
from compiler.ir.types import S32

SPACE = Space(frozenset(), frozenset({"s32"}), most_parameters=9)


def drawn(seed, name):
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    scope = Scope(Program(RandomChoices(seed), SPACE, module, lambda _: None), module.entry, depth=0)
    module.entry.root = RECURRENCES[name].draw(scope, "", S32)
    module.sort_computations()
    compiler.verify(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", RECURRENCES)
def test_slices_are_multiplied_before_the_loop(name):
    widened = 0
    for seed in range(6):
        module = drawn(seed, name)
        optimized = compiler.optimize(module)
        widened += any(i.opcode == "dot" for i in optimized.entry.instructions)
        rng = np.random.default_rng(seed)
        given = [rng.integers(-9, 9, p.shape.dims).astype(np.int32) for p in module.entry.parameters]
        expected = compiler.interpret(module, *given)
        for one, other in zip(compiler.interpret(optimized, *given), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert widened > 3
