"""Arrays of sizes known at run time only go through every step that there is, and mean something to the reference."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import compiler
from compiler.generate import RandomChoices, Space, program, sized

SPACE = Space(frozenset({"set-dimension-size"}), frozenset({"s32", "f32"}), most_instructions=3, most_elements=64)


def is_sized(value):
    return any(getattr(operand.shape, "is_dynamic", False) for operand in value.operands)


@pytest.mark.slow
def test_every_step_is_taken_and_has_a_meaning():
    taken = Counter()
    for seed in range(100):
        module = program(RandomChoices(seed), SPACE)
        compiler.verify(module)
        taken.update(i.opcode for i in module.instructions() if is_sized(i))
        zeros = [np.zeros(p.shape.dims, p.shape.element_type.dtype) for p in module.entry.parameters]
        assert compiler.interpret(module, *zeros)
    assert taken.keys() >= sized.STEPS.keys() - {""}


@pytest.mark.slow
def test_what_is_beyond_a_size_is_summed_over_and_counted_and_stands_before_others():
    forms = Counter()
    for seed in range(60):
        for i in program(RandomChoices(seed), SPACE).instructions():
            if i.opcode == "dot" and is_sized(i):
                (along,) = i.attributes["lhs_contracting_dims"]
                forms["summed over"] += i.operands[0].array.dynamic[along]
            if i.opcode == "concatenate" and is_sized(i):
                forms["before another"] += i.operands[0] is not i.operands[1]
    assert set(forms) == {"summed over", "before another"}
