"""Attributes come back from their messages as they were; one that makes no sense is refused, a pass's note is kept."""

import numpy as np
import pytest

from compiler.diagnostics import InputError
from compiler.graph import BY_NAME, AttributeList, FunctionReference, PartialShape, PlaceholderName, tensor_of
from compiler.graph.attrdef import attribute_of, attributes_of, shape_of, tensor_of_message, write_attributes
from compiler.graph.attributes import Unset
from compiler.graph.messages import CLASSES, from_text

KINDS = [
    b"",
    b"\xff\0",
    0,
    -1,
    (1 << 63) - 1,
    0.5,
    True,
    False,
    BY_NAME["float32"],
    PartialShape(None),
    PartialShape(()),
    PartialShape((None, 0, 3)),
    PartialShape((2,), ("rows",)),
    PlaceholderName("T"),
    FunctionReference("f", {"n": 1, "g": FunctionReference("h")}),
    Unset(),
    AttributeList("", ()),
    AttributeList("i", (1, 2)),
    AttributeList("shape", (PartialShape(None), PartialShape((1,)))),
    AttributeList("func", (FunctionReference("f"),)),
]


@pytest.mark.parametrize("value", KINDS, ids=repr)
def test_a_value_comes_back_as_the_kind_that_it_was(value):
    message = CLASSES["NodeDef"]()
    write_attributes(message.attr, {"a": value})
    found = attributes_of(message.attr, "here")["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "bool", "c8", "f2"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_tensor_comes_back_with_its_elements(dtype, size):
    array = np.arange(size).astype(dtype)
    message = CLASSES["NodeDef"]()
    write_attributes(message.attr, {"a": tensor_of(array)})
    found = attribute_of(message.attr["a"], "here").array()
    assert (found.dtype, found.tobytes()) == (array.dtype, array.tobytes())


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("AttrValue", "shape { dim { size: -2 } }", "the size -2"),
        ("AttrValue", "shape { unknown_rank: true dim { size: 1 } }", "of unknown rank has 1 sizes"),
        ("AttrValue", "tensor { dtype: DT_INT32 tensor_shape { dim { size: -1 } } }", "not all known"),
        ("AttrValue", "tensor { dtype: DT_INT32 tensor_shape { } int_val: [1, 2] }", "of 1 elements states 2"),
        ("AttrValue", 'tensor { dtype: DT_INT32 tensor_shape { } tensor_content: "abc" }', "takes 4 bytes, but 3"),
        ("AttrValue", "tensor { dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: 1 }", "odd number of parts"),
        ("AttrValue", "list { i: 1 f: 2 }", "several kinds: i, f"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_stands(kind, text, said):
    message = from_text(kind, text, "f")
    with pytest.raises(InputError, match=f"^here: .*{said}"):
        attribute_of(message, "here")


def test_a_note_of_a_pass_that_is_no_attribute_is_kept():
    message = from_text("NodeDef", 'attr { key: "_sizes" value { shape { dim { size: -4 } } } }', "f")
    kept = attributes_of(message.attr, "here")["_sizes"]
    assert isinstance(kept, Unset)
    again = CLASSES["NodeDef"]()
    write_attributes(again.attr, {"_sizes": kept})
    assert again == message


def test_functions_in_functions_have_a_depth():
    message = CLASSES["AttrValue"]()
    inner = message
    for _ in range(60):
        inner = inner.func.attr["f"]
    with pytest.raises(InputError, match="50 deep"):
        attribute_of(message, "here")


def test_fewer_elements_than_the_sizes_ask_for_are_not_expanded():
    message = from_text("TensorProto", "dtype: DT_INT32 tensor_shape { dim { size: 1000000000 } } int_val: 7", "f")
    tensor = tensor_of_message(message, "here")
    assert (tensor.dims, tensor.stated.tolist()) == ((10**9,), [7])


def test_dimensions_without_names_have_none():
    assert shape_of(from_text("TensorShapeProto", "dim { size: 2 } dim { size: -1 }", "f"), "x") == PartialShape(
        (2, None)
    )
