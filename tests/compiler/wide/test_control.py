"""A loop of which rounding decides the end ends."""

from __future__ import annotations

import numpy as np
import pytest
from wide_results import wide


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["", "k = pred[] compare(x, one), direction=LT"])
def test_a_loop_of_which_rounding_decides_the_end_ends(guard) -> None:
    loop = """count { p = f16[] parameter(0) one = f16[] constant(1) ROOT n = f16[] add(p, one) }
    goes_on { p = f16[] parameter(0) one = f16[] constant(1) n = f16[] add(p, one)
      ROOT r = pred[] compare(n, p), direction=NE }
    endless { p = f16[] parameter(0) ROOT r = pred[] constant(true) }
    never { p = f16[] parameter(0) ROOT w = f16[] while(p), condition=endless, body=count }
    always { p = f16[] parameter(0) ROOT w = f16[] while(p), condition=goes_on, body=count }"""
    lines = ["x = f16[] parameter(0)", "ROOT w = f16[] while(x), condition=goes_on, body=count"]
    if guard:
        lines[1:] = [
            "third = f16[] constant(0.333)",
            "y = f16[] divide(x, third)",
            "limit = f16[] constant(3)",
            "k = pred[] compare(y, limit), direction=EQ",
            "ROOT w = f16[] conditional(k, x, x), true_computation=never, false_computation=always",
        ]
    (result,) = wide(*lines, inputs=(np.array(1, np.float16),), computations=loop)
    assert result.undecided
