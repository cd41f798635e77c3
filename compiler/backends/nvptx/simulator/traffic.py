"""Traffic of global memory: how many sectors the accesses of warps touch, beside how few would do.

Memory is fetched in sectors of 32 bytes (CUDA C++ Programming Guide, "Coalesced Access to Global Memory").  A warp's
access takes one transaction for every sector that any of its lanes touches; it is coalesced where these are as few as
hold the bytes that its lanes want.  What a block touches again an L1 cache may serve, what another block has touched
an L2 cache; so sectors are also counted once for every block, and once for the whole launch.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.active import ActiveLanes, Forms

Keys = NDArray[np.int64]

SECTOR_BYTES = 32
"""What memory transfers at the least."""
_SECTOR_SHIFT = 5
"""Bits of an address within a sector."""
_OWNER_SHIFT = 40
"""Addresses of global memory, in sectors, are smaller: an owner's number stands above them."""
_SETTLED_SHARE = 8
"""Keys are sorted in once they are an eighth of those that are known, so that sorting costs a few times each."""


class Reach(enum.IntEnum):
    """How far away what a load wants lies, if caches hold all that was touched before."""

    L1 = 0
    L2 = 1
    DRAM = 2


@dataclass(slots=True)
class KeySet:
    """A set of numbers of which many are added at once."""

    _known: Keys = field(default_factory=lambda: np.empty(0, np.int64))
    _pending: list[Keys] = field(default_factory=list)
    _pending_count: int = 0

    def add(self, keys: Keys) -> bool:
        """Add numbers in ascending order; whether one of them was not known, so far as that is settled."""
        place = np.searchsorted(self._known, keys)
        is_known = place < self._known.size
        is_known[is_known] = self._known[place[is_known]] == keys[is_known]
        if is_known.all():
            return False
        self._pending.append(keys[~is_known])
        self._pending_count += keys.size
        if self._pending_count * _SETTLED_SHARE > self._known.size:
            self._settle()
        return True

    def _settle(self) -> None:
        self._known = np.unique(np.concatenate([self._known, *self._pending]))
        self._pending, self._pending_count = [], 0

    def __len__(self) -> int:
        self._settle()
        return self._known.size


@dataclass(slots=True)
class TrafficCounter:
    """Counts the sectors of a launch.

    Attributes:
        sectors: transactions of loads and stores.
        least: how many would do, were each access coalesced.
        bytes: what lanes wanted, each byte once for a warp's access.
    """

    sectors: int = 0
    least: int = 0
    bytes: int = 0
    _of_blocks: KeySet = field(default_factory=KeySet)
    _of_launch: KeySet = field(default_factory=KeySet)
    _forms: Forms[_Sectors] = field(default_factory=lambda: Forms(SECTOR_BYTES))

    def begin(self) -> None:
        """Lanes of another batch come."""
        self._forms.forget()

    def count(self, lanes: ActiveLanes, addresses: NDArray[np.uint64], size: int) -> Reach:
        """Note an access of lanes.

        Args:
            lanes: those that access memory.
            addresses: one for each lane, or one for all.
            size: bytes of each lane's access, which do not cross a sector.
        """
        found, moved = self._forms.look_up(lanes, addresses, size, _sectors_of)
        self.sectors += found.touched
        self.bytes += found.bytes
        self.least += found.least
        is_new = self._of_launch.add(found.of_launch + moved)
        is_new_to_block = self._of_blocks.add(found.of_blocks + moved)
        return Reach.DRAM if is_new else Reach.L2 if is_new_to_block else Reach.L1

    @property
    def block_sectors(self) -> int:
        """Sectors, each once for every block that touches it."""
        return len(self._of_blocks)

    @property
    def launch_sectors(self) -> int:
        """Sectors, each once."""
        return len(self._of_launch)


@dataclass(frozen=True, slots=True)
class _Sectors:
    """What an access touches.

    Attributes:
        touched: transactions.
        least: how many would do, were it coalesced.
        bytes: what lanes want, each byte once for each warp.
        of_launch: the sectors, each once, in ascending order.
        of_blocks: the sectors, each once for every block, with the block's number above.
    """

    touched: int
    least: int
    bytes: int
    of_launch: Keys
    of_blocks: Keys


def _sectors_of(lanes: ActiveLanes, addresses: Keys, size: int) -> _Sectors:
    sector = addresses >> _SECTOR_SHIFT
    touched = np.unique(lanes.warps << _OWNER_SHIFT | sector)
    wanted = np.unique(lanes.warps << _OWNER_SHIFT | (addresses // size))
    _, each = np.unique(wanted >> _OWNER_SHIFT, return_counts=True)
    return _Sectors(
        touched=touched.size,
        least=int((-(-each * size // SECTOR_BYTES)).sum()),
        bytes=wanted.size * size,
        of_launch=np.unique(sector),
        of_blocks=np.unique(lanes.blocks << _OWNER_SHIFT | sector),
    )
