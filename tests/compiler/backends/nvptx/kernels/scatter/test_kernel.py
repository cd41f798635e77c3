"""Scatters of every form of window and index, by threads that ask and by threads that apply."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.scatter import kernel as scatter

# The operand, the indices and the updates, and how they belong together.
FORMS = {
    "two indices": (
        "f32[6,7,8]", "s32[5,2]", "f32[5,3,8]",
        "update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=1",
    ),
    "batches": (
        "f32[4,7]", "s32[4,5,1]", "f32[4,5]",
        ("update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=2, "
         "input_batching_dims={0}, scatter_indices_batching_dims={0}"),
    ),
    "batches after indices": (
        "f32[3,7,4]", "s32[2,5,4]", "f32[5,3,4]",
        ("update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1,0}, index_vector_dim=0, "
         "input_batching_dims={2}, scatter_indices_batching_dims={2}"),
    ),
    "columns": (
        "f32[4,7]", "s32[5]", "f32[5,4]",
        "update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1",
    ),
    "windows first": (
        "f32[20]", "s32[3,6]", "f32[2,3,6]",
        "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=2",
    ),
    "indices first": (
        "f32[20,3]", "u8[2,6]", "f32[6,3]",
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=0",
    ),
}  # fmt: skip


WAYS = {"asks": (1, 0), "asks ahead": (1, 1 << 40), "applies": (1 << 30, 0)}
"""By how many windows threads ask all of them, and by how many questions in any case, updates loaded ahead."""


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FORMS)
def test_a_scatter_is_right(name: str, way: str, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in zip(("_MANY_WINDOWS", "_FEW_QUESTIONS"), WAYS[way], strict=True):
        monkeypatch.setattr(scatter, limit, value)
    operand, indices, updates, how = FORMS[name]
    # Adding does not commute with what was there: twice the old value and the new one.
    module = compiler.parse(
        f"""c {{ a = f32[] parameter(0)  b = f32[] parameter(1)  d = f32[] add(a, a)  ROOT r = f32[] add(d, b) }}
ENTRY e {{ x = {operand} parameter(0)  i = {indices} parameter(1)  u = {updates} parameter(2)
  ROOT r = {operand} scatter(x, i, u), {how}, to_apply=c }}"""
    )
    rng = np.random.default_rng(1)
    x, u = (rng.integers(0, 9, module.entry.parameters[n].array.dims).astype(np.float32) for n in (0, 2))
    for least, most in ((0, 3), (-1, 9)):
        array = module.entry.parameters[1].array
        i = rng.integers(max(least, 0 if indices[0] == "u" else least), most, array.dims)
        i = i.astype(array.element_type.dtype)
        expected = compiler.interpret(module, x, i, u)
        assert np.array_equal(gpu(module, x, i, u, global_races=True)[0], expected[0])


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("opcode", ["add", "maximum", "minimum", "and", "or", "xor", "multiply"])
def test_integers_are_updated_at_once_where_that_comes_to_the_same(type_: str, opcode: str, gpu: Any) -> None:
    module = compiler.parse(
        f"""c {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] {opcode}(a, b) }}
ENTRY e {{ x = {type_}[30,7] parameter(0)  i = s32[90,1] parameter(1)  u = {type_}[90,7] parameter(2)
  ROOT r = {type_}[30,7] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c }}"""
    )
    dtype, rng = module.entry.root.array.element_type.dtype, np.random.default_rng(0)
    limits = np.iinfo(dtype)
    x, u = (rng.integers(limits.min, limits.max, dims, dtype, endpoint=True) for dims in ((30, 7), (90, 7)))
    i = rng.integers(-2, 33, (90, 1)).astype(np.int32)
    assert np.array_equal(gpu(module, x, i, u, global_races=True)[0], compiler.interpret(module, x, i, u)[0])
    assert (("atom." in gpu.compile(module).ptx) or ("red." in gpu.compile(module).ptx)) == (opcode != "multiply")


MANY = {
    "segments": (
        "s32[5]", "s8[600,1]", "s32[600]",
        "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "more segments than a narrow index reaches": (
        "s32[300]", "s8[600]", "s32[600]",
        "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "rows": (
        "s32[7,3,2]", "u64[30,20,1]", "s32[30,3,20,2]",
        "update_window_dims={1,3}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=2",
    ),
    "parts of columns": (
        "s32[4,7]", "s64[1,600]", "s32[600,3]",
        "update_window_dims={1}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=0",
    ),
    "two indices around a window": (
        "s32[4,3,5]", "s32[600,2]", "s32[600,3]",
        "update_window_dims={1}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2,0}, index_vector_dim=1",
    ),
    "in order already": (
        "s32[5]", "s32[600,1]", "s32[600]",
        ("update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
         "indices_are_sorted=true"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_of_many_updates_each_element_finds_its_own_in_their_order(name: str, gpu: Any) -> None:
    operand, indices, updates, how = MANY[name]
    module = compiler.parse(
        f"""c {{ a = s32[] parameter(0)  b = s32[] parameter(1)  d = s32[] add(a, a)  ROOT r = s32[] add(d, b) }}
ENTRY e {{ x = {operand} parameter(0)  i = {indices} parameter(1)  u = {updates} parameter(2)
  ROOT r = {operand} scatter(x, i, u), {how}, to_apply=c }}"""
    )
    rng = np.random.default_rng(1)
    x, u = (rng.integers(-9, 9, module.entry.parameters[n].array.dims).astype(np.int32) for n in (0, 2))
    array = module.entry.parameters[1].array
    limits = np.iinfo(array.element_type.dtype)
    for values in ([0, 1, 2, 3], [limits.min, limits.max, 0, 3, 4, 5]):
        i = rng.choice(np.array(values, array.element_type.dtype), array.dims)
        i = np.sort(i, axis=0) if "in order" in name else i
        expected = compiler.interpret(module, x, i, u)
        assert np.array_equal(gpu(module, x, i, u, global_races=True)[0], expected[0])
    steps = str(gpu.compile(compiler.to_text(module)).artifacts["thunk_sequence.txt"])
    assert ("sort" in steps) == ("in order" not in name)
    assert "_update" not in steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "inner", "windows"),
    [(5, 64, 33), (40, 3, 1024), (3, 300, 1025), (700, 1, 31), (700, 1, 3000), (9, 256, 1), (2, 2, 32)],
)
def test_the_windows_of_a_row_are_found_wherever_blocks_begin(rows: int, inner: int, windows: int, gpu: Any) -> None:
    module = compiler.parse(
        f"""c {{ a = s32[] parameter(0)  b = s32[] parameter(1)  d = s32[] add(a, a)  ROOT r = s32[] add(d, b) }}
ENTRY e {{ x = s32[{rows},{inner}] parameter(0)  i = s32[{windows}] parameter(1)
  u = s32[{windows},{inner}] parameter(2)
  ROOT r = s32[{rows},{inner}] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, indices_are_sorted=true, to_apply=c }}"""
    )
    rng = np.random.default_rng(1)
    x, u = (rng.integers(-9, 9, module.entry.parameters[n].array.dims).astype(np.int32) for n in (0, 2))
    i = np.sort(rng.integers(-1, rows + 1, windows).astype(np.int32))
    assert np.array_equal(gpu(module, x, i, u, global_races=True)[0], compiler.interpret(module, x, i, u)[0])


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["s8", "bf16", "f64", "c64"])
@pytest.mark.parametrize(("windows", "reach"), [(70, 5), (16, 9), (1, 1), (100, 1)])
def test_windows_in_order_that_reach_only_so_far(type_: str, windows: int, reach: int, gpu: Any) -> None:
    module = compiler.parse(
        f"""c {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] subtract(b, a) }}
ENTRY e {{ x = {type_}[4,2,9] parameter(0)  i = s32[{windows}] parameter(1)
  u = {type_}[{windows},2,{reach}] parameter(2)
  ROOT r = {type_}[4,2,9] scatter(x, i, u), update_window_dims={{1,2}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, indices_are_sorted=true, to_apply=c }}"""
    )
    rng = np.random.default_rng(1)
    dtype = module.entry.parameters[0].array.element_type.dtype
    x, u = (rng.integers(-1, 2, module.entry.parameters[n].array.dims).astype(dtype) for n in (0, 2))
    i = np.sort(rng.integers(-1, 5, windows).astype(np.int32))
    assert np.array_equal(gpu(module, x, i, u, global_races=True)[0], compiler.interpret(module, x, i, u)[0])
