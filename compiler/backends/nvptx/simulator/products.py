"""Products of warp groups that are on their way: what they still write and read, and what has no fence yet.

A product is computed when it is issued; until its group waits for it, touching its registers or writing to the shared
memory that it reads is an error.  What other instructions do to its registers has to be followed by `wgmma.fence`
before a product uses them, and what threads write to shared memory by `fence.proxy.async` of the same threads and then
by a barrier, through which the others know of it (PTX ISA, "Async proxy").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.descriptor import PIECE_BYTES
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.races import RaceDetector

Lanes = NDArray[np.int64]

GROUP_LANES = 128
"""Threads of a warp group (PTX ISA, "Warpgroup")."""
_HALF = GROUP_LANES // 2
"""Between a reader and a second one in another warp of the group."""
_ORDERED, _TOUCHED, _READ = 0, 1, 2
"""How a register was used last since a fence: not at all, by another instruction, as a product's A."""
_MOST_KEPT = 256
"""Writes that are kept before those are dropped that others have written over."""
FIRST_SHAPE = 3
"""Other numbers say: as sums of products of a shape."""


class _Written(NamedTuple):
    """Granules of shared memory, the lane that has written each, and the number of the write."""

    at: Lanes
    lanes: Lanes
    serial: int


@dataclass(slots=True)
class _Reading:
    """The pieces of shared memory that products of some groups read, and how many groups of products came before."""

    groups: Lanes
    number: Lanes
    pieces: Lanes


class Products:
    """The products of a batch.  Registers have a row each, warp groups a column; pieces are those of shared memory."""

    def __init__(self, threads: int, blocks: int, registers: int, shared_bytes: int, granule: int) -> None:
        """The products of so many blocks that begin.

        Args:
            threads: of a block.
            blocks: of the batch.
            registers: that products use.
            shared_bytes: of all blocks.
            granule: the smallest element that is moved to or from shared memory.
        """
        self.races: RaceDetector | None = None
        self._threads, self._lanes = threads, np.arange(threads * blocks)
        per_block = -(-threads // GROUP_LANES)
        count = blocks * per_block
        self.group_of_lane: Lanes = self._lanes // threads * per_block + self._lanes % threads // GROUP_LANES
        self.first_lane: Lanes = np.searchsorted(self.group_of_lane, np.arange(count))
        self._all = np.arange(count)
        self._used = np.full((registers, count), _TOUCHED, np.int32)
        self._shape = np.zeros((registers, count), np.int32)
        self._number = np.full((registers, count), -1, np.int64)
        self._committed, self._waited = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._granule = granule
        self._readers: NDArray[np.int32] = np.zeros(shared_bytes // PIECE_BYTES, np.int32)
        self._writer: NDArray[np.int32] = np.zeros(shared_bytes // granule, np.int32)
        self._reading: list[_Reading] = []
        self._serial, self._most_kept = 0, _MOST_KEPT
        self._unfenced: list[_Written] = []
        self._fenced: list[_Written] = []
        self._present: tuple[Lanes | None, Lanes] = None, self._all

    # --- who executes ----------------------------------------------------------------------------------------------

    def whole_groups(self, index: Lanes | None) -> Lanes:
        """The groups of the lanes that execute, None for all; all threads of each must.

        Raises:
            Fault: some of a group are missing.
        """
        groups, lanes = self._executing(index), self._lanes if index is None else index
        count = np.bincount(self.group_of_lane[lanes])[groups]
        if (count != GROUP_LANES).any():
            position = int(np.argmax(count != GROUP_LANES))
            lane = int(lanes[int(np.argmax(self.group_of_lane[lanes] == groups[position]))])
            message = f"{count[position]} of the {GROUP_LANES} threads of a warp group execute an instruction of it"
            raise Fault("divergent-warp-group", message, lane=lane)
        return groups

    def _executing(self, index: Lanes | None) -> Lanes:
        """The groups of which any thread executes."""
        if index is None:
            return self._all
        if self._present[0] is not index:
            self._present = index, np.unique(self.group_of_lane[index])
        return self._present[1]

    # --- registers -------------------------------------------------------------------------------------------------

    def touch(self, index: Lanes | None, rows: Lanes) -> None:
        """Another instruction reads or writes registers, of some lanes or, for None, of all.

        Raises:
            Fault: a product on its way uses one of them.
        """
        groups = self._executing(index)
        self._check_landed(rows, groups, "a register is used that a product on its way uses; wgmma.wait_group first")
        self._used[rows[:, None], groups] = _TOUCHED

    def use(self, rows: Lanes, groups: Lanes, shape: int) -> None:
        """Products of a shape use registers as their sums; of shape 0 as their A.

        Raises:
            Fault: something else uses them, and no fence or wait stands between.
        """
        shape = shape or _READ
        what = "as A" if shape == _READ else "for sums"
        at = rows[:, None], groups
        message = f"a product uses registers {what} that a product on its way uses otherwise"
        self._check_landed(rows, groups, message, besides=shape)
        wrong = (self._used[at] != _ORDERED) & (self._used[at] != shape)
        message = f"a product uses registers {what} that were used otherwise, with no wgmma.fence between them"
        self._complain("unfenced", wrong, groups, message)
        self._used[at] = self._shape[at] = shape
        self._number[at] = self._committed[groups]

    def fence(self, groups: Lanes) -> None:
        """What was done to registers comes before the products that follow."""
        self._used[:, groups] = _ORDERED

    def _check_landed(self, rows: Lanes, groups: Lanes, message: str, besides: int = -1) -> None:
        at = rows[:, None], groups
        wrong = (self._number[at] >= self._waited[groups]) & (self._shape[at] != besides)
        self._complain("in-flight", wrong, groups, message)

    def _complain(self, kind: str, wrong: NDArray[np.bool_], groups: Lanes, message: str) -> None:
        """Find fault with the first group for which anything is wrong; of shape (registers, groups)."""
        if wrong.any():
            group = groups[int(np.argmax(wrong.any(axis=0)))]
            raise Fault(kind, message, lane=int(self.first_lane[group]))

    # --- groups of products ----------------------------------------------------------------------------------------

    def commit(self, groups: Lanes) -> None:
        """Products that were issued make a group; later ones are in the next."""
        self._committed[groups] += 1

    def wait(self, groups: Lanes, allowed: int) -> None:
        """Wait for all but the latest so many groups of products."""
        self._waited[groups] = np.maximum(self._waited[groups], self._committed[groups] - allowed)
        rest = []
        for reading in self._reading:
            is_done = reading.number < self._waited[reading.groups]
            if is_done.any():
                self._release(reading, is_done)
            if not is_done.all():
                rest.append(_Reading(reading.groups[~is_done], reading.number[~is_done], reading.pieces[~is_done]))
        self._reading = rest

    def _release(self, reading: _Reading, is_done: NDArray[np.bool_]) -> None:
        pieces = reading.pieces[is_done]
        np.subtract.at(self._readers, pieces.reshape(-1), 1)
        # A product may read until it is waited for.
        self._tell_races(reading.groups[is_done], pieces)

    # --- shared memory ---------------------------------------------------------------------------------------------

    def read(self, groups: Lanes, pieces: Lanes) -> None:
        """Products read pieces of shared memory, of shape (groups, pieces), from now until they are waited for.

        Args:
            groups: whose products they are.
            pieces: their numbers in the shared memory of all blocks.

        Raises:
            Fault: a piece was written with no fence, or no barrier, behind it.
        """
        writer = self._writer.reshape(-1, PIECE_BYTES // self._granule)[pieces]
        if (self._unfenced or self._fenced) and writer.any():
            which = int(np.argmax(writer.any(axis=(1, 2))))
            thread = self._writer_of(int(writer[which].max())) % self._threads
            message = (
                f"a product reads shared memory that thread {thread} (by number) of its block wrote, with no "
                f"fence.proxy.async of that thread and a barrier behind the write"
            )
            raise Fault("unfenced", message, lane=int(self.first_lane[groups[which]]))
        self._tell_races(groups, pieces)
        np.add.at(self._readers, pieces.reshape(-1), 1)
        self._reading.append(_Reading(groups, self._committed[groups], pieces))

    def _tell_races(self, groups: Lanes, pieces: Lanes) -> None:
        """All threads of a group read a piece: enough are told for there to be one that is not its writer."""
        if self.races is None:
            return
        lane = np.arange(pieces.shape[1]) % GROUP_LANES
        for beside in (0, _HALF):
            lanes = self.first_lane[groups][:, None] + (lane + beside) % GROUP_LANES
            try:
                self.races.read(pieces.reshape(-1) * PIECE_BYTES, PIECE_BYTES, lanes.reshape(-1))
            except Fault as fault:
                lane_of_group = int(self.first_lane[groups[fault.position // pieces.shape[1]]])
                raise Fault(fault.kind, fault.message, lane=lane_of_group) from None

    def check_write(self, offsets: Lanes, size: int) -> None:
        """Active lanes write to shared memory, or will.

        Args:
            offsets: in bytes, in the shared memory of all blocks.
            size: bytes of each lane.

        Raises:
            Fault: a product on its way reads there.
        """
        if not self._reading:
            return
        is_read = self._readers[offsets // PIECE_BYTES] + self._readers[(offsets + size - 1) // PIECE_BYTES]
        if is_read.any():
            message = "shared memory is written that a product on its way reads; wgmma.wait_group and a barrier first"
            raise Fault("in-flight", message, int(np.argmax(is_read != 0)))

    def write(self, offsets: Lanes, size: int, lanes: Lanes) -> None:
        """Lanes write to shared memory.

        Args:
            offsets: in bytes, in the shared memory of all blocks.
            size: bytes of each lane.
            lanes: who writes.

        Raises:
            Fault: a product on its way reads there.
        """
        self.check_write(offsets, size)
        self.note_write(offsets, size, lanes)

    def note_write(self, offsets: Lanes, size: int, lanes: Lanes) -> None:
        """Lanes have written to shared memory; products may not read it before a fence of theirs.

        Args:
            offsets: in bytes, in the shared memory of all blocks.
            size: bytes of each lane.
            lanes: who wrote.
        """
        first, count = offsets // self._granule, max(1, size // self._granule)
        at = (first + np.arange(count)[:, None]).reshape(-1)
        self._serial += 1
        self._writer[at] = self._serial
        self._unfenced.append(_Written(at, np.tile(lanes, count), self._serial))
        if len(self._unfenced) > self._most_kept:
            self._unfenced = [kept for written in self._unfenced for kept in self._not_overwritten(written)]
            self._most_kept = max(_MOST_KEPT, 2 * len(self._unfenced))

    def _not_overwritten(self, written: _Written) -> Iterator[_Written]:
        """Of a write what is there still, if anything is."""
        is_there = self._writer[written.at] == written.serial
        if is_there.any():
            yield _Written(written.at[is_there], written.lanes[is_there], written.serial)

    def fence_proxy(self, lanes: Lanes) -> None:
        """What lanes have written to shared memory, products may read behind the next barrier."""
        theirs, self._unfenced = _parted(self._unfenced, lanes, self._lanes.size)
        self._fenced += theirs

    def pass_barrier(self, lanes: Lanes) -> None:
        """These lanes have come together, and what they have fenced is known to the others."""
        theirs, self._fenced = _parted(self._fenced, lanes, self._lanes.size)
        for at, _, serial in theirs:
            self._writer[at[self._writer[at] == serial]] = 0

    def _writer_of(self, serial: int) -> int:
        """The first lane of a write that is not known to products."""
        found = [written.lanes[0] for written in (*self._unfenced, *self._fenced) if written.serial == serial]
        return int(found[0])


def _parted(written: Sequence[_Written], lanes: Lanes, count: int) -> tuple[list[_Written], list[_Written]]:
    """What some lanes have written, and what others have.

    Args:
        written: by all of them.
        lanes: those lanes.
        count: of all lanes.
    """
    if not written or lanes.size == count:
        return list(written), []
    is_theirs = np.zeros(count, np.bool_)
    is_theirs[lanes] = True
    found: tuple[list[_Written], list[_Written]] = [], []
    for at, writers, serial in written:
        for chosen, rest in zip((is_theirs[writers], ~is_theirs[writers]), found, strict=True):
            if chosen.any():
                rest.append(_Written(at[chosen], writers[chosen], serial))
    return found
