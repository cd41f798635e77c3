"""Bugs planted in our own emitters: the simulator finds each and calls it by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot import kernel as dot_kernel
from compiler.backends.nvptx.kernels.dot import tile, tile_mma, tile_plain
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout, Slice
from compiler.backends.nvptx.kernels.scatter import kernel as scatter
from compiler.backends.nvptx.kernels.teams.tree import Block
from compiler.backends.nvptx.simulated import SimulatedDevice
from compiler.backends.nvptx.simulator import LaunchOptions, SimulationError
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import I1, Builder, Value, integer

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
LOOP = "ENTRY e { x = f32[256] parameter(0)  ROOT r = f32[256] add(x, x) }"
REDUCE = (
    ADD
    + """ENTRY e { x = f32[4,2048] parameter(0)  z = f32[] constant(0)
  ROOT r = f32[4] reduce(x, z), dimensions={1}, to_apply=add }"""
)
WARP_REDUCE = REDUCE.replace("4,2048", "4,500")
STRIP_REDUCE = REDUCE.replace("4,2048", "500,40").replace("f32[4]", "f32[40]").replace("{1}", "{0}")
DOT = """ENTRY e { x = f32[40,20] parameter(0)  y = f32[20,40] parameter(1)
  ROOT r = f32[40,40] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
TENSOR_DOT = DOT.replace("f32[40,20]", "bf16[40,96]").replace("f32[20,40]", "bf16[96,40]")
SORT = """lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[200] parameter(0)  ROOT r = f32[200] sort(x), dimensions={0}, is_stable=true, to_apply=lt }"""
SCAN = (
    ADD
    + """ENTRY e { x = f32[3000] parameter(0)  z = f32[] constant(0)
  ROOT r = f32[3000] reduce-window(x, z), window={size=3000 pad=2999_0}, to_apply=add }"""
)
SCATTER = (
    ADD
    + """ENTRY e { x = f32[8] parameter(0)  i = s32[64] parameter(1)  u = f32[64] parameter(2)
  ROOT r = f32[8] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }"""
)

Plant = Callable[[pytest.MonkeyPatch], None]


def _no_barrier(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(grid, "barrier", lambda builder: None)


def _second_barrier_missing(patch: pytest.MonkeyPatch) -> None:
    original, calls = grid.barrier, iter(range(1000))
    patch.setattr(grid, "barrier", lambda builder: original(builder) if next(calls) % 2 == 0 else None)


def _barrier_for_the_first_warp_only(patch: pytest.MonkeyPatch) -> None:
    original = grid.barrier

    def barrier(builder: Builder) -> None:
        with builder.when(builder.compare("slt", grid.thread(builder), integer(grid.WARP)), "some"):
            original(builder)

    patch.setattr(grid, "barrier", barrier)


def _guard_off_by_one(patch: pytest.MonkeyPatch) -> None:
    original = Builder.compare

    def compare(self: Builder, predicate: str, left: Value, right: Value) -> Value:
        is_guard = predicate == "slt" and right.literal is not None
        return original(self, "sle" if is_guard else predicate, left, right)

    patch.setattr(Builder, "compare", compare)
    patch.setattr(grid, "blocks_for", lambda elements, threads: -(-(elements + 1) // threads))


def _wrong_mask(patch: pytest.MonkeyPatch) -> None:
    original = grid._shuffle

    def shuffle(builder: Builder, *given: Any) -> Value:
        # The mask names all lanes, of which only half are there.
        first = builder.compare("slt", builder.binary("and", grid.thread(builder), integer(31)), integer(16))
        return builder.choose(first, lambda: original(builder, *given), lambda: given[0])

    patch.setattr(grid, "_shuffle", shuffle)


def _mask_of_half_the_warp(patch: pytest.MonkeyPatch) -> None:
    original = grid._shuffle

    def shuffle(builder: Builder, value: Value, mode: str, amount: int, extent: tuple[int, int]) -> Value:
        return original(builder, value, mode, amount, (extent[0], min(extent[1], 16)))

    patch.setattr(grid, "_shuffle", shuffle)


def _wrong_stride(patch: pytest.MonkeyPatch) -> None:
    original = Layout.offset

    def offset(self: Layout, position: Index, depth: Index) -> Index:
        return original(self, position, depth).times(64)

    patch.setattr(Layout, "offset", offset)


def _overlapping_stride(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tile_plain, "_PAD", -16)


def _unaligned_rows(patch: pytest.MonkeyPatch) -> None:
    original = tile_mma._layout
    patch.setattr(tile_mma, "_layout", lambda *given: replace(original(*given), pad=4))


def _shared_memory_partly_unfilled(patch: pytest.MonkeyPatch) -> None:
    original = Slice._copy

    def copy(self: Slice, emission: Emission, *rest: Any) -> None:
        with emission.builder.when(
            emission.builder.compare("slt", grid.thread(emission.builder), integer(100)), "some"
        ):
            original(self, emission, *rest)

    patch.setattr(Slice, "_copy", copy)


def _no_wait(patch: pytest.MonkeyPatch) -> None:
    original = tile._TileKernel._asynchronous

    def only_commit(self: Any, name: str, *rest: Value) -> None:
        if name == "commit.group":
            original(self, name, *rest)

    patch.setattr(tile._TileKernel, "_asynchronous", only_commit)


def _wait_for_too_few(patch: pytest.MonkeyPatch) -> None:
    original = tile._TileKernel._asynchronous

    def more(self: Any, name: str, *rest: Value) -> None:
        original(self, name, *(integer(int(value.literal or 0) + 1, value.type) for value in rest))

    patch.setattr(tile._TileKernel, "_asynchronous", more)


def _neighbour_beyond_the_block(patch: pytest.MonkeyPatch) -> None:
    original = Block._load
    patch.setattr(
        Block,
        "_load",
        lambda self, builder, offset: original(self, builder, builder.add(offset, integer(self.threads))),
    )


def _scatter_without_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scatter, "_is_parallel", lambda kernel, dimension: True)
    patch.setattr(scatter, "_asks", lambda kernel, *, is_atomic: False)


def _nobody_stores(patch: pytest.MonkeyPatch) -> None:
    original = Builder.when

    def when(self: Builder, condition: Value, name: str = "then") -> Any:
        condition = Value(I1, "false") if name == "first" else condition
        return original(self, condition, name)

    patch.setattr(Builder, "when", when)


# What is planted, in which program, and what the simulator calls it.
CATALOGUE: dict[str, tuple[Plant, str, str]] = {
    "reduction without barriers": (_no_barrier, REDUCE, "race"),
    "reduction in strips without the second barrier": (_second_barrier_missing, STRIP_REDUCE, "race"),
    "reduction with a barrier that not all reach": (_barrier_for_the_first_warp_only, REDUCE, "divergent-barrier"),
    "reduction that reads beyond the block": (_neighbour_beyond_the_block, REDUCE, "out-of-bounds"),
    "reduction of a warp with too wide a mask": (_wrong_mask, WARP_REDUCE, "divergent-shuffle"),
    "reduction with a mask that lacks half the lanes": (_mask_of_half_the_warp, REDUCE, "divergent-shuffle"),
    "reduction of a warp with such a mask": (_mask_of_half_the_warp, WARP_REDUCE, "divergent-shuffle"),
    "dot without barriers": (_no_barrier, DOT, "race"),
    "dot with too wide a stride": (_wrong_stride, DOT, "out-of-bounds"),
    "dot with rows that overlap": (_overlapping_stride, DOT, "race"),
    "dot with a part of its tile unfilled": (_shared_memory_partly_unfilled, DOT, "uninitialised"),
    "dot that does not wait for its copies": (_no_wait, DOT, "uninitialised"),
    "dot that waits for too few of its copies": (_wait_for_too_few, DOT, "uninitialised"),
    "dot on tensor cores without barriers": (_no_barrier, TENSOR_DOT, "race"),
    "dot on tensor cores with rows that lie across words": (_unaligned_rows, TENSOR_DOT, "misaligned"),
    "dot on tensor cores that does not wait": (_no_wait, TENSOR_DOT, "uninitialised"),
    "loop with a guard off by one": (_guard_off_by_one, LOOP, "out-of-bounds"),
    "scatter without order": (_scatter_without_order, SCATTER, "race"),
    "sort without barriers": (_no_barrier, SORT, "uninitialised"),
    "scan without barriers": (_no_barrier, SCAN, "race"),
    "scan without the second barrier": (_second_barrier_missing, SCAN, "race"),
}


ALL_CHECKS = LaunchOptions(check_races=True, check_global_races=True)


def run(text: str, checks: LaunchOptions = ALL_CHECKS) -> list[Any]:
    rng = np.random.default_rng(0)
    module = compiler.parse(text)
    arrays = [rng.integers(0, 8, p.array.dims).astype(p.array.element_type.dtype) for p in module.entry.parameters]
    executable = compiler.compile(module, "nvptx", CompileOptions(device="sim", arch="sm_80"))
    assert isinstance(executable.device, SimulatedDevice)  # type: ignore[attr-defined]
    executable.device.options = checks  # type: ignore[attr-defined]
    return executable(*arrays)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_planted_bug_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, text, kind = CATALOGUE[name]
    monkeypatch.setattr(dot_kernel, "_SMALL", 0)
    plant(monkeypatch)
    # Where threads run past a barrier, most races come of it; without those the barrier itself is named.
    races = kind != "divergent-barrier"
    with pytest.raises(SimulationError) as caught:
        run(text, LaunchOptions(check_races=races, check_global_races=races))
    assert caught.value.kind == kind, caught.value


def test_a_result_that_nobody_stores_is_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    _nobody_stores(monkeypatch)
    with pytest.raises(RuntimeError, match=r"16 bytes .* never written"):
        run(REDUCE)


@pytest.mark.parametrize("text", sorted({text for _, text, _ in CATALOGUE.values()}))
def test_without_a_bug_nothing_is_found(text: str) -> None:
    assert run(text)
