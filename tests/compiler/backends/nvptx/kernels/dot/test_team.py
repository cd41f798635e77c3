"""Products whose sums threads share, in every form: by a thread, a warp, a block, and in strips; at every edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.dot import vector
from compiler.backends.nvptx.kernels.dot.kernel import DOT
from compiler.backends.nvptx.kernels.grid import Gpu
from compiler.backends.strategy import Declined
from compiler.codegen.kernel import kernel_of


@pytest.fixture(autouse=True)
def _no_matrix_by_few_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "decide", lambda product: Declined("this file is about the other forms"))


PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
FIRST = "lhs_contracting_dims={0}, rhs_contracting_dims={0}"
LAST = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
BATCH = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"


def dot(lhs: str, rhs: str, out: str, how: str = PLAIN, epilogue: str = "copy") -> str:
    return f"""ENTRY e {{ x = {lhs} parameter(0)  y = {rhs} parameter(1)
  d = {out} dot(x, y), {how}  ROOT r = {out} {epilogue}(d) }}"""


def convolution(image: str, weights: str, out: str, window: str, labels: str, more: str = "") -> str:
    return f"""ENTRY e {{ x = {image} parameter(0)  w = {weights} parameter(1)
  ROOT r = {out} convolution(x, w), window={{{window}}}, dim_labels={labels}{more} }}"""


PROGRAMS = {
    "thread: short sums": dot("f32[40,17]", "f32[17,7]", "f32[40,7]"),
    "thread: shorter than are loaded together": dot("f32[4,3]", "f32[3,7]", "f32[4,7]"),
    "warp: sums of two terms for each lane": dot("s8[2,64]", "s8[64,3]", "s8[2,3]"),
    "warp: sums that end within a lane's terms": dot("f32[3,70]", "f32[70,3]", "f32[3,3]"),
    "warp: many rows and columns, both along their sums": dot("s8[59,65]", "s8[59,65]", "s8[59,59]", LAST),
    "block: two warps": dot("f32[3,530]", "f32[530,3]", "f32[3,3]"),
    "block: sums that end within a thread's terms": dot("s32[5,2249]", "s32[2249,4]", "s32[5,4]"),
    "block: in parts": dot("s32[20001]", "s32[20001,5]", "s32[5]", FIRST),
    "block: complex numbers": dot("c64[2,1001]", "c64[3,1001]", "c64[2,3]", LAST, "negate"),
    "strip: of columns": dot("f32[13,530]", "f32[530,90]", "f32[13,90]", epilogue="negate"),
    "strip: of rows": dot("f32[300,40]", "f32[300,7]", "f32[40,7]", FIRST, "abs"),
    "strip: in batches": dot("f32[2,5,130]", "f32[2,130,33]", "f32[2,5,33]", BATCH),
    "strip: in parts": dot("s32[8,9000]", "s32[9000,40]", "s32[8,40]"),
    "strip: several rows for a thread": dot("s32[15,67]", "s32[67,1300]", "s32[15,1300]"),
    "strip: of wide numbers": dot("c128[9,200]", "c128[200,33]", "c128[9,33]"),
    "strip: with a last lane alone": dot("s8[15,99]", "s8[99,33]", "s32[15,33]"),
    "strip: tiles would hold more than there is": dot("f64[32,100]", "f64[100,74]", "f64[32,74]"),
    "thread: a convolution in groups": convolution(
        "f32[1,6,5,8]", "f32[3,5,4,66]", "f32[1,5,3,66]", "size=3x5 pad=1_2x1_1 rhs_dilate=2x1", "b01f_01io->b01f",
        ", feature_group_count=2",
    ),
    "thread: a convolution with holes": convolution(
        "s32[1,4,4,3]", "s32[2,2,3,5]", "s32[1,7,7,5]", "size=2x2 pad=1_0x0_1 lhs_dilate=2x2", "b01f_01io->b01f"
    ),
    "warp: a convolution": convolution(
        "f32[1,32,5,5]", "f32[18,32,1,5]", "f32[1,18,5,3]", "size=1x5 pad=0_0x1_1", "bf01_oi01->bf01"
    ),
    "block: a convolution": convolution(
        "s8[1,7,22,20]", "s8[3,7,20,5]", "s32[1,3,5,10]", "size=20x5 stride=1x2 pad=1_1x2_1", "bf01_oi01->bf01"
    ),
    "strip: a convolution": convolution(
        "s32[8,6,6,9]", "s32[3,3,9,33]", "s32[8,6,6,33]", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"
    ),
}  # fmt: skip
FORMS = {
    "thread": "a thread for each element",
    "warp": "a warp for each element",
    "block": "a block for each element",
    "strip": "a block for each strip",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_of_threads_are_right(name: str, gpu: Any) -> None:
    module = compiler.parse(PROGRAMS[name])
    options = compiler.CompileOptions(arch="sm_90")
    chosen = [kernel["strategy"] for kernel in compiler.decide(module, "nvptx", options).to_json()["kernels"]]
    assert any(strategy.endswith(FORMS[name.partition(":")[0]]) for strategy in chosen)
    rng, arrays = np.random.default_rng(0), []
    for parameter in module.entry.parameters:
        type_, dims = parameter.array.element_type, parameter.array.dims
        drawn = rng.integers(-3, 4, dims) + (1j * rng.integers(-3, 4, dims) if type_.is_complex else 0)
        arrays.append(drawn.astype(type_.dtype))
    actual = gpu(module, *arrays, global_races=True)
    # Of whole numbers sums are exact in any order.
    np.testing.assert_array_equal(actual[0], compiler.interpret(module, *arrays)[0])


COMPUTED = """f {{ x = f32[{0},256] parameter(0)  y = f32[256,{0}] parameter(1)  {1}
  ROOT d = f32[{0},{0}] dot(z, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}
ENTRY e {{ x = f32[{0},256] parameter(0)  y = f32[256,{0}] parameter(1)
  ROOT r = f32[{0},{0}] fusion(x, y), kind=kOutput, calls=f }}"""
SINES = "".join(f"  s{n + 1} = f32[64,256] sine(s{n})" for n in range(40))


@pytest.mark.parametrize(
    ("size", "computed", "strategy"),
    [
        (64, "z = f32[64,256] negate(x)", "a block for each strip"),
        (64, f"s0 = f32[64,256] negate(x)  {SINES}  z = f32[64,256] negate(s40)", "tiles"),
        (512, "z = f32[512,256] negate(x)", "tiles"),
    ],
)
def test_tiles_are_for_what_is_not_computed_again_for_each_element(size: int, computed: str, strategy: str) -> None:
    kernel = kernel_of(compiler.parse(COMPUTED.format(size, computed)).entry.root)
    assert DOT.decide(kernel, Gpu(90, 227 << 10)).strategy == strategy
