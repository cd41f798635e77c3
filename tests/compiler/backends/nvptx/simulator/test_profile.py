"""What a launch keeps a GPU busy with, on kernels of a few instructions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import LaunchOptions, Machine, parse_ptx
from compiler.backends.nvptx.simulator.profile import Profile
from compiler.backends.nvptx.simulator.slicing import Values

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
STRIDED = "shl.b32 %y, %i, 5; mul.wide.u32 %rd1, %y, 4; add.u64 %rd1, %o, %rd1; ld.global.u32 %x, [%rd1];"


@pytest.fixture(name="profile")
def _profile(body_kernel: Callable[..., str]) -> Callable[..., Profile]:
    def run(body: str, *, blocks: int = 4, threads: int = 64, prelude: str = "", **options: object) -> Profile:
        machine, module = Machine(), parse_ptx(HEADER + prelude + body_kernel(body))
        out = machine.allocate(blocks * threads * 128, initialised=True)
        asked = LaunchOptions(profile=True, **options)  # type: ignore[arg-type]
        found = machine.launch(module, "k", (blocks, 1, 1), (threads, 1, 1), [out], options=asked).profile
        assert found is not None
        return found

    return run


def test_strided_loads_are_not_coalesced(profile: Callable[..., Profile]) -> None:
    found = profile(STRIDED)
    assert (found.global_sectors, found.least_global_sectors) == (8 * 32 + 8 * 4, 8 * 8)


def test_a_result_of_memory_is_waited_for_when_it_is_used(profile: Callable[..., Profile]) -> None:
    assert profile(STRIDED).block_cycles == pytest.approx(479 + profile("mov.u32 %x, 1;").block_cycles, rel=0.1)


def test_lanes_that_part_stand_by_for_each_other(profile: Callable[..., Profile]) -> None:
    within, between = (
        profile(f"setp.lt.u32 %p, %t, {split}; @%p bra A; add.u32 %x, %t, 1; bra B; A: add.u32 %x, %t, 2; B:")
        for split in (16, 32)
    )
    assert within.idle_share > 0
    assert between.idle_share == 0


def test_updates_of_one_place_come_one_after_the_other(profile: Callable[..., Profile]) -> None:
    together, apart = (profile(f"red.global.add.u32 [{at}], 1; mov.u32 %x, 1;") for at in ("%o", "%a"))
    assert (together.atomics, together.atomic_passes) == (256, 256)
    assert (apart.atomics, apart.atomic_passes) == (256, 8)


def test_warps_wait_for_the_last_at_a_barrier(profile: Callable[..., Profile]) -> None:
    slow = (
        "setp.lt.u32 %p, %t, 32; @!%p bra B; ld.global.u32 %y, [%o]; add.u32 %y, %y, 1; B: bar.sync 0; mov.u32 %x, 1;"
    )
    assert profile(slow).block_cycles >= 479


def test_warps_wait_for_each_other_at_different_instructions_too(profile: Callable[..., Profile]) -> None:
    load = "ld.global.u32 %y, [%o]; add.u32 %y, %y, 1;"
    both = f"@%p bra A; {load} bar.sync 0; bra B; A: bar.sync 0; {load} B: mov.u32 %x, 1;"
    # Each warp loads once, the second only when the first has met it.
    assert profile(f"setp.lt.u32 %p, %t, 32; {both}").block_cycles >= 479 + 41


def test_some_blocks_stand_for_all(profile: Callable[..., Profile]) -> None:
    some, every = profile(STRIDED, sample=(1, 3)), profile(STRIDED)
    assert (some.blocks, every.blocks) == (2, 4)
    assert 2 * some.global_sectors == every.global_sectors
    assert 2 * some.warp_instructions == every.warp_instructions


def test_nothing_is_counted_unless_it_is_asked_for(body_kernel: Callable[..., str]) -> None:
    machine, module = Machine(), parse_ptx(HEADER + body_kernel("mov.u32 %x, 1;"))
    out = machine.allocate(128)
    assert machine.launch(module, "k", (1, 1, 1), (32, 1, 1), [out]).profile is None
    assert np.frombuffer(machine.read(out, 128), np.uint32).all()


UNREAD = (
    "ld.param.u64 %rd7, [k_out];", "@%p ld.param.u16 %rs7, [k_out+2];", "ld.global.u32 %r7, [%a];",
    "red.global.add.u32 [%o], 1;", "atom.global.add.u32 %r6, [%o], 1;", "st.global.u32 [%a], %i;",
)  # fmt: skip
BLOCK = ("mov.u32 %x, 1;", "ld.global.u32 %y, [%a];", "st.global.u32 [%a], %i;", "bar.sync 0;")


@pytest.mark.parametrize("values", Values)
@pytest.mark.parametrize("unread", UNREAD)
def test_accesses_may_stand_anywhere_whatever_is_computed(
    profile: Callable[..., Profile], unread: str, values: Values
) -> None:
    begin = ("setp.lt.u32 %p, %t, 16;", "bra A;", "A:")
    least = profile(" ".join([*begin, *BLOCK]), values=values)
    for before in range(len(BLOCK) + 1):
        found = profile(" ".join([*begin, *BLOCK[:before], unread, *BLOCK[before:]]), values=values)
        assert found.block_cycles >= least.block_cycles
        assert found.global_sectors >= least.global_sectors
        assert found.warp_instructions >= least.warp_instructions
