"""What a launch keeps a GPU busy with, counted as it runs: beyond lanes, what a model of time needs.

Nothing of it exists unless a launch asks for it (`LaunchOptions.profile`): then each basic block is one action, which
tells of the warps that execute it.  Where the clocks of warps end (`clocks`) is what they take that have a
multiprocessor to themselves; how many warps share one, and what they share, is left to who reads the counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.active import ActiveLanes
from compiler.backends.nvptx.simulator.banks import BankCounter
from compiler.backends.nvptx.simulator.batch import Action, Batch, Lanes, nothing
from compiler.backends.nvptx.simulator.clocks import BasicBlock, Clocks, basic_blocks
from compiler.backends.nvptx.simulator.syntax import Instruction
from compiler.backends.nvptx.simulator.traffic import Reach, TrafficCounter

WARP_LANES = 32
"""Lanes of a warp."""
_SHARED_CYCLES = 29
"""From issue to use (H100, arXiv:2402.13499)."""
REACH_CYCLES = {Reach.L1: 41, Reach.L2: 263, Reach.DRAM: 479}
"""From issue to use (H100, arXiv:2402.13499)."""
_LOCAL_CYCLES = 41
"""Local memory is served by the L1 cache."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The counts of a launch, or of those of its blocks that ran.

    Attributes:
        blocks: how many ran.
        warp_instructions: instructions that schedulers issue, for whole warps, as `pipes` has them.
        lane_slots: lanes of the warps that executed something, whether they took part or not.
        active_lanes: those of them that did.
        passes: how often warps go through each unit, by `Pipe.value`; of tensor cores the multiply-adds.
        global_sectors: transactions of global memory, 32 bytes each.
        least_global_sectors: how many would do, were each access coalesced.
        block_sectors: sectors, each once for every block.
        launch_sectors: sectors, each once.
        shared_passes: passes of shared memory; one serves a word of each bank.
        least_shared_passes: how many would do without bank conflicts.
        atomics: updates of lanes.
        atomic_passes: updates that come one after the other: of each warp as many as its lanes update one place.
        block_cycles: cycles until a block has ended that has a multiprocessor to itself, on average over blocks.
        longest_cycles: the same of the block that takes longest.
    """

    blocks: int = 0
    warp_instructions: int = 0
    lane_slots: int = 0
    active_lanes: int = 0
    passes: Mapping[str, float] = field(default_factory=dict)
    global_sectors: int = 0
    least_global_sectors: int = 0
    block_sectors: int = 0
    launch_sectors: int = 0
    shared_passes: int = 0
    least_shared_passes: int = 0
    atomics: int = 0
    atomic_passes: int = 0
    block_cycles: float = 0.0
    longest_cycles: float = 0.0

    @property
    def idle_share(self) -> float:
        """The share of lanes that stood by while others of their warps executed: what divergence costs."""
        return 1.0 - self.active_lanes / self.lane_slots if self.lane_slots else 0.0


@dataclass(frozen=True, slots=True)
class Outline:
    """The basic blocks of a program, and of how many rows their warps have times."""

    blocks: Sequence[BasicBlock]
    rows: int

    @classmethod
    def of(cls, instructions: Sequence[Instruction], starts: Collection[int]) -> Outline:
        """The outline of a program, of which `starts` are jumped to."""
        return cls(*basic_blocks(instructions, starts))


class Profiler:
    """Counts what batches of a launch do."""

    def __init__(self, outline: Outline) -> None:
        self.banks = BankCounter()
        self.traffic = TrafficCounter()
        self.blocks = 0
        self.lane_slots = 0
        self.active_lanes = 0
        self.atomics = 0
        self.atomic_passes = 0
        self.block_cycles = 0.0
        self.longest_cycles = 0.0
        self.latency = 0
        self._outline = outline
        self._warps = [0] * len(outline.blocks)
        self._clocks = Clocks.of(0, 0)
        self._active: ActiveLanes | None = None

    def begin(self, batch: Batch) -> None:
        """A batch of blocks starts."""
        self._clocks, self._active = Clocks.of(int(batch.warp_of_lane[-1]) + 1, self._outline.rows), None
        self.banks.begin()
        self.traffic.begin()

    def end(self, batch: Batch) -> None:
        """All lanes of a batch have finished."""
        blocks = batch.geometry.blocks
        self.blocks += blocks
        ends = self._clocks.now.reshape(blocks, -1).max(axis=1)
        self.block_cycles += float(ends.sum())
        self.longest_cycles = max(self.longest_cycles, float(ends.max()))

    def wrapped(self, actions: Sequence[Action]) -> tuple[Action, ...]:
        """The actions of a program, of which those that begin a basic block execute it all."""
        found = list(actions)
        for number, block in enumerate(self._outline.blocks):
            found[block.begin] = Counted(self, number, block, actions[block.begin : block.end])
        return tuple(found)

    def count(self, number: int, block: BasicBlock, batch: Batch) -> Any:
        """The active lanes execute a basic block; the indices of their warps.

        Args:
            number: of the basic block.
            block: that block.
            batch: the warps, and which of their lanes are active.
        """
        lanes = self._lanes(batch)
        size = block.end - block.begin
        self._warps[number] += lanes.warp_count
        self.lane_slots += lanes.warp_count * WARP_LANES * size
        self.active_lanes += batch.active_count * size
        return lanes.executing

    def advance(self, block: BasicBlock, warps: Any, latencies: Sequence[int]) -> None:
        """Warps have executed a basic block, in which memory had these latencies.

        Args:
            block: a basic block.
            warps: indices of those that executed it.
            latencies: of its accesses to memory, in cycles.
        """
        self._clocks.advance(block, warps, tuple(latencies))

    def _lanes(self, batch: Batch) -> ActiveLanes:
        """The lanes that execute."""
        if self._active is None or self._active.index is not batch.index:
            self._active = ActiveLanes.of(batch)
        return self._active

    # --- what actions tell of as they execute ----------------------------------------------------------------------

    def access_global(self, batch: Batch, addresses: NDArray[np.uint64], size: int) -> None:
        """Lanes load or store so many bytes of global memory.

        Args:
            batch: the blocks that run.
            addresses: in bytes, one for each active lane, or one for all.
            size: bytes of each lane.
        """
        reach = self.traffic.count(self._lanes(batch), addresses, size)
        self.latency = max(self.latency, REACH_CYCLES[reach])

    def access_shared(self, batch: Batch, addresses: NDArray[np.uint64], size: int) -> None:
        """Lanes load or store so many bytes of shared memory.

        Args:
            batch: the blocks that run.
            addresses: in bytes from where the block's memory begins, one for each active lane, or one for all.
            size: bytes of each lane.
        """
        self.banks.count(self._lanes(batch), addresses, size)
        self.latency = max(self.latency, _SHARED_CYCLES)

    def access_local(self) -> None:
        """Lanes load or store local memory."""
        self.latency = max(self.latency, _LOCAL_CYCLES)

    def stream_shared(self, size_bytes: int) -> None:
        """Tensor cores read so many bytes of shared memory, all banks at once."""
        self.banks.stream(size_bytes)

    def update(self, batch: Batch, elements: Lanes) -> None:
        """Lanes update these places, one after the other where they meet."""
        warps = batch.warp_of_lane[batch.active]
        _, each = np.unique(np.stack([warps, np.broadcast_to(elements, warps.shape)]), axis=1, return_counts=True)
        self.atomics += elements.size
        distinct = np.unique(np.stack([warps, np.broadcast_to(elements, warps.shape)]), axis=1)[0]
        _, starts = np.unique(distinct, return_index=True)
        self.atomic_passes += int(np.maximum.reduceat(each, starts).sum())
        self.latency = max(self.latency, REACH_CYCLES[Reach.L2])

    def meet(self, batch: Batch, lanes: Lanes) -> None:
        """Lanes have waited for each other at a barrier, block by block."""
        now = self._clocks.now
        blocks = now.reshape(batch.geometry.blocks, -1)
        if lanes is batch.all_lanes:
            blocks[...] = blocks.max(axis=1, keepdims=True)
            return
        warps = np.unique(batch.warp_of_lane[lanes])
        of_block = warps // blocks.shape[1]
        latest = np.zeros(blocks.shape[0], np.int64)
        np.maximum.at(latest, of_block, now[warps])
        now[warps] = latest[of_block]

    def result(self) -> Profile:
        """The counts so far."""
        issued, passes = 0.0, defaultdict[str, float](float)
        for block, warps in zip(self._outline.blocks, self._warps, strict=True):
            for effects in block.effects:
                issued += effects.cost.issued * warps
                if effects.cost.passes and warps:
                    passes[effects.cost.pipe.value] += effects.cost.passes * warps
        return Profile(
            blocks=self.blocks,
            warp_instructions=round(issued),
            lane_slots=self.lane_slots,
            active_lanes=self.active_lanes,
            passes=dict(passes),
            global_sectors=self.traffic.sectors,
            least_global_sectors=self.traffic.least,
            block_sectors=self.traffic.block_sectors,
            launch_sectors=self.traffic.launch_sectors,
            shared_passes=self.banks.passes,
            least_shared_passes=self.banks.least,
            atomics=self.atomics,
            atomic_passes=self.atomic_passes,
            block_cycles=self.block_cycles / self.blocks if self.blocks else 0.0,
            longest_cycles=self.longest_cycles,
        )


class Counted:
    """An action that executes the instructions of a basic block up to `end`, and has them counted."""

    def __init__(self, profiler: Profiler, number: int, block: BasicBlock, actions: Sequence[Action]) -> None:
        accesses = [effects.accesses for effects in block.effects]
        steps = zip(range(block.begin, block.end - 1), actions[:-1], accesses[:-1], strict=True)
        self.end = block.end
        self._profiler = profiler
        self._number = number
        self._block = block
        self._steps = [step for step in steps if step[1] is not nothing or step[2]]  # each access has its latency
        self._last = actions[-1]
        self._last_accesses = accesses[-1]

    def __call__(self, batch: Batch) -> int | None:
        """Execute all, and say where the lanes go."""
        profiler, latencies = self._profiler, list[int]()
        warps = profiler.count(self._number, self._block, batch)
        for batch.pc, action, accesses in self._steps:
            profiler.latency = 0
            action(batch)
            if accesses:
                latencies.append(profiler.latency)
        batch.pc = self.end - 1
        batch.steps += self.end - self._block.begin - 1
        if self._last_accesses:
            profiler.latency = 0
            self._last(batch)
            profiler.advance(self._block, warps, [*latencies, profiler.latency])
            return self.end
        # A barrier brings clocks together, and finds them as the block has left them.
        profiler.advance(self._block, warps, latencies)
        target = self._last(batch)
        return self.end if target is None else target
