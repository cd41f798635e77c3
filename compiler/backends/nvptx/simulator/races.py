"""Data races in shared memory.

Two accesses of one granule by different threads of a block, at least one of them a plain write, must have a barrier
between them: `bar.sync`, or `bar.warp.sync` if both threads are of one warp.  Beside each granule stands who wrote it
last and the first and last who read it, each with the count of barriers that block and warp had passed.  Keeping two
readers instead of all can miss a race in code that synchronises warps only; it never reports one that is not there.
Atomic operations are checked against plain accesses but not against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.faults import Fault

_Lanes = NDArray[np.int64]


class _Log:
    """The last access to each granule: lane, and the barriers passed by its block and its warp."""

    def __init__(self, granules: int) -> None:
        self.lane = np.full(granules, -1, np.int64)
        self.block_time = np.full(granules, -1, np.int64)
        self.warp_time = np.full(granules, -1, np.int64)

    def record(self, at: NDArray[np.int64], access: _Access) -> None:
        self.lane[at] = access.lanes
        self.block_time[at] = access.block_time
        self.warp_time[at] = access.warp_time

    def conflicts(self, at: NDArray[np.int64], access: _Access) -> NDArray[np.bool_]:
        """Where another thread's access is not separated from this one."""
        lane = self.lane[at]
        is_near: NDArray[np.bool_] = (lane >= 0) & (lane != access.lanes) & (self.block_time[at] == access.block_time)
        if not is_near.any():
            return is_near
        same_warp = access.warp_of_lane[lane] == access.warp_of_lane[access.lanes]
        result: NDArray[np.bool_] = is_near & ~(same_warp & (self.warp_time[at] < access.warp_time))
        return result


@dataclass(frozen=True, slots=True)
class _Access:
    lanes: _Lanes
    block_time: NDArray[np.int64]
    warp_time: NDArray[np.int64]
    warp_of_lane: _Lanes


class RaceDetector:
    """Watches the shared memory of a batch of blocks."""

    def __init__(self, size_bytes: int, granule: int, block_of_lane: _Lanes, warp_of_lane: _Lanes) -> None:
        self.granule = granule
        granules = -(-size_bytes // granule)
        self._writes, self._first_reads, self._last_reads = _Log(granules), _Log(granules), _Log(granules)
        self._block_of_lane, self._warp_of_lane = block_of_lane, warp_of_lane
        self._block_time = np.zeros(int(block_of_lane.max(initial=0)) + 1, np.int64)
        self._warp_time = np.zeros(int(warp_of_lane.max(initial=0)) + 1, np.int64)

    def pass_block_barrier(self, lanes: _Lanes) -> None:
        """The blocks of these lanes have come together."""
        self._block_time[np.unique(self._block_of_lane[lanes])] += 1

    def pass_warp_barrier(self, lanes: _Lanes) -> None:
        """The warps of these lanes have come together."""
        self._warp_time[np.unique(self._warp_of_lane[lanes])] += 1

    def read(self, offsets: NDArray[np.int64], size: int, lanes: _Lanes) -> None:
        """Plain reads of `size` bytes at byte offsets in the batch's shared memory."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._complain(self._writes.conflicts(at, access), at, "reads", self._writes, "wrote")
            is_old = self._first_reads.block_time[at] != access.block_time
            backwards = np.flatnonzero(is_old)[::-1]
            self._first_reads.record(at[backwards], _pick(access, backwards))
            self._last_reads.record(at, access)

    def write(self, offsets: NDArray[np.int64], values: NDArray[Any], lanes: _Lanes) -> None:
        """Plain writes, before or after the memory itself changes."""
        access = self._access(lanes)
        size = values.dtype.itemsize * values.shape[1]
        for at in self._granules(offsets, size):
            self._check(at, access, "writes")
            self._writes.record(at, access)
            winner = self._writes.lane[at]
            if (winner != lanes).any():
                self._check_simultaneous(at, winner, values, lanes)

    def peek(self, offsets: NDArray[np.int64], size: int, lanes: _Lanes) -> None:
        """Reads that are strong (`volatile`, `relaxed`, ...): only plain writes race with them."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._complain(self._writes.conflicts(at, access), at, "reads", self._writes, "wrote")

    def update(self, offsets: NDArray[np.int64], size: int, lanes: _Lanes) -> None:
        """Atomic read-modify-writes."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._check(at, access, "atomically updates")

    def _access(self, lanes: _Lanes) -> _Access:
        block_time = self._block_time[self._block_of_lane[lanes]]
        return _Access(lanes, block_time, self._warp_time[self._warp_of_lane[lanes]], self._warp_of_lane)

    def _granules(self, offsets: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
        first = offsets // self.granule
        return [first + step for step in range(max(1, size // self.granule))]

    def _check(self, at: NDArray[np.int64], access: _Access, verb: str) -> None:
        self._complain(self._writes.conflicts(at, access), at, verb, self._writes, "wrote")
        for log in (self._first_reads, self._last_reads):
            self._complain(log.conflicts(at, access), at, verb, log, "read")

    def _check_simultaneous(self, at: NDArray[np.int64], winner: _Lanes, values: NDArray[Any], lanes: _Lanes) -> None:
        """Lanes that write one place with one instruction must write the same value."""
        place_of_lane = np.zeros(int(lanes.max()) + 1, np.int64)
        place_of_lane[lanes] = np.arange(lanes.size)
        differs = (values != values[place_of_lane[winner]]).any(axis=1)
        self._complain(differs & (winner != lanes), at, "writes", self._writes, "wrote another value to")

    def _complain(self, wrong: NDArray[np.bool_], at: NDArray[np.int64], verb: str, log: _Log, other_verb: str) -> None:
        if not wrong.any():
            return
        place = int(np.argmax(wrong))
        other = int(log.lane[at[place]])
        thread = other - int(np.argmax(self._block_of_lane == self._block_of_lane[other]))
        message = (
            f"a thread {verb} shared memory that thread {thread} of its block {other_verb}, "
            f"with no barrier between them"
        )
        raise Fault("race", message, place)


def _pick(access: _Access, places: NDArray[np.int64]) -> _Access:
    return _Access(access.lanes[places], access.block_time[places], access.warp_time[places], access.warp_of_lane)
