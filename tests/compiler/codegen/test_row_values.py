"""The passes over a row, in order, by whoever walks: each knows what those before it have found out or kept."""

import numpy as np
from emitted_kernels import for_each, kernel, run

from compiler.codegen.llvm_ir import Value, integer
from compiler.codegen.row_values import RowValues
from compiler.codegen.rows import Rows

COLUMNS = 6
TEXT = f"""
most {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }}
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
shares {{ x = f32[4,{COLUMNS}] parameter(0)  low = f32[] constant(-inf)  zero = f32[] constant(0)
  m = f32[4] reduce(x, low), dimensions={{1}}, to_apply=most  mb = f32[4,{COLUMNS}] broadcast(m), dimensions={{0}}
  d = f32[4,{COLUMNS}] subtract(x, mb)  e = f32[4,{COLUMNS}] exponential(d)
  s = f32[4] reduce(e, zero), dimensions={{1}}, to_apply=add  sb = f32[4,{COLUMNS}] broadcast(s), dimensions={{0}}
  ROOT r = f32[4,{COLUMNS}] divide(e, sb) }}
ENTRY e {{ x = f32[4,{COLUMNS}] parameter(0)
  ROOT f = f32[4,{COLUMNS}] fusion(x), kind=kCustom, calls=shares }}"""


def test_a_row_is_walked_pass_by_pass_and_what_was_kept_is_read_back():
    found = kernel(TEXT)
    rows, kept = Rows(found), []

    def address(emission, position):
        return emission.builder.gep("float", Value("ptr", "%workspace"), emission.value(position))

    def one_row(emission, row):
        builder = emission.builder

        def load(instruction, position):
            kept.append(("read", instruction.name))
            return builder.load("float", address(emission, position))

        def save(instruction, position, value):
            kept.append(("kept", instruction.name))
            builder.store(value, address(emission, position))

        values = RowValues(rows, emission, row, load, save)
        for phase in rows.phases:
            start = values.enter(phase)
            with builder.loop(integer(0), integer(COLUMNS), carried=start, name="column") as loop:
                emission.enter()
                position = emission.opaque(loop.index, COLUMNS)
                elements = values.elements(phase, position)
                if phase.reduces:
                    loop.carry(*values.combine(phase, loop.carried, elements))
                else:
                    values.store_elements(elements, position)
                emission.leave()
            values.leave(phase, loop.results)
        values.store_row_results()

    x = np.arange(24, dtype=np.float32).reshape(4, COLUMNS) % 7
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    result = run(found, for_each(4, one_row), [x])
    np.testing.assert_allclose(result, powers / powers.sum(axis=1, keepdims=True), rtol=1e-6)
    assert kept == [("kept", "e"), ("read", "e")]
