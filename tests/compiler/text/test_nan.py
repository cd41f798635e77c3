"""What NaN can be agrees with the numbers themselves."""

import ml_dtypes
import numpy as np
import pytest

from compiler.ir.types import TYPES
from compiler.text.nan import ABSENT, PAYLOAD_BITS, SIGNED, quiet_payload

FLOATS = [name for name, type_ in TYPES.items() if type_.is_float]


def nans(name):
    """The codes that are NaN."""
    bits = TYPES[name].bits
    codes = np.arange(1 << bits if bits <= 16 else 0, dtype=np.uint16 if bits == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        values = codes.view(TYPES[name].dtype).astype(np.float64)
    return [int(code) for code in codes[np.isnan(values)]]


@pytest.mark.parametrize("name", FLOATS)
def test_types_without_nan_are_named(name):
    assert (name in ABSENT) is (not TYPES[name].has_nan)


@pytest.mark.parametrize("name", [name for name in FLOATS if TYPES[name].bits <= 16])
def test_there_are_as_many_nans_as_payloads_and_signs_say(name):
    payloads = (1 << PAYLOAD_BITS[name]) - 1 if name in PAYLOAD_BITS else 1
    assert len(nans(name)) == (0 if name in ABSENT else payloads * (2 if name in SIGNED else 1))


@pytest.mark.parametrize("name", PAYLOAD_BITS)
def test_a_nan_without_a_payload_is_the_quiet_one(name):
    width = ml_dtypes.finfo(TYPES[name].dtype).bits
    code = np.asarray(np.nan, TYPES[name].dtype).view(f"uint{width}").item()
    assert code & ((1 << PAYLOAD_BITS[name]) - 1) == quiet_payload(name)
