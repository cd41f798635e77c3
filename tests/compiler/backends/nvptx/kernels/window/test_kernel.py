"""Scans in every form, on whole numbers, so that nothing hides in rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler

SCANS: dict[str, tuple[str, int, str, bool]] = {
    "rows": ("3,100", 1, "f32", False),
    "rows of one": ("3,1", 1, "f32", False),
    "rows of several tiles": ("2,2100", 1, "f32", False),
    "from the end": ("3,300", 1, "f64", True),
    "columns": ("150,7", 0, "f32", False),
    "the middle": ("3,150,2", 1, "bf16", False),
    "many columns": ("9,4200", 0, "f32", True),
    "integers": ("1100,2", 0, "s32", True),
    "bytes": ("5,77", 1, "s8", False),
    "a long line in parts": ("9001", 0, "f32", False),
    "long lines in parts from the end": ("2,8200", 1, "s32", True),
    "long lines that end with a part of one element": ("2,7169", 1, "s32", False),
    "long lines in parts of several tiles": ("500,6200", 1, "s32", False),
    "short rows": ("300,3", 1, "f32", False),
    "short rows from the end": ("70,8", 1, "s32", True),
}


def text_of(dims: str, along: int, type_: str, backwards: bool) -> str:  # noqa: FBT001 - a row of the table
    sizes = [int(size) for size in dims.split(",")]
    window = "x".join(str(size if d == along else 1) for d, size in enumerate(sizes))
    pads = [(sizes[d] - 1) * (d == along) for d in range(len(sizes))]
    pad = "x".join(f"0_{before}" if backwards else f"{before}_0" for before in pads)
    return f"""add {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] add(a, b) }}
ENTRY e {{ x = {type_}[{dims}] parameter(0)  z = {type_}[] constant(3)
  ROOT r = {type_}[{dims}] reduce-window(x, z), window={{size={window} pad={pad}}}, to_apply=add }}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", SCANS)
def test_a_scan_is_right(name: str, gpu: Any) -> None:
    module = compiler.parse(text_of(*SCANS[name]))
    (parameter,) = module.entry.parameters
    x = np.random.default_rng(0).integers(-2, 3, parameter.array.dims).astype(parameter.array.element_type.dtype)
    assert np.array_equal(gpu(module, x)[0], compiler.interpret(module, x)[0])


FEWEST_LAUNCHES = {"9001": 2, "2,8200": 2, "500,6200": 2, "600,9000": 1, "300,3": 1, "3,6000": 1}


@pytest.mark.parametrize("dims", FEWEST_LAUNCHES)
def test_a_scan_takes_two_launches_at_most(dims: str) -> None:
    along = dims.count(",")
    text, options = text_of(dims, along, "f32", backwards=False), compiler.CompileOptions(arch="sm_90")
    (kernel,) = compiler.decide(text, "nvptx", options).to_json()["kernels"]
    assert len(kernel["details"]["grid"]) == FEWEST_LAUNCHES[dims]


@pytest.mark.slow
def test_a_scan_does_no_more_than_a_few_operations_for_each_element(gpu: Any) -> None:
    module = compiler.parse(text_of("4,2048", 1, "f32", backwards=False))
    executable = gpu.compile(module)
    executable(np.zeros((4, 2048), np.float32))
    assert executable.device.lane_instructions < 80 * 4 * 2048


WINDOWS = [
    "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0",
    "size=1x2x3x1 stride=1x3x1x1 pad=0_0x0_0x2_2x0_0",
    "size=1x5x1x1 stride=1x2x1x1 pad=0_0x4_3x0_0x0_0",
    "size=1x7x6x1 pad=0_0x3_3x5_0x0_0",
    "size=1x1x17x2 pad=0_0x0_0x9_8x1_0",
    "size=1x4x4x1 stride=1x4x4x1 pad=0_0x-1_0x-2_1x0_0",
]
"""Windows that overlap, leave gaps, hang over any edge, and are long enough for loops."""


def windowed(window: str, type_: str) -> list[str]:
    """Programs of a sum, of the greatest elements and of what goes back to them; of complex numbers of a sum alone."""
    dilated = window.replace("pad", "rhs_dilate=1x2x1x1 pad")
    sum_ = f"add {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] add(a, b) }}"
    order = f"""most {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = {type_}[] maximum(a, b) }}
ge {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}"""
    entry = (
        f"ENTRY e {{ x = {type_}[2,9,11,3] parameter(0)  z = {type_}[] constant({'(0, 0)' if type_ == 'c64' else 0})"
    )
    sums = f"ROOT r = {type_}[{dims_of(window)}] reduce-window(x, z), window={{{window}}}, to_apply=add }}"
    if type_ == "c64":
        return [f"{sum_} {entry} {sums}"]
    head = f"{sum_} {order} {entry}"
    greatest = f"ROOT r = {type_}[{dims_of(dilated)}] reduce-window(x, z), window={{{dilated}}}, to_apply=most }}"
    back = f"s = {type_}[{dims_of(window)}] parameter(1)  ROOT r = {type_}[2,9,11,3] select-and-scatter(x, s, z)"
    return [f"{head} {sums}", f"{head} {greatest}", f"{head} {back}, window={{{window}}}, select=ge, scatter=add }}"]


def dims_of(window: str) -> str:
    """The sizes of what windows over [2,9,11,3] give."""
    said = dict(word.split("=") for word in window.split())
    found = []
    for dim, size in enumerate((2, 9, 11, 3)):
        covered = int(said["size"].split("x")[dim])
        covered = (covered - 1) * int(said.get("rhs_dilate", "1x1x1x1").split("x")[dim]) + 1
        low, high = map(int, said.get("pad", "0_0x0_0x0_0x0_0").split("x")[dim].split("_"))
        stride = int(said.get("stride", "1x1x1x1").split("x")[dim])
        found.append(max(0, (size + low + high - covered) // stride + 1))
    return ",".join(map(str, found))


@pytest.mark.slow
@pytest.mark.parametrize("type_", ["f32", "s32", "c64"])
@pytest.mark.parametrize("window", WINDOWS)
def test_windows_over_any_edge_are_right(window: str, type_: str, gpu: Any) -> None:
    rng = np.random.default_rng(0)
    for text in windowed(window, type_):
        module = compiler.parse(text)
        given = [rng.integers(-4, 5, p.array.dims).astype(p.array.element_type.dtype) for p in module.entry.parameters]
        (expected,), (found,) = compiler.interpret(module, *given), gpu(module, *given, global_races=True)
        np.testing.assert_array_equal(found, expected)
