"""Every kind of value is shown on one short line."""

import numpy as np
import pytest

from compiler.graph.attributes import AttributeList, FunctionReference, PlaceholderName, Unset, shown
from compiler.graph.shapes import PartialShape
from compiler.graph.tensors import tensor_of
from compiler.graph.types import BY_NAME


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"a\n", r"'a\n'"),
        (3, "3"),
        (True, "true"),
        (0.5, "0.5"),
        (BY_NAME["float32"], "float32"),
        (PartialShape((2, None)), "[2,?]"),
        (tensor_of(np.zeros((2, 3), np.int32)), "int32[2,3]"),
        (AttributeList("i", (1, 2)), "[1, 2]"),
        (AttributeList("", ()), "[]"),
        (FunctionReference("f"), "@f"),
        (FunctionReference("f", {"b": 1, "a": b"x"}), "@f(a='x', b=1)"),
        (PlaceholderName("T"), "$T"),
        (Unset(b"what"), "unset"),
    ],
)
def test_a_value_says_its_kind(value, text):
    assert shown(value) == text


@pytest.mark.parametrize("value", [b"x" * 1000, AttributeList("i", tuple(range(100_000)))])
def test_a_long_value_is_shortened(value):
    assert len(shown(value)) == 60
    assert shown(value).endswith("...")


def test_a_list_of_a_kind_that_no_file_holds_is_refused_where_it_is_made():
    with pytest.raises(ValueError, match="'string' is no kind of list: s, i, f"):
        AttributeList("string", (b"a",))
