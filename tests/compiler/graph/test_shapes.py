"""A partial shape says which sizes are known, and whether even their number is."""

import pytest

from compiler.graph.shapes import PartialShape


@pytest.mark.parametrize(
    ("dims", "text", "static"),
    [
        (None, "<unknown>", None),
        ((), "[]", ()),
        ((2, 0), "[2,0]", (2, 0)),
        ((None, 3), "[?,3]", None),
    ],
)
def test_sizes_are_static_where_all_are_known(dims, text, static):
    shape = PartialShape(dims)
    assert (str(shape), shape.static) == (text, static)


def test_names_of_dimensions_are_kept():
    assert PartialShape((2,), ("rows",)) != PartialShape((2,))
    assert PartialShape((2,), ("rows",)).static == (2,)
