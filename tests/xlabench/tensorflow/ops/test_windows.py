"""Convolutions and pools have the sizes that their padding and strides say."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


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
