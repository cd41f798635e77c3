"""Where the results of a loop go that is one kernel: which of its arrays it yields, and the rows that it fills."""

import numpy as np
import pytest
from emitted_kernels import kernel, run

from compiler.analysis.iteration import iteration_of
from compiler.codegen.index import Emission, constant
from compiler.codegen.iteration import results, row_written, store_in_row
from compiler.codegen.llvm_ir import floating
from compiler.codegen.signature import elemental_of

STATE = "(s32[], f32[4], f32[3,4])"
TEXT = f"""
below {{ s = {STATE} parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }}
next {{ s = {STATE} parameter(0)  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)  j = s32[] add(i, one)
  x = f32[4] get-tuple-element(s), index=1  y = f32[4] add(x, x)  all = f32[3,4] get-tuple-element(s), index=2
  row = f32[1,4] reshape(y)  z = s32[] constant(0)  u = f32[3,4] dynamic-update-slice(all, row, i, z)
  ROOT t = {STATE} tuple(j, y, u) }}
loop {{ x = f32[4] parameter(0)  a = f32[3,4] parameter(1)  i = s32[] parameter(2)  s = {STATE} tuple(i, x, a)
  w = {STATE} while(s), condition=below, body=next  ROOT g = f32[3,4] get-tuple-element(w), index=2 }}
ENTRY e {{ x = f32[4] parameter(0)  a = f32[3,4] parameter(1)  i = s32[] parameter(2)
  ROOT f = f32[3,4] fusion(x, a, i), kind=kLoop, calls=loop }}"""


@pytest.fixture
def found():
    return kernel(TEXT)


@pytest.fixture
def form(found):
    (loop,) = found.of_opcode("while")
    return iteration_of(loop)


def test_results_are_the_pieces_of_the_state_that_are_asked_for(found, form):
    assert [(number, output.name) for number, output in results(found, form.rows)] == [(2, "%out0")]
    assert results(found, form.arrays) == []


@pytest.mark.parametrize(("counter", "row"), [(0, 0), (2, 2), (7, 2), (-3, 0)])
def test_a_row_is_written_where_the_counter_says_pushed_inside(found, form, counter, row):
    inputs = [np.zeros(4, np.float32), np.zeros((3, 4), np.float32), np.int32(counter)]

    def emit(builder):
        emission = Emission(builder)
        values = elemental_of(found, emission)
        # The state as it is at the beginning stands for that of any iteration.
        body = form.body.parameters[0].users
        for piece in body:
            number = piece.attributes["index"]
            if not piece.array.rank:
                initial = values.value(form.initial[number], ())
                values.leaves[piece] = lambda _, known=initial: known
        at = row_written(form, values, 2), constant(1)
        store_in_row(form, emission, results(found, form.rows)[0], at, floating(5.0, "float"))

    written = run(found, emit, inputs)
    assert np.argwhere(written).tolist() == [[row, 1]]
    assert written[row, 1] == 5
