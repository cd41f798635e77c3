"""The memories of the machine.

`Arena` is global memory: one flat array of bytes in which allocations lie apart, so that an address just past one
belongs to none.  `LaneMemory` is shared or local memory: one flat array in which every block or lane owns a stretch.
Beside each byte stands whether it was ever written.  Both turn the addresses of many lanes into an index into the
flat array, a slice where the addresses are consecutive, and let `load` and `store` do the rest: a lane's access, of
however many elements, is one element of a NumPy type of its size.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.faults import Fault

Addresses = NDArray[np.uint64]
Index = NDArray[np.int64] | slice

SHARED_BASE = 0x0100_0000_0000
"""Where generic addresses of shared memory begin: the window of no GPU, so that mixed-up spaces show."""
LOCAL_BASE = 0x0200_0000_0000
"""Where those of local memory begin."""
GLOBAL_BASE = 0x7F00_0000_0000
"""Where global memory begins: as high as CUDA's addresses, so that halves of them show."""
WINDOW = 0x0100_0000_0000
"""Bytes of generic addresses for each state space."""

WHOLE = {size: np.dtype(kind) for size, kind in ((1, "u1"), (2, "u2"), (4, "u4"), (8, "u8"), (16, "c16"), (32, "V32"))}
"""Types of an access as a whole, by its bytes; they are moved and never computed with."""
MARKS = {
    is_written: {size: np.full(size, is_written, np.uint8).view(kind) for size, kind in WHOLE.items()}
    for is_written in (False, True)
}
"""What stands beside the bytes of an access."""
_WORD = np.dtype(np.uint64)
_ALIGNMENT = 256
"""Bytes; the driver's allocations are so aligned."""
_GUARD = 256
"""Bytes behind each allocation that belong to none."""
_LONGEST_ACCESS = 32
"""Bytes of the widest vector, `.v4.b64`."""


def bytes_for(size_bytes: int) -> NDArray[np.uint8]:
    """As many bytes, all zero, rounded up so that they can be seen as accesses of every size."""
    return np.zeros(-(-max(size_bytes, 1) // _LONGEST_ACCESS) * _LONGEST_ACCESS, np.uint8)


class Store:
    """Bytes, and which of them hold something."""

    def __init__(self, size_bytes: int) -> None:
        self.data, self.valid = bytes_for(size_bytes), bytes_for(size_bytes)

    def load(self, index: Index, dtype: np.dtype[Any], lanes: int) -> NDArray[Any]:
        """Values of `lanes` elements each, at an index in units of the whole access; shape (accesses, lanes).

        Args:
            index: of each access, in units of its size.
            dtype: of an element.
            lanes: elements of an access.
        """
        whole = self.data.view(WHOLE[dtype.itemsize * lanes])[index]
        result: NDArray[Any] = whole.view(dtype).reshape(-1, lanes)
        return result

    def first_invalid(self, index: Index, size: int) -> int | None:
        """Which access of `size` bytes is the first that touches a byte never written."""
        marks, full = self.valid.view(WHOLE[size])[index], MARKS[True][size]
        if size > _WORD.itemsize:
            marks, full = marks.view(_WORD), full.view(_WORD)[:1]
        if np.bitwise_and.reduce(marks) == full[0]:
            return None
        return int(np.argmax(marks != full)) * marks.itemsize // size

    def store(self, index: Index, values: NDArray[Any]) -> None:
        """Write values of shape (accesses, lanes)."""
        size = values.dtype.itemsize * values.shape[1]
        self.data.view(WHOLE[size])[index] = np.ascontiguousarray(values).view(WHOLE[size]).reshape(-1)
        self.mark(index, size, is_written=True)

    def mark(self, index: Index, size: int, *, is_written: bool) -> None:
        """Note that accesses of `size` bytes hold something, or no longer do.

        Args:
            index: of each access, in units of its size.
            size: bytes of an access.
            is_written: whether they hold something from now on.
        """
        self.valid.view(WHOLE[size])[index] = MARKS[is_written][size]


@dataclass(slots=True)
class Allocation:
    """A stretch of global memory that a kernel may touch."""

    start: int
    end: int
    name: str = ""
    is_writable: bool = True
    is_complete: bool = False
    """Whether every byte is known to be written; spares the check."""


_RAMPS: dict[int, NDArray[np.uint64]] = {}


def _ramp(count: int, size: int) -> NDArray[np.uint64]:
    """Where accesses of `size` bytes begin that lie one after the other."""
    ramp = _RAMPS.get(size)
    if ramp is None or ramp.size < count:
        ramp = _RAMPS[size] = np.arange(0, size * max(2 * count, 1 << 12), size, dtype=np.uint64)
    return ramp[:count]


def is_consecutive(addresses: Addresses, size: int) -> bool:
    """Whether each lane's access begins where its neighbour's ends."""
    count = addresses.size
    if int(addresses[-1]) - int(addresses[0]) != (count - 1) * size:
        return False
    return bool(np.logical_and.reduce(addresses - _ramp(count, size) == addresses[0]))


def check_alignment(addresses: Addresses, size: int) -> None:
    """Every access lies at a multiple of its size.

    Raises:
        Fault: one does not.
    """
    low_bits = np.uint64(size - 1)
    if np.bitwise_or.reduce(addresses) & low_bits:
        position = int(np.argmax(addresses & low_bits != 0))
        message = f"address {int(addresses[position]):#x} is not a multiple of the access size {size}"
        raise Fault("misaligned", message, position)


class Arena(Store):
    """Global memory, with the allocations that make it legal."""

    def __init__(self, capacity_bytes: int = 1 << 20) -> None:
        super().__init__(capacity_bytes)
        self._starts: list[int] = []
        self._allocations: list[Allocation] = []
        self._top = self._touched = _GUARD
        self._known_bounds: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None = None

    @property
    def used_bytes(self) -> int:
        """Behind so many bytes nothing is allocated."""
        return self._top

    def allocate(self, size_bytes: int, name: str = "", *, is_complete: bool = False) -> Allocation:
        """A new allocation, which faults call by its name; memory between allocations stays unused.

        Args:
            size_bytes: how much.
            name: by which faults call it.
            is_complete: whether it may be read before it is written.
        """
        start = self._top
        end = start + size_bytes
        self._top = -(-(end + _GUARD) // _ALIGNMENT) * _ALIGNMENT
        self._grow(self._top)
        # What was never allocated is zero as it comes.
        self.data[start : min(end, self._touched)] = 0
        self.valid[start:end] = is_complete
        self._touched = max(self._touched, end)
        allocation = Allocation(GLOBAL_BASE + start, GLOBAL_BASE + end, name, is_complete=is_complete)
        self._known_bounds = None
        self._starts.append(allocation.start)
        self._allocations.append(allocation)
        return allocation

    def free(self, address: int) -> None:
        """Give an allocation back; what lies at the top is used again.

        Raises:
            ValueError: no allocation begins at the address.
        """
        position = bisect_right(self._starts, address) - 1
        if position < 0 or self._starts[position] != address:
            raise ValueError(f"no allocation begins at {address:#x}")
        self._known_bounds = None
        del self._starts[position], self._allocations[position]
        end = self._allocations[-1].end - GLOBAL_BASE if self._allocations else 0
        self._top = -(-(end + _GUARD) // _ALIGNMENT) * _ALIGNMENT

    def find(self, address: int) -> Allocation | None:
        """The allocation that holds an address; an empty one holds its start."""
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        allocation = self._allocations[position]
        return allocation if address < max(allocation.end, allocation.start + 1) else None

    def resolve(self, addresses: Addresses, size: int, *, writes: bool) -> tuple[Index, bool]:
        """Check the accesses; the index of each in units of `size`, and whether validity is certain.

        Args:
            addresses: of the accesses.
            size: bytes of each.
            writes: whether they write.
        """
        base = np.uint64(GLOBAL_BASE)
        if addresses.size == 1 or is_consecutive(addresses, size):
            low, high = int(addresses[0]), int(addresses[-1])
            if low % size:
                check_alignment(addresses[:1], size)
            first, last = (low - GLOBAL_BASE) // size, (high - GLOBAL_BASE) // size
            index: Index = slice(first, last + 1) if addresses.size > 1 else np.array([first])
        else:
            low, high = int(np.minimum.reduce(addresses)), int(np.maximum.reduce(addresses))
            check_alignment(addresses, size)
            index = ((addresses - base) >> np.uint64(size.bit_length() - 1)).view(np.int64)
        allocation = self.find(low)
        if allocation is None or high + size > allocation.end or (writes and not allocation.is_writable):
            return index, self._check_each(addresses, size, writes=writes)
        return index, allocation.is_complete

    def _check_each(self, addresses: Addresses, size: int, *, writes: bool) -> bool:
        starts, ends = self._bounds()
        owner = np.searchsorted(starts, addresses, side="right").astype(np.int64) - 1
        is_outside = owner < 0
        if starts.size:
            is_outside |= addresses + np.uint64(size) > ends[owner]
        if is_outside.any():
            position = int(np.argmax(is_outside))
            raise Fault("out-of-bounds", self._describe(int(addresses[position]), size), position)
        owners = [self._allocations[number] for number in np.bincount(owner).nonzero()[0]]
        if writes and not all(allocation.is_writable for allocation in owners):
            is_locked = ~np.array([a.is_writable for a in self._allocations])[owner]
            position = int(np.argmax(is_locked))
            message = f"a write to {int(addresses[position]):#x}, which is constant memory"
            raise Fault("read-only", message, position)
        return all(allocation.is_complete for allocation in owners)

    def _bounds(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Where allocations begin and end, in ascending order."""
        if self._known_bounds is None:
            ends = np.array([allocation.end for allocation in self._allocations], np.uint64)
            self._known_bounds = np.array(self._starts, np.uint64), ends
        return self._known_bounds

    def _describe(self, address: int, size: int) -> str:
        text = f"{size} bytes at {address:#x} lie outside every allocation"
        position = bisect_right(self._starts, address) - 1
        if position >= 0:
            near = self._allocations[position]
            named = f", {near.name}," if near.name else ""
            size, byte = near.end - near.start, address - near.start
            text += f"; the nearest one below{named} has {size} bytes, this is its byte {byte}"
        return text

    def _grow(self, size: int) -> None:
        if size <= self.data.size:
            return
        extra = np.zeros(max(self.data.size, -(-size // 4096) * 4096 - self.data.size), np.uint8)
        self.data = np.concatenate([self.data, extra])
        self.valid = np.concatenate([self.valid, extra])


class LaneMemory(Store):
    """Shared or local memory: `owners` stretches of `size_bytes`; `owner_of_lane` tells whose an access is."""

    def __init__(self, space: str, owners: int, size_bytes: int) -> None:
        self.space = space
        self.size_bytes = size_bytes
        self.stride = -(-size_bytes // _LONGEST_ACCESS) * _LONGEST_ACCESS
        super().__init__(owners * self.stride)

    def resolve(self, addresses: Addresses, owners: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Check the accesses and give the index of each in units of `size`.

        Args:
            addresses: of the accesses.
            owners: the lane of each.
            size: bytes of each.

        Raises:
            Fault: an access is out of bounds.
        """
        check_alignment(addresses, size)
        last = self.size_bytes - size
        if int(np.maximum.reduce(addresses)) > last:
            everyone = np.broadcast_to(addresses, owners.shape)
            position = int(np.argmax(everyone > np.uint64(last))) if last >= 0 else 0
            address = int(everyone[position])
            message = f"{size} bytes at {address:#x} lie outside the {self.size_bytes} bytes of {self.space} memory"
            raise Fault("out-of-bounds", message, position)
        return (addresses.astype(np.int64) + owners * self.stride) >> (size.bit_length() - 1)
