"""Instructions wait for others that no value ties them to, wherever control flow runs them."""

from __future__ import annotations

from collections import Counter

import pytest

import compiler
from compiler.generate import RandomChoices, Space, order, program, sample
from compiler.ir.control import predecessors

_LOOP = """c { s = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
      ROOT r = pred[] compare(i, n), direction=LT }
    b { s = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 k = s32[] constant(1)
      x = f32[3] get-tuple-element(s), index=1 j = s32[] add(i, k) y = f32[3] negate(x)
      ROOT t = (s32[], f32[3]) tuple(j, y) }
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }
    ENTRY e { x = f32[3] parameter(0) z = s32[] constant(0) y = f32[3] abs(x) t = (s32[], f32[3]) tuple(z, y)
      w = (s32[], f32[3]) while(t), condition=c, body=b v = f32[3] get-tuple-element(w), index=1
      q = f32[] constant(0) ROOT r = f32[] reduce(v, q), dimensions={0}, to_apply=add }"""


def waiting(module):
    return [(i, before) for i in module.instructions() for before in predecessors(i)]


def test_anything_but_parameters_waits_in_the_entry_and_in_loops_and_nothing_in_reducers():
    computations, opcodes = Counter(), set()
    for seed in range(60):
        module = compiler.parse(_LOOP)
        order(module, RandomChoices(seed))
        compiler.verify(module)
        found = waiting(module)
        assert 1 <= len(found) <= 6
        computations.update(later.computation.name for later, _ in found)
        opcodes |= {one.opcode for pair in found for one in pair}
        assert len(waiting(compiler.parse(compiler.to_text(module)))) == len(found)
    assert set(computations) == {"e", "c", "b"}
    assert {"while", "reduce", "add", "negate", "compare", "constant", "tuple"} <= opcodes
    assert "parameter" not in opcodes


def test_a_value_and_what_takes_it_are_held_apart_by_an_instruction_that_waits_for_the_one_and_is_waited_for():
    held = Counter()
    for seed in range(60):
        module = compiler.parse(_LOOP)
        order(module, RandomChoices(seed))
        held.update(
            (before.opcode, later.opcode)
            for later, other in waiting(module)
            for before in predecessors(other)
            if before in later.operands and not {before, later} & {*other.operands}
        )
    assert len(held) > 5


def test_where_nothing_could_wait_nothing_does():
    module = compiler.parse("ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] abs(x) }")
    order(module, RandomChoices(0))
    assert not waiting(module)


@pytest.mark.parametrize("kind", ["program", "sample"])
def test_some_of_what_is_drawn_waits(kind):
    types = ("f32", "pred", "s32")
    space = Space(frozenset({"add", "reduce", "while", "transpose", "select"}), frozenset(types))
    made = (
        program(RandomChoices(seed), space) if kind == "program" else sample(RandomChoices(seed), "m", types)
        for seed in range(60)
    )
    found = [bool(waiting(module)) for module in made if module is not None]
    assert 0 < sum(found) < len(found) / 4
