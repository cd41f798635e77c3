"""Estimates are of every kernel, at least the bound, and see what code does to memory."""

from __future__ import annotations

import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.decisions import Decided
from compiler.backends.nvptx.estimate import sampled, stand_ins
from compiler.backends.nvptx.kernels.grid import Launch

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }"


def decided(root: str, arch: str = "sm_90") -> Decided:
    text = f"""{ADD}
    ENTRY e {{ zero = f32[] constant(0)  x = f32[1024,1024] parameter(0)  ROOT y = {root} }}"""
    (kernel,) = compiler.decide(text, "nvptx", CompileOptions(device="sim", arch=arch)).kernels
    return kernel


def test_a_kernel_takes_more_than_what_none_could_do_without() -> None:
    kernel = decided("f32[1024,1024] tanh(x)")
    assert "on an H100 SXM5 by a model" in kernel.on
    assert kernel.cost_ns >= 2000 + 2 * 4 * 2**20 / 3350
    assert kernel.modelled["launch 1"]["sectors"] == kernel.modelled["launch 1"]["least_sectors"]


def test_an_older_gpu_takes_longer() -> None:
    assert decided("f32[1024,1024] tanh(x)", "sm_80").cost_ns > decided("f32[1024,1024] tanh(x)").cost_ns


def test_every_launch_is_told_of() -> None:
    kernel = decided("f32[] reduce(x, zero), dimensions={0,1}, to_apply=add")
    assert list(kernel.modelled) == ["launch 1", "launch 2"]
    assert kernel.cost_ns == pytest.approx(sum(int(said["time_ns"]) for said in kernel.modelled.values()), abs=2)


@pytest.mark.parametrize(("blocks", "most", "chosen"), [(3, 4, (0, 1, 2)), (100, 1, (50,)), (100, 2, (25, 75))])
def test_few_blocks_stand_for_many(blocks: int, most: int, chosen: tuple[int, ...]) -> None:
    assert sampled(blocks, most) == chosen


def test_of_many_launches_of_one_function_a_few_run_for_the_others() -> None:
    panels = [Launch("panel", 8 - number, 128, (number,)) for number in range(8)]
    others = [Launch("update", 8, 256, (number,)) for number in range(2)]
    assert stand_ins([*panels[:1], *others, *panels[1:]]) == [3, 1, 2, 3, 3, 6, 6, 6, 8, 8]
