"""Special registers: what each holds for the lanes of a batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Batch
from compiler.backends.nvptx.simulator.layout import Layout

_ALL = np.uint64(0xFFFF_FFFF)


def special_value(name: str, batch: Batch, layout: Layout) -> NDArray[Any]:
    """The value of a special register; one element if it is the same for all lanes.

    Args:
        name: as PTX spells it, with its axis.
        batch: the blocks that run.
        layout: how much shared memory there is.
    """
    register, _, axis = name.removeprefix("%").partition(".")
    if axis:
        return _coordinate(register, "xyz".index(axis), batch)
    lane = batch.lane_in_warp.astype(np.uint64)
    bit = np.uint64(1) << lane
    warps = -(-batch.geometry.threads // 32)
    below = bit - np.uint64(1)
    table: dict[str, Any] = {
        "laneid": lane,
        "warpid": batch.warp_of_lane % warps,
        "nwarpid": [warps],
        "smid": batch.number_of_block[batch.block_of_lane],
        "nsmid": [batch.geometry.grid[0] * batch.geometry.grid[1] * batch.geometry.grid[2]],
        "lanemask_eq": bit,
        "lanemask_lt": below,
        "lanemask_le": below | bit,
        "lanemask_gt": _ALL & ~(below | bit),
        "lanemask_ge": _ALL & ~below,
        "dynamic_smem_size": [layout.dynamic_bytes],
        "total_smem_size": [layout.shared_bytes],
    }
    return np.array(table.get(register, [0])).astype(np.uint32)


def _coordinate(register: str, axis: int, batch: Batch) -> NDArray[Any]:
    geometry = batch.geometry
    if register in ("ntid", "nctaid"):
        extents = geometry.block if register == "ntid" else geometry.grid
        return np.array([extents[axis]], np.uint32)
    if register == "tid":
        number, extents = batch.all_lanes % geometry.threads, geometry.block
    else:
        number, extents = batch.number_of_block[batch.block_of_lane], geometry.grid
    if extents[axis] == 1:
        return np.zeros(1, np.uint32)
    before = math.prod(extents[:axis])
    return (number // before % extents[axis]).astype(np.uint32)
