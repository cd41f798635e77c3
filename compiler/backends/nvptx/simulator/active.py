"""The lanes that execute together, as counters want them, and what accesses of one form come to, found once.

Loops come back to an instruction with the same lanes at addresses that have all moved by as much.  Neither banks nor
sectors tell those accesses from the ones before, so what they take is looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Batch, Lanes

Found = TypeVar("Found")

_MOST_FORMS = 1 << 10
"""Forms of accesses that are remembered: of 512 lanes, as estimates have, 4 MiB."""


@dataclass(frozen=True, slots=True, eq=False)
class ActiveLanes:
    """Lanes that execute an instruction together.

    Attributes:
        index: their numbers in the batch, None for all of it.
        key: equal for equal lanes of one batch.
        warps: the number of each lane's warp, in ascending order.
        blocks: the number of each lane's block in the grid.
        positions: the number of each lane within its warp.
        executing: the numbers of the warps that take part, each once, to index clocks with.
        warp_count: how many warps these are.
    """

    index: Lanes | None
    key: bytes
    warps: Lanes
    blocks: Lanes
    positions: Lanes
    executing: Any
    warp_count: int

    @classmethod
    def of(cls, batch: Batch) -> ActiveLanes:
        """The lanes of a batch that execute now."""
        index, warps, blocks = batch.index, batch.warp_of_lane, batch.number_of_block[batch.block_of_lane]
        if index is None:
            return cls(None, b"", warps, blocks, batch.lane_in_warp, slice(None), int(warps[-1]) + 1)
        warps = warps[index]
        executing = warps[np.flatnonzero(np.diff(warps, prepend=-1))]
        return cls(index, index.tobytes(), warps, blocks[index], batch.lane_in_warp[index], executing, executing.size)


@dataclass(slots=True)
class Forms(Generic[Found]):
    """What was found out about accesses, by their forms: their lanes, sizes, and addresses beside the lowest one."""

    unit: int
    """Addresses that have moved by a multiple of so many bytes are of one form."""
    found: dict[tuple[bytes, int, bytes], Found] = field(default_factory=dict)

    def look_up(
        self,
        lanes: ActiveLanes,
        addresses: NDArray[np.uint64],
        size: int,
        find: Callable[[ActiveLanes, NDArray[np.int64], int], Found],
    ) -> tuple[Found, int]:
        """What an access comes to, and by how many units its addresses lie above those for which that was found.

        Args:
            lanes: those that access memory.
            addresses: in bytes, one for each lane, or one for all.
            size: bytes of each lane's access.
            find: what lanes, addresses and size come to.
        """
        positions = addresses.view(np.int64)
        moved = int(np.minimum.reduce(positions)) // self.unit
        positions = positions - moved * self.unit
        key = lanes.key, size, positions.tobytes()
        known = self.found.get(key)
        if known is None:
            if len(self.found) >= _MOST_FORMS:
                self.found.clear()
            known = self.found[key] = find(lanes, positions, size)
        return known, moved

    def forget(self) -> None:
        """Other lanes come: those of another batch."""
        self.found.clear()
