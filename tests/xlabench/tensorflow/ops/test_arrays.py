"""Functions of arrays give what they say of sizes, known or not."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [None, 3])


@pytest.mark.parametrize("make", [tf.zeros, tf.ones])
def test_known_sizes_are_a_constant_and_others_are_filled(make, x):
    assert make([2, 3]).op.type == "Const"
    assert make([2, 0]).shape.as_list() == [2, 0]
    assert make(tf.shape(x)).op.type == "Fill"
    assert make([2], tf.int8).dtype == tf.int8
    assert [make(sizes, tf.bool).dtype for sizes in ([2], [5000], tf.shape(x))] == [tf.bool] * 3


def test_what_is_asked_of_known_sizes_is_a_constant(x):
    y = tf.zeros([2, 3])
    assert [f(y).op.type for f in (tf.shape, tf.size, tf.rank)] == ["Const"] * 3
    assert [f(x).op.type for f in (tf.shape, tf.size, tf.rank)] == ["Shape", "Size", "Const"]
    assert tf.shape(y, out_type=tf.int64).dtype == tf.int64


@pytest.mark.parametrize(
    ("made", "shape"),
    [
        (lambda x: tf.concat([x, x], 1), [None, 6]),
        (lambda x: tf.stack([x, x]), [2, None, 3]),
        (lambda x: tf.stack([x, x], axis=-1), [None, 3, 2]),
        (lambda x: tf.transpose(x), [3, None]),
        (lambda x: tf.one_hot([0, 1], 5), [2, 5]),
        (lambda x: tf.gather(x, [0, 0, 0]), [3, 3]),
        (lambda x: tf.gather(tf.zeros([2, 5, 7]), [[0], [4]], batch_dims=1), [2, 1, 7]),
        (lambda x: tf.pad(x, [[1, 1], [0, 2]]), [None, 5]),
        (lambda x: tf.eye(3), [3, 3]),
        (lambda x: tf.zeros_like(x), [None, 3]),
        (lambda x: tf.placeholder_with_default([[1.0]], [None, 1]), [None, 1]),
    ],
)
def test_sizes_follow_as_far_as_they_are_known(x, made, shape):
    assert made(x).shape.as_list() == shape


def test_parts_are_lists():
    y = tf.zeros([4, 6])
    assert [one.shape.as_list() for one in tf.split(y, 3, axis=1)] == [[4, 2]] * 3
    assert [one.shape.as_list() for one in tf.split(y, [1, 3])] == [[1, 6], [3, 6]]
    assert len(tf.unstack(y)) == 4
    assert [one.shape.as_list() for one in tf.meshgrid([1, 2], [1, 2, 3])] == [[3, 2], [3, 2]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tf.unstack(x), "Cannot infer argument `num`"),
        (lambda x: tf.where(x > 0.0, x), "both be non-None or both be None"),
        (lambda x: tf.pad(x, [[0, 0], [0, 0]], "WHAT"), "WHAT"),
        (lambda x: tf.transpose(tf.placeholder(tf.float32)), "unknown rank: give perm"),
    ],
)
def test_what_cannot_be_known_is_refused(x, call, message):
    with pytest.raises(ValueError, match=message):
        call(x)


def test_one_of_one_is_itself(x):
    assert tf.concat([x], 0).op.type == "Identity"
