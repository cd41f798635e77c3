"""Sorts are by keys as they are or made of elements, from either side, and say which of equal ones comes first."""

from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.generate import Space, program
from compiler.generate.choices import RandomChoices
from compiler.generate.exhaustive import Packing, space_of
from compiler.generate.sorting import RECIPES, how_many
from compiler.ir.ordering import ordering
from compiler.ir.types import TYPES
from xlabench.fuzzing.values import make_inputs

KINDS = ("f32", "bf16", "s8", "u32", "pred")
DRAWN = 60


def drawn(opcode, kind, seed):
    packing = Packing("m", space_of((kind, "s32", "pred"), frozenset()))
    packing.kernel(RECIPES[opcode], TYPES[kind], RandomChoices(seed))
    module = packing.finish()
    if module is not None:
        compiler.verify(module)
    return module


def sorts(kind):
    modules = (drawn("sort", kind, seed) for seed in range(DRAWN))
    return [i for module in modules if module for i in module.entry.instructions if i.opcode == "sort"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sort_whose_key_is_made_of_elements_is_stable(kind):
    made = 0
    for sort in sorts(kind):
        comparator = sort.attributes["to_apply"]
        if {"conditional", "while"} & {i.opcode for i in comparator.instructions}:
            continue  # a number says which way is gone, which is made as well
        is_made = any(i.opcode in ("abs", "negate", "not", "select", "shift-right-logical", "multiply")
                      for i in comparator.instructions)  # fmt: skip
        made += is_made
        assert sort.attributes["is_stable"] or not is_made
    assert bool(made) == (kind != "pred")


def test_lines_rise_and_fall_however_the_comparison_is_written():
    found = {
        (by.descending, comparator.root.attributes["direction"])
        for comparator in (sort.attributes["to_apply"] for sort in sorts("s8"))
        if (by := ordering(comparator))
    }
    assert found == {(descending, direction) for descending in (False, True) for direction in ("LT", "GT")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", RECIPES)
def test_compiled_sorts_are_the_interpreters_to_the_bit(opcode, kind):
    if TYPES[kind] not in RECIPES[opcode].element_types:
        assert kind == "pred"
        return
    for seed in range(5):
        module = drawn(opcode, kind, seed)
        if module is None:
            continue
        given = make_inputs(module, np.random.default_rng(seed), "special")
        executable = compiler.compile(module, backend="cpu")
        for one, other in zip(executable(*given), compiler.interpret(module, *given), strict=True):
            assert one.tobytes() == np.asarray(other).tobytes()


def test_one_all_but_one_and_all_of_a_line_are_chosen_in_more_than_a_third():
    space, counts = Space(frozenset({"topk"}), frozenset({"f32"}), most_instructions=4, most_elements=256), Counter()
    for seed in range(300):
        for i in program(RandomChoices(seed), space).instructions():
            if i.opcode == "topk" and i.operands[0].array.dims[-1] > 3:
                length, k = i.operands[0].array.dims[-1], i.attributes["k"]
                counts[{1: "one", length - 1: "all but one", length: "all"}.get(k, "some")] += 1
    assert counts["some"] < 2 * counts.total() / 3
    assert min(counts.values()) > counts.total() / 10


@pytest.mark.parametrize("length", range(4))
def test_no_more_of_a_line_are_chosen_than_there_are(length):
    chosen = {how_many(RandomChoices(seed), length, 2) for seed in range(60)}
    assert chosen <= {*range(min(1, length), length + 1)}
