"""Functions for networks build what their formulas say, and refuse what TensorFlow refuses."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.errors import NotHereError

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.zeros([4, 5])


def test_softmax_is_along_the_last_axis_or_another(x):
    assert tf.nn.softmax(x).op.type == "Softmax"
    assert tf.nn.softmax(x, axis=0).shape.as_list() == [4, 5]
    assert tf.nn.log_softmax(x, axis=-1).op.type == "LogSoftmax"


def test_a_lookup_is_of_one_table(x):
    assert tf.nn.embedding_lookup([x], [1, 3], "mod", "rows").name == "rows:0"
    with pytest.raises(NotHereError, match="several tables"):
        tf.nn.embedding_lookup([x, x], [1])
    with pytest.raises(NotHereError, match=r"tf\.clip_by_norm"):
        tf.nn.embedding_lookup(x, [1], max_norm=1.0)


def test_moments_keep_dimensions_where_that_is_asked(x):
    assert [one.shape.as_list() for one in tf.nn.moments(x, [0])] == [[5], [5]]
    assert [one.shape.as_list() for one in tf.nn.moments(x, [0], keep_dims=True)] == [[1, 5], [1, 5]]


def test_the_greatest_come_with_their_indices(x):
    assert [one.shape.as_list() for one in tf.nn.top_k(x, 2)] == [[4, 2], [4, 2]]
