"""How long a launch takes on a GPU by a model: a roofline with a roof for every unit, and one for waiting.

A launch takes what its busiest resource takes, and what launching takes.  The work of a unit of multiprocessors is
spread over blocks evenly, so the multiprocessor with the most blocks decides; memory and the L2 cache serve all.  Where
blocks wait for memory or for each other rather than for units, it takes as many rounds as the blocks that fit on the
GPU at once (occupancy), each as long as one block that has a multiprocessor to itself, and no less than the longest.
What overlaps is taken to overlap without loss, so a GPU takes rather longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.backends.nvptx.cards import Card
from compiler.backends.nvptx.simulator.pipes import Pipe
from compiler.backends.nvptx.simulator.pressure import registers_of
from compiler.backends.nvptx.simulator.profile import WARP_LANES, Profile
from compiler.backends.nvptx.simulator.syntax import Function
from compiler.backends.nvptx.simulator.traffic import SECTOR_BYTES
from compiler.backends.strategy import Detail

_TENSOR = (Pipe.TENSOR, Pipe.TENSOR_FP64, Pipe.TENSOR_INT8)
_GROUP_TENSOR = (Pipe.GROUP_TENSOR, Pipe.GROUP_TENSOR_INT8)
"""The same tensor cores as `wgmma` drives them, which reaches their rate."""
_WARP_REGISTERS = 256
"""Registers of a warp come in multiples of so many (NVIDIA's occupancy calculator)."""


@dataclass(frozen=True, slots=True)
class Block:
    """What a block of a launch takes of a multiprocessor: threads, registers of each of 32 bits, shared memory."""

    threads: int
    registers: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How much of a multiprocessor the blocks of a launch fill.

    Attributes:
        blocks: that are on a multiprocessor at once.
        limit: what allows no more of them.
        share: their warps beside those that a multiprocessor has room for.
    """

    blocks: int
    limit: str
    share: float


@dataclass(frozen=True, slots=True)
class Modelled:
    """How long a launch takes by the model.

    Attributes:
        ns: nanoseconds, its launch included.
        limit: the resource that decides.
        roofs: nanoseconds that each resource takes alone.
        occupancy: how much of a multiprocessor its blocks fill.
        registers: of a thread, estimated.
        profile: what was counted, of those blocks that ran.
    """

    ns: float
    limit: str
    roofs: Mapping[str, float]
    occupancy: Occupancy
    registers: int
    profile: Profile

    def details(self) -> dict[str, Detail]:
        """Counts and times, by words; times in ns, shares of 1."""
        profile, occupancy = self.profile, self.occupancy
        said: dict[str, Detail] = {
            "time_ns": round(self.ns),
            "limit": self.limit,
            "registers": self.registers,
            "occupancy": round(occupancy.share, 2),
            "occupancy_limit": occupancy.limit,
            "idle_lanes": round(profile.idle_share, 2),
            "sampled_blocks": profile.blocks,
            "sectors": profile.global_sectors,
            "least_sectors": profile.least_global_sectors,
        }
        if profile.shared_passes:
            said |= {"shared_passes": profile.shared_passes, "least_shared_passes": profile.least_shared_passes}
        if profile.atomics:
            said |= {"atomics": profile.atomics, "atomic_passes": profile.atomic_passes}
        return said


def block_of(kernel: Function, threads: int, shared_bytes: int, card: Card) -> Block:
    """What a block of a kernel takes: no thread gets more registers than let a block start at all.

    Args:
        kernel: the function.
        threads: of a block.
        shared_bytes: of shared memory, for a block.
        card: the GPU.
    """
    warps = -(-threads // WARP_LANES)
    return Block(threads, min(registers_of(kernel), card.registers // (warps * WARP_LANES)), shared_bytes)


def occupancy_of(block: Block, card: Card) -> Occupancy:
    """How many blocks of a launch a multiprocessor holds at once; one at least: what cannot run is not launched."""
    warps = -(-block.threads // WARP_LANES)
    of_warp = -(-block.registers * WARP_LANES // _WARP_REGISTERS) * _WARP_REGISTERS
    shared = -(-block.shared_bytes // card.shared_unit_bytes) * card.shared_unit_bytes + card.reserved_bytes
    limits = {
        "threads": card.threads // (warps * WARP_LANES),
        "blocks": card.blocks,
        "registers": card.registers // (of_warp * warps),
        "shared memory": card.shared_bytes // shared,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = max(1, limits[limit])
    return Occupancy(blocks, limit, blocks * warps * WARP_LANES / card.threads)


def model(profile: Profile, blocks: int, block: Block, card: Card, most_bytes: int | None = None) -> Modelled:
    """How long a launch takes.

    Args:
        profile: what was counted, of all blocks or of some that stand for all.
        blocks: how many the launch has.
        block: what each takes of a multiprocessor.
        card: the GPU.
        most_bytes: of all the memory that the launch can reach, where what some blocks touch is scaled to all.
    """
    occupancy = occupancy_of(block, card)
    scale = blocks / max(profile.blocks, 1)
    # The multiprocessor with the most blocks has so much of all work.
    share = scale * -(-blocks // card.multiprocessors) / blocks
    rounds = -(-blocks // (card.multiprocessors * occupancy.blocks))
    memory = profile.launch_sectors * SECTOR_BYTES * (scale if most_bytes is not None else 1.0)
    cycles = {
        "issue": share * profile.warp_instructions / card.schedulers,
        "l1": share * profile.global_sectors / card.l1_sectors_per_cycle,
        "l2 port": share * profile.block_sectors * SECTOR_BYTES / card.port_bytes_per_cycle,
        "l2": scale * profile.block_sectors * SECTOR_BYTES / card.l2_bytes_per_cycle,
        "memory": min(memory, most_bytes or memory) / card.memory_bytes_per_ns * card.clock_ghz,
        "shared memory": share * profile.shared_passes,
        "atomics": share * profile.atomic_passes * card.atomic_cycles,
        "waiting": max(rounds * profile.block_cycles, profile.longest_cycles),
        **{name: share * cycles for name, cycles in _unit_cycles(profile, card).items()},
    }
    roofs = {name: value / card.clock_ghz for name, value in cycles.items() if value}
    limit = max(roofs, key=lambda name: roofs[name], default="launch")
    busy = roofs.get(limit, 0.0)
    limit = limit if busy > card.launch_ns else "launch"
    return Modelled(card.launch_ns + busy, limit, roofs, occupancy, block.registers, profile)


def _unit_cycles(profile: Profile, card: Card) -> dict[str, float]:
    """The cycles that each unit of one multiprocessor is busy for, did that do everything."""
    found: dict[str, float] = {}
    for pipe in Pipe:
        passes = profile.passes.get(pipe.value, 0.0)
        if passes and pipe in _TENSOR:
            found[pipe.value] = passes / (card.rates[pipe] * card.mma_share)
        elif passes and pipe in _GROUP_TENSOR:
            found[pipe.value] = passes / card.rates[pipe]
        elif passes:
            found[pipe.value] = passes * WARP_LANES / card.rates[pipe]
    return found
