"""Every strategy of every kernel kind is taken; products, gathers, scatters, windows, sorts in every form are right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from strategy_programs import kernels

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.kernels.table import KINDS, decide
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.machines import target_for
from compiler.ir.types import TYPES
from tests.compiler.backends.cpu.kernels.forms import Array, check, listed, reducer, shape, values

DOT_TYPES = [
    ("f32", "f32", "f32"),
    ("f64", "f64", "f64"),
    ("bf16", "bf16", "bf16"),
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f16"),
    ("f32", "f32", "bf16"),
    ("s8", "s8", "s32"),
    ("u8", "u8", "s32"),
    ("u8", "u8", "u32"),
    ("s8", "u8", "s32"),
    ("s32", "s32", "s32"),
    ("s64", "s64", "s64"),
    ("s8", "s8", "s8"),
    ("pred", "pred", "pred"),
    ("f8e5m2", "f8e5m2", "f32"),
    ("c64", "c64", "c64"),
    ("c128", "c128", "c128"),
]


@pytest.mark.parametrize(("left", "right", "result"), DOT_TYPES)
@pytest.mark.parametrize(("m", "n", "k"), [(33, 17, 64), (1, 9, 8), (2, 3, 0)])
def test_products_of_every_type(left: str, right: str, result: str, m: int, n: int, k: int) -> None:
    text = f"""ENTRY e {{ x = {shape(left, (m, k))} parameter(0)  y = {shape(right, (k, n))} parameter(1)
        ROOT r = {shape(result, (m, n))} dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""
    check(text, [values(left, (m, k)), values(right, (k, n), 5)])


LAYOUTS = [
    ((5, 6), (6, 7), (1,), (0,), (), ()),
    ((6, 5), (6, 7), (0,), (0,), (), ()),
    ((5, 6), (7, 6), (1,), (1,), (), ()),
    ((3, 5, 6), (3, 6, 7), (2,), (1,), (0,), (0,)),
    ((5, 3, 6), (6, 7, 3), (2,), (0,), (1,), (2,)),
    ((4, 6, 5), (4, 6, 7), (1,), (1,), (0,), (0,)),
    ((2, 3, 4, 5), (5, 4, 7), (2, 3), (1, 0), (), ()),
    ((6,), (6,), (0,), (0,), (), ()),
    ((6,), (6, 4), (0,), (0,), (), ()),
    ((2, 3), (4, 5), (), (), (), ()),
    ((2, 3, 4), (3, 2, 5), (), (), (0, 1), (1, 0)),
    ((2, 9, 3, 8), (2, 3, 8, 10), (3,), (2,), (0, 2), (0, 1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_products_of_every_layout_with_converts_and_epilogue(layout: tuple[tuple[int, ...], ...]) -> None:
    lhs, rhs, lc, rc, lb, rb = layout
    free = [[s for d, s in enumerate(dims) if d not in (*b, *c)] for dims, b, c in ((lhs, lb, lc), (rhs, rb, rc))]
    out = [*(lhs[d] for d in lb), *free[0], *free[1]]
    text = f"""ENTRY e {{ x = {shape("bf16", lhs)} parameter(0)  y = {shape("s8", rhs)} parameter(1)
        xc = {shape("f32", lhs)} convert(x)  yc = {shape("f32", rhs)} convert(y)
        d = {shape("f32", out)} dot(xc, yc), lhs_batch_dims={listed(lb)}, lhs_contracting_dims={listed(lc)},
          rhs_batch_dims={listed(rb)}, rhs_contracting_dims={listed(rc)}
        z = {shape("f32", out)} parameter(2)  s = {shape("f32", out)} add(d, z)  h = f32[] constant(0)
        hs = {shape("f32", out)} broadcast(h), dimensions={{}}  ROOT r = {shape("f32", out)} maximum(s, hs) }}"""
    check(text, [values("bf16", lhs), values("s8", rhs), values("f32", out, 9)])


GATHERS = [
    # operand, indices, result; offset dims, collapsed dims, index map, vector dim, slice sizes, batching dims of both
    ((5, 4), (3, 1), (3, 4), (1,), (0,), (0,), 1, (1, 4), (), ()),
    ((5, 4), (3,), (3, 4), (1,), (0,), (0,), 1, (1, 4), (), ()),
    ((5, 4), (2, 6), (6,), (), (0, 1), (1, 0), 0, (1, 1), (), ()),
    ((9, 8), (2, 3, 2), (2, 3, 4, 3), (2, 3), (), (0, 1), 2, (4, 3), (), ()),
    ((9, 8), (3, 2), (4, 3, 5), (0, 2), (), (1, 0), 1, (4, 5), (), ()),
    ((3, 7, 4), (3, 5, 1), (3, 5, 4), (2,), (1,), (1,), 2, (1, 1, 4), (0,), (0,)),
    ((6, 3, 7), (5, 3, 6), (5, 3, 6), (), (2,), (2,), 3, (1, 1, 1), (0, 1), (2, 1)),
]


def gather_attributes(case: tuple[Any, ...]) -> str:
    offset, collapsed, index_map, vector, sizes, batching, along = case[3:]
    batched = f", operand_batching_dims={listed(batching)}, start_indices_batching_dims={listed(along)}"
    return (
        f"offset_dims={listed(offset)}, collapsed_slice_dims={listed(collapsed)}, start_index_map={listed(index_map)}, "
        f"index_vector_dim={vector}, slice_sizes={listed(sizes)}{batched if batching else ''}"
    )


@pytest.mark.parametrize("index_type", ["s32", "u8", "s64", "u64"])
@pytest.mark.parametrize("gather", GATHERS, ids=str)
def test_gathers_clamp_their_starts(gather: tuple[Any, ...], index_type: str) -> None:
    operand, indices, result = gather[:3]
    text = f"""ENTRY e {{ x = {shape("f32", operand)} parameter(0)  i = {shape(index_type, indices)} parameter(1)
        ROOT r = {shape("f32", result)} gather(x, i), {gather_attributes(gather)} }}"""
    run_once(text, [values("f32", operand), wild(index_type, indices)])


def wild(index_type: str, dims: Sequence[int]) -> Array:
    """Indices, some of them far outside."""
    dtype = TYPES[index_type].dtype
    numbers = np.random.default_rng(1).integers(-2, 10, dims).astype(dtype)
    info = np.iinfo(dtype)
    flat = numbers.reshape(-1)
    if flat.size > 3:
        flat[1], flat[2] = info.max, info.min
    return flat.reshape(dims)


SCATTERS = [
    # operand, indices, updates; window dims, inserted dims, index map, vector dim, batching dims of both
    ((5, 4), (3, 1), (3, 4), (1,), (0,), (0,), 1, (), ()),
    ((5, 4), (6,), (6, 4), (1,), (0,), (0,), 1, (), ()),
    ((5, 4), (2, 9), (9,), (), (0, 1), (1, 0), 0, (), ()),
    ((9, 8), (2, 3, 2), (2, 3, 4, 3), (2, 3), (), (0, 1), 2, (), ()),
    ((3, 7, 4), (3, 5, 1), (3, 5, 4), (2,), (1,), (1,), 2, (0,), (0,)),
    ((0, 4), (3, 1), (3, 4), (1,), (0,), (0,), 1, (), ()),
    ((5, 4), (0, 1), (0, 4), (1,), (0,), (0,), 1, (), ()),
]


def scatter_attributes(case: tuple[Any, ...]) -> str:
    window, inserted, index_map, vector, batching, along = case[3:]
    batched = f", input_batching_dims={listed(batching)}, scatter_indices_batching_dims={listed(along)}"
    return (
        f"update_window_dims={listed(window)}, inserted_window_dims={listed(inserted)}, "
        f"scatter_dims_to_operand_dims={listed(index_map)}, index_vector_dim={vector}{batched if batching else ''}"
    )


@pytest.mark.parametrize("index_type", ["s32", "u64"])
@pytest.mark.parametrize("body", ["add(a, b)", "copy(b)", "subtract(a, b)"])
@pytest.mark.parametrize("scatter", SCATTERS, ids=str)
def test_scatters_drop_what_lies_outside(scatter: tuple[Any, ...], body: str, index_type: str) -> None:
    operand, indices, updates = scatter[:3]
    text = f"""f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] {body} }}
        ENTRY e {{ x = {shape("f32", operand)} parameter(0)  i = {shape(index_type, indices)} parameter(1)
          u = {shape("f32", updates)} parameter(2)
          ROOT r = {shape("f32", operand)} scatter(x, i, u), {scatter_attributes(scatter)}, to_apply=f }}"""
    run_once(text, [values("f32", operand), wild(index_type, indices), values("f32", updates, 8)])


@pytest.mark.slow
@pytest.mark.parametrize("index_type", ["s32", "u32", "s8", "u64", "s64"])
def test_dynamic_slices_and_updates_clamp_their_starts(index_type: str) -> None:
    text = f"""ENTRY e {{ x = f32[5,7] parameter(0)  u = f32[2,7] parameter(1)  i = {index_type}[] parameter(2)
        j = {index_type}[] parameter(3)
        s = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={{2,3}}
        d = f32[5,7] dynamic-update-slice(x, u, i, j)  n = f32[5,7] negate(d)
        ROOT t = (f32[2,3], f32[5,7]) tuple(s, n) }}"""
    info = np.iinfo(TYPES[index_type].dtype)
    for i, j in itertools.product((info.min, 0, 2, 4, info.max), (1, 5, info.max)):
        starts = [np.array(number, info.dtype) for number in (i, j)]
        run_once(text, [values("f32", (5, 7)), values("f32", (2, 7), 4), *starts])


def run_once(text: str, inputs: Sequence[Array]) -> None:
    module = compiler.parse("HloModule m\n" + text)
    actual = compiler.compile(module, "cpu", CompileOptions(threads=1, opt=1, fusion=False))(*inputs)
    for left, right in zip(compiler.interpret(module, *inputs), actual, strict=True):
        np.testing.assert_array_almost_equal_nulp(left, right, 2)


WINDOWS = [
    ((9,), "size=3"),
    ((9,), "size=9 pad=8_0"),
    ((9,), "size=9 pad=0_8"),
    ((9,), "size=2 stride=3 pad=1_2"),
    ((6, 7), "size=2x3 stride=2x1 pad=1_0x1_1"),
    ((6, 7), "size=3x2 rhs_dilate=2x1"),
    ((6, 7), "size=3x2 lhs_dilate=2x3 pad=1_1x-1_0"),
    ((2, 5), "size=1x9"),
    ((0, 5), "size=1x2"),
]


@pytest.mark.parametrize(("opcode", "element_type"), [("add", "bf16"), ("maximum", "s32")])
@pytest.mark.parametrize(("dims", "window"), WINDOWS)
def test_windows_are_reduced(dims: tuple[int, ...], window: str, opcode: str, element_type: str) -> None:
    text = f"""{reducer(opcode, element_type)}
        ENTRY e {{ x = {shape(element_type, dims)} parameter(0)  i = {element_type}[] parameter(1)
          ROOT r = RESULT reduce-window(x, i), window={{{window}}}, to_apply=f }}"""
    check(with_shape(text, element_type, dims, window), [values(element_type, dims), values(element_type, (), 2)])


def with_shape(text: str, element_type: str, dims: Sequence[int], window: str) -> str:
    """The text with the shape of the window's places filled in."""
    parts = dict(part.split("=") for part in window.split())

    def column(name: str, default: str) -> list[str]:
        return parts.get(name, "x".join([default] * len(dims))).split("x")

    places = []
    for size, width, stride, pad, low, high in zip(
        dims,
        column("size", "1"),
        column("stride", "1"),
        column("pad", "0_0"),
        column("lhs_dilate", "1"),
        column("rhs_dilate", "1"),
        strict=True,
    ):
        before, after = map(int, pad.split("_"))
        padded = before + after + size + max(size - 1, 0) * (int(low) - 1)
        covered = (int(width) - 1) * int(high) + 1
        places.append(0 if padded < covered or (size == 0 and padded == 0) else (padded - covered) // int(stride) + 1)
    return text.replace("RESULT", shape(element_type, places))


CONVOLUTIONS = [
    ((2, 8, 3), (3, 3, 4), (2, 6, 4), "window={size=3}, dim_labels=b0f_0io->b0f"),
    ((2, 3, 8), (4, 3, 3), (2, 4, 4), "window={size=3 stride=2 pad=1_0}, dim_labels=bf0_oi0->bf0"),
    ((1, 6, 7, 4), (3, 2, 2, 6), (1, 4, 6, 6), "window={size=3x2}, dim_labels=b01f_01io->b01f, feature_group_count=2"),
    (
        (1, 6, 7, 4),
        (3, 3, 1, 4),
        (1, 6, 7, 4),
        "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4",
    ),
    ((4, 5, 3), (3, 3, 4), (2, 3, 4), "window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=2"),
    ((2, 5, 3), (3, 3, 4), (2, 11, 4), "window={size=3 pad=2_2 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f"),
    ((2, 9, 3), (3, 3, 4), (2, 5, 4), "window={size=3 rhs_dilate=2}, dim_labels=b0f_0io->b0f"),
]


@pytest.mark.parametrize("element_type", ["f32", "bf16", "s32"])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=lambda c: c[3])
def test_convolutions(case: tuple[Any, ...], element_type: str) -> None:
    lhs, rhs, result, attributes = case
    text = f"""ENTRY e {{ x = {shape(element_type, lhs)} parameter(0)  k = {shape(element_type, rhs)} parameter(1)
        ROOT r = {shape(element_type, result)} convolution(x, k), {attributes} }}"""
    check(text, [values(element_type, lhs), values(element_type, rhs, 6)])


@pytest.mark.parametrize("window", ["size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0", "size=1x2x2x2 stride=1x2x2x1"])
def test_select_and_scatter_goes_where_the_window_points(window: str) -> None:
    places = (1, 5, 5, 2) if "pad" in window else (1, 4, 4, 1)
    text = f"""{reducer("add", "f32")}
        ge {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}
        ENTRY e {{ x = f32[1,9,9,2] parameter(0)  s = {shape("f32", places)} parameter(1)  i = f32[] constant(0.5)
          ROOT r = f32[1,9,9,2] select-and-scatter(x, s, i), window={{{window}}}, select=ge, scatter=f }}"""
    check(text, [np.round(values("f32", (1, 9, 9, 2))), values("f32", places, 4)])


@pytest.mark.parametrize(
    ("dims", "along"), [((17,), 0), ((3, 20), 1), ((20, 3), 0), ((2, 33, 3), 1), ((1,), 0), ((0,), 0), ((3, 0), 1)]
)
def test_sorts_are_stable_along_any_dimension(dims: tuple[int, ...], along: int) -> None:
    outs = [shape(element_type, dims) for element_type in ("s8", "bf16")]
    text = f"""lt {{ a = s8[] parameter(0)  b = s8[] parameter(1)  x = bf16[] parameter(2)  y = bf16[] parameter(3)
          ROOT r = pred[] compare(a, b), direction=LT }}
        ENTRY e {{ x = {outs[0]} parameter(0)  y = {outs[1]} parameter(1)
          ROOT r = ({outs[0]}, {outs[1]}) sort(x, y), dimensions={{{along}}}, to_apply=lt, is_stable=true }}"""
    check(text, [values("s8", dims), values("bf16", dims)])


@pytest.mark.parametrize("largest", ["true", "false"])
@pytest.mark.parametrize(("element_type", "k"), [("f32", 5), ("s32", 17), ("u8", 1), ("bf16", 3), ("f32", 0)])
def test_top_k_keeps_the_first_of_equals(element_type: str, k: int, largest: str) -> None:
    text = f"""ENTRY e {{ x = {element_type}[3,17] parameter(0)
        ROOT r = ({element_type}[3,{k}], s32[3,{k}]) topk(x), k={k}, largest={largest} }}"""
    array = values(element_type, (3, 17))
    if element_type == "f32":
        array[0, :4] = [np.nan, np.inf, -0.0, 0.0]
    check(text, [array])


STRATEGIES = [(kind, strategy.name) for kind, row in KINDS.items() for strategy in row.strategies]


@pytest.fixture
def machine() -> Machine:
    """One that has whatever some strategy asks for."""
    found = Machine.of(target_for("x86_64", "sapphirerapids"))
    return replace(found, features=found.features | {"amx-tile", "amx-bf16", "amx-int8"}, tiles=True)


@pytest.fixture
def meaning() -> Iterator[None]:
    """A custom call that has a meaning in Python."""
    compiler.register_custom_call("op", lambda x: x)
    yield
    compiler.register_custom_call("op", None)


@pytest.mark.usefixtures("meaning")
@pytest.mark.parametrize(("kind", "strategy"), STRATEGIES, ids=str)
def test_every_strategy_is_taken_for_some_kernel(kind: Any, strategy: str, machine: Machine) -> None:
    taken = {decide(kernel, machine, 2).strategy for kernel in kernels("cpu", kind, strategy)}
    assert strategy in {name.partition(", ")[0] for name in taken}
