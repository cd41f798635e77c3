"""Register tiles that are told what rows lie apart are the same for every size; others know it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.backends.cpu.kernels.gemm.micro import Tile, micro_kernel
from compiler.backends.cpu.kernels.gemm.product import VnniOperands
from compiler.codegen.llvm_ir import Module, written_once

TILE = Tile(
    type="float",
    lanes=16,
    rows=6,
    columns=64,
    lhs_row=512,
    lhs_step=1,
    rhs_step=64,
    out_row=512,
    partial_load=False,
    partial_store=True,
    accumulates=False,
    may_be_told=True,
)


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every routine is written anew, so that texts can differ."""
    monkeypatch.setattr(written_once, "_WRITTEN", {})
    monkeypatch.setattr(written_once, "_MOST", 0)


def written(tile: Tile) -> str:
    module = Module()
    micro_kernel(module, "tile", tile)
    return str(module.functions[0])


BYTES = VnniOperands("u8s8", 4, flip=1)
FORMS = {
    "floats": TILE,
    "accumulating": replace(TILE, accumulates=True),
    "right factor where it lies": replace(TILE, partial_load=True),
    "right factor in longer rows": replace(TILE, partial_load=True, rhs_step=128),
    "pairs of bf16": replace(TILE, words=VnniOperands("bf16", 2)),
    "bytes": replace(TILE, type="i32", words=BYTES, corrected=True),
    "unsigned bytes": replace(TILE, type="i32", words=replace(BYTES, unsigned_right=True), corrected=True),
    "bytes of either sign": replace(TILE, type="i32", words=replace(BYTES, flip=0)),
    "one word": replace(TILE, type="i32", rows=2, lhs_step=0, words=BYTES),
    "words of two": replace(TILE, type="i32", words=VnniOperands("s16", 2)),
}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_tile_is_the_same_for_every_size_if_it_is_told(form, told):
    tile = replace(FORMS[form], may_be_told=told)
    longer = [4096] * (tile.rhs_step != tile.columns)
    larger = replace(tile, lhs_row=1024, out_row=2048, rhs_step=(longer or [tile.rhs_step])[0])
    assert (written(tile) == written(larger)) is told
    assert (tile.routine == larger.routine != "") is told
    assert [distance.literal for distance in larger.told] == [1024, 2048, *longer] * told


def test_tiles_of_one_name_are_one_text():
    texts: dict[str, set[str]] = {}
    for tile in FORMS.values():
        texts.setdefault(tile.routine, set()).add(written(tile))
    assert all(len(found) == 1 for found in texts.values())
    assert len(texts) == len(FORMS) - 1, "of these forms two are alike: where the right factor lies does not matter"


OTHERS = [{"columns": 63}, {"lhs_step": 512}, {"addend_row": 512}]


@pytest.mark.parametrize("change", OTHERS)
def test_a_tile_of_another_form_knows_its_sizes(change):
    assert not replace(TILE, **change).routine
