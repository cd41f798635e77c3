"""Calls of libraries for GPUs are drawn valid, each that is written out, and mean what their definitions say."""

import json
from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.generate.choices import RandomChoices, pick
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.libraries import LIBRARIES
from compiler.passes.gpu_library_expander import EXPANSIONS
from xlabench.fuzzing.values import make_inputs
from xlabench.judging import library_calls


def drawn(name: str, seed: int) -> compiler.Module:
    choices, recipe = RandomChoices(seed), LIBRARIES[name]
    packing = Packing("m", space_of(("f32", "pred", "s32"), frozenset()))
    packing.kernel(recipe, pick(choices, recipe.element_types), choices)
    return packing.finish()


@pytest.mark.parametrize("name", LIBRARIES)
def test_calls_are_valid_and_mean_what_their_definitions_say(name):
    for seed in range(12):
        module = drawn(name, seed)
        compiler.verify(module)
        assert compiler.parse(compiler.to_text(module)) == module
        assert library_calls.check(module, make_inputs(module, np.random.default_rng(seed), "tame")) == 1


def test_every_call_that_is_written_out_is_drawn_and_has_a_second_meaning():
    modules = [drawn(name, seed) for name in LIBRARIES for seed in range(40)]
    called = {
        i.attributes["custom_call_target"] for m in modules for i in m.instructions() if i.opcode == "custom-call"
    }
    assert called == library_calls.TARGETS == EXPANSIONS.keys()


def test_triangular_systems_are_of_sizes_on_both_sides_of_blocks_in_batches_and_in_any_form():
    forms, drawn_ = Counter(), 0
    for seed in range(200):
        module = drawn("library solution", seed)
        (call,) = (i for i in module.instructions() if i.opcode == "custom-call")
        drawn_ += 1
        *batch, rows, _ = call.operands[0].array.dims
        config = json.loads(call.attributes["backend_config"])
        forms.update([edge for edge in (8, 32, 64, 128) if rows > edge], batch=bool(batch))
        forms["several dimensions"] += len(batch) > 1
        forms.update([tuple(sorted(config.items()))])
    assert all(forms[form] > drawn_ / 5 for form in (8, "batch"))
    assert all(forms[form] > drawn_ / 20 for form in (32, "several dimensions"))
    assert forms[64]
    assert forms[128]
    assert sum(isinstance(form, tuple) for form in forms) == 2 * 2 * 2 * 3
