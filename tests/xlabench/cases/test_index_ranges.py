import numpy as np
import pytest

import compiler
from xlabench.cases import inputs
from xlabench.cases.index_ranges import index_limits, unchecked_indices
from xlabench.fuzzing.values import KINDS, make_inputs

GATHER = "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}"
SCATTER = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
ADD = """
add {
  left = f32[] parameter(0)
  right = f32[] parameter(1)
  ROOT sum = f32[] add(left, right)
}
"""


def _limits(body, *, before=""):
    return index_limits(compiler.parse(f"HloModule m\n{before}\nENTRY e {{\n{body}\n}}\n"))


def test_a_gather_keeps_its_indices_inside():
    body = f"""  table = f32[20,8] parameter(0)
  ids = s32[5,1] parameter(1)
  ROOT rows = f32[5,8] gather(table, ids), {GATHER}"""
    assert _limits(body) == {1: 19}


def test_an_index_is_followed_back_through_a_frontends_wrapping():
    body = f"""  table = f32[20,8] parameter(0)
  ids = s64[5] parameter(1)
  zero = s64[] constant(0)
  zeros = s64[5] broadcast(zero), dimensions={{}}
  negative = pred[5] compare(ids, zeros), direction=LT
  size = s64[] constant(20)
  sizes = s64[5] broadcast(size), dimensions={{}}
  wrapped = s64[5] add(ids, sizes)
  chosen = s64[5] select(negative, wrapped, ids)
  narrow = s32[5] convert(chosen)
  column = s32[5,1] reshape(narrow)
  ROOT rows = f32[5,8] gather(table, column), {GATHER}"""
    assert _limits(body) == {1: 19}


def test_a_scatter_leaves_room_for_its_window():
    body = f"""  table = f32[20,8] parameter(0)
  ids = s32[5,1] parameter(1)
  rows = f32[5,8] parameter(2)
  ROOT sum = f32[20,8] scatter(table, ids, rows), {SCATTER}, to_apply=add"""
    assert _limits(body, before=ADD) == {1: 19}


def test_a_dynamic_slice_leaves_room_for_its_sizes():
    body = """  table = f32[20,8] parameter(0)
  row = s32[] parameter(1)
  column = s32[] parameter(2)
  ROOT part = f32[5,8] dynamic-slice(table, row, column), dynamic_slice_sizes={5,8}"""
    assert _limits(body) == {1: 15, 2: 0}


def test_a_dynamic_update_slice_leaves_room_for_the_update():
    body = """  table = f32[20,8] parameter(0)
  row = s32[] parameter(1)
  part = f32[5,2] parameter(2)
  ROOT all = f32[20,8] dynamic-update-slice(table, part, row, row)"""
    assert _limits(body) == {1: 6}


def test_an_index_is_followed_out_of_a_called_computation():
    before = f"""
look_up {{
  table = f32[20,8] parameter(0)
  ids = s32[5] parameter(1)
  column = s32[5,1] reshape(ids)
  ROOT rows = f32[5,8] gather(table, column), {GATHER}
}}"""
    body = """  ids = s32[5] parameter(0)
  table = f32[20,8] parameter(1)
  ROOT rows = f32[5,8] call(table, ids), to_apply=look_up"""
    assert _limits(body, before=before) == {0: 19}


def test_an_index_is_followed_out_of_a_loop():
    before = """
more {
  state = (s32[], s32[], f32[20]) parameter(0)
  count = s32[] get-tuple-element(state), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(count, three), direction=LT
}

next {
  state = (s32[], s32[], f32[20]) parameter(0)
  count = s32[] get-tuple-element(state), index=0
  at = s32[] get-tuple-element(state), index=1
  values = f32[20] get-tuple-element(state), index=2
  one = s32[] constant(1)
  after = s32[] add(count, one)
  part = f32[4] dynamic-slice(values, at), dynamic_slice_sizes={4}
  all = f32[20] dynamic-update-slice(values, part, count)
  ROOT state_next = (s32[], s32[], f32[20]) tuple(after, at, all)
}"""
    body = """  at = s32[] parameter(0)
  values = f32[20] parameter(1)
  zero = s32[] constant(0)
  state = (s32[], s32[], f32[20]) tuple(zero, at, values)
  ROOT last = (s32[], s32[], f32[20]) while(state), condition=more, body=next"""
    assert _limits(body, before=before) == {0: 16}


def test_an_ordinary_parameter_is_not_limited():
    assert _limits("  x = s32[3] parameter(0)\n  ROOT y = s32[3] add(x, x)") == {}


@pytest.mark.parametrize(("element_type", "largest"), [("s32", 999), ("s8", 127), ("u8", 255)])
def test_generated_indices_stay_inside_and_in_their_type(element_type, largest):
    body = f"""  table = f32[1000,8] parameter(0)
  ids = {element_type}[4000,1] parameter(1)
  ROOT rows = f32[4000,8] gather(table, ids), {GATHER}"""
    ids = inputs.generate(compiler.parse(f"HloModule m\nENTRY e {{\n{body}\n}}\n"), 0)[1]
    assert ids.min() >= 0
    assert largest * 0.9 < ids.max() <= largest


SPARSE = """ENTRY e {
  elements = f32[5] parameter(0)
  starts = s32[4] parameter(1)
  columns = s32[5] parameter(2)
  right = f32[7,2] parameter(3)
  ROOT product = f32[3,2] custom-call(elements, starts, columns, right), custom_call_target="cpu_csr_sparse_dense_ffi"
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_sparse_matrix_stands_on_lies_inside_whatever_the_kind(kind):
    """XLA reads at other addresses, and its process ends."""
    module = compiler.parse(SPARSE)
    assert index_limits(module) == {1: 5, 2: 6}
    assert unchecked_indices(module) == {1: True, 2: False}
    for made in (make_inputs(module, np.random.default_rng(1), kind), inputs.generate(module, 1)):
        _, starts, columns, _ = made
        assert (np.diff(starts) >= 0).all()
        assert 0 <= starts.min() <= starts.max() <= 5
        assert 0 <= columns.min() <= columns.max() <= 6
