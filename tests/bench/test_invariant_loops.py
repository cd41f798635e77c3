"""Loops in which something is the same in every iteration, beside XLA: what XLA takes out of a loop, ours does.

A pass that we lacked would show as a factor without bound; the bar is well above what the machine does to a call.
"""

import numpy as np
import pytest
from bench.rounds import best, record
from invariant_loops import PLACES, VALUES, N, program

from xlabench import engine

pytestmark = pytest.mark.bench

ROUNDS, SLOWEST = 8, 3.0
FOR_XLA = [place for place in PLACES if place != "fusion"]
INPUTS = (np.linspace(-1, 1, N, dtype=np.float32), np.linspace(0, 0.5, N, dtype=np.float32), np.array(1, bool))


@pytest.mark.parametrize("place", FOR_XLA)
@pytest.mark.parametrize("value", VALUES)
def test_no_loop_is_much_slower_than_with_xla(value, place, benchmark):
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    text = program(value, place)
    ours, xla = (engine(spec).compile(text) for spec in ("cpu", "xla"))
    ours_s, xla_s = best(lambda: ours(*INPUTS), lambda: xla(*INPUTS), rounds=ROUNDS)
    record(benchmark, lambda: ours(*INPUTS), ours_s=ours_s, xla_s=xla_s, ratio=ours_s / xla_s)
    assert ours_s <= SLOWEST * xla_s
