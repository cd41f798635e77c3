"""Rows and loops of kernels are valid and end, their states change roles, and what is compiled is right."""

import numpy as np
import pytest

import compiler
from compiler.generate import repeated
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.recipe import Recipe
from compiler.ir.types import S32
from xlabench.fuzzing.values import make_inputs

FORMS = {"a row": repeated.in_a_row, "a loop": repeated.in_a_loop}


def drawn(name, seed):
    recipe = Recipe((S32,), lambda scope, _, kind: FORMS[name](scope, kind))
    packing = Packing("m", space_of(("s32", "pred"), frozenset()))
    packing.kernel(recipe, S32, RandomChoices(seed))
    module = packing.finish()
    compiler.verify(module)
    return module


@pytest.mark.parametrize("name", FORMS)
def test_what_is_compiled_is_the_interpreters(name):
    for seed in range(8):
        module = drawn(name, seed)
        given = make_inputs(module, np.random.default_rng(seed), "tame")
        made = compiler.compile(module, backend="cpu")(*given)
        for one, other in zip(made, compiler.interpret(module, *given), strict=True):
            np.testing.assert_array_equal(one, other)


def test_states_of_some_loops_are_other_ones_in_the_next_iteration():
    exchanged = several = 0
    for seed in range(80):
        (loop,) = [i for i in drawn("a loop", seed).entry.instructions if i.opcode == "while"]
        states = loop.attributes["body"].root.operands[1:]
        kept = [k for k, s in enumerate(states, 1) if s.opcode == "get-tuple-element" and s.attributes["index"] != k]
        exchanged += bool(kept)
        several += len(states) > 1
    assert exchanged > 3
    assert several > 30


def test_kernels_of_every_kind_stand_in_rows():
    opcodes = {i.opcode for seed in range(60) for i in drawn("a row", seed).entry.instructions}
    assert {"dot", "sort", "reduce", "reduce-window", "transpose", "concatenate", "dynamic-update-slice"} <= opcodes
