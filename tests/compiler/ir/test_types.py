"""Every primitive type is what the language says of its width, its numbers and its special values."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from compiler.ir.types import HALF_RANGE, ONE_NAN, TYPES, Kind, of_dtype, wider

FLOATS = [t for t in TYPES.values() if t.is_float]


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_one_object_wherever_it_comes_from(name):
    type_ = TYPES[name]
    assert str(type_) == name
    assert pickle.loads(pickle.dumps(type_)) is type_


@pytest.mark.parametrize("name", [name for name, t in TYPES.items() if t.kind is not Kind.OPAQUE])
def test_a_name_says_kind_and_width_and_a_byte_is_the_least_that_an_element_takes(name):
    type_ = TYPES[name]
    digits = "".join(c for c in name.partition("e")[0] if c.isdigit()) if name[0] in "fb" else name.strip("prdsuc")
    assert name == "pred" or int(digits) == type_.bits
    assert type_.size_bytes == max(1, type_.bits // 8)
    assert type_.stored_bits == (8 if name == "pred" else type_.bits)


@pytest.mark.parametrize("type_", FLOATS, ids=str)
def test_special_values_are_those_of_the_numbers(type_):
    made = np.array([np.nan, -0.0, -1.0]).astype(type_.dtype)
    assert type_.has_nan == bool(np.isnan(made[0]))
    assert type_.is_signed_float == bool(made[2].astype(float) == -1)
    if type_ in ONE_NAN:
        assert not np.signbit(made[1].astype(float))


@pytest.mark.parametrize("type_", HALF_RANGE, ids=str)
def test_the_least_numbers_of_half_range_are_denormals_of_f16(type_):
    least = np.array(1, np.uint16 if type_.bits == 16 else np.uint8).view(type_.dtype).astype(np.float64)
    assert 0 < least < 2.0**-14


@pytest.mark.parametrize("left", FLOATS, ids=str)
def test_of_two_floats_the_wider_one_reaches_at_least_as_far_as_the_other(left):
    assert wider(left, left) is left
    assert wider(left, TYPES["f64"]) is wider(TYPES["f64"], left) is TYPES["f64"]
    for right in FLOATS:
        found = ml_dtypes.finfo(wider(left, right).dtype)
        assert found.maxexp == max(ml_dtypes.finfo(one.dtype).maxexp for one in (left, right))


def test_range_comes_before_precision():
    assert wider(TYPES["bf16"], TYPES["f16"]) is TYPES["bf16"]
    assert wider(TYPES["f16"], TYPES["f8e4m3fn"]) is TYPES["f16"]


@pytest.mark.parametrize(
    ("left", "right", "wide"),
    [
        ("c64", "f64", "c64"),
        ("bf16", "s64", "bf16"),
        ("s32", "u32", "s32"),
        ("u32", "s16", "u32"),
        ("pred", "s8", "s8"),
    ],
)
def test_complex_numbers_come_before_real_ones_floats_before_integers_and_more_bits_before_a_sign(left, right, wide):
    assert wider(TYPES[left], TYPES[right]) is wider(TYPES[right], TYPES[left]) is TYPES[wide]


def test_the_type_of_an_array_is_known_by_numpys():
    assert of_dtype(np.dtype(np.bool_)) is TYPES["pred"]
    assert of_dtype(np.dtype(np.int8)) is TYPES["s8"]
    assert of_dtype(np.dtype("datetime64[s]")) is None
