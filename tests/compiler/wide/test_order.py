"""The place of a NaN is open, and nothing else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from wide_results import wide


def test_the_place_of_a_nan_in_the_total_order_is_undecided() -> None:
    lines = ("x = f32[2] parameter(0)", "y = f32[2] sqrt(x)")
    end = "ROOT r = pred[2] compare(x, y), direction=LT, type=TOTALORDER"
    (result,) = wide(*lines, end, inputs=(np.array([-4, 0.25], np.float32),))
    assert result.undecided.tolist() == [True, False]


def test_the_place_of_a_nan_among_the_first_is_undecided() -> None:
    lines = ("x = bf16[2,3] parameter(0)", "y = f16[2,3] bitcast-convert(x)")
    end = "ROOT r = (f16[2,1], s32[2,1]) topk(y), k=1"
    values, places = wide(*lines, end, inputs=(np.array([[1, -np.nan, 2], [1, 2, 3]], ml_dtypes.bfloat16),))
    assert values.undecided.tolist() == places.undecided.tolist() == [[True], [False]]
