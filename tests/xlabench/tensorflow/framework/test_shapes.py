"""Sizes of which some are unknown, as TensorFlow's programs compute with them."""

import pytest

from xlabench.tensorflow.framework.shapes import Dimension, TensorShape, as_shape


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        (None, None, None),
        (None, [2, 3], [2, 3]),
        ([None, 3], [2, None], [2, 3]),
        ([], [], []),
        ([2], [3], "incompatible"),
        ([2], [2, 3], "incompatible"),
    ],
)
def test_what_either_knows_is_known_unless_they_contradict(left, right, merged):
    one, other = TensorShape(left), TensorShape(right)
    assert one.is_compatible_with(other) is (merged != "incompatible")
    if merged == "incompatible":
        with pytest.raises(ValueError, match="are incompatible"):
            one.merge_with(other)
    else:
        assert one.merge_with(other) == other.merge_with(one) == TensorShape(merged)


@pytest.mark.parametrize(
    ("dims", "count", "defined", "text"),
    [
        (None, None, False, "<unknown>"),
        ([], 1, True, "()"),
        ([2, 0], 0, True, "(2, 0)"),
        ([2, None], None, False, "(2, ?)"),
        (3, 3, True, "(3,)"),
    ],
)
def test_elements_are_counted_where_every_size_is_known(dims, count, defined, text):
    shape = TensorShape(dims)
    assert (shape.num_elements(), shape.is_fully_defined(), str(shape)) == (count, defined, text)


def test_of_unknown_rank_little_can_be_asked():
    unknown = TensorShape(None)
    assert (unknown.rank, unknown.dims, bool(unknown)) == (None, None, False)
    assert (unknown[3].value, unknown[1:].rank) == (None, None)
    for ask in (len, list, TensorShape.as_list):
        with pytest.raises(ValueError, match="unknown"):
            ask(unknown)


def test_shapes_are_put_in_a_row():
    assert TensorShape([1]).concatenate([None, 2]) == TensorShape([1, None, 2])
    assert TensorShape([1]).concatenate(None).rank is None


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        TensorShape([2, -1])


def test_what_is_computed_from_an_unknown_size_is_unknown():
    unknown, two = Dimension(None), Dimension(2)
    assert [(two + 3).value, (3 * two).value, (two // 2).value, (two - 1).value] == [5, 6, 1, 1]
    assert (unknown + 1).value is None
    assert (two == 2, two != 3, unknown == 2, unknown != 2) == (True, True, None, None)
    with pytest.raises(TypeError):
        int(unknown)


def test_a_shape_is_itself():
    shape = TensorShape([2])
    assert as_shape(shape) is shape
    assert shape == [2]
    assert shape != "two"
    assert hash(shape) == hash(TensorShape((Dimension(2),)))
