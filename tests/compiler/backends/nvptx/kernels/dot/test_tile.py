"""Which form of kernel is chosen when: seen by the instructions in its PTX, and by its launches."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.dot import kernel, tile, tile_plain
from compiler.backends.nvptx.simulator import LaunchOptions
from compiler.ir.types import TYPES


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have small products made in tiles, too."""
    monkeypatch.setattr(kernel, "_SMALL", 0)


ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"


def loop(type_: str, dims: str) -> str:
    return f"ENTRY e {{ x = {type_}[{dims}] parameter(0)  ROOT r = {type_}[{dims}] add(x, x) }}"


SUMS = {"s8": "s32", "s32": "s32", "u8": "s32", "f64": "f64", "c64": "c64", "c128": "c128"}


def dot(type_: str, m: int, k: int, n: int, *, how: str = "nn", algorithm: str = "") -> str:
    """A product of matrices; `how` says of either whether it lies transposed."""
    lhs, rhs = (f"{k},{m}" if how[0] == "t" else f"{m},{k}"), (f"{n},{k}" if how[1] == "t" else f"{k},{n}")
    left, _, right = type_.partition(" by ")
    note = f", algorithm={algorithm}" if algorithm else ""
    return f"""ENTRY e {{ x = {left}[{lhs}] parameter(0)  y = {right or left}[{rhs}] parameter(1)
  ROOT r = {SUMS.get(left, "f32")}[{m},{n}] dot(x, y), lhs_contracting_dims={{{int(how[0] != "t")}}},
    rhs_contracting_dims={{{int(how[1] == "t")}}}{note} }}"""


def convolution(type_: str, x: str, w: str, out: str, how: str) -> str:
    return f"""ENTRY e {{ x = {type_}[{x}] parameter(0)  w = {type_}[{w}] parameter(1)
  ROOT r = f32[{out}] convolution(x, w), {how} }}"""


def softmax(dims: str) -> str:
    rows = dims.split(",")[0]
    return f"""{ADD}max {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
ENTRY e {{ x = f32[{dims}] parameter(0)  low = f32[] constant(-inf)  z = f32[] constant(0)
  m = f32[{rows}] reduce(x, low), dimensions={{1}}, to_apply=max
  w = f32[{dims}] broadcast(m), dimensions={{0}}  s = f32[{dims}] subtract(x, w)
  e = f32[{dims}] exponential(s)  t = f32[{rows}] reduce(e, z), dimensions={{1}}, to_apply=add
  v = f32[{dims}] broadcast(t), dimensions={{0}}  ROOT r = f32[{dims}] divide(e, v) }}"""


def reduction(dims: str, out: str, over: str) -> str:
    return f"""{ADD}ENTRY e {{ x = f32[{dims}] parameter(0)  z = f32[] constant(0)
  ROOT r = f32[{out}] reduce(x, z), dimensions={{{over}}}, to_apply=add }}"""


def whole_numbers(module: compiler.Module) -> list[Any]:
    """Small integers: products and sums are exact, so that a wrong element cannot hide."""
    rng = np.random.default_rng(0)
    types = [(p.array.dims, p.array.element_type) for p in module.entry.parameters]
    drawn = [rng.integers(0 if t.name == "u8" else -4, 5, (2, *dims)) for dims, t in types]
    return [
        (one[0] + 1j * one[1] if t.is_complex else one[0]).astype(t.dtype)
        for one, (_, t) in zip(drawn, types, strict=True)
    ]


# A program, what its PTX must hold, and what it must not.
FORMS = {
    "large loops move 16 bytes at a time": (loop("f32", "64,128"), "ld.global.nc.v4.b32 st.global.v4.b32", ""),
    "large loops of bf16 too": (loop("bf16", "64,128"), "ld.global.nc.v4.b32 st.global.v4.b32", ""),
    "large loops of f64 too": (loop("f64", "64,128"), "ld.global.nc.v2.b64 st.global.v2.b64", ""),
    "small loops have a thread for each element": (loop("f32", "1024"), "ld.global.nc.b32", ".v4 .v2"),
    "odd loops have a thread for each element": (loop("f32", "91,91"), "ld.global.nc.b32", ".v4 .v2"),
    "transposes go through shared memory": (
        "ENTRY e { x = f32[64,64] parameter(0)  ROOT r = f32[64,64] transpose(x), dimensions={1,0} }",
        "st.shared ld.shared bar.sync",
        "",
    ),
    "dots of complex numbers go through shared memory": (dot("c64", 64, 64, 64), "cp.async ld.shared bar.sync", ""),
    "dots of f32 go through shared memory in words": (
        dot("f32", 64, 64, 64),
        "cp.async.ca.shared.global ld.shared.v4 bar.sync fma.rn.f32",
        "mma",
    ),
    "long thin dots are summed by warps": (dot("f32", 2, 256, 3), "shfl.sync", "bar.sync mma"),
    "small dots have a thread for each element": (dot("f32", 3, 5, 4), "fma.rn.f32", "shfl bar.sync mma"),
    "dots of bf16 go to tensor cores": (dot("bf16", 64, 64, 64), "mma.sync.aligned.m16n8k16.row.col.f32.bf16", ""),
    "dots of f16 go to tensor cores": (dot("f16", 64, 64, 64), "mma.sync.aligned.m16n8k16.row.col.f32.f16", ""),
    "operands of tensor cores come in words and are turned over on the way": (
        dot("bf16", 64, 64, 64),
        "cp.async.cg.shared.global cp.async.wait_group ldmatrix.sync.aligned.m8n8.x4.shared m8n8.x4.trans.shared",
        "ld.shared cp.async.ca",
    ),
    "dots of s8 go to tensor cores": (
        dot("s8", 32, 64, 32, how="nt"),
        "m16n8k32.row.col.s32.s8.s8.s32 cp.async.cg",
        "",
    ),
    "dots of u8 go to tensor cores": (dot("u8", 32, 64, 32), "m16n8k32.row.col.s32.u8.u8.s32 ldmatrix", ""),
    "dots of s8 by u8 go to tensor cores": (dot("s8 by u8", 32, 64, 32), "m16n8k32.row.col.s32.s8.u8.s32", ""),
    "dots of f64 go to tensor cores": (dot("f64", 32, 64, 32), "mma.sync.aligned.m8n8k4.row.col.f64", "fma.rn.f64"),
    "dots of f32 may be rounded to tf32": (
        dot("f32", 32, 64, 32, algorithm="dot_tf32_tf32_f32"),
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32 cvt.rna.tf32",
        "",
    ),
    "dots of f32 may be rounded to bf16": (
        dot("f32", 32, 64, 32, algorithm="dot_bf16_bf16_f32"),
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16",
        "",
    ),
    "dots of f32 in three parts are not rounded": (
        dot("f32", 32, 64, 32, algorithm="dot_tf32_tf32_f32_x3"),
        "fma.rn.f32",
        "mma",
    ),
    "convolutions of bf16 go to tensor cores": (
        convolution(
            "bf16", "2,8,8,16", "3,3,16,24", "2,8,8,24", "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
        ),
        "mma.sync.aligned.m16n8k16 cp.async.cg.shared.global",
        "",
    ),
    "convolutions of f32 go through shared memory": (
        convolution("f32", "2,16,30", "24,16,3", "2,24,30", "window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0"),
        "cp.async.ca.shared.global bar.sync fma.rn.f32",
        "mma",
    ),
    "depthwise convolutions are summed directly": (
        convolution(
            "f32",
            "2,20,32",
            "3,1,32",
            "2,20,32",
            "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=32",
        ),
        "fma.rn.f32",
        "bar.sync mma",
    ),
    "rows of a warp are reduced by shuffles alone": (
        reduction("40,500", "40", "1"),
        "shfl.sync ld.global.nc.v4",
        "bar.sync",
    ),
    "odd rows too, by single words": (reduction("40,501", "40", "1"), "shfl.sync ld.global.nc.b32", "bar.sync .v4"),
    "long rows are a block's": (reduction("4,5000", "4", "1"), "shfl.sync bar.sync ld.global.nc.v4", ""),
    "a row alone is a block's sooner": (reduction("1024", "", "0"), "shfl.sync bar.sync ld.global.nc.v4", ""),
    "a short row alone is a warp's": (reduction("512", "", "0"), "shfl.sync ld.global.nc.v4", "bar.sync"),
    "two such rows are a warp's each": (reduction("2,1024", "2", "1"), "shfl.sync ld.global.nc.v4", "bar.sync"),
    "softmax of rows of a warp reads and writes once": (
        softmax("40,500"),
        "shfl.sync ld.global.nc.v4.b32 st.global.v4.b32",
        "bar.sync ld.shared",
    ),
    "softmax of a row alone is a block's": (
        softmax("1,1024"),
        "shfl.sync bar.sync ld.global.nc.v4.b32 st.global.v4.b32",
        "",
    ),
    "softmax of longer rows meets once in each phase": (
        softmax("3,4000"),
        "shfl.sync bar.sync st.global.v4",
        "st.global.b32",
    ),
    "softmax of very long rows keeps them in memory": (softmax("2,20000"), "bar.sync st.global.b32", ""),
    "columns are reduced in strips": (reduction("500,40", "40", "0"), "bar.sync", "shfl"),
    "short columns are reduced by single threads": (reduction("5,400", "400", "0"), "", "shfl bar.sync"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_chosen_and_right(name: str, gpu: Any) -> None:
    text, held, absent = FORMS[name]
    executable = gpu.compile(text)
    missing = [word for word in held.split() if word not in executable.ptx]
    assert not missing, executable.ptx
    assert not [word for word in absent.split() if word in executable.ptx]
    arrays = whole_numbers(compiler.parse(text))
    (expected,), (actual,) = compiler.interpret(compiler.parse(text), *arrays), executable(*arrays)
    assert np.allclose(expected, actual, rtol=1e-6, atol=0)


def check_exactly(text: str, gpu: Any) -> None:
    module = compiler.parse(text)
    arrays = whole_numbers(module)
    assert np.array_equal(gpu(module, *arrays)[0], compiler.interpret(module, *arrays)[0])


TENSOR_TYPES = ["bf16", "f16", "s8", "u8", "s8 by u8", "f64"]


@pytest.mark.slow
@pytest.mark.parametrize("type_", [*TENSOR_TYPES, "f32"])
@pytest.mark.parametrize("arch", ["sm_75", "sm_70"])
def test_a_gpu_without_such_tensor_cores_is_not_asked_for_them(type_: str, arch: str, gpu: Any) -> None:
    text = dot(type_, 20, 40, 30)
    executable = gpu.compile(text, replace(gpu.options, arch=arch))
    assert not [word for word in ("mma", "cp.async", "ldmatrix") if word in executable.ptx]
    arrays = whole_numbers(compiler.parse(text))
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(compiler.parse(text), *arrays)[0])


@pytest.mark.slow
@pytest.mark.parametrize("type_", TENSOR_TYPES)
@pytest.mark.parametrize("how", ["nn", "tt"])
@pytest.mark.parametrize(("m", "k", "n"), [(17, 33, 65), (48, 96, 72)])
def test_tensor_cores_make_every_size(type_: str, how: str, m: int, k: int, n: int, gpu: Any) -> None:
    check_exactly(dot(type_, m, k, n, how=how), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["dot_tf32_tf32_f32", "dot_bf16_bf16_f32", "dot_f16_f16_f32"])
@pytest.mark.parametrize("how", ["nn", "tt"])
def test_rounded_operands_lie_either_way(algorithm: str, how: str, gpu: Any) -> None:
    check_exactly(dot("f32", 40, 36, 44, how=how, algorithm=algorithm), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["nn", "tt"])
@pytest.mark.parametrize(("type_", "m", "k", "n"), [("c64", 20, 33, 40), ("c128", 17, 9, 20), ("c64", 3, 200, 5)])
def test_dots_of_complex_numbers_are_right(type_: str, how: str, m: int, k: int, n: int, gpu: Any) -> None:
    check_exactly(dot(type_, m, k, n, how=how), gpu)


PLAIN_TILES = [
    *((shape, "f32", how) for shape in tile_plain.shapes(TYPES["f32"]) for how in ("nn", "tt")),
    *((shape, type_, "nt") for type_ in ("s32", "c64") for shape in tile_plain.shapes(TYPES[type_])),
]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "type_", "how"), PLAIN_TILES, ids=str)
def test_plain_tiles_of_every_shape_are_right(
    shape: tile_plain.Shape, type_: str, how: str, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_plain, "shapes", lambda _: [shape])
    check_exactly(dot(type_, shape.rows + 3, 40, shape.columns + 5, how=how), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("type_", [*TENSOR_TYPES, "f32", "tf32"])
@pytest.mark.parametrize(("blocks", "slices"), [(1, 1), (1, 8), (4, 8)])
def test_large_tiles_are_right(type_: str, blocks: int, slices: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tile, "_MANY_BLOCKS", blocks)
    monkeypatch.setattr(tile, "_MANY_SLICES", slices)
    algorithm, type_ = ("dot_tf32_tf32_f32", "f32") if type_ == "tf32" else ("", type_)
    check_exactly(dot(type_, 130, 72, 140, algorithm=algorithm), gpu)


CONVOLUTIONS = {
    "strides": ("2,9,8,16", "3,2,16,24", "2,9,4,24", "size=3x2 stride=1x2 pad=1_1x0_0", "b01f_01io->b01f", 1),
    "few input features": ("2,9,8,3", "3,2,3,24", "2,9,4,24", "size=3x2 stride=1x2 pad=1_1x0_0", "b01f_01io->b01f", 1),
    "features first": ("2,16,9,8", "24,16,3,3", "2,24,9,8", "size=3x3 pad=1_1x1_1", "bf01_oi01->bf01", 1),
    "weights otherwise": ("2,9,8,16", "24,16,3,3", "2,9,8,24", "size=3x3 pad=1_1x1_1", "b01f_oi01->b01f", 1),
    "two groups": ("2,32,30", "40,16,3", "2,40,30", "size=3 pad=1_1", "bf0_oi0->bf0", 2),
    "reversed": ("2,12,32", "3,16,40", "2,24,40", "size=3 pad=2_1 lhs_dilate=2 rhs_reversal=1", "b0f_0io->b0f", 2),
    "dilated window": ("2,20,8", "3,8,16", "2,16,16", "size=3 rhs_dilate=2", "b0f_0io->b0f", 1),
    "window of one": ("2,20,16", "1,16,24", "2,20,24", "size=1", "b0f_0io->b0f", 1),
    "batch last": ("20,16,3", "3,16,24", "20,24,3", "size=3 pad=1_1", "0fb_0io->0fb", 1),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["f32", "bf16", "s8"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_products_of_patches(name: str, type_: str, gpu: Any) -> None:
    x, w, out, window, labels, groups = CONVOLUTIONS[name]
    how = f"window={{{window}}}, dim_labels={labels}, feature_group_count={groups}"
    check_exactly(convolution(type_, x, w, out, how), gpu)


@pytest.mark.slow
def test_a_convolution_takes_a_prologue_and_an_epilogue(gpu: Any) -> None:
    text = """ENTRY e { x = s8[2,9,8,16] parameter(0)  w = f32[3,3,16,24] parameter(1)  b = f32[24] parameter(2)
  y = f32[2,9,8,16] convert(x)
  c = f32[2,9,8,24] convolution(y, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  d = f32[2,9,8,24] broadcast(b), dimensions={3}
  s = f32[2,9,8,24] add(c, d)
  ROOT r = f32[2,9,8,24] maximum(s, f32[2,9,8,24] negate(s)) }"""
    check_exactly(text, gpu)
    assert gpu.compile(text).ptx.count(".entry") == 1


SCATTERS = {
    "f32 add": "red.relaxed.gpu.global.add.f32", "f64 add": "red.relaxed.gpu.global.add.f64",
    "s32 add": "add.u32", "u64 maximum": "max.u64", "s32 minimum": "min.s32", "u32 xor": "xor.b32",
    "f32 multiply": "", "s8 add": "", "bf16 add": "", "c64 add": "",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("what", SCATTERS)
def test_updates_are_atomic_where_order_is_given_up(what: str, gpu: Any) -> None:
    type_, opcode = what.split()
    text = f"""c {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] {opcode}(a, b) }}
ENTRY e {{ x = {type_}[7,5] parameter(0)  i = s32[60] parameter(1)  u = {type_}[60,5] parameter(2)
  ROOT r = {type_}[7,5] scatter(x, i, u), update_window_dims={{1}}, inserted_window_dims={{0}},
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=c }}"""
    module, rng = compiler.parse(text), np.random.default_rng(0)
    dtype = module.entry.parameters[0].array.element_type.dtype
    arrays = [rng.integers(1, 3, (7, 5)).astype(dtype), rng.integers(0, 7, 60).astype(np.int32)]
    arrays.append(rng.integers(0, 3, (60, 5)).astype(dtype))
    executable = gpu.compile(module, replace(gpu.options, atomics=True))
    assert ("red." in executable.ptx or "atom." in executable.ptx) == bool(SCATTERS[what])
    assert SCATTERS[what].rpartition("global.")[2] in executable.ptx
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])
    # Integers come to the same in any order, so that nobody has to give it up.
    is_free = np.issubdtype(dtype, np.integer)
    assert any(word in gpu.compile(module).ptx for word in ("red.", "atom.")) == (is_free and bool(SCATTERS[what]))


@pytest.mark.slow
def test_a_long_sum_is_cut_into_chunks(gpu: Any) -> None:
    steps = str(gpu.compile(reduction("40000", "", "0")).artifacts["thunk_sequence.txt"])
    assert "_partial<<<9, 256>>>" in steps
    assert "_combine<<<1, 8>>>" in steps


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "several"), [("f32", 4), ("bf16", 8), ("f64", 2), ("c128", 1)])
def test_what_does_not_divide_into_words_is_several_of_a_thread_too(type_: str, several: int, gpu: Any) -> None:
    module = compiler.parse(f"""ENTRY e {{ x = {type_}[91,93] parameter(0)  y = {type_}[93] parameter(1)
  b = {type_}[91,93] broadcast(y), dimensions={{1}}  ROOT r = {type_}[91,93] add(x, b) }}""")
    arrays = whole_numbers(module)
    executable = gpu.compile(module)
    executable.device.options = LaunchOptions(check_global_races=True)
    assert f"<<<{-(-(91 * 93 // several) // 256)}, 256>>>" in str(executable.artifacts["thunk_sequence.txt"])
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dims", "out", "over", "launches", "loads"),
    [
        ("4096,4096", "4096", "0", ["_partial<<<512, 256>>>", "_combine<<<16, 256>>>"], 8),
        ("4096,4096", "4096", "1", ["<<<4096, 256>>>"], 4),
        ("16777216", "", "0", ["_partial<<<512, 256>>>", "_combine<<<1, 512>>>"], 4),
    ],
)
def test_a_reduction_has_enough_of_memory_on_its_way(
    dims: str, out: str, over: str, launches: list[str], loads: int, gpu: Any
) -> None:
    executable = gpu.compile(reduction(dims, out, over))
    steps = [line for line in str(executable.artifacts["thunk_sequence.txt"]).splitlines() if "launch" in line]
    assert [launch in step for launch, step in zip(launches, steps, strict=True)] == [True] * len(launches)
    # Within straight code ptxas puts loads in front.
    assert max(block.count("ld.global.nc") for block in re.split(r"\sbra |\$L__", executable.ptx)) == loads


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "stages", "asked"), [("sm_70", 2, False), ("sm_80", 4, True), ("sm_86", 2, False), ("sm_90", 4, True)]
)
def test_a_launch_asks_for_the_shared_memory_that_the_target_has(arch: str, stages: int, asked: bool) -> None:  # noqa: FBT001
    options = compiler.CompileOptions(device="sim", arch=arch)
    executable = compiler.compile(dot("f32", 2048, 256, 2048), "nvptx", options)
    shared_bytes = stages * (128 * (16 + 4) + 16 * (128 + 4)) * 4
    steps = str(executable.artifacts["thunk_sequence.txt"])
    assert (f"<<<256, 256, {shared_bytes} bytes>>>" in steps, "<<<256, 256>>>" in steps) == (asked, not asked)
    assert {kernel.shared_bytes for kernel in executable.facts.kernels} <= {shared_bytes}


@pytest.mark.slow
def test_what_kernels_need_is_recorded(gpu: Any) -> None:
    gpu.compile(dot("f32", 64, 64, 64))
    for one in gpu.resources:
        assert (one.spill_bytes, one.stack_bytes) == (0, 0)
        assert 0 < one.registers < 256
        assert one.shared_bytes == 4 * (32 * (16 + 4) + 16 * (32 + 4)) * 4 + 256 * 16 * 4
