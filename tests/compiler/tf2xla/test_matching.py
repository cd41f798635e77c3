"""Python's values become attributes of the kinds that ops have."""

import numpy as np
import pytest

from compiler.graph import BY_NAME, AttributeList, FunctionReference, PartialShape, tensor_of
from compiler.tf2xla.matching import attribute_of


@pytest.mark.parametrize(
    ("kind", "value", "attribute"),
    [
        ("int", np.int64(3), 3),
        ("float", 1, 1.0),
        ("bool", 0, False),
        ("string", "é", "é".encode()),
        ("string", b"x", b"x"),
        ("type", "float32", BY_NAME["float32"]),
        ("shape", None, PartialShape(None)),
        ("shape", [2, None], PartialShape((2, None))),
        ("func", "f", FunctionReference("f")),
        ("tensor", [1, 2], tensor_of(np.array([1, 2]))),
        ("list(int)", [], AttributeList("", ())),
        ("list(type)", ["int8"], AttributeList("type", (BY_NAME["int8"],))),
        ("list(int)", AttributeList("i", (1,)), AttributeList("i", (1,))),
        ("", "text", b"text"),
        ("", 3, 3),
    ],
)
def test_a_value_has_the_kind_that_is_asked_for(kind, value, attribute):
    found = attribute_of(kind, value)
    assert found == attribute
    assert type(found) is type(attribute)
