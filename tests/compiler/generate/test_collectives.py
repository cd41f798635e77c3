"""Devices exchange in every form that the language has, and what they exchange has a meaning."""

from __future__ import annotations

from collections import Counter

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
