"""The model of time: occupancy by the tables of NVIDIA's guide, and a roof for each resource."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.backends.nvptx.cards import A100, H100, LAUNCH_NS
from compiler.backends.nvptx.simulator.pipes import Pipe
from compiler.backends.nvptx.simulator.profile import Profile
from compiler.backends.nvptx.timing import Block, model, occupancy_of

EVERYTHING = Profile(
    blocks=1,
    warp_instructions=1,
    global_sectors=1,
    block_sectors=1,
    launch_sectors=1,
    shared_passes=1,
    atomic_passes=1,
    block_cycles=1.0,
)
BLOCK = Block(threads=256, registers=32, shared_bytes=0)


@pytest.mark.parametrize(
    ("block", "card", "blocks", "limit"),
    [
        (BLOCK, H100, 8, "threads"),
        (replace(BLOCK, threads=32), H100, 32, "blocks"),
        (replace(BLOCK, registers=128), H100, 2, "registers"),
        (replace(BLOCK, registers=33), H100, 6, "registers"),
        (replace(BLOCK, shared_bytes=48 << 10), H100, 4, "shared memory"),
        (replace(BLOCK, shared_bytes=48 << 10), A100, 3, "shared memory"),
        (replace(BLOCK, threads=1024), H100, 2, "threads"),
    ],
)
def test_what_is_scarcest_limits_the_blocks_of_a_multiprocessor(
    block: Block, card: object, blocks: int, limit: str
) -> None:
    found = occupancy_of(block, card)  # type: ignore[arg-type]
    assert (found.blocks, found.limit) == (blocks, limit)


def test_a_copy_is_as_fast_as_memory() -> None:
    sectors = 1 << 25
    found = model(Profile(blocks=8192, block_sectors=sectors, launch_sectors=sectors), 8192, BLOCK, H100)
    assert found.limit == "memory"
    assert found.ns == pytest.approx(LAUNCH_NS + sectors * 32 / 3350)


def test_a_sample_stands_for_all_but_reaches_no_more_memory_than_there_is() -> None:
    some = Profile(blocks=2, block_sectors=200, launch_sectors=200)
    most = 1 << 20
    found = model(some, 8192, BLOCK, H100, most)
    assert found.roofs["memory"] == pytest.approx(min(200 * 4096 * 32, most) / 3350)


def test_the_multiprocessor_with_the_most_blocks_decides() -> None:
    def issue(blocks: int) -> float:
        return model(Profile(blocks=blocks, warp_instructions=1000 * blocks), blocks, BLOCK, H100).roofs["issue"]

    assert issue(1) == issue(132)
    assert issue(133) == pytest.approx(2 * issue(132))


def test_waiting_is_hidden_by_blocks_that_are_there_at_once() -> None:
    def waiting(block: Block) -> float:
        return model(Profile(blocks=1, block_cycles=1000.0), 132 * 8, block, H100).roofs["waiting"]

    assert waiting(replace(BLOCK, registers=64)) == pytest.approx(2 * waiting(BLOCK))


def test_no_two_resources_have_one_name() -> None:
    found = model(Profile(blocks=1, passes={pipe.value: 1.0 for pipe in H100.rates}), 1, BLOCK, H100)
    assert set(found.roofs) == {pipe.value for pipe in H100.rates}
    assert not set(found.roofs) & set(model(EVERYTHING, 1, BLOCK, H100).roofs)


def test_a_launch_takes_as_long_as_its_longest_block() -> None:
    some = Profile(blocks=8, block_cycles=1000.0, longest_cycles=5000.0)
    assert model(some, 8, BLOCK, H100).roofs["waiting"] == pytest.approx(5000 / H100.clock_ghz)


@pytest.mark.parametrize(
    ("pipe", "of_group"), [(Pipe.TENSOR, Pipe.GROUP_TENSOR), (Pipe.TENSOR_INT8, Pipe.GROUP_TENSOR_INT8)]
)
def test_warp_groups_reach_what_warps_have_a_share_of(pipe: Pipe, of_group: Pipe) -> None:
    def cycles(used: Pipe) -> float:
        return model(Profile(blocks=1, passes={used.value: 1e6}), 1, BLOCK, H100).roofs[used.value]

    assert cycles(of_group) == pytest.approx(cycles(pipe) * H100.mma_share)
