"""Samples are valid modules of small programs of every opcode, the same for the same choices."""

from collections import Counter

import pytest

import compiler
from compiler.generate.choices import RandomChoices
from compiler.generate.samples import sample
from compiler.generate.table import RECIPES

TYPES = ("f32", "s32", "pred")


@pytest.mark.slow
def test_samples_come_to_every_opcode_and_each_is_valid():
    seen, results = set(), 0
    for seed in range(150):
        module = sample(RandomChoices(seed), "m", TYPES)
        compiler.verify(module)
        results += len(module.entry.root.operands)
        seen |= {instruction.opcode for instruction in module.instructions()}
    able = {opcode for opcode, recipe in RECIPES.items() if any(kind.name in TYPES for kind in recipe.element_types)}
    assert len(able - seen) < len(able) / 8
    assert results > 150 * 10


def test_a_sample_is_the_same_again_and_without_what_is_banned():
    texts = [compiler.to_text(sample(RandomChoices(5), "m", TYPES)) for _ in range(2)]
    assert texts[0] == texts[1]
    banned = frozenset((opcode, kind) for opcode in RECIPES for kind in TYPES)
    assert sample(RandomChoices(5), "m", TYPES, banned) is None


def test_types_that_are_seldom_drawn_come_besides():
    kinds = [
        {leaf.element_type.name for i in module.instructions() for leaf in compiler.edit.leaves(i.shape)}
        for module in (sample(RandomChoices(seed), "m", TYPES, seldom=("s4", "f8e3m4")) for seed in range(20))
    ]
    assert {"s4", "f8e3m4"} <= set().union(*kinds)


def test_arrays_without_elements_come_now_and_then():
    arrays = Counter(
        not leaf.size
        for seed in range(20)
        for i in sample(RandomChoices(seed), "m", TYPES).instructions()
        for leaf in compiler.edit.leaves(i.shape)
    )
    assert 0 < arrays[True] < arrays[False] / 5
