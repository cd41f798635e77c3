"""Types of tensors by every name that programs give them."""

import numpy as np
import pytest

from compiler.tf import BY_NAME
from xlabench.tensorflow.framework.dtypes import as_dtype


@pytest.mark.parametrize("name", BY_NAME)
def test_a_type_is_one_object_by_any_of_its_names(name):
    type_ = as_dtype(name)
    assert type_ is as_dtype(BY_NAME[name]) is as_dtype(BY_NAME[name].number) is as_dtype(type_)
    assert (type_.name, repr(type_), str(type_)) == (name, f"tf.{name}", f"<dtype: '{name}'>")
    assert type_ == name
    assert hash(type_) == BY_NAME[name].number


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (float, "float32"),
        (int, "int32"),
        (bool, "bool"),
        (complex, "complex64"),
        (str, "string"),
        (np.float64, "float64"),
        (np.dtype("uint8"), "uint8"),
        ("half", "float16"),
        ("double", "float64"),
        ("float32_ref", "float32"),
        (np.dtype("S3"), "string"),
        (object, "string"),
    ],
)
def test_pythons_and_numpys_types_name_tensorflows(value, name):
    assert as_dtype(value).name == name


@pytest.mark.parametrize("value", ["flot", np.dtype("datetime64[s]"), True, [], "type 77"])
def test_what_names_no_type_is_refused(value):
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`"):
        as_dtype(value)


def test_kinds_are_told_apart():
    kinds = ("is_floating", "is_complex", "is_integer", "is_bool")
    for name in ("float32", "bfloat16", "complex64", "int8", "uint64", "bool"):
        assert sum(getattr(as_dtype(name), kind) for kind in kinds) == 1
    assert not any(getattr(as_dtype("string"), kind) for kind in kinds)
    assert (as_dtype("uint8").is_unsigned, as_dtype("int8").is_unsigned) == (True, False)
    assert (as_dtype("int8").min, as_dtype("int8").max) == (-128, 127)


def test_a_reference_may_stand_for_its_base():
    reference = as_dtype(101)
    assert reference.base_dtype is as_dtype("float32")
    assert reference.is_compatible_with("float32")
    assert not as_dtype("float32").is_compatible_with("int32")
    assert as_dtype("float32") != "no type"
