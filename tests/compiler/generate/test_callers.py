"""Calls of each of a caller's functions are drawn wherever calls may stand, and get the arrays that they are to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.generate import MEANINGS
from compiler.generate.callers import CALLERS, FUNCTIONS
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.ir.module import computed_from
from xlabench.fuzzing.values import make_inputs

(RECIPE,) = CALLERS.values()


@pytest.fixture(autouse=True)
def _given():
    compiler.load_custom_calls(MEANINGS)
    yield
    for text in MEANINGS:
        compiler.register_custom_call(text.partition("=")[0], None)


def drawn(seed, kind=None):
    kind = kind or RECIPE.element_types[seed % len(RECIPE.element_types)]
    packing = Packing("m", space_of((kind.name, "pred", "s32", "f32"), frozenset()))
    packing.kernel(RECIPE, kind, RandomChoices(seed))
    return packing.finish()


def calls(module):
    return [i for i in module.instructions() if i.opcode == "custom-call"]


def test_each_function_is_called_in_every_place_and_what_it_gives_is_a_result():
    places = Counter()
    for seed in range(200):
        module = drawn(seed)
        around = {c: i.opcode for i in module.instructions() for c in i.called_computations()}
        live = {c: computed_from([c.root]) for c in module.computations}
        for call in calls(module):
            if call in live[call.computation]:
                name = call.attributes["custom_call_target"].rpartition(".")[2]
                places[name, around.get(call.computation, "entry")] += 1
    assert all(places[name, place] for name in FUNCTIONS for place in ("entry", "call")), places
    kept = ("exchanged", "turned", "shifted")
    assert all(places[name, place] > 2 for name in kept for place in ("conditional", "while")), places


def test_arrays_are_one_or_of_two_types_empty_at_times_and_effects_are_said():
    forms = Counter()
    for call in (call for seed in range(200) for call in calls(drawn(seed))):
        kinds = {operand.array.element_type for operand in call.operands}
        forms["two types"] += len(kinds) > 1
        forms["one array twice"] += len(call.operands) > len(set(call.operands))
        forms["empty"] += any(0 in operand.array.dims for operand in call.operands)
        forms["effect"] += bool(call.attributes.get("custom_call_has_side_effect"))
    assert all(forms[form] > 5 for form in ("two types", "one array twice", "empty", "effect")), forms


@pytest.mark.parametrize("kind", RECIPE.element_types, ids=str)
def test_what_is_compiled_gives_what_the_functions_do(kind):
    for seed in range(3):
        module = drawn(seed, kind)
        compiler.verify(module)
        inputs = make_inputs(module, np.random.default_rng(seed))
        expected = compiler.interpret(module, *inputs)
        found = compiler.compile(module, "cpu")(*inputs)
        for one, other in zip(expected, found, strict=True):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
