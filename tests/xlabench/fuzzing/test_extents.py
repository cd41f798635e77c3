"""Inputs of sizes known at run time only are of every size up to their bounds, in each call of another."""

from __future__ import annotations

import numpy as np

import compiler
from xlabench.fuzzing.extents import drawn_dims
from xlabench.fuzzing.values import KINDS, make_inputs, several

PROGRAM = compiler.parse("""ENTRY e { x = f32[<=5,3] parameter(0) s = s32[] get-dimension-size(x), dimensions={0}
  ROOT r = (f32[<=5,3], s32[]) tuple(x, s) }""")


def test_every_size_comes_and_what_is_known_stays():
    rng, seen = np.random.default_rng(1), set()
    shape = PROGRAM.entry.parameters[0].shape
    for _ in range(200):
        rows, columns = drawn_dims(rng, shape)
        seen.add(rows)
        assert columns == 3
    assert seen == set(range(6))


def test_of_no_room_nothing_is_drawn():
    none = compiler.parse("ENTRY e { ROOT x = f32[<=0] parameter(0) }").entry.parameters[0].shape
    assert {drawn_dims(np.random.default_rng(seed), none) for seed in range(20)} == {(0,)}


def test_inputs_of_every_kind_are_such_and_differ_from_call_to_call():
    rng = np.random.default_rng(2)
    for kind in KINDS:
        (given,) = make_inputs(PROGRAM, rng, kind)
        values, size = compiler.interpret(PROGRAM, given)
        assert values.shape == given.shape
        assert size == len(given)
    assert len({arrays[0].shape for arrays in several(PROGRAM, rng, 12).values()}) > 2
