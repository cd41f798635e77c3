"""`cp.async`: copies from global to shared memory that land only when they are waited for.

A copy reads its source at once, but until its bytes land, at the wait that covers it, they count as never written, so
that a kernel that forgets to wait is caught reading them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from compiler.backends.nvptx.simulator.access import load, touch
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes, PendingCopy
from compiler.backends.nvptx.simulator.memory import Addresses
from compiler.backends.nvptx.simulator.operands import Operands
from compiler.backends.nvptx.simulator.syntax import Immediate
from compiler.backends.nvptx.simulator.transfer import decode_address

_BYTE = np.dtype(np.uint8)


def decode_async_copy(operands: Operands) -> Action:
    """`cp.async`, its groups and its waits."""
    modifiers = operands.instruction.modifiers
    if modifiers[:1] != ("async",) or {"bulk", "mbarrier"} & set(modifiers):
        operands.unsupported()
    if "commit_group" in modifiers:
        return _commit
    if "wait_all" in modifiers:
        return _wait_for_all
    if "wait_group" in modifiers:
        allowed = operands[0]
        if not isinstance(allowed, Immediate):
            operands.fail("cp.async.wait_group wants a constant")
        assert isinstance(allowed, Immediate)
        number = int(allowed.value)
        return lambda batch: _land(batch, number)
    return _copy(operands)


def _copy(operands: Operands) -> Action:
    destination, source = decode_address(operands, operands[0]), decode_address(operands, operands[1])
    size = _size(operands)
    valid_size = operands.source(operands[3], "b32") if len(operands) > 3 else None

    def act(batch: Batch) -> None:
        count = batch.active_count
        sources = np.broadcast_to(source(batch), (count,))
        targets = np.broadcast_to(destination(batch), (count,))
        values = _read_source(batch, sources, size, valid_size)
        index = batch.shared.resolve(targets, batch.block_of_lane[batch.active], size)
        if batch.observer is not None:
            batch.observer.access_shared(batch, targets, size)
        if batch.products is not None:
            batch.products.check_write(index * size, size)
        if batch.races is not None:
            batch.races.update(index * size, size, batch.active)
        batch.shared.mark(index, size, is_written=False)
        batch.pending.append(PendingCopy(batch.active, index, values, _of_lanes(batch.committed, batch.index)))

    return act


def _size(operands: Operands) -> int:
    size = operands[2]
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16):
        operands.fail("cp.async copies 4, 8 or 16 bytes")
    assert isinstance(size, Immediate)
    return int(size.value)


def decode_copy_access(operands: Operands) -> Action:
    """A copy of which only the addresses are wanted."""
    destination, source = decode_address(operands, operands[0]), decode_address(operands, operands[1])
    size = _size(operands)
    valid_size = operands.source(operands[3], "b32") if len(operands) > 3 else None

    def act(batch: Batch) -> None:
        sources = np.broadcast_to(source(batch), (batch.active_count,))
        wanted = _wanted(batch, size, valid_size)
        if wanted is None:
            touch(batch, "global", sources, size)
        else:
            saved = batch.index
            for read in _accesses(batch, wanted, size):
                touch(batch, "global", sources[read.positions] + np.uint64(read.offset), read.size)
            batch.index = saved
        touch(batch, "shared", np.broadcast_to(destination(batch), (batch.active_count,)), size)

    return act


def _wanted(batch: Batch, size: int, valid_size: int | None) -> Lanes | None:
    """How many bytes each lane reads; None where all read as many as they copy."""
    wanted = None if valid_size is None else batch.read(valid_size)
    if wanted is None or np.minimum.reduce(wanted) >= size:
        return None
    least: Lanes = np.minimum(np.broadcast_to(wanted, (batch.active_count,)), np.uint32(size))
    return least


class _Access(NamedTuple):
    """A read of some lanes: which of the active ones, from how many bytes behind each source on, how many bytes."""

    positions: Lanes
    offset: int
    size: int


def _accesses(batch: Batch, wanted: Lanes, size: int) -> Iterator[_Access]:
    """The reads of copies cut short; while one is looked at, its lanes are the active ones."""
    active = batch.active
    for amount in np.unique(wanted):
        positions = np.flatnonzero(wanted == amount)
        batch.index = active[positions]
        step = size if amount == size else 1
        for offset in range(0, int(amount), step):
            yield _Access(positions, offset, step)


def _read_source(batch: Batch, sources: Addresses, size: int, valid_size: int | None) -> Array:
    """The bytes to copy; those past the source size are zero and not read."""
    wanted = _wanted(batch, size, valid_size)
    if wanted is None:
        # What is loaded may be a view of memory, which others write to before the copy lands.
        return np.array(np.broadcast_to(load(batch, "global", sources, _BYTE, size), (sources.size, size)))
    values = np.zeros((sources.size, size), np.uint8)
    saved = batch.index
    for read in _accesses(batch, wanted, size):
        loaded = load(batch, "global", sources[read.positions] + np.uint64(read.offset), _BYTE, read.size)
        values[read.positions, read.offset : read.offset + read.size] = loaded
    batch.index = saved
    return values


def _of_lanes(numbers: Lanes, lanes: Lanes | None) -> Lanes:
    """The numbers of some lanes; all have the same if there is only one."""
    return numbers if numbers.size == 1 or lanes is None else numbers[lanes]


def _commit(batch: Batch) -> None:
    """The group of the active lanes is closed: what they copy from now on is in the next one."""
    if batch.index is None:
        batch.committed = batch.committed + 1
    else:
        batch.committed = np.broadcast_to(batch.committed, (batch.lane_count,)).copy()
        batch.committed[batch.index] += 1


def _wait_for_all(batch: Batch) -> None:
    _commit(batch)
    _land(batch, 0)


def _land(batch: Batch, allowed: int) -> None:
    """Complete all but the latest `allowed` groups of the active lanes."""
    is_active = None
    if batch.index is not None:
        is_active = np.zeros(batch.lane_count, np.bool_)
        is_active[batch.index] = True
    rest = []
    for copy in batch.pending:
        lands = copy.group < _of_lanes(batch.committed, copy.lanes) - allowed
        if is_active is not None:
            lands = lands & is_active[copy.lanes]
        if lands.all():
            _complete(batch, copy)
        elif not lands.any():
            rest.append(copy)
        else:
            _complete(batch, copy.chosen(lands))
            rest.append(copy.chosen(~lands))
    batch.pending = rest


def _complete(batch: Batch, copy: PendingCopy) -> None:
    if batch.products is not None:
        size = copy.values.shape[1]
        batch.products.note_write(copy.index * size, size, copy.lanes)
    if batch.races is not None:
        batch.races.write(copy.index * copy.values.shape[1], copy.values, copy.lanes)
    batch.shared.store(copy.index, copy.values)
