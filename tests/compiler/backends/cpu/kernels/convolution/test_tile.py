"""Register tiles that are told strides are the same for every size, and one name is one text."""

import re
from dataclasses import replace

import pytest

import compiler
from compiler.backends.cpu.kernels.convolution import tile
from compiler.backends.cpu.kernels.convolution.plan import Step
from compiler.backends.cpu.kernels.gemm.product import VnniOperands
from compiler.codegen.llvm_ir import Module, written_once

TILE = tile.Tile(
    form="features",
    type="float",
    lanes=16,
    columns=64,
    rows=tuple((n * 64, n * 128) for n in range(6)),
    steps=(Step(3, 4096, 12288, 0), Step(192, 1, 64, 2)),
    masks_patch=False,
    masks_weights=True,
    masks_out=True,
    accumulates=False,
    starts=False,
    apart=(64, 128),
)
FORMS = {
    "features": TILE,
    "one loop": replace(TILE, steps=TILE.steps[:1]),
    "three loops": replace(TILE, steps=(*TILE.steps, Step(2, 7, 9, 1))),
    "fewer rows": replace(TILE, rows=TILE.rows[:2]),
    "one row": replace(TILE, rows=TILE.rows[:1], apart=(0, 0)),
    "accumulating": replace(TILE, accumulates=True),
    "with starts": replace(TILE, starts=True),
    "narrower": replace(TILE, columns=32),
    "doubles": replace(TILE, type="double", lanes=8),
    "lanes": replace(TILE, form="lanes"),
    "bytes": replace(TILE, type="i32", words=VnniOperands("u8s8", 4)),
    "unsigned bytes": replace(TILE, type="i32", words=VnniOperands("u8s8", 4, unsigned_right=True)),
    "pairs": replace(TILE, words=VnniOperands("bf16", 2)),
}


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch):
    """Every routine is written anew, so that texts can differ."""
    monkeypatch.setattr(written_once, "_WRITTEN", {})
    monkeypatch.setattr(written_once, "_MOST", 0)


def written(form):
    module = Module()
    value = tile.emit(module, "tile", form)
    (function,) = module.functions
    assert value.name == f"@{function.name}"
    return function.name, re.sub(r"!\d+", "!", str(function))


def larger(form):
    """The same on larger arrays."""
    (patch, out), rows = form.apart or (64, 128), range(len(form.rows))
    steps = tuple(
        replace(step, patch=step.patch + 1, weight=2 * step.weight, count=step.count + 2) for step in form.steps
    )
    apart = form.apart and (3 * patch, 5 * out)
    return replace(form, rows=tuple((n * 3 * patch, n * 5 * out) for n in rows), steps=steps, apart=apart)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_a_tile_is_the_same_for_every_size_if_it_is_told(name, told):
    form = FORMS[name] if told else replace(FORMS[name], apart=None)
    assert (written(form) == written(larger(form))) is told
    assert bool(form.routine) is told
    assert len(form.told) == len(larger(form).told) == told * (2 + 3 * len(form.steps))


def test_tiles_of_one_name_are_one_text():
    texts = [written(form) for form in FORMS.values()]
    assert len(set(texts)) == len({name for name, _ in texts}) == len(FORMS)


def test_lanes_behind_the_columns_are_not_told_of():
    with pytest.raises(AssertionError, match="behind the columns"):
        _ = replace(TILE, columns=40).routine


def test_convolutions_of_several_sizes_share_a_tile():
    def tiles(height, features):
        text = f"""ENTRY e {{ x = f32[1,{height},20,{features}] parameter(0)
          w = f32[3,3,{features},64] parameter(1)
          ROOT c = f32[1,{height - 2},18,64] convolution(x, w), window={{size=3x3}}, dim_labels=b01f_01io->b01f }}"""
        ir = compiler.compile(text).artifacts["ir-no-opt.ll"]
        return set(re.findall(r"^define .*@(convolution\.features\S*?)\(", ir, re.MULTILINE))

    assert tiles(20, 32) == tiles(12, 48) != set()
