"""A batch of blocks that run together: registers, memories and which lanes stand where.

A register is an array over all lanes, or one of a single element where all lanes hold the same value: addresses of
parameters and loop counters cost nothing then, and NumPy's broadcasting does the rest.  `index` lists the lanes for
which the current instruction executes; None means all, and is the fast path without gathers and scatters.  Lanes that
stand side by side, as those of some of the blocks or those below a bound do, are a slice of a register, `where`.

Divergence follows the minimum-PC rule: of all groups of lanes that stand at different instructions the one furthest
back runs until it meets the next.  Lanes at a barrier wait outside the groups until their block is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.faults import Coordinates, Fault
from compiler.backends.nvptx.simulator.memory import Arena, LaneMemory
from compiler.backends.nvptx.simulator.products import Products
from compiler.backends.nvptx.simulator.races import RaceDetector

Array = NDArray[Any]
Lanes = NDArray[np.int64]

_MOST_KEPT = 64
"""Repeated lists of lanes that are kept."""
_MOST_GEOMETRIES = 8
"""Numberings of lanes that are kept."""
RESCHEDULE = -1
"""What a control instruction returns when its lanes no longer stand at one place."""

Action = Callable[["Batch"], int | None]
"""One decoded instruction: executes for the active lanes and returns where they go, or None for the next one."""


def nothing(batch: Batch) -> None:
    """Fences, hints and annotations: memory here is sequentially consistent."""


class Observer(Protocol):
    """What is told of memory and barriers as lanes come to them."""

    def access_global(self, batch: Batch, addresses: NDArray[np.uint64], size: int) -> None:
        """The active lanes load or store so many bytes of global memory at these addresses, or all at one.

        Args:
            batch: the warps, and which of their lanes are active.
            addresses: of the active lanes, or one of all.
            size: bytes of a lane.
        """

    def access_shared(self, batch: Batch, addresses: NDArray[np.uint64], size: int) -> None:
        """The active lanes load or store so many bytes of shared memory at these addresses, or all at one.

        Args:
            batch: the warps, and which of their lanes are active.
            addresses: of the active lanes, or one of all.
            size: bytes of a lane.
        """

    def access_local(self) -> None:
        """The active lanes load or store local memory."""

    def stream_shared(self, size_bytes: int) -> None:
        """Tensor cores read so many bytes of shared memory, all banks at once."""

    def update(self, batch: Batch, elements: Lanes) -> None:
        """The active lanes update these places, one after the other where they meet."""

    def meet(self, batch: Batch, lanes: Lanes) -> None:
        """Lanes have waited for each other at a barrier, block by block."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The grid and which of its blocks a batch holds.

    Attributes:
        grid: blocks along each axis.
        block: threads of a block along each axis.
        held: the numbers of the blocks that the batch holds, in ascending order.
    """

    grid: Coordinates
    block: Coordinates
    held: Sequence[int]

    @property
    def blocks(self) -> int:
        """Blocks of the batch."""
        return len(self.held)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def lanes(self) -> int:
        """Lanes of the batch."""
        return self.blocks * self.threads

    def block_at(self, lane: int) -> Coordinates:
        """The coordinates of a lane's block."""
        return _unravel(self.held[lane // self.threads], self.grid)

    def thread_at(self, lane: int) -> Coordinates:
        """The coordinates of a lane in its block."""
        return _unravel(lane % self.threads, self.block)


def _unravel(number: int, extents: Coordinates) -> Coordinates:
    return number % extents[0], number // extents[0] % extents[1], number // (extents[0] * extents[1])


class _LaneNumbers(NamedTuple):
    """Of each lane of some blocks its number, that of its block, that of its warp, and its own within the warp."""

    lane: Lanes
    block: Lanes
    warp: Lanes
    lane_in_warp: Lanes


@lru_cache(_MOST_GEOMETRIES)
def _numbered(blocks: int, threads: int) -> _LaneNumbers:
    lanes = np.arange(blocks * threads)
    block, thread = np.divmod(lanes, threads)
    return _LaneNumbers(lanes, block, block * -(-threads // 32) + thread // 32, thread & 31)


def _slice_of(lanes: Lanes) -> Lanes | slice:
    """Lanes as a slice if each is its neighbour's next."""
    count = lanes.size
    if not count or int(lanes[-1]) - int(lanes[0]) != count - 1 or (lanes[1:] - lanes[:-1] != 1).any():
        return lanes
    return slice(int(lanes[0]), int(lanes[-1]) + 1)


@dataclass(slots=True)
class Waiting:
    """Lanes at a barrier."""

    barrier: int
    pc: int
    lanes: Lanes
    expected: int | None
    is_aligned: bool


@dataclass(slots=True)
class PendingCopy:
    """A `cp.async` that has not landed: for each lane where in shared memory its bytes go, and the bytes.

    `group` counts the groups that the lanes had closed before; it is one number if they agree.
    """

    lanes: Lanes
    index: Lanes
    values: Array
    group: Lanes

    def chosen(self, chosen: NDArray[np.bool_]) -> PendingCopy:
        """The copies of some lanes."""
        group = self.group if self.group.size == 1 else self.group[chosen]
        return PendingCopy(self.lanes[chosen], self.index[chosen], self.values[chosen], group)


class Batch:
    """The state of the machine while it runs some blocks of a launch."""

    def __init__(
        self, geometry: Geometry, registers: Sequence[Array], arena: Arena, shared_bytes: int, local_bytes: int
    ) -> None:
        self.geometry = geometry
        self.lane_count = geometry.lanes
        self.registers: list[Array] = list(registers)
        self.arena = arena
        self.shared = LaneMemory("shared", geometry.blocks, shared_bytes)
        self.local = LaneMemory("local", geometry.lanes, local_bytes)
        self.index: Lanes | None = None
        self.is_packed = False
        self._where: tuple[Lanes | None, Lanes | slice] = None, slice(None)
        numbers = _numbered(geometry.blocks, geometry.threads)
        self.all_lanes, self.block_of_lane = numbers.lane, numbers.block
        self.warp_of_lane, self.lane_in_warp = numbers.warp, numbers.lane_in_warp
        self.number_of_block: Lanes = np.array(geometry.held, np.int64)
        self.has_whole_warps = geometry.threads % 32 == 0
        self.is_alive: NDArray[np.bool_] = np.ones(geometry.lanes, np.bool_)
        self.races: RaceDetector | None = None
        self.global_races: RaceDetector | None = None
        self.observer: Observer | None = None
        self.products: Products | None = None
        self.pc = 0
        self.steps = 0
        self.pending: list[PendingCopy] = []
        self.committed: Lanes = np.zeros(1, np.int64)
        self._groups: dict[int, list[Lanes]] = {}
        self._repeated: dict[tuple[int, int], tuple[Lanes, Lanes]] = {}
        self._waiting: list[Waiting] = []

    def watch_races(self, granule: int) -> None:
        """Check accesses of shared memory from now on; `granule` divides every one of them."""
        geometry = self.geometry
        size = self.shared.data.size
        self.races = RaceDetector("shared", size, granule, geometry.threads, geometry.blocks)

    def watch_products(self, registers: int, granule: int) -> None:
        """Check what products of warp groups use from now on: so many registers, and shared memory by granules."""
        geometry, size = self.geometry, self.shared.data.size
        self.products = Products(geometry.threads, geometry.blocks, registers, size, granule)
        self.products.races = self.races

    def watch_global_races(self, detector: RaceDetector) -> None:
        """Check accesses of global memory with the detector of the launch; the batch holds blocks in a row."""
        self.global_races = detector
        detector.first_thread = self.geometry.held[0] * self.geometry.threads

    @property
    def active(self) -> Lanes:
        """The lanes that execute."""
        return self.all_lanes if self.index is None else self.index

    def repeated(self, count: int) -> Lanes:
        """The active lanes so many times, one after the other; the same array for the same lanes."""
        active = self.active
        lanes, repeated = self._repeated.get((id(active), count), (None, active))
        if lanes is not active:
            repeated = np.tile(active, count)
            if len(self._repeated) >= _MOST_KEPT:
                self._repeated.clear()
            self._repeated[id(active), count] = active, repeated
        return repeated

    @property
    def active_count(self) -> int:
        """How many lanes execute."""
        return self.lane_count if self.index is None else self.index.size

    @property
    def where(self) -> Lanes | slice:
        """The active lanes as an index into registers: a slice where they are neighbours."""
        index, where = self._where
        if index is not self.index:
            index = self.index
            where = slice(None) if index is None else _slice_of(index)
            self._where = index, where
        return where

    def read(self, slot: int) -> Array:
        """A register's value for the active lanes, or one element for all of them; it is not to be written to."""
        value = self.registers[slot]
        return value if self.index is None or self.is_packed or value.size == 1 else value[self.where]

    def read_full(self, slot: int) -> Array:
        """A register's value for each active lane."""
        value = self.read(slot)
        return np.broadcast_to(value, (self.active_count,)) if value.size == 1 else value

    def write(self, slot: int, value: Array) -> None:
        """Set a register for the active lanes; `value` must be an array of its own."""
        if self.index is None or self.is_packed:
            self.registers[slot] = value
            return
        target = self.registers[slot]
        if target.size == 1:
            # What is one number for all lanes may be a constant of the program, and is never written in place.
            target = self.registers[slot] = target.repeat(self.lane_count)
        target[self.where] = value

    # --- where lanes stand ---------------------------------------------------------------------------------------

    def put(self, pc: int, lanes: Lanes) -> None:
        """Let lanes continue at an instruction once it is their turn."""
        if lanes.size:
            self._groups.setdefault(pc, []).append(lanes)

    def select(self) -> int | None:
        """Make the group furthest back the active one; None if no lane is left."""
        if not self._groups and self._waiting:
            self._release()
        if not self._groups:
            return None
        self.pc = min(self._groups)
        groups = self._groups.pop(self.pc)
        if sum(lanes.size for lanes in groups) == self.lane_count:
            self.index = None
        else:
            self.index = groups[0] if len(groups) == 1 else np.sort(np.concatenate(groups))
        return self.pc

    def next_group(self, otherwise: int) -> int:
        """Where the next group behind the active one stands."""
        return min(self._groups, default=otherwise)

    def retire(self, lanes: Lanes) -> None:
        """Lanes that have finished."""
        self.is_alive[lanes] = False

    def wait(self, waiting: Waiting) -> None:
        """Lanes that have reached a barrier."""
        self._waiting.append(waiting)

    @property
    def is_waiting(self) -> bool:
        """Whether any lane stands at a barrier."""
        return bool(self._waiting)

    def arrive(self, waiting: Waiting) -> None:
        """Lanes that count at a barrier but go on (`bar.arrive`)."""
        self._waiting.append(Waiting(waiting.barrier, -1, waiting.lanes, waiting.expected, waiting.is_aligned))

    def _release(self) -> None:
        """Let those blocks go on that are complete at a barrier; if there is none, the launch is stuck."""
        threads = self.geometry.threads
        progressed = False
        for barrier in sorted({w.barrier for w in self._waiting}):
            here = [w for w in self._waiting if w.barrier == barrier]
            arrived = np.zeros(self.geometry.blocks, np.int64)
            for waiting in here:
                arrived += np.bincount(self.block_of_lane[waiting.lanes], minlength=arrived.size)
            expected = here[0].expected
            complete = arrived == (threads if expected is None else expected)
            if not complete.any():
                continue
            progressed = True
            self._check_alignment(here)
            met: list[Lanes] = []
            for waiting in here:
                goes = complete[self.block_of_lane[waiting.lanes]]
                met.append(waiting.lanes[goes])
                if waiting.pc >= 0:
                    self.put(waiting.pc + 1, met[-1])
                waiting.lanes = waiting.lanes[~goes]
            # Lanes meet at a barrier, not at an instruction: those that came by different ones have met, too.
            self.pass_barrier(np.sort(np.concatenate(met)))
            self._waiting = [w for w in self._waiting if w.lanes.size]
        if not progressed:
            self._deadlock()

    def pass_barrier(self, lanes: Lanes) -> None:
        """Tell who watches that the blocks of these lanes passed a barrier."""
        if self.observer is not None:
            self.observer.meet(self, lanes)
        if self.products is not None:
            self.products.pass_barrier(lanes)
        for detector in (self.races, self.global_races):
            if detector is not None:
                detector.pass_block_barrier(lanes)

    def _check_alignment(self, here: Sequence[Waiting]) -> None:
        """The lanes of one warp must be at the same aligned barrier instruction."""
        if len({w.pc for w in here}) == 1 or not any(w.is_aligned for w in here):
            return
        expected_pc = np.full(int(self.warp_of_lane.max()) + 1, -2, np.int64)
        for waiting in here:
            warps = self.warp_of_lane[waiting.lanes]
            differs = (expected_pc[warps] != -2) & (expected_pc[warps] != waiting.pc)
            if differs.any():
                self.pc = max(waiting.pc, 0)
                lane = int(waiting.lanes[int(np.argmax(differs))])
                message = "the threads of one warp wait at different barrier instructions"
                raise Fault("divergent-barrier", message, lane=lane)
            expected_pc[warps] = waiting.pc

    def _deadlock(self) -> None:
        waiting = min((w for w in self._waiting if w.pc >= 0), key=lambda w: w.pc)
        lane = int(waiting.lanes[0])
        block = self.block_of_lane[lane]
        threads = self.geometry.threads
        here = sum(int((self.block_of_lane[w.lanes] == block).sum()) for w in self._waiting if w.pc == waiting.pc)
        gone = int((~self.is_alive[self.block_of_lane == block]).sum())
        self.pc = waiting.pc
        expected = threads if waiting.expected is None else waiting.expected
        others = threads - here - gone
        message = f"{here} of {expected} threads wait at this barrier for ever: {gone} have exited"
        if others:
            message += f", {others} wait at another barrier"
        raise Fault("divergent-barrier", message, lane=lane)
