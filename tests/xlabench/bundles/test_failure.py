"""A failure whose parts do not belong together is refused."""

from pathlib import Path

import numpy as np
import pytest

from xlabench.bundles.failure import Failure, check
from xlabench.errors import BenchError

TEXT = "ENTRY e { x = f32[3] parameter(0) ROOT r = f32[3] negate(x) }"
X = np.ones(3, np.float32)


def failure(result):
    return Failure(TEXT, [X], [result], [], "cpu", "reference", None, "crash", "")


def test_results_are_those_of_the_program():
    check(failure(-X), Path("b"))
    with pytest.raises(BenchError, match="result 0 is float64"):
        check(failure(np.ones(3)), Path("b"))
