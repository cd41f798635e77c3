"""Arrays of sizes known at run time only go through calls, branches and loops, and keep their sizes on the way."""

from __future__ import annotations

from collections import Counter

import numpy as np

import compiler
from compiler.generate import RandomChoices, Space, program
from compiler.ir.shape import leaves
from xlabench.fuzzing.values import make_inputs

SPACE = Space(
    frozenset({"set-dimension-size"}), frozenset({"s32", "f32"}), most_instructions=4, most_elements=64, depth=2
)
SEEDS = 150


def is_sized(value):
    return any(getattr(leaf, "is_dynamic", False) for leaf in leaves(value.shape))


def drawn():
    return [program(RandomChoices(seed), SPACE) for seed in range(SEEDS)]


def flowing(modules, opcode):
    return [i for m in modules for i in m.instructions() if i.opcode == opcode and any(map(is_sized, i.operands))]


def test_calls_give_arrays_of_other_shapes_and_branches_different_sizes():
    modules = drawn()
    calls = flowing(modules, "call")
    assert sum(call.shape != call.operands[0].shape for call in calls) > 5
    counts = Counter(len(choice.operands) - 1 for choice in flowing(modules, "conditional"))
    assert set(counts) == {1, 2, 3}
    for choice in flowing(modules, "conditional"):
        assert all(branch.root.shape == choice.shape for branch in choice.called_computations())
    cut = [
        choice
        for choice in flowing(modules, "conditional")
        if len({branch.root.opcode == "set-dimension-size" for branch in choice.called_computations()}) > 1
    ]
    assert len(cut) > 5


def test_loops_iterate_by_a_number_or_a_size_and_their_arrays_change_places():
    forms = Counter()
    for loop in flowing(drawn(), "while"):
        body, condition = loop.attributes["body"], loop.attributes["condition"]
        compared = condition.root.operands[1]
        forms["by size"] += compared.opcode == "get-dimension-size"
        forms["by number"] += compared.opcode == "constant"
        one, other = body.root.operands[1:]
        forms["changing"] += one.opcode == "get-tuple-element" and one.attributes["index"] == 2
        forms["staying"] += other.opcode == "get-tuple-element" and other.attributes["index"] == 2
    assert all(forms[form] > 5 for form in ("by size", "by number", "changing", "staying")), forms


def test_all_of_it_is_valid_ends_and_has_a_meaning():
    for seed, module in enumerate(drawn()[:60]):
        compiler.verify(module)
        inputs = make_inputs(module, np.random.default_rng(seed))
        results = compiler.interpret(module, *inputs)
        wide = compiler.interpret(module, *inputs, wide=True)
        assert all(bound.allows(result).all() for bound, result in zip(wide, results, strict=True))
