"""Inputs shorter than their bounds are padded with zeros and their sizes told; results are cut to theirs."""

import numpy as np
import pytest

from compiler.backends.padded import PaddedExecutable
from compiler.diagnostics import InputError
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32

ROWS = ArrayShape(F32, (4, 3), (True, False))
PLAIN = ArrayShape(F32, (2,))


class Inner:
    module, phases = None, None

    def __init__(self, results):
        self.results = results

    def __call__(self, *inputs):
        self.given = inputs
        return self.results


def padded(results=(), shapes=()):
    inner = Inner(list(results))
    return inner, PaddedExecutable(inner, [ROWS, PLAIN], list(shapes))


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_a_shorter_input_is_padded_and_its_size_follows_all_arrays(rows):
    inner, executable = padded()
    executable(np.ones((rows, 3), np.float32), np.zeros(2, np.float32))
    whole, plain, size = inner.given
    assert whole.tolist() == [[1.0] * 3] * rows + [[0.0] * 3] * (4 - rows)
    assert plain.tolist() == [0, 0]
    assert (size, size.dtype) == (rows, np.int32)


@pytest.mark.parametrize("rows", [0, 2, 4])
def test_a_result_is_cut_to_the_size_behind_all_results(rows):
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    _, executable = padded([values, values[0], np.int32(rows)], [ROWS, ArrayShape(F32, (3,))])
    first, second = executable(np.ones((1, 3)), np.ones(2))
    assert first.tolist() == values[:rows].tolist()
    assert second.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(5, 3), (2, 2), (3,), (1, 3, 1)])
def test_what_does_not_fit_its_bounds_is_refused(shape):
    _, executable = padded()
    with pytest.raises(InputError, match=r"parameter 0 is f32\[<=4,3\], given float64"):
        executable(np.ones(shape), np.ones(2))


def test_a_wrong_number_of_inputs_is_refused():
    with pytest.raises(InputError, match="given 1 inputs, the program takes 2"):
        padded()[1](np.ones((1, 3)))
