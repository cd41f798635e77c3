"""What a launch keeps a GPU busy with, counted as it runs: beyond lanes, what a model of time needs.

Nothing of it exists unless a launch asks for it (`LaunchOptions.profile`): then every instruction is wrapped once more,
and tells of the warps that execute it before it runs.  Each warp has a clock.  It issues an instruction a cycle, and
goes from one basic block to the next when everything in it has begun; within a block an instruction begins as soon as
its operands are there, loads not before stores that precede them: ptxas puts what waits behind what need not.  Where
the clock ends is what a warp takes that has a multiprocessor to itself; how many warps share one, and what they share,
is left to who reads the counts.
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
from compiler.backends.nvptx.simulator.batch import Action, Batch, Lanes
from compiler.backends.nvptx.simulator.pipes import Cost, cost_of
from compiler.backends.nvptx.simulator.pressure import Uses, uses_of
from compiler.backends.nvptx.simulator.syntax import Instruction
from compiler.backends.nvptx.simulator.traffic import Reach, TrafficCounter

WARP_LANES = 32
"""Lanes of a warp."""
_ENDS = frozenset({"bra", "brx", "ret", "exit", "bar", "barrier"})
_SHARED_CYCLES = 29
"""From issue to use (H100, arXiv:2402.13499)."""
_REACH_CYCLES = {Reach.L1: 41, Reach.L2: 263, Reach.DRAM: 479}
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

    @property
    def idle_share(self) -> float:
        """The share of lanes that stood by while others of their warps executed: what divergence costs."""
        return 1.0 - self.active_lanes / self.lane_slots if self.lane_slots else 0.0


class Profiler:
    """Counts what batches of a launch do."""

    def __init__(self) -> None:
        self.banks = BankCounter()
        self.traffic = TrafficCounter()
        self.blocks = 0
        self.issued = 0.0
        self.lane_slots = 0
        self.active_lanes = 0
        self.passes: defaultdict[str, float] = defaultdict(float)
        self.atomics = 0
        self.atomic_passes = 0
        self.block_cycles = 0.0
        self._clock: NDArray[np.int64] = np.zeros(0, np.int64)
        self._entered = self._clock
        self._issued = self._clock
        self._stored = self._clock
        self._ready: dict[str, NDArray[np.int64]] = {}
        self._latency = 0
        self._active: ActiveLanes | None = None
        self._landing: NDArray[np.int64] = np.zeros(0, np.int64)

    def begin(self, batch: Batch) -> None:
        """A batch of blocks starts."""
        warps = int(batch.warp_of_lane[-1]) + 1
        self._clock, self._landing = np.zeros(warps, np.int64), np.zeros(warps, np.int64)
        self._entered, self._issued, self._stored = (np.zeros(warps, np.int64) for _ in range(3))
        self._ready, self._active = {}, None
        self.banks.begin()
        self.traffic.begin()

    def end(self, batch: Batch) -> None:
        """All lanes of a batch have finished."""
        blocks = batch.geometry.blocks
        self.blocks += blocks
        self.block_cycles += float(self._clock.reshape(blocks, -1).max(axis=1).sum())

    def wrapped(
        self, instructions: Sequence[Instruction], actions: Sequence[Action], starts: Collection[int]
    ) -> tuple[Action, ...]:
        """The actions of a program, each of which is counted; basic blocks begin at `starts`, and behind branches."""
        begins = [n in starts or (n > 0 and instructions[n - 1].opcode in _ENDS) for n in range(len(instructions))]
        return tuple(map(self._counting, actions, map(_Effects.of, instructions, begins)))

    def _counting(self, action: Action, effects: _Effects) -> Action:
        writes, latency = effects.uses.writes, effects.cost.latency
        pipe, passes, issued = effects.cost.pipe.value, effects.cost.passes, effects.cost.issued

        def act(batch: Batch) -> int | None:
            lanes = self._lanes(batch)
            count = lanes.warp_count
            self.issued += issued * count
            self.lane_slots += count * WARP_LANES
            self.active_lanes += batch.active_count
            if passes:
                self.passes[pipe] += passes * count
            now = self._begin(lanes.executing, effects)
            self._latency = 0
            target = action(batch)
            if writes:
                self._write(writes, lanes, now + (latency + self._latency))
            return target

        return act

    def _begin(self, warps: Any, effects: _Effects) -> NDArray[np.int64]:
        """When warps begin an instruction; their clocks go on."""
        if effects.begins:
            self._entered[warps] = self._issued[warps] = self._clock[warps]
        now: NDArray[np.int64] = self._entered[warps]
        for name in effects.uses.reads:
            times = self._ready.get(name)
            if times is not None:
                now = np.maximum(now, times[warps])
        if effects.waits:
            now = np.maximum(now, self._landing[warps])
        if effects.loads:
            now = np.maximum(now, self._stored[warps])
        if effects.stores:
            self._stored[warps] = now
        if effects.issues:
            self._issued[warps] += effects.issues
        self._clock[warps] = np.maximum(np.maximum(self._clock[warps], now), self._issued[warps])
        return now

    def _write(self, names: Sequence[str], lanes: ActiveLanes, until: NDArray[np.int64]) -> None:
        """From when on warps have the registers of these names."""
        for name in names:
            if lanes.index is None:
                # Parts of it are overwritten later, and no other register's times with them.
                self._ready[name] = until.copy()
                continue
            times = self._ready.get(name)
            if times is None:
                times = self._ready[name] = np.zeros_like(self._clock)
            times[lanes.executing] = until

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
        self._latency = max(self._latency, _REACH_CYCLES[reach])

    def access_shared(self, batch: Batch, addresses: NDArray[np.uint64], size: int) -> None:
        """Lanes load or store so many bytes of shared memory.

        Args:
            batch: the blocks that run.
            addresses: in bytes from where the block's memory begins, one for each active lane, or one for all.
            size: bytes of each lane.
        """
        self.banks.count(self._lanes(batch), addresses, size)
        self._latency = max(self._latency, _SHARED_CYCLES)

    def access_local(self) -> None:
        """Lanes load or store local memory."""
        self._latency = max(self._latency, _LOCAL_CYCLES)

    def update(self, batch: Batch, places: Lanes) -> None:
        """Lanes update these places, one after the other where they meet."""
        warps = batch.warp_of_lane[batch.active]
        _, each = np.unique(np.stack([warps, np.broadcast_to(places, warps.shape)]), axis=1, return_counts=True)
        self.atomics += places.size
        distinct = np.unique(np.stack([warps, np.broadcast_to(places, warps.shape)]), axis=1)[0]
        _, starts = np.unique(distinct, return_index=True)
        self.atomic_passes += int(np.maximum.reduceat(each, starts).sum())
        self._latency = max(self._latency, _REACH_CYCLES[Reach.L2])

    def copy_ahead(self) -> None:
        """What the active lanes copy with `cp.async` lands when memory has answered; nobody waits for it before."""
        assert self._active is not None
        warps = self._active.executing
        self._landing[warps] = np.maximum(self._landing[warps], self._clock[warps] + self._latency)

    def meet(self, batch: Batch, lanes: Lanes) -> None:
        """These lanes have waited for each other, block by block."""
        warps = np.unique(batch.warp_of_lane[lanes])
        per_block = self._clock.size // batch.geometry.blocks
        blocks = self._clock.reshape(-1, per_block)
        of_block = warps // per_block
        latest = np.zeros(blocks.shape[0], np.int64)
        np.maximum.at(latest, of_block, self._clock[warps])
        self._clock[warps] = self._entered[warps] = self._issued[warps] = latest[of_block]

    def result(self) -> Profile:
        """The counts so far."""
        return Profile(
            blocks=self.blocks,
            warp_instructions=round(self.issued),
            lane_slots=self.lane_slots,
            active_lanes=self.active_lanes,
            passes=dict(self.passes),
            global_sectors=self.traffic.sectors,
            least_global_sectors=self.traffic.least,
            block_sectors=self.traffic.block_sectors,
            launch_sectors=self.traffic.launch_sectors,
            shared_passes=self.banks.passes,
            least_shared_passes=self.banks.least,
            atomics=self.atomics,
            atomic_passes=self.atomic_passes,
            block_cycles=self.block_cycles / self.blocks if self.blocks else 0.0,
        )


@dataclass(frozen=True, slots=True)
class _Effects:
    """What there is to know of an instruction once.

    Attributes:
        uses: the registers that it reads and writes.
        cost: what it takes of a warp.
        begins: whether a basic block begins with it.
        loads: whether it may read what was stored before it.
        stores: whether others may read what it stores.
        waits: whether it waits for what was copied ahead.
        issues: cycles in which its warp issues nothing else.
    """

    uses: Uses
    cost: Cost
    begins: bool
    loads: bool
    stores: bool
    waits: bool
    issues: int

    @classmethod
    def of(cls, instruction: Instruction, begins: bool) -> _Effects:  # noqa: FBT001 - mapped over both
        """Those of an instruction."""
        opcode, modifiers, cost = instruction.opcode, set(instruction.modifiers), cost_of(instruction)
        return cls(
            uses_of(instruction),
            cost,
            begins,
            loads=opcode in ("ld", "ldmatrix", "atom", "red", "cp") and not {"nc", "param", "const"} & modifiers,
            stores=opcode in ("st", "atom", "red"),
            waits=opcode == "cp" and bool({"wait_all", "wait_group"} & modifiers),
            issues=max(1, round(cost.issued)) if cost.issued else 0,
        )
