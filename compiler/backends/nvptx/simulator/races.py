"""Data races in shared and global memory.

Two accesses of one granule by different threads, at least one of them a plain write, must be ordered: by `bar.sync`
between threads of a block, or by `bar.warp.sync` between threads of a warp; nothing orders two blocks of a launch.
Beside each granule stands who wrote it last and the first and last who read it, each with the count of barriers that
block and warp had passed.  Keeping two readers instead of all can miss a race; one that is reported is there.  Atomic
and strong operations are checked against plain accesses but not against each other, and threads that write the same
value with one instruction are let pass.

Most accesses are reads behind a barrier behind which nothing was written, and these cost next to nothing.  Reads are
noted as they come, and entered beside the granules only before a write to a place among them; a barrier for everybody
forgets them.  The latest time of all writes, and of all reads, tells when there is nothing to look for.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.memory import MARKS, WHOLE, bytes_for

_Lanes = NDArray[np.int64]

_NEVER = 0
"""The stamp of what was never accessed: times begin at 1, and memory that holds 0 everywhere costs nothing until it is
used, while a launch touches little of an arena."""
_THREAD_BITS = 32
"""Bits of a number that tell a thread; those above tell the time."""
_THREAD = (1 << _THREAD_BITS) - 1
"""The bits of a stamp that hold the thread's number."""
_IN_ORDER, _BACKWARDS = slice(None), slice(None, None, -1)
_MOST_KEPT = 64
"""Reads that are noted before they are entered."""
_MOST_NOTED = 1 << 21
"""Reads by so many lanes are noted before they are entered: 16 MiB, and enough that a block of tiles of a product comes
to its barrier, which forgets them, before; entering was half of the time of such kernels at an eighth of it."""


class _Access:
    """Who accesses: numbers of threads in the launch, and the barriers that their blocks and warps have passed.

    A stamp is a block's time above a thread's number: what is stamped before `floor` is ordered by a block's barrier.
    `lanes` access, each perhaps more than one granule.
    """

    def __init__(self, threads: _Lanes, block_time: _Lanes, warp_time: _Lanes) -> None:
        self.threads = threads
        self.lanes = threads.size
        self.warp_time = warp_time
        self.floor = block_time << _THREAD_BITS
        self.stamp = self.floor | threads
        self.earliest = int(np.minimum.reduce(self.floor))
        self.latest = int(np.maximum.reduce(self.stamp))
        self._several: dict[int, _Access] = {}

    def pick(self, positions: _Lanes) -> _Access:
        """Some of the lanes."""
        return _Access(self.threads[positions], self.floor[positions] >> _THREAD_BITS, self.warp_time[positions])

    def several(self, count: int) -> _Access:
        """All of the lanes so many times, one after the other."""
        if count == 1:
            return self
        if count not in self._several:
            self._several[count] = self.pick(np.tile(np.arange(self.lanes), count))
            self._several[count].lanes = self.lanes
        return self._several[count]


class _Log:
    """The last access to each granule, and the latest of them all."""

    def __init__(self, granules: int) -> None:
        self.stamp: _Lanes = np.zeros(granules, np.int64)
        self._warp_time: _Lanes = np.zeros(0, np.int64)
        self.latest = _NEVER

    @property
    def warp_time(self) -> _Lanes:
        """The times of warps, all 0 and not there until one has met: most kernels come to no such barrier."""
        if not self._warp_time.size:
            self._warp_time = np.zeros(self.stamp.size, np.int64)
        return self._warp_time

    def record(self, at: _Lanes, access: _Access, order: slice | _Lanes = _IN_ORDER, *, met_by_warp: bool) -> None:
        """Enter an access at granules, or of those in some `order`; times of warps are 0 as long as none has met."""
        at = at[order]
        self.stamp[at] = access.stamp[order]
        if met_by_warp:
            self.warp_time[at] = access.warp_time[order]
        self.latest = max(self.latest, access.latest)


class _Noted(NamedTuple):
    """Plain reads that nothing has been compared with yet: byte offsets, bytes of each, and who reads."""

    offsets: _Lanes
    size: int
    access: _Access


class RaceDetector:
    """Watches one memory; `first_thread` is the launch's number of the batch's first lane."""

    def __init__(self, space: str, size_bytes: int, granule: int, block_threads: int, blocks: int) -> None:
        self.first_thread = 0
        self._space = space
        # A place in shared memory is one block's alone.
        self._is_shared = space == "shared"
        self._met_by_warp = False
        self._accesses: dict[tuple[int, int], tuple[_Lanes, _Access]] = {}
        self._noted: list[_Noted] = []
        self._noted_lanes = 0
        self._marked = 0
        self._marks = bytes_for(size_bytes)
        self._granule = granule
        self._block_threads = block_threads
        self._block_warps = -(-block_threads // 32)
        granules = -(-size_bytes // granule)
        self._writes, self._first_reads, self._last_reads = _Log(granules), _Log(granules), _Log(granules)
        self._block_time: _Lanes = np.ones(blocks, np.int64)
        self._warp_time: _Lanes = np.zeros(blocks * self._block_warps, np.int64)

    def pass_block_barrier(self, lanes: _Lanes) -> None:
        """The blocks of these lanes have come together."""
        self._accesses.clear()
        if self._is_shared and lanes.size == self._block_time.size * self._block_threads:
            self._block_time += 1
            self._forget_reads()
        else:
            self._block_time[np.unique(self._block(lanes + self.first_thread))] += 1

    def pass_warp_barrier(self, lanes: _Lanes) -> None:
        """The warps of these lanes have come together."""
        self._warp_time[np.unique(self._warp(lanes + self.first_thread))] += 1
        self._met_by_warp = True
        self._accesses.clear()

    def read(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Plain reads of `size` bytes at byte offsets.

        Args:
            offsets: in bytes, from the memory's beginning.
            size: bytes of a lane.
            lanes: who reads.
        """
        self.peek(offsets, size, lanes)
        self._noted.append(_Noted(offsets, size, self._access(lanes)))
        self._noted_lanes += offsets.size
        if self._noted_lanes > _MOST_NOTED:
            self._enter_reads()

    def peek(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Reads that are strong (`volatile`, `relaxed`, ...): only plain writes race with them.

        Args:
            offsets: in bytes, one for each lane.
            size: bytes of each access.
            lanes: numbers of the lanes in the batch.
        """
        access = self._access(lanes)
        if self._may_meet(self._writes, access):
            self._check_log(self._writes, *self._granules(offsets, size, access), "reads", "wrote")

    def write(self, offsets: _Lanes, values: NDArray[Any], lanes: _Lanes) -> None:
        """Plain writes of values of shape (lanes, elements).

        Args:
            offsets: in bytes, from the memory's beginning.
            values: of shape (lanes, elements).
            lanes: who writes.
        """
        size, access = values.dtype.itemsize * values.shape[1], self._access(lanes)
        self._check(offsets, size, access, "writes")
        at, access = self._granules(offsets, size, access)
        self._writes.record(at, access, met_by_warp=self._met_by_warp)
        winner = self._writes.stamp[at]
        if np.logical_or.reduce(winner != access.stamp):
            self._check_simultaneous(at, winner & _THREAD, values, access)

    def update(self, offsets: _Lanes, size: int, lanes: _Lanes) -> None:
        """Atomic read-modify-writes, and strong writes.

        Args:
            offsets: in bytes, one for each lane.
            size: bytes of each access.
            lanes: numbers of the lanes in the batch.
        """
        self._check(offsets, size, self._access(lanes), "atomically updates")

    def _granules(self, offsets: _Lanes, size: int, access: _Access) -> tuple[_Lanes, _Access]:
        """The granules that are accessed, the first of all lanes before the second, and by whom each."""
        first, count = offsets // self._granule, max(1, size // self._granule)
        at = first if count == 1 else (first + np.arange(count)[:, None]).reshape(-1)
        return at, access.several(count)

    def _access(self, lanes: _Lanes) -> _Access:
        """Who these lanes are; there is one for the same array until the next barrier."""
        key = id(lanes), self.first_thread
        if key in self._accesses:
            return self._accesses[key][1]
        threads = lanes + self.first_thread
        warp_time = self._warp_time[self._warp(threads)] if self._met_by_warp else _zeros(threads.size)
        access = _Access(threads, self._block_time[self._block(threads)], warp_time)
        if len(self._accesses) >= _MOST_KEPT:
            self._accesses.clear()
        self._accesses[key] = lanes, access
        return access

    def _block(self, threads: _Lanes) -> _Lanes:
        return threads // self._block_threads

    def _warp(self, threads: _Lanes) -> _Lanes:
        return self._block(threads) * self._block_warps + threads % self._block_threads // 32

    def _enter_reads(self) -> None:
        """What was read goes beside the granules, in the order in which it came."""
        for offsets, size, lanes in self._noted:
            at, access = self._granules(offsets, size, lanes)
            order: slice | _Lanes = _BACKWARDS
            if self._may_meet(self._first_reads, access):
                order = np.flatnonzero(~self._unordered(self._first_reads, at, access))[::-1]
            if isinstance(order, slice) or order.size:
                self._first_reads.record(at, access, order, met_by_warp=self._met_by_warp)
            self._last_reads.record(at, access, met_by_warp=self._met_by_warp)
        self._forget_reads()

    def _forget_reads(self) -> None:
        self._noted.clear()
        self._noted_lanes = 0
        if self._marked:
            self._marks[:] = 0
            self._marked = 0

    def _is_noted(self, offsets: _Lanes, size: int) -> bool:
        """Whether any of the places is among those that were read."""
        if not self._noted:
            return False
        for read, read_size, _ in self._noted[self._marked :]:
            self._marks.view(WHOLE[read_size])[read // read_size] = MARKS[True][read_size]
        self._marked = len(self._noted)
        return bool(self._marks.view(WHOLE[size])[offsets // size].view(np.uint8).any())

    def _unordered(self, log: _Log, at: _Lanes, access: _Access) -> NDArray[np.bool_]:
        """Where something is logged since the last barrier that stands between it and this access."""
        stamp = log.stamp[at]
        result: NDArray[np.bool_] = stamp >= access.floor
        if not self._is_shared:  # before the last barrier, which no other block waited for
            before = np.flatnonzero(~result & (stamp > _NEVER))
            result[before] = self._block(stamp[before] & _THREAD) != self._block(access.threads[before])
        if self._met_by_warp:
            positions = np.flatnonzero(result)
            same_warp = self._warp(stamp[positions] & _THREAD) == self._warp(access.threads[positions])
            result[positions[same_warp & (log.warp_time[at[positions]] < access.warp_time[positions])]] = False
        return result

    def _may_meet(self, log: _Log, access: _Access) -> bool:
        """Whether anything logged may be unordered with an access: in shared memory what is as late."""
        return log.latest >= access.earliest if self._is_shared else log.latest > _NEVER

    def _check(self, offsets: _Lanes, size: int, access: _Access, verb: str) -> None:
        if self._is_noted(offsets, size):
            self._enter_reads()
        for log, did in ((self._writes, "wrote"), (self._first_reads, "read"), (self._last_reads, "read")):
            if self._may_meet(log, access):
                self._check_log(log, *self._granules(offsets, size, access), verb, did)

    def _check_log(self, log: _Log, at: _Lanes, access: _Access, verb: str, other_verb: str) -> None:
        """No other thread's access is logged that nothing separates from this one."""
        wrong = self._unordered(log, at, access)
        if wrong.any():
            wrong &= log.stamp[at] & _THREAD != access.threads
            self._complain(wrong, at, access, verb, log, other_verb)

    def _check_simultaneous(self, at: _Lanes, winner: _Lanes, values: NDArray[Any], access: _Access) -> None:
        """Threads that write one place with one instruction must write the same value."""
        lane = np.arange(at.size) % access.lanes
        writer = np.zeros(int(access.threads.max()) - self.first_thread + 1, np.int64)
        writer[access.threads - self.first_thread] = lane
        differs = (values[lane] != values[writer[winner - self.first_thread]]).any(axis=1)
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
        position = int(np.argmax(wrong))
        block, thread = divmod(int(log.stamp[at[position]]) & _THREAD, self._block_threads)
        is_same = block == int(access.threads[position]) // self._block_threads
        whose = "its block" if is_same else f"block {block} (by number)"
        message = (
            f"a thread {verb} {self._space} memory that thread {thread} (by number) of {whose} {other_verb}, "
            f"with no barrier between them"
        )
        raise Fault("race", message, position % access.lanes)


@cache
def _zeros(count: int) -> _Lanes:
    return np.zeros(count, np.int64)
