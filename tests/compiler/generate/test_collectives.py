"""Devices exchange in every form that the language has, and what they exchange has a meaning."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices, Space, program
from compiler.ir.shape import TupleShape

SPACE = Space(
    frozenset({"collective-permute", "all-reduce"}),
    frozenset({"s32"}),
    most_instructions=6,
    most_elements=64,
    devices_percent=100,
)


@pytest.mark.slow
def test_what_is_sent_is_sent_whole_in_slices_and_several_at_once():
    forms = Counter()
    for seed in range(40):
        module = program(RandomChoices(seed), SPACE)
        compiler.verify(compiler.parse(compiler.to_text(module)))
        for one in module.instructions():
            forms[one.opcode] += 1
            forms["in slices"] += "slice_sizes" in one.attributes
            forms["several at once"] += one.opcode == "all-reduce" and isinstance(one.shape, TupleShape)
        given = [np.ones(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
        assert compiler.interpret(module, *given * compiler.times_given(module))
    assert all(forms[form] for form in ("send", "recv-done", "in slices", "several at once"))


@pytest.mark.slow
def test_rows_are_exchanged_in_several_groups_in_any_order():
    space, forms = replace(SPACE, opcodes=frozenset({"ragged-all-to-all"})), Counter()
    for seed in range(120):
        module = program(RandomChoices(seed), space)
        compiler.verify(module)
        for one in module.instructions():
            if one.opcode == "ragged-all-to-all":
                groups, pieces = one.attributes["replica_groups"].groups(), one.operands[2].array.size
                forms["drawn"] += 1
                forms["several groups"] += len(groups) > 1
                forms["of several devices each"] += len(groups) > 1 and len(groups[0]) > 1
                forms["out of order"] += any(list(group) != sorted(group) for group in groups)
                forms["several pieces"] += pieces > len(groups[0])
        given = [np.ones(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
        assert compiler.interpret(module, *given * compiler.times_given(module))
    assert all(forms[f] > forms["drawn"] / 5 for f in ("several groups", "out of order", "several pieces")), forms
    assert forms["of several devices each"] > forms["drawn"] / 20


@pytest.mark.slow
@pytest.mark.parametrize("percent", [0, 100])
def test_what_is_begun_carries_several_arrays_and_other_work_stands_before_its_end(percent):
    opcodes = frozenset({"all-reduce-start", "all-gather-start", "collective-permute-start", "negate", "multiply"})
    space, forms, begun = replace(SPACE, opcodes=opcodes, devices_percent=percent), Counter(), 0
    for seed in range(60):
        module = program(RandomChoices(seed), space)
        compiler.verify(module)
        order = {one: number for number, one in enumerate(module.entry.instructions)}
        for one in module.entry.instructions:
            if not one.opcode.endswith("-start"):
                continue
            begun, (done,) = begun + 1, one.users
            between = module.entry.instructions[order[one] + 1 : order[done]]
            forms["several arrays"] += len(one.operands) > 1
            forms["read meanwhile"] += any(set(other.operands) & set(one.operands) for other in between)
            forms["others meanwhile"] += any(not set(other.operands) & set(one.operands) for other in between)
            forms["several begun"] += any(other.opcode.endswith("-start") for other in between)
            forms["ended in another order"] += any(
                other.opcode.endswith("-start") and order[next(iter(other.users))] < order[done] for other in between
            )
        given = [np.ones(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
        arrays = given * compiler.times_given(module)
        expected = compiler.interpret(module, *arrays)
        for actual, wanted in zip(compiler.compile(module)(*arrays), expected, strict=True):
            assert np.array_equal(actual, wanted)
    assert all(forms[f] > begun / 5 for f in ("several arrays", "read meanwhile", "others meanwhile")), (forms, begun)
    assert all(forms[form] > begun / 20 for form in ("several begun", "ended in another order")), (forms, begun)


def test_one_device_sends_itself_slices_too_at_once_and_in_two_halves():
    space = replace(SPACE, opcodes=frozenset({"collective-permute", "collective-permute-start"}), devices_percent=0)
    forms = Counter()
    for seed in range(40):
        module = program(RandomChoices(seed), space)
        sent = [one for one in module.instructions() if "slice_sizes" in one.attributes]
        forms.update(one.opcode for one in sent)
        forms["arrive"] += any((0, 0) in one.attributes["source_target_pairs"] for one in sent)
    assert forms.keys() == {"collective-permute", "collective-permute-start", "arrive"}
    assert min(forms.values()) > 2
