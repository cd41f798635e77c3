"""Kernels are drawn valid, alike for the same choices, and of sizes at which back ends go other ways."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import compiler
from compiler.backends import BACKENDS
from compiler.backends.cpu.kernels import table as cpu
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.machines import target_for
from compiler.backends.cpu.plan import plan
from compiler.backends.nvptx.kernels import table as nvptx
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.strategy import Choice
from compiler.codegen.kernel import kernel_of, scheduled
from compiler.generate.choices import RandomChoices
from compiler.generate.kernels import KERNELS
from compiler.generate.samples import around_kernels
from compiler.ir.types import TYPES
from compiler.pipeline import PIPELINES, run

REACHED = {
    "cpu": {
        "cholesky: panels",
        "convolution: vectors of features",
        "convolution: vectors of lanes",
        "convolution: vectors of places",
        "dot: register tiles",
        "dot: rows streamed",
        "dot: split sums",
        "dot: sums along vectors",
        "fft: passes",
        "lapack: matrix by matrix",
        "loop: tables in memory",
        "loop: tables in registers",
        "loop: transposing tiles",
        "reduce-window: scan",
        "reduce-window: scan in blocks",
        "reduce: columns",
        "reduce: few columns",
        "reduce: rows",
        "row: rows by elements",
        "row: rows in vectors",
        "scatter: chunks of updates",
        "scatter: rows shared",
        "scatter: windows shared",
        "sort: merge sort",
        "sort: network for each line",
        "sort: network shared by threads",
        "sort: radix sort",
        "sort: selection",
        "select-and-scatter: windows in order",
        "select-and-scatter: windows side by side",
        "triangular-solve: one side at a time",
        "triangular-solve: strips",
        "update: loops over the update",
    },
    "nvptx": {
        "cholesky: panels",
        "convolution: a block for each element",
        "convolution: a block for each strip",
        "convolution: a thread for each element",
        "convolution: a warp for each element",
        "convolution: tiles",
        "dot: a block for each element",
        "dot: a block for each strip",
        "dot: a matrix by few vectors",
        "dot: a warp for each element",
        "dot: tiles",
        "loop: transposing tiles",
        "reduce-window: scan, a block for each line",
        "reduce-window: scan, a block for each part of a line",
        "reduce: a block for each result",
        "reduce: a block for each strip",
        "reduce: a team for each row",
        "reduce: a thread for each result",
        "row: rows in registers",
        "row: rows in the workspace",
        "scatter: elements ask windows",
        "scatter: elements find their windows",
        "sort: a block for each line",
        "sort: merges of runs",
        "sort: ranks in several runs",
        "sort: the first of each part",
        "triangular-solve: squares, a block for a few sides",
    },
}
"""What is reached of each back end."""
SAMPLES = 300
DECIDED = {
    "cpu": lambda kernel: cpu.decide(kernel, Machine.of(target_for("x86_64", "znver4")), 2),
    "nvptx": lambda kernel: nvptx.KINDS[kernel.kind].decide(kernel, Gpu(90, 227 << 10)),
    "nvptx, sharing": lambda kernel: nvptx.KINDS[kernel.kind].decide(
        kernel, Gpu(90, 227 << 10, warp_groups=True, share_all=True)
    ),
}


def drawn(count: int) -> Iterator[compiler.Module]:
    """Modules of kernels; those that call functions of their caller have none."""
    for seed in range(count):
        module = around_kernels(RandomChoices(seed), "m", ("f32", "bf16", "s8", "s32", "f64", "c64"))
        assert module is not None
        compiler.verify(module)
        if not any(str(i.attributes.get("custom_call_target")).startswith("xlabench.") for i in module.instructions()):
            yield module


def test_kernels_are_the_same_again_and_on_no_type_that_is_not_allowed():
    texts = [[compiler.to_text(module) for module in drawn(3)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert around_kernels(RandomChoices(0), "m", ("token",)) is None
    assert all(set(recipe.element_types) <= set(TYPES.values()) for recipe in KERNELS.values())


@pytest.mark.slow
@pytest.mark.parametrize("backend", REACHED)
def test_kernels_come_to_strategies_that_small_arrays_do_not_have(backend: str):
    chosen = list(choices(backend))
    assert not REACHED[backend] - {f"{kind}: {choice.path}" for kind, choice in chosen}
    if backend == "cpu":
        assert_cut([choice.plan.details for _, choice in chosen if choice.strategy == "register tiles"])
        assert any("chunks" in choice.plan.details for kind, choice in chosen if kind == "reduce")


@pytest.mark.slow
def test_where_a_gpu_shares_every_kernel_tiles_of_many_shapes_warp_groups_and_chunks_are_drawn():
    plans = [(kind, choice.strategy, choice.plan.details) for kind, choice in choices("nvptx, sharing")]
    tiles = [details for kind, name, details in plans if kind == "dot" and name == "tiles"]
    assert len({tuple(details["tile"]) for details in tiles}) >= 12
    assert {details["tensor_cores"] for details in tiles} == {False, True}
    assert any(details["warp_groups"] for details in tiles)
    assert any(details["parts"] > 1 for details in tiles)
    reduced = {name for kind, name, details in plans if kind == "reduce" and details["chunks"] > 1}
    assert reduced == {"a block for each strip", "a block for each result"}


def choices(decided: str) -> Iterator[tuple[str, Choice[Any]]]:
    for module in drawn(SAMPLES):
        run(module, PIPELINES[BACKENDS[decided.partition(",")[0]].pipeline], compiler.CompileOptions())
        for kernel in map(kernel_of, scheduled(module.entry)):
            if kernel.outputs:
                yield kernel.kind.value, DECIDED[decided](kernel)


def assert_cut(products: list[Mapping[str, Any]]):
    """Some of the products have a last tile that others are beside, and sums in several blocks, before an epilogue."""
    cut = set()
    for details in products:
        _, rows, columns, depth = details["extent"]
        height, width = details["tile"]
        is_deep = depth > details["block"][2]
        cut |= {"rows"} if rows > height and rows % height else set()
        cut |= {"columns"} if columns > width and columns % width else set()
        cut |= {f"depth, {what} packed" for what in details["packed"]} if is_deep else set()
    assert cut >= {"rows", "columns", "depth, out packed", "depth, rhs packed"}


LAID_OVER = {
    "dot: register tiles",
    "dot: rows streamed",
    "dot: sums along vectors",
    "cholesky: panels",
    "row: rows in vectors",
    "triangular-solve: strips",
}
"""Kernels of which some results lie over an operand, so that no element may be computed twice, or before it is read."""


@pytest.mark.slow
def test_results_lie_over_what_other_kernels_have_left():
    machine, over = Machine.of(target_for("x86_64", "znver4")), set()
    for module in drawn(SAMPLES):
        run(module, PIPELINES[BACKENDS["cpu"].pipeline], compiler.CompileOptions())
        decided = plan(module, machine, 4)
        for instruction, kernel in decided.kernels.items():
            if kernel.in_place:
                over.add(f"{kernel.kind.value}: {decided.choices[instruction].path}")
    assert over >= LAID_OVER


def test_no_two_kernels_of_a_module_are_of_one_kind_and_some_call_lapack_with_several_panels():
    orders, called = set(), 0
    for module in drawn(60):
        calls = [i for i in module.entry.instructions if i.opcode == "custom-call"]
        calls = [call for call in calls if call.attributes["custom_call_target"].startswith("lapack")]
        names = [call.attributes["custom_call_target"].removeprefix("lapack_")[1:] for call in calls]
        # Reflections are made by one of the routines, and are what others take.
        of_its_own = [name for name in names if name != "geqrf_ffi"]
        assert len(set(of_its_own)) == len(of_its_own)
        orders |= {call.operands[0].array.dims[-2] for call in calls if call.operands[0].array.rank > 1}
        called += bool(calls)
    assert called > 5
    assert {n for n in orders if n > 64}
    assert {n for n in orders if 32 < n < 64}
