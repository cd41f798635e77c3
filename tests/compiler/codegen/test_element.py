"""Elements in memory and as values: bits that go in come out, and constants are what they are in memory."""

import ml_dtypes  # noqa: F401 - its types are NumPy's then
import numpy as np
import pytest
from native_functions import native

from compiler.codegen import element
from compiler.diagnostics import UnsupportedError
from compiler.ir.types import TYPES, Kind

SMALL = [t for t in TYPES.values() if t.kind not in (Kind.PRED, Kind.COMPLEX) and 0 < t.bits <= 16]
KNOWN = [t for t in TYPES.values() if t.is_integer or t.is_float or t.is_complex or t.kind is Kind.PRED]


def patterns(element_type):
    """Every pattern of bits, or some; NaNs left out, whose other bits nobody keeps."""
    bits = np.arange(1 << element_type.bits, dtype=np.int64)[:: 1 if element_type.bits <= 8 else 97]
    if element_type.is_integer:
        return bits.tolist()
    whole = bits.astype(np.uint8 if element_type.bits <= 8 else np.uint16).view(element_type.dtype)
    with np.errstate(invalid="ignore"):  # ml_dtypes complains of a NaN that signals
        return bits[whole == whole].tolist()


@pytest.mark.parametrize("element_type", SMALL, ids=str)
def test_the_bits_of_a_value_are_those_it_was_made_of(element_type):
    there_and_back = native(
        element_type.bits,
        lambda builder, bits: element.to_bits(builder, element_type, element.from_bits(builder, element_type, bits)),
    )
    wrong = [bits for bits in patterns(element_type) if there_and_back(bits) != bits]
    assert wrong == []


@pytest.mark.parametrize("element_type", SMALL, ids=str)
@pytest.mark.parametrize("number", [0, 1])
def test_a_constant_has_the_bits_that_numpy_gives_it(element_type, number):
    if number == 0 and element_type.name == "f8e8m0fnu":
        pytest.skip("it has no zero")
    made = native(
        element_type.bits,
        lambda builder, _: element.to_bits(builder, element_type, element.constant(element_type, number)),
    )
    wanted = np.array(number).astype(element_type.dtype).tobytes()
    assert made(0) == int.from_bytes(wanted, "little") & ((1 << element_type.bits) - 1)


@pytest.mark.parametrize("element_type", KNOWN, ids=str)
def test_an_element_takes_as_many_bytes_in_memory_as_its_type_says(element_type):
    storage = element.storage_type(element_type)
    sizes = {"half": 2, "float": 4, "double": 8, "{ float, float }": 8, "{ double, double }": 16}
    assert (sizes.get(storage) or int(storage[1:]) // 8) == element_type.size_bytes


def test_what_is_no_number_has_no_form():
    with pytest.raises(UnsupportedError):
        element.storage_type(TYPES["token"])
