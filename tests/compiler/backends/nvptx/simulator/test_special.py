"""Special registers hold what they say of each lane, wherever its block and warp are."""

import numpy as np
import pytest

LANES = np.arange(64)
BIT = 1 << (LANES.astype(np.uint64) % 32)
ALL = (1 << 32) - 1

REGISTERS = {
    "%tid.x": LANES % 32,
    "%tid.y": 0 * LANES,
    "%ntid.x": 0 * LANES + 32,
    "%ctaid.x": LANES // 32,
    "%nctaid.x": 0 * LANES + 2,
    "%laneid": LANES % 32,
    "%warpid": 0 * LANES,
    "%nwarpid": 0 * LANES + 1,
    "%lanemask_eq": BIT,
    "%lanemask_lt": BIT - 1,
    "%lanemask_le": BIT | (BIT - 1),
    "%lanemask_gt": ALL & ~(BIT | (BIT - 1)),
    "%lanemask_ge": ALL & ~(BIT - 1),
}


@pytest.mark.parametrize("name", REGISTERS)
def test_a_register_holds_what_it_says(run_body, name):
    found = run_body(f" mov.u32 %x, {name};")
    assert found.tolist() == REGISTERS[name].astype(np.uint32).tolist()


def test_the_masks_of_a_lane_are_all_lanes_together(run_body):
    text = " mov.u32 %x, %lanemask_lt; mov.u32 %y, %lanemask_ge; or.b32 %x, %x, %y;"
    assert set(run_body(text).tolist()) == {ALL}
