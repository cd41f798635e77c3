"""Of equal values the first is chosen, or the last, by their numbers or their order; numbers are of all kinds."""

from __future__ import annotations

from collections import Counter

import numpy as np

import compiler
from compiler.generate import RandomChoices
from compiler.generate.choosing import chooser, numbers_of
from compiler.generate.scope import Program, Scope, Space
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32
from compiler.ops.build import build, constant, parameter

VALUES = np.array([3, 7, 7, 1, 7, 2], np.int32)


def scope_of(seed):
    module = Module("m")
    module.entry = module.add_computation(Computation("main"))
    space = Space(frozenset({"broadcast", "reduce", "reverse"}), frozenset({"s32", "s8"}))
    return Scope(Program(RandomChoices(seed), space, module, lambda _: None), module.entry, depth=0)


def chosen(seed):
    """What is chosen of the values by their own numbers."""
    scope = scope_of(seed)
    made, start = chooser(scope, S32, S32, "GT")
    shape, module = ArrayShape(S32, VALUES.shape), scope.program.module
    numbers = build(scope.computation, "iota", shape=shape, iota_dimension=0)
    inits = [constant(scope.computation, scalar_literal(one, S32)) for one in (-(1 << 31), start)]
    operands = [parameter(scope.computation, 0, shape), numbers, *inits]
    module.entry.root = build(scope.computation, "reduce", operands, to_apply=made, dimensions=(0,))
    module.sort_computations()
    return tuple(int(one) for one in compiler.interpret(module, VALUES))


def test_the_first_or_the_last_of_the_greatest_is_chosen():
    found = Counter(map(chosen, range(40)))
    assert set(found) == {(7, 1), (7, 4)}
    assert found[7, 1] > found[7, 4]


def test_numbers_are_mostly_those_of_elements_and_else_backwards_or_along_another_dimension():
    found = Counter()
    for seed in range(80):
        made = numbers_of(scope_of(seed), (2, 3), 1)
        found[made.attributes["iota_dimension"] if made.opcode == "iota" else made.opcode] += 1
    assert found[1] > found["reverse"] > 0
    assert found[0] > 0
    assert found[1] > found["broadcast"] > 0


def test_numbers_that_are_a_line_are_spread_over_the_other_dimensions():
    made = [numbers_of(scope_of(seed), (2, 3, 3), 1) for seed in range(40)]
    spread = [one for one in made if one.opcode == "broadcast"]
    assert spread
    assert all(one.attributes["dimensions"] == (1,) and one.operands[0].array.dims == (3,) for one in spread)


def test_a_choice_is_now_and_then_a_sum_of_both():
    made = (chooser(scope_of(seed), S32, S32, "GT").computation for seed in range(80))
    found = Counter(one.root.operands[0].opcode for one in made)
    assert found["select"] > found["add"] > 0
