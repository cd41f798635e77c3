"""Parts of real programs: small, whole, and of many kinds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import compiler
from xlabench.fuzzing import grafts
from xlabench.fuzzing.variation import has_meaning

_CHAIN = """ENTRY e { x = f32[512,768] parameter(0) y = f32[512,768] parameter(1) a = f32[512,768] exponential(x)
  b = f32[512,768] multiply(a, y) c = f32[512,768] add(b, b) d = f32[393216] reshape(c)
  ROOT r = f32[393216] tanh(d) }"""


def test_a_part_is_cut_along_its_data_flow_and_made_small():
    module = compiler.parse(_CHAIN)
    part = grafts.cut(module, next(i for i in module.entry.instructions if i.name == "c"), np.random.default_rng(0))
    opcodes = Counter(i.opcode for i in part.instructions())
    assert opcodes == Counter({"exponential": 1, "multiply": 1, "add": 1, "parameter": 2})
    (one, other) = part.entry.root.shape.dims
    assert one != other
    assert max(one, other) < 32


def test_a_size_that_another_depends_on_is_no_part_unless_it_fits():
    module = compiler.parse(_CHAIN)
    for seed in range(4):
        part = grafts.cut(module, module.entry.root, np.random.default_rng(seed))
        if part is not None:
            compiler.verify(part)


@pytest.mark.slow
def test_real_programs_give_parts_of_many_kinds_and_equal_seeds_equal_ones():
    opcodes = set()
    for seed in range(60):
        part = grafts.graft(np.random.default_rng(seed))
        if part is None:
            continue
        again = grafts.graft(np.random.default_rng(seed))
        assert compiler.to_text(part) == compiler.to_text(again)
        assert has_meaning(part, np.random.default_rng(0))
        opcodes |= {i.opcode for i in part.instructions()}
    assert {"dot", "reduce", "select", "broadcast"} < opcodes
