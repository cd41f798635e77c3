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


def test_a_loss_has_one_number_for_each_row(x):
    labels = tf.zeros([4], tf.int32)
    assert tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x).shape.as_list() == [4]
    assert tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x).shape.as_list() == [4]
    assert tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=x).shape.as_list() == [4, 5]


def test_labels_and_logits_are_named(x):
    with pytest.raises(ValueError, match="named arguments"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(x, x)
    with pytest.raises(ValueError, match="Both `labels` and `logits` must be provided"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=x)


def test_a_lookup_is_of_one_table(x):
    assert tf.nn.embedding_lookup([x], [1, 3], "mod", "rows").name == "rows:0"
    with pytest.raises(NotHereError, match="several tables"):
        tf.nn.embedding_lookup([x, x], [1])
    with pytest.raises(NotHereError, match=r"tf\.clip_by_norm"):
        tf.nn.embedding_lookup(x, [1], max_norm=1.0)


@pytest.mark.parametrize(
    ("strides", "padding", "shape"),
    [([1, 1, 1, 1], "SAME", [2, 8, 8, 7]), ([1, 2, 2, 1], "SAME", [2, 4, 4, 7]), (1, "VALID", [2, 6, 6, 7])],
)
def test_convolutions_have_the_sizes_of_their_padding(strides, padding, shape):
    found = tf.nn.conv2d(tf.zeros([2, 8, 8, 3]), tf.zeros([3, 3, 3, 7]), strides, padding)
    assert found.shape.as_list() == shape


@pytest.mark.parametrize("pool", [tf.nn.max_pool, tf.nn.avg_pool])
def test_pools_shrink_images(pool):
    found = pool(tf.zeros([2, 8, 8, 3]), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    assert found.shape.as_list() == [2, 4, 4, 3]
    with pytest.raises(TypeError, match="unexpected keyword argument 'what'"):
        pool(tf.zeros([2, 8, 8, 3]), ksize=2, strides=2, padding="VALID", what=1)


def test_moments_keep_dimensions_where_that_is_asked(x):
    assert [one.shape.as_list() for one in tf.nn.moments(x, [0])] == [[5], [5]]
    assert [one.shape.as_list() for one in tf.nn.moments(x, [0], keep_dims=True)] == [[1, 5], [1, 5]]


def test_gradients_are_clipped_together(x):
    clipped, norm = tf.clip_by_global_norm([x, None, x], 1.0)
    assert [one is None for one in clipped] == [False, True, False]
    assert norm.shape.as_list() == []
    assert [one.shape.as_list() for one in tf.nn.top_k(x, 2)] == [[4, 2], [4, 2]]
