"""What is passed becomes exactly the array that is read, or is refused with what to do."""

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.cpu.runtime.arguments import Leaf, convert
from compiler.diagnostics import InputError

F32, S8, PRED = Leaf(np.dtype(np.float32), (2,), "f32[2]"), Leaf(np.dtype(np.int8), ()), Leaf(np.dtype(bool), ())
BF16, C64 = Leaf(np.dtype(ml_dtypes.bfloat16), ()), Leaf(np.dtype(np.complex64), ())


@pytest.mark.parametrize(
    ("value", "leaf", "expected"),
    [
        ([1, 2.5], F32, [1, 2.5]),
        (np.array([1, 2], ">f4"), F32, [1, 2]),
        (np.arange(4, dtype=np.float32)[::2], F32, [0, 2]),
        (127, S8, 127),
        (True, PRED, True),
        (1, BF16, 1),
        (1.5, C64, 1.5),
        ([], Leaf(np.dtype(np.float32), (0,)), []),
    ],
)
def test_a_value_that_survives_is_taken(value, leaf, expected):
    (found,) = convert([value], [leaf])
    assert found.dtype is leaf.dtype
    assert found.flags.c_contiguous
    assert found.flags.aligned
    assert found.astype(complex).tolist() == np.array(expected, complex).tolist()


def test_an_array_that_fits_is_not_copied():
    array = np.zeros(2, np.float32)
    assert convert([array], [F32])[0] is array


@pytest.mark.parametrize(
    ("value", "leaf", "message"),
    [
        (np.zeros(2), F32, r"parameter 0 is f32\[2\], given float64\[2\]: convert it with `.astype`"),
        (np.zeros(3, np.float32), F32, "give it that shape"),
        (128, S8, r"parameter 0 is int8\[\], given 128: pass a value within its range"),
        (1.5, S8, "pass a value of that kind"),
        (1, PRED, "pass a value of that kind"),
        (True, S8, "pass a value of that kind"),
        (1j, BF16, "pass a value of that kind"),
        ([[1], [1, 2]], F32, "pass an array"),
        ("text", F32, "convert it with|pass an array"),
        (object(), S8, "pass an array of numbers"),
        (1 << 70, S8, "pass"),
    ],
)
def test_what_would_not_survive_is_refused_with_what_to_do(value, leaf, message):
    with pytest.raises(InputError, match=message):
        convert([value], [leaf])


def test_a_wrong_number_of_inputs_is_said_with_what_is_taken():
    with pytest.raises(InputError, match=r"given 1 inputs, the program takes 2: f32\[2\], int8\[\]"):
        convert([1], [F32, S8])
    with pytest.raises(InputError, match="takes 0: none"):
        convert([1], [])
    assert F32.size_bytes == 8
