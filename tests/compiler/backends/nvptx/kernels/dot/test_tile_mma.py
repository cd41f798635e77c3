"""Tiles on tensor cores: every shape with operands that lie either way, whole and cut off at the edges."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx import ptxas
from compiler.backends.nvptx.kernels.dot import kernel, tile, tile_mma

SUMS = {"bf16": "f32", "f16": "f32", "s8": "s32", "u8": "s32", "f64": "f64"}
SHAPES = [
    *((type_, shape) for type_ in ("bf16", "s8") for shape in tile_mma._SHAPES),
    *(("f64", shape) for shape in tile_mma._WIDE_SHAPES),
]


@pytest.fixture(autouse=True)
def _tiles_for_small_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_SMALL", 0)


def dot(type_: str, m: int, k: int, n: int, how: str) -> str:
    lhs, rhs = (f"{k},{m}" if how[0] == "t" else f"{m},{k}"), (f"{n},{k}" if how[1] == "t" else f"{k},{n}")
    return f"""ENTRY e {{ x = {type_}[{lhs}] parameter(0)  y = {type_}[{rhs}] parameter(1)
  ROOT r = {SUMS[type_]}[{m},{n}] dot(x, y), lhs_contracting_dims={{{int(how[0] != "t")}}},
    rhs_contracting_dims={{{int(how[1] == "t")}}} }}"""


def drawn(module: compiler.Module) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays = [p.array for p in module.entry.parameters]
    return [
        rng.integers(-4 if a.element_type.name != "u8" else 0, 5, a.dims).astype(a.element_type.dtype) for a in arrays
    ]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(("type_", "shape"), SHAPES, ids=str)
def test_every_shape_is_right(
    type_: str, shape: tile_mma.Shape, how: str, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tile_mma, "_SHAPES", (shape,))
    monkeypatch.setattr(tile_mma, "_WIDE_SHAPES", (shape,))
    monkeypatch.setattr(tile, "_MANY_SLICES", 1)
    module = compiler.parse(dot(type_, shape.rows + 16, 144, shape.columns + 16, how))
    executable, arrays = gpu.compile(module, replace(gpu.options, arch="sm_90")), drawn(module)
    assert f", {shape.threads}" in str(executable.artifacts["thunk_sequence.txt"])
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["nn", "tt"])
@pytest.mark.parametrize("multiple", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("type_", ["s8", "u8"])
def test_bytes_across_the_depth_are_right_however_many_lie_side_by_side(
    type_: str, multiple: int, how: str, gpu: Any
) -> None:
    module = compiler.parse(dot(type_, 3 * multiple + 32, 100, 5 * multiple + 32, how))
    executable, arrays = gpu.compile(module), drawn(module)
    assert ("prmt" in executable.ptx and ".trans" in executable.ptx) == (multiple >= 4)
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("arch", "form"), [("sm_80", "m8n8k4"), ("sm_89", "m8n8k4"), ("sm_90", "m16n8k8")])
def test_f64_takes_the_forms_that_a_gpu_has(arch: str, form: str) -> None:
    options = compiler.CompileOptions(device="sim", arch=arch)
    module = compiler.parse(dot("f64", 40, 50, 70, "nn"))
    executable, arrays = compiler.compile(module, "nvptx", options), drawn(module)
    assert set(re.findall(r"mma\.sync\.aligned\.(\w+)", executable.ptx)) == {form}
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])


@pytest.mark.slow
@pytest.mark.skipif(not ptxas.available(), reason="no ptxas")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("how", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("type_", SUMS)
def test_large_products_keep_sums_and_two_steps_of_fragments_in_registers(type_: str, how: str, arch: str) -> None:
    options = compiler.CompileOptions(device="ptxas", arch=arch)
    executable = compiler.compile(dot(type_, 4096, 4096, 4096, how), "nvptx", options)
    (kernel,) = executable.facts.kernels
    assert (kernel.spill_bytes, kernel.stack_bytes) == (0, 0)
    assert kernel.registers > (64 if type_ == "f64" else 128)
