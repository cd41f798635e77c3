"""Register tiles that are told what rows lie apart are the same for every size; others know it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.backends.cpu.kernels.gemm.micro import Tile, micro_kernel
from compiler.codegen.llvm_ir import Module

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


def written(tile: Tile) -> str:
    module = Module()
    micro_kernel(module, "tile", tile)
    return str(module.functions[0])


@pytest.mark.parametrize("told", [True, False])
def test_a_tile_is_the_same_for_every_size_if_it_is_told(told):
    tile = replace(TILE, may_be_told=told)
    larger = replace(tile, lhs_row=1024, out_row=2048)
    assert (written(tile) == written(larger)) is told
    assert (tile.routine == larger.routine != "") is told
    assert [distance.literal for distance in larger.told] == [1024, 2048] * told


@pytest.mark.parametrize("change", [{"columns": 63}, {"lhs_step": 512}, {"partial_load": True}, {"addend_row": 512}])
def test_a_tile_of_another_form_knows_its_sizes(change):
    assert not replace(TILE, **change).routine
