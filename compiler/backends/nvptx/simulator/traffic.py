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


class Reach(enum.IntEnum):
    """How far away what a load wants lies, if caches hold all that was touched before."""

    L1 = 0
    L2 = 1
    DRAM = 2


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
    _of_blocks: set[int] = field(default_factory=set)
    _of_launch: set[int] = field(default_factory=set)
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
        if moved in found.seen:
            return Reach.L1
        found.seen.add(moved)
        if _contains(self._of_blocks, found.of_blocks + moved):
            return Reach.L1
        return Reach.L2 if _contains(self._of_launch, found.of_launch + moved) else Reach.DRAM

    @property
    def block_sectors(self) -> int:
        """Sectors, each once for every block that touches it."""
        return len(self._of_blocks)

    @property
    def launch_sectors(self) -> int:
        """Sectors, each once."""
        return len(self._of_launch)


def _contains(known: set[int], keys: Keys) -> bool:
    """Whether all numbers were known; they are from now on."""
    before = len(known)
    known.update(keys.tolist())
    return len(known) == before


@dataclass(frozen=True, slots=True)
class _Sectors:
    """What an access touches.

    Attributes:
        touched: transactions.
        least: how many would do, were it coalesced.
        bytes: what lanes want, each byte once for each warp.
        of_launch: the sectors, each once, in ascending order.
        of_blocks: the sectors, each once for every block, with the block's number above.
        seen: by how many sectors addresses have lain above these.
    """

    touched: int
    least: int
    bytes: int
    of_launch: Keys
    of_blocks: Keys
    seen: set[int] = field(default_factory=set)


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
