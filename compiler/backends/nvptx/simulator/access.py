"""Loads and stores of the active lanes in any state space, with every check that memory allows.

Generic addresses are sorted by the window that they lie in; lanes that point into different spaces are served one
space after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Array, Batch, Lanes
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.memory import (
    GLOBAL_BASE,
    LOCAL_BASE,
    SHARED_BASE,
    WINDOW,
    Addresses,
    Index,
    LaneMemory,
    Store,
)

ARENA_SPACES = ("global", "const", "param")
GENERIC = "generic"

_WINDOWS = {"global": GLOBAL_BASE, "shared": SHARED_BASE, "local": LOCAL_BASE}


def load(
    batch: Batch, space: str, addresses: Addresses, dtype: np.dtype[Any], count: int, *, is_strong: bool = False
) -> Array:
    """Values of shape (lanes, count); one row if all lanes read one address of global memory.

    Args:
        batch: the warps, and which of their lanes are active.
        space: the state space, as PTX calls it.
        addresses: of the active lanes, or one that all read.
        dtype: of an element.
        count: elements of a lane.
        is_strong: whether the access is ordered by the memory model.
    """
    if space == GENERIC:
        space, addresses = _single_window(addresses)
    if space == GENERIC:
        return _split(batch, addresses, lambda sub, a, _: load(batch, sub, a, dtype, count, is_strong=is_strong))
    size = dtype.itemsize * count
    if space in ARENA_SPACES:
        index, is_complete = batch.arena.resolve(addresses, size, writes=False)
        if not is_complete:
            _check_initialised(batch.arena, index, size, space)
        if batch.observer is not None and space == "global":
            batch.observer.access_global(batch, addresses, size)
        if batch.global_races is not None and space == "global":
            observe = batch.global_races.peek if is_strong else batch.global_races.read
            observe(_byte_offsets(batch, index, size), size, batch.active)
        return batch.arena.load(index, dtype, count)
    memory, index = _resolve(batch, space, addresses, size)
    _check_initialised(memory, index, size, space)
    if batch.races is not None and space == "shared":
        observe = batch.races.peek if is_strong else batch.races.read
        observe(index * size, size, batch.active)
    return memory.load(index, dtype, count)


def store(batch: Batch, space: str, addresses: Addresses, values: Array, *, is_strong: bool = False) -> None:
    """Write values of shape (lanes, count); of lanes that write one place the last one wins.

    Args:
        batch: the warps, and which of their lanes are active.
        space: the state space, as PTX calls it.
        addresses: of the active lanes.
        values: of shape (lanes, count).
        is_strong: whether the access is ordered by the memory model.
    """
    if space == GENERIC:
        space, addresses = _single_window(addresses)
    if space == GENERIC:
        _split(batch, addresses, lambda sub, a, p: _store_lanes(batch, sub, a, values[p], is_strong=is_strong))
        return
    size = values.dtype.itemsize * values.shape[1]
    if space in ARENA_SPACES:
        _store_global(batch, addresses, values, is_strong=is_strong)
        return
    memory, lane_index = _resolve(batch, space, addresses, size)
    if batch.products is not None and space == "shared":
        batch.products.write(lane_index * size, size, batch.active)
    if batch.races is not None and space == "shared":
        if is_strong:
            batch.races.update(lane_index * size, size, batch.active)
        else:
            batch.races.write(lane_index * size, values, batch.active)
    memory.store(lane_index, values)


def touch(batch: Batch, space: str, addresses: Addresses, size: int) -> None:
    """Tell the observer of an access whose values nobody wants.

    Args:
        batch: the warps, and which of their lanes are active.
        space: the state space, as PTX calls it.
        addresses: of the active lanes.
        size: bytes of a lane.
    """
    assert batch.observer is not None
    if space == GENERIC:
        space, addresses = _single_window(addresses)
    if space == GENERIC:
        _split(batch, addresses, lambda sub, a, _: _touched(batch, sub, a, size))
    elif space == "global":
        batch.observer.access_global(batch, addresses, size)
    elif space == "shared":
        batch.observer.access_shared(batch, addresses, size)
    elif space == "local":
        batch.observer.access_local()


def _touched(batch: Batch, space: str, addresses: Addresses, size: int) -> Array:
    touch(batch, space, addresses, size)
    return addresses


def _store_global(batch: Batch, addresses: Addresses, values: Array, *, is_strong: bool) -> None:
    size = values.dtype.itemsize * values.shape[1]
    index, _ = batch.arena.resolve(addresses, size, writes=True)
    if batch.observer is not None:
        batch.observer.access_global(batch, addresses, size)
    if batch.global_races is not None:
        offsets = _byte_offsets(batch, index, size)
        if is_strong:
            batch.global_races.update(offsets, size, batch.active)
        else:
            batch.global_races.write(offsets, values, batch.active)
    if addresses.size == 1:
        values = values[-1:]
    batch.arena.store(index, values)


def _store_lanes(batch: Batch, space: str, addresses: Addresses, values: Array, *, is_strong: bool) -> Array:
    store(batch, space, addresses, values, is_strong=is_strong)
    return values


def locate(batch: Batch, space: str, addresses: Addresses, dtype: np.dtype[Any]) -> tuple[Store, Lanes]:
    """The memory and the element of each active lane, for an atomic update; not for generic addresses.

    Args:
        batch: the warps, and which of their lanes are active.
        space: the state space, as PTX calls it.
        addresses: of the active lanes.
        dtype: of an element.
    """
    size = dtype.itemsize
    if space in ARENA_SPACES:
        index, _ = batch.arena.resolve(addresses, size, writes=True)
        _check_initialised(batch.arena, index, size, space)
        offsets = _byte_offsets(batch, index, size)
        if batch.observer is not None:
            batch.observer.access_global(batch, addresses, size)
            batch.observer.update(batch, offsets)
        if batch.global_races is not None:
            batch.global_races.update(offsets, size, batch.active)
        return batch.arena, offsets // size
    memory, lane_index = _resolve(batch, space, addresses, size)
    _check_initialised(memory, lane_index, size, space)
    if batch.observer is not None:
        batch.observer.update(batch, lane_index)
    if batch.products is not None and space == "shared":
        batch.products.write(lane_index * size, size, batch.active)
    if batch.races is not None and space == "shared":
        batch.races.update(lane_index * size, size, batch.active)
    return memory, lane_index


def _byte_offsets(batch: Batch, index: Index, size: int) -> Lanes:
    """Where in global memory each active lane's access begins."""
    positions = np.arange(index.start, index.stop) if isinstance(index, slice) else index
    return np.broadcast_to(positions * size, (batch.active_count,))


def by_window(batch: Batch, space: str, addresses: Addresses, serve: Callable[[str, Addresses, Lanes], Array]) -> Array:
    """Call `serve(space, addresses, places)` once for every space that is addressed and join what it returns.

    Args:
        batch: the warps, and which of their lanes are active.
        space: the state space, as PTX calls it.
        addresses: of the active lanes.
        serve: does it in one space, for the lanes at some places of the batch.
    """
    if space == GENERIC:
        space, addresses = _single_window(addresses)
    if space == GENERIC:
        return _split(batch, addresses, serve)
    return serve(space, addresses, np.arange(batch.active_count))


def _resolve(batch: Batch, space: str, addresses: Addresses, size: int) -> tuple[LaneMemory, Lanes]:
    lanes = batch.active
    if space == "shared":
        if batch.observer is not None:
            batch.observer.access_shared(batch, addresses, size)
        return batch.shared, batch.shared.resolve(addresses, batch.block_of_lane[lanes], size)
    if batch.observer is not None:
        batch.observer.access_local()
    return batch.local, batch.local.resolve(addresses, lanes, size)


def _check_initialised(memory: Store, index: Index, size: int, space: str) -> None:
    position = memory.first_invalid(index, size)
    if position is not None:
        raise Fault("uninitialised", f"{size} bytes of {space} memory are read that nothing has written", position)


def _single_window(addresses: Addresses) -> tuple[str, Addresses]:
    """The space that all addresses lie in, or `generic`; of addresses in no window at all, global memory complains."""
    low, high = int(addresses.min()), int(addresses.max())
    for space, base in _WINDOWS.items():
        if base <= low and high < base + WINDOW:
            return space, addresses if space == "global" else addresses - np.uint64(base)
    is_windowed = any(base <= at < base + WINDOW for base in _WINDOWS.values() for at in (low, high))
    return (GENERIC, addresses) if is_windowed and low != high else ("global", addresses)


def _split(batch: Batch, addresses: Addresses, serve: Callable[[str, Addresses, Lanes], Array]) -> Array:
    saved, active = batch.index, batch.active
    rest: NDArray[np.bool_] = np.ones(addresses.size, np.bool_)
    result: Array | None = None
    try:
        for space in ("shared", "local", "global"):
            base = np.uint64(_WINDOWS[space])
            mine = rest if space == "global" else rest & (addresses - base < np.uint64(WINDOW))
            positions = np.flatnonzero(mine)
            rest = rest & ~mine
            if not positions.size:
                continue
            batch.index = active[positions]
            selected = addresses[positions]
            values = _serve_space(serve, space, selected if space == "global" else selected - base, positions)
            if result is None:
                result = np.zeros((addresses.size, *values.shape[1:]), values.dtype)
            result[positions] = values
    finally:
        batch.index = saved
    assert result is not None
    return result


def _serve_space(
    serve: Callable[[str, Addresses, Lanes], Array], space: str, addresses: Addresses, positions: Lanes
) -> Array:
    try:
        return serve(space, addresses, positions)
    except Fault as fault:
        raise Fault(fault.kind, fault.message, int(positions[fault.position])) from None
