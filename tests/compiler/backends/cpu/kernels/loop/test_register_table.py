"""Small tables in registers: every number of vectors, indices of every width, below and beyond the table."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.loop import register_table
from compiler.codegen.llvm import Target
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import strategies

TEXT = """HloModule m
ENTRY e {{
  t = {type}[{entries}] parameter(0)
  x = {index}[3,1431] parameter(1)
  s = f32[3] parameter(2)
  i = {index}[3,1431,1] reshape(x)
  g = {type}[3,1431] gather(t, i), offset_dims={{}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=2, slice_sizes={{1}}
  c = f32[3,1431] convert(g)
  b = f32[3,1431] broadcast(s), dimensions={{0}}
  y = f32[3,1431] multiply(c, b)
  ROOT r = ({type}[3,1431], f32[3,1431]) tuple(g, y)
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("entries", [1, 17, 60, 200, 256])
@pytest.mark.parametrize("name", ["pred", "s8", "u16", "bf16", "f16", "f32"])
def test_lookups_are_those_of_the_reference(name, entries):
    random = np.random.default_rng(entries)
    can = Target.host().has(register_table._NEEDED[TYPES[name].size_bytes][0])
    for index in {"u8", ("s8", "s32", "u16", "s64")[entries % 4]}:
        module = compiler.parse(TEXT.format(type=name, entries=entries, index=index))
        table, number, _ = (parameter.array.element_type.dtype for parameter in module.entry.parameters)
        bounds = np.iinfo(number)
        drawn = random.integers(max(bounds.min, -9), min(bounds.max, 300), (3, 1431), endpoint=True)
        drawn[0, :2] = bounds.min, min(bounds.max, 2**62)
        inputs = random.uniform(-100, 100, entries).astype(table), drawn.astype(number), np.float32([1, 2, 3])
        for found, wanted in zip(compiler.compile(module)(*inputs), compiler.interpret(module, *inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
        assert strategies(module) == ["tables in registers" if can else "loops"]
