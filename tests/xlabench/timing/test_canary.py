"""The canaries: each can be called and timed again and again, and they keep their names."""

import numpy as np
import pytest

from xlabench.timing import canary, measure
from xlabench.timing.measure import Plan


@pytest.mark.slow
def test_canaries_are_timed_like_engines_and_take_some_time():
    subjects = canary.subjects()
    assert list(subjects) == ["compute", "memory", "threads"]
    measured = measure.interleave(subjects, plan=Plan(rounds=2, batch_s=1e-6, warmup_s=0.01))
    assert all(min(series.samples) > 0 for series in measured.series)


def test_the_arithmetic_is_done():
    operand, result = canary._operands(100)
    canary._exponentials(operand, result, 1)
    np.testing.assert_allclose(result, np.exp(operand), rtol=1e-6)
