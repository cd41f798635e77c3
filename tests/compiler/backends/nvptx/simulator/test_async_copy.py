"""A copy has landed when it was waited for, and counts as never written before."""

import numpy as np
import pytest

from compiler.backends.nvptx.simulator import SimulationError

PRELUDE = ".shared .align 16 .b8 s[1024];\n"
COPY = """ mov.u32 %y, s; mul.lo.u32 %z, %t, 4; add.u32 %y, %y, %z;
 cp.async.ca.shared.global [%y], [%a], 4;"""
WAITS = ("cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;")


@pytest.mark.parametrize("wait", WAITS)
def test_what_was_waited_for_has_landed(run_body, wait):
    array = np.arange(64, dtype=np.uint32)
    left = run_body(f"{COPY} {wait} ld.shared.u32 %x, [%y]; add.u32 %x, %x, 1;", array, prelude=PRELUDE)
    assert left.tolist() == (array + 1).tolist()


@pytest.mark.parametrize("wait", ["", "cp.async.commit_group;", "cp.async.commit_group; cp.async.wait_group 1;"])
def test_what_was_not_is_not_there(run_body, wait):
    with pytest.raises(SimulationError) as caught:
        run_body(f"{COPY} {wait} ld.shared.u32 %x, [%y];", np.zeros(64, np.uint32), prelude=PRELUDE)
    assert caught.value.kind == "uninitialised"


def test_the_source_is_read_at_once(run_body):
    text = f"{COPY} st.global.u32 [%a], 7; cp.async.wait_all; ld.shared.u32 %x, [%y];"
    assert run_body(text, np.arange(64, dtype=np.uint32), prelude=PRELUDE).tolist() == list(range(64))
