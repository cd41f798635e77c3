"""Lanes that execute together, for tests of what counts their accesses."""

from __future__ import annotations

import numpy as np

from compiler.backends.nvptx.simulator.active import ActiveLanes

LANES = np.arange(32)
"""The numbers of the lanes of a warp."""


def lanes_of(warps: int, *, blocks: int = 1, first_block: int = 0) -> ActiveLanes:
    """All lanes of so many warps, the warps of so many blocks in a row."""
    warp_of_lane = np.repeat(np.arange(warps), 32)
    block_of_lane = first_block + warp_of_lane * blocks // warps
    return ActiveLanes(None, b"", warp_of_lane, block_of_lane, np.tile(LANES, warps), slice(None), warps)
