"""Which unit an instruction keeps busy, and how often a warp goes through it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.backends.nvptx.simulator import parse_ptx
from compiler.backends.nvptx.simulator.pipes import Cost, Pipe, cost_of
from compiler.backends.nvptx.simulator.syntax import Instruction
from compiler.diagnostics import Span

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
DECLARED = ".reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b64 %l<4>;"


@pytest.fixture(name="cost")
def _cost(body_kernel: Callable[..., str]) -> Callable[[str], Cost]:
    def of(text: str) -> Cost:
        kernel = parse_ptx(HEADER + body_kernel(DECLARED + text)).kernels["k"]
        (found,) = [i for i in kernel.instructions or () if i.text.rstrip(";") in text and i.text[:3] == text[:3]]
        return cost_of(found)

    return of


@pytest.mark.parametrize(
    ("text", "pipe", "passes"),
    [
        ("fma.rn.f32 %f1, %f2, %f3, %f1;", Pipe.FP32, 1),
        ("fma.rn.f64 %d1, %d2, %d3, %d1;", Pipe.FP64, 1),
        ("sub.s32 %x, %y, %z;", Pipe.INTEGER, 1),
        ("sub.s64 %l1, %l2, %l3;", Pipe.INTEGER, 2),
        ("ex2.approx.f32 %f1, %f2;", Pipe.SPECIAL, 1),
        ("div.rn.f32 %f1, %f2, %f3;", Pipe.FP32, 9),
        ("div.full.f32 %f1, %f2, %f3;", Pipe.SPECIAL, 1),
        ("rem.u32 %x, %y, %z;", Pipe.INTEGER, 20),
        ("cvt.rn.f32.s32 %f1, %x;", Pipe.CONVERSION, 1),
        ("cvt.u64.u32 %l1, %x;", Pipe.INTEGER, 1),
        ("shfl.sync.down.b32 %x, %y, 1, 31, -1;", Pipe.SHUFFLE, 1),
        ("bar.sync 0;", Pipe.NONE, 0),
    ],
)
def test_an_instruction_goes_through_its_unit(cost: Callable[[str], Cost], text: str, pipe: Pipe, passes: int) -> None:
    found = cost(text)
    assert (found.pipe, found.passes) == (pipe, passes)


@pytest.mark.parametrize(
    ("shape", "types", "pipe", "passes", "latency"),
    [
        ("m64n256k16", "f32.bf16.bf16", Pipe.GROUP_TENSOR, 64 * 256 * 16 // 4, 128),
        ("m64n128k16", "f16.f16.f16", Pipe.GROUP_TENSOR, 64 * 128 * 16 // 4, 64),
        ("m64n256k8", "f32.tf32.tf32", Pipe.GROUP_TENSOR, 2 * 64 * 256 * 8 // 4, 128),
        ("m64n256k32", "s32.s8.u8", Pipe.GROUP_TENSOR_INT8, 64 * 256 * 32 // 4, 128),
        ("m64n8k16", "f32.f16.f16", Pipe.GROUP_TENSOR, 64 * 8 * 16 // 4, 16),
    ],
)
def test_a_product_of_a_group_takes_each_of_its_warps_a_quarter(shape, types, pipe, passes, latency) -> None:
    modifiers = ("mma_async", "sync", "aligned", shape, *types.split("."))
    found = cost_of(Instruction("wgmma", modifiers, (), None, Span("", "", 0, 0)))
    assert found == Cost(pipe, passes, 1, latency)


@pytest.mark.parametrize("name", ["fence", "commit_group", "wait_group"])
def test_what_orders_products_keeps_no_unit_busy(name: str) -> None:
    found = cost_of(Instruction("wgmma", (name, "sync", "aligned"), (), None, Span("", "", 0, 0)))
    assert found == Cost(Pipe.NONE, 0, 1, 0)
