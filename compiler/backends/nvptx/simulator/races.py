"""Data races in shared and global memory.

Two accesses of one granule by different threads, at least one of them a plain write, must be ordered: by `bar.sync`
between threads of a block, or by `bar.warp.sync` between threads of a warp; nothing orders two blocks of a launch.
Beside each granule stands who wrote it last and the first and last who read it, each with the count of barriers that
block and warp had passed.  Keeping two readers instead of all can miss a race; one that is reported is there.  Atomic
and strong operations are checked against plain accesses but not against each other, and threads that write the same
value with one instruction are let pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.faults import Fault

_Lanes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Access:
    """Who accesses: numbers of threads in the launch, and the barriers that their blocks and warps have passed."""

    threads: _Lanes
    block_time: NDArray[np.int32]
    warp_time: NDArray[np.int32]

    def pick(self, places: _Lanes) -> _Access:
        return _Access(self.threads[places], self.block_time[places], self.warp_time[places])


class _Log:
    """The last access to each granule."""

    def __init__(self, granules: int) -> None:
        self.thread = np.full(granules, -1, np.int32)
        self.block_time = np.full(granules, -1, np.int32)
        self.warp_time = np.full(granules, -1, np.int32)

    def record(self, at: _Lanes, access: _Access) -> None:
        self.thread[at] = access.threads
        self.block_time[at] = access.block_time
        self.warp_time[at] = access.warp_time


class RaceDetector:
    """Watches one memory; `first_thread` is the launch's number of the batch's first lane."""

    def __init__(self, space: str, size_bytes: int, granule: int, block_threads: int, blocks: int) -> None:
        self.first_thread = 0
        self._space = space
        # A place in shared memory is one block's alone.
        self._is_shared = space == "shared"
        self._met_by_warp = False
        self._latest: tuple[_Lanes, int, _Access] | None = None
        self._granule = granule
        self._block_threads = block_threads
        self._block_warps = -(-block_threads // 32)
        granules = -(-size_bytes // granule)
        self._writes, self._first_reads, self._last_reads = _Log(granules), _Log(granules), _Log(granules)
        self._block_time = np.zeros(blocks, np.int32)
        self._warp_time = np.zeros(blocks * self._block_warps, np.int32)

    def pass_block_barrier(self, lanes: _Lanes) -> None:
        """The blocks of these lanes have come together."""
        self._block_time[np.unique(self._block(lanes + self.first_thread))] += 1
        self._latest = None

    def pass_warp_barrier(self, lanes: _Lanes) -> None:
        """The warps of these lanes have come together."""
        self._warp_time[np.unique(self._warp(lanes + self.first_thread))] += 1
        self._met_by_warp, self._latest = True, None

    def read(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Plain reads of `size` bytes at byte offsets."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._complain(self._conflicts(self._writes, at, access), at, access, "reads", self._writes, "wrote")
            is_new = self._unordered(self._first_reads, at, access)
            if not is_new.all():
                backwards = np.flatnonzero(~is_new)[::-1]
                self._first_reads.record(at[backwards], access.pick(backwards))
            self._last_reads.record(at, access)

    def peek(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Reads that are strong (`volatile`, `relaxed`, ...): only plain writes race with them."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._complain(self._conflicts(self._writes, at, access), at, access, "reads", self._writes, "wrote")

    def write(self, offsets: _Lanes, values: NDArray[Any], lanes: _Lanes) -> None:
        """Plain writes of values of shape (lanes, elements)."""
        access = self._access(lanes)
        for at in self._granules(offsets, values.dtype.itemsize * values.shape[1]):
            self._check(at, access, "writes")
            self._writes.record(at, access)
            winner = self._writes.thread[at]
            if (winner != access.threads).any():
                self._check_simultaneous(at, winner, values, access)

    def update(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Atomic read-modify-writes, and strong writes."""
        access = self._access(lanes)
        for at in self._granules(offsets, size):
            self._check(at, access, "atomically updates")

    def _access(self, lanes: _Lanes) -> _Access:
        if self._latest is not None and self._latest[0] is lanes and self._latest[1] == self.first_thread:
            return self._latest[2]
        threads = lanes + self.first_thread
        access = _Access(threads, self._block_time[self._block(threads)], self._warp_time[self._warp(threads)])
        self._latest = lanes, self.first_thread, access
        return access

    def _block(self, threads: _Lanes) -> _Lanes:
        return threads // self._block_threads

    def _warp(self, threads: _Lanes) -> _Lanes:
        return self._block(threads) * self._block_warps + threads % self._block_threads // 32

    def _granules(self, offsets: _Lanes, size: int) -> list[_Lanes]:
        first = offsets // self._granule
        return [first + step for step in range(max(1, size // self._granule))]

    def _unordered(self, log: _Log, at: _Lanes, access: _Access) -> NDArray[np.bool_]:
        """Where something is logged since the last barrier that stands between it and this access."""
        result: NDArray[np.bool_] = log.block_time[at] >= access.block_time
        if not self._is_shared:
            other = log.thread[at].astype(np.int64)
            result |= (self._block(other) != self._block(access.threads)) & (other >= 0)
        if self._met_by_warp:
            places = np.flatnonzero(result)
            other = log.thread[at[places]].astype(np.int64)
            same_warp = self._warp(other) == self._warp(access.threads[places])
            result[places[same_warp & (log.warp_time[at[places]] < access.warp_time[places])]] = False
        return result

    def _conflicts(self, log: _Log, at: _Lanes, access: _Access) -> NDArray[np.bool_]:
        """Where another thread's access is not separated from this one."""
        result = self._unordered(log, at, access)
        if result.any():
            result &= log.thread[at] != access.threads
        return result

    def _check(self, at: _Lanes, access: _Access, verb: str) -> None:
        self._complain(self._conflicts(self._writes, at, access), at, access, verb, self._writes, "wrote")
        for log in (self._first_reads, self._last_reads):
            self._complain(self._conflicts(log, at, access), at, access, verb, log, "read")

    def _check_simultaneous(self, at: _Lanes, winner: NDArray[np.int32], values: NDArray[Any], access: _Access) -> None:
        """Threads that write one place with one instruction must write the same value."""
        place = np.zeros(int(access.threads.max()) - self.first_thread + 1, np.int64)
        place[access.threads - self.first_thread] = np.arange(access.threads.size)
        differs = (values != values[place[winner - self.first_thread]]).any(axis=1)
        wrong = differs & (winner != access.threads)
        self._complain(wrong, at, access, "writes", self._writes, "wrote another value to")

    def _complain(
        self,
        wrong: NDArray[np.bool_],
        at: _Lanes,
        access: _Access,
        verb: str,
        log: _Log,
        other_verb: str,
    ) -> None:
        if not wrong.any():
            return
        place = int(np.argmax(wrong))
        block, thread = divmod(int(log.thread[at[place]]), self._block_threads)
        is_same = block == int(access.threads[place]) // self._block_threads
        whose = "its block" if is_same else f"block {block} (by number)"
        message = (
            f"a thread {verb} {self._space} memory that thread {thread} (by number) of {whose} {other_verb}, "
            f"with no barrier between them"
        )
        raise Fault("race", message, place)
