"""Programs of manual regions are valid, mean the same on every way, and have crossings of all kinds."""

from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices, is_determined
from compiler.generate.regions import around_regions
from compiler.generate.table import step
from compiler.ir.manual import CROSSINGS, cuts_of, is_crossing, target_of
from compiler.ir.shape import TupleShape
from xlabench.fuzzing.values import make_inputs

_TYPES = ("f32", "s32", "u8")
_SCALAR = 196
"""The seed of a program one of whose branches turns around what is a scalar."""


def drawn(seed, banned=frozenset()):
    return around_regions(RandomChoices(seed), "regions", _TYPES, banned, step)


def test_all_kinds_of_crossings_are_drawn_in_programs_that_have_a_meaning():
    targets, shapes, forms = set(), set(), set()
    for seed in (*range(80), _SCALAR):
        module = drawn(seed)
        compiler.verify(module)
        assert compiler.parse(compiler.to_text(module)) == module
        assert is_determined(module)
        assert compiler.times_given(module) == 1
        for crossing in filter(is_crossing, module.instructions()):
            targets.add(target_of(crossing))
            shapes.add(isinstance(crossing.shape, TupleShape))
            for cut in cuts_of(crossing):
                along = sum(count > 1 for count in cut.counts)
                forms.add(("whole", "cut", "cut twice", "cut twice")[along])
                if len(cut.holders[0]) < len(cut.holders):
                    forms.add("held by several")
                if any(holder != tuple(range(len(holder))) for holder in cut.holders):
                    forms.add("in another order")
        forms |= {instruction.opcode for instruction in module.instructions()}
        inputs = make_inputs(module, np.random.default_rng(seed), "tame")
        assert len(compiler.interpret(module, *inputs)) == len(list(compiler.edit.leaves(module.entry.root.shape)))
    assert targets == CROSSINGS
    assert shapes == {False, True}
    exchanged = {"partition-id", "all-reduce", "all-gather", "collective-permute"}
    assert forms >= {"cut", "cut twice", "held by several", "in another order", *exchanged}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_engines_agree(seed):
    module = drawn(seed)
    inputs = make_inputs(module, np.random.default_rng(seed), "integers")
    for one, other in zip(compiler.interpret(module, *inputs), compiler.compile(module)(*inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_there_are_none_where_nothing_may_cross():
    assert drawn(0, frozenset({("custom-call", "f32")})) is None


def test_regions_stand_in_what_is_called_in_loops_and_in_branches_too():
    runs = Counter()
    for seed in range(60):
        module = drawn(seed)
        callers = {callee: i for i in module.instructions() for callee in i.called_computations()}
        for call in (callers[c] for c in module.computations if c in callers and any(map(is_crossing, c.instructions))):
            around = callers.get(call.parent, call)
            runs[around.opcode] += 1
            inputs = make_inputs(module, np.random.default_rng(seed), "tame")
            assert compiler.interpret(module, *inputs)
    assert runs.keys() == {"call", "while", "conditional"}
