"""Tiles that warps multiply in groups: every type and layout in the simulator, and what `ptxas` makes of large ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx import ptxas
from compiler.backends.nvptx.kernels.dot import kernel as dot_kernel
from compiler.backends.nvptx.kernels.dot import tile, tile_wgmma

ARCH = "sm_90a"
SUMS = {"bf16": "f32", "f16": "f32", "s8": "s32", "u8": "s32"}
EITHER_WAY = [(type_, how) for type_ in ("bf16", "f16") for how in ("nn", "nt", "tn", "tt")]
LAYOUTS = [*EITHER_WAY, ("s8", "nt"), ("u8", "nt")]
BODIES = {
    "bias": "b = f32[C] parameter(2)  c = f32[R,C] broadcast(b), dimensions={1}  ROOT s = f32[R,C] add(d, c)",
    "narrower": "ROOT s = bf16[R,C] convert(d)",
}


def dot(type_: str, sizes: tuple[int, int, int], how: str, batch: int = 0) -> str:
    m, k, n = sizes
    lead, first = (f"{batch},", 1) if batch else ("", 0)
    lhs, rhs = (f"{k},{m}" if how[0] == "t" else f"{m},{k}"), (f"{n},{k}" if how[1] == "t" else f"{k},{n}")
    batches = "lhs_batch_dims={0}, rhs_batch_dims={0}, " if batch else ""
    return f"""ENTRY e {{ x = {type_}[{lead}{lhs}] parameter(0)  y = {type_}[{lead}{rhs}] parameter(1)
  ROOT r = {SUMS[type_]}[{lead}{m},{n}] dot(x, y), {batches}lhs_contracting_dims={{{first + (how[0] != "t")}}},
    rhs_contracting_dims={{{first + (how[1] == "t")}}} }}"""


def compiled(text: str, device: str = "sim") -> Any:
    return compiler.compile(text, "nvptx", compiler.CompileOptions(device=device, arch=ARCH))


def agrees(text: str) -> Any:
    """Compare the simulator with the interpreter, on numbers whose sums are exact."""
    module, rng = compiler.parse(text), np.random.default_rng(0)
    types = [p.array for p in module.entry.parameters]
    arrays = [
        rng.integers(0 if a.element_type.name == "u8" else -4, 5, a.dims).astype(a.element_type.dtype) for a in types
    ]
    executable = compiled(text)
    assert np.array_equal(executable(*arrays)[0], compiler.interpret(module, *arrays)[0])
    return executable


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have products taken for large ones that are small enough to be simulated."""
    monkeypatch.setattr(dot_kernel, "_SMALL", 0)
    monkeypatch.setattr(tile, "_MANY_SLICES", 1)
    monkeypatch.setattr(tile_wgmma, "_WORK", -1e6)


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("sizes", [(128, 256, 256), (144, 208, 272), (272, 400, 16)], ids=str)
@pytest.mark.parametrize(("type_", "how"), LAYOUTS)
def test_every_layout_is_right_with_whole_tiles_and_with_edges(
    type_: str, how: str, sizes: tuple[int, int, int]
) -> None:
    assert "wgmma.mma_async" in agrees(dot(type_, sizes, how, batch=0 if min(sizes) >= 128 else 2)).ptx


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("slices", [1, 2, 3, 4, 5, 9])
def test_any_number_of_slices_passes_through_the_stages(slices: int) -> None:
    assert "wgmma.mma_async" in agrees(dot("bf16", (256, 64 * slices, 512), "nn")).ptx


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("body", BODIES)
def test_what_is_computed_of_sums_is_computed_where_they_are_stored(body: str) -> None:
    text = dot("bf16", (136, 264, 264), "nn").replace("ROOT r", "d").replace(" }", f" {BODIES[body]} }}")
    assert "wgmma.mma_async" in agrees(text.replace("R,C", "136,264").replace("[C]", "[264]")).ptx


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_a_window_of_an_image_is_multiplied_too() -> None:
    text = """ENTRY e { x = bf16[2,17,17,64] parameter(0)  w = bf16[3,3,64,72] parameter(1)
      ROOT r = f32[2,17,17,72] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }"""
    assert "wgmma.mma_async" in agrees(text).ptx


@pytest.mark.slow
@pytest.mark.usefixtures("eager")
def test_few_long_sums_are_made_in_parts() -> None:
    executable = agrees(dot("bf16", (128, 4096, 256), "nt"))
    assert "wgmma.mma_async" in executable.ptx
    assert str(executable.artifacts["thunk_sequence.txt"]).count("launch") == 2


def plan_of(text: str, arch: str = ARCH) -> Any:
    (kernel,) = compiler.decide(text, "nvptx", compiler.CompileOptions(arch=arch)).to_json()["kernels"]
    return kernel["details"]


@pytest.mark.parametrize(
    ("text", "arch", "taken"),
    [
        (dot("bf16", (4096, 4096, 4096), "nn"), ARCH, True),
        (dot("bf16", (4096, 4096, 4096), "nn"), "sm_90", False),
        (dot("bf16", (4096, 4096, 4096), "nn"), "sm_100", False),
        (dot("s8", (4096, 4096, 4096), "nt"), ARCH, True),
        (dot("s8", (4096, 4096, 4096), "nn"), ARCH, False),
        (dot("bf16", (4096, 4096, 4100), "nn"), ARCH, False),
        (dot("bf16", (4096, 64, 4096), "nn"), ARCH, False),
        (dot("bf16", (4096, 4096, 4096), "nn").replace("bf16", "f32"), ARCH, False),
        (dot("bf16", (4096, 4096, 4096), "nn").replace("bf16", "f64").replace("f32", "f64"), ARCH, False),
        (dot("bf16", (512, 512, 512), "nn"), ARCH, False),
    ],
)
def test_groups_multiply_what_is_large_and_copied_in_whole_words(text: str, arch: str, *, taken: bool) -> None:
    assert plan_of(text, arch)["warp_groups"] is taken


def test_operands_that_are_computed_or_rounded_are_not_for_groups() -> None:
    text = dot("bf16", (4096, 4096, 4096), "nn")
    computed = text.replace("bf16", "f32", 1).replace("dot(x, y)", "dot(bf16[4096,4096] convert(x), y)")
    rounded = text.replace("bf16", "f32").replace(" }", ", algorithm=dot_bf16_bf16_f32 }")
    assert not plan_of(computed)["warp_groups"]
    assert not plan_of(rounded)["warp_groups"]


@pytest.mark.slow
@pytest.mark.skipif(not ptxas.available(), reason="no ptxas")
@pytest.mark.parametrize("size", [4096, 4104])
@pytest.mark.parametrize(("type_", "how"), LAYOUTS)
def test_sums_stay_in_registers_and_products_on_their_way(type_: str, how: str, size: int) -> None:
    size = size if type_ in ("bf16", "f16") else -(-size // 16) * 16
    made = ptxas.assemble(compiled(dot(type_, (size,) * 3, how)).ptx, ARCH)
    (kernel,) = made.kernels
    assert (kernel.spill_bytes, kernel.stack_bytes) == (0, 0)
    assert kernel.registers > 128
    # ptxas warns where it has each product wait for the one before (C7510).
    assert "warning" not in made.log
