"""Arrays are packed into bytes that depend on nothing else, and a stranger's bytes are believed only so far."""

import zipfile

import ml_dtypes
import numpy as np
import pytest

from xlabench.bundles.packing import pack_arrays, unpack_arrays

ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3).T,
    np.array(1.5, ml_dtypes.bfloat16),
    np.zeros((0, 2), np.int8),
    np.array([1, -2], ml_dtypes.int4),
]
NAMES = [array.dtype.name for array in ARRAYS]
DATA = pack_arrays(ARRAYS)


def test_what_is_packed_comes_back_and_is_the_same_each_time():
    assert pack_arrays(ARRAYS) == DATA
    again = unpack_arrays(DATA, NAMES, 1 << 20)
    assert [(one.dtype, one.shape) for one in again] == [(one.dtype, one.shape) for one in ARRAYS]
    assert [one.tobytes() for one in again] == [np.ascontiguousarray(one).tobytes() for one in ARRAYS]
    assert unpack_arrays(pack_arrays([]), [], 0) == []


@pytest.mark.parametrize(
    ("data", "names", "limit", "message"),
    [
        (DATA, NAMES[:-1], 1 << 20, "4 arrays, but the manifest lists 3"),
        (DATA, NAMES, 100, "more than the limit of 100 bytes"),
        (DATA, ["float64", *NAMES[1:]], 1 << 20, "but the manifest says float64"),
    ],
)
def test_what_is_not_as_it_is_said_is_refused(data, names, limit, message):
    with pytest.raises(ValueError, match=message):
        unpack_arrays(data, names, limit)


@pytest.mark.parametrize("place", range(60, 140, 7))
def test_damage_is_an_error_that_is_expected(place):
    broken = bytearray(DATA)
    broken[place] ^= 0xFF
    try:
        unpack_arrays(bytes(broken), NAMES, 1 << 20)
    except (ValueError, zipfile.BadZipFile):
        return
