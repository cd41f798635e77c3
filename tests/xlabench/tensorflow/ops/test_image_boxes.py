"""Colours go there and back; images fit into others; boxes that overlap are few; see `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
IMAGES = np.random.RandomState(0).rand(2, 4, 6, 3).astype(np.float32)


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("kind", ["yiq", "yuv"])
@pytest.mark.parametrize("value", [IMAGES, IMAGES[0], IMAGES.astype(np.float64)])
def test_colours_come_back(kind, value):
    there = getattr(tf.image, f"rgb_to_{kind}")(value)
    found = run(getattr(tf.image, f"{kind}_to_rgb")(there))
    assert found.dtype == value.dtype
    np.testing.assert_allclose(found, value, atol=1e-4)  # the matrices have few digits


@pytest.mark.parametrize(("size", "rows", "columns"), [((8, 6), (2, 6), (0, 6)), ((4, 12), (0, 4), (3, 9))])
def test_an_image_stands_in_the_middle_of_a_black_one(size, rows, columns):
    found = run(tf.image.resize_image_with_pad(np.ones([4, 6, 3], np.float32), *size))
    assert found.shape == (*size, 3)
    inner = found[slice(*rows), slice(*columns)]
    np.testing.assert_array_equal(inner, np.ones_like(inner))
    assert found.sum() == inner.sum()


def test_a_size_that_is_none_is_refused():
    with pytest.raises(ValueError, match="target_width must be > 0"):
        tf.image.resize_image_with_pad(IMAGES, 3, 0)
    with pytest.raises(ValueError, match="known sizes"):
        tf.image.resize_image_with_pad(tf.placeholder(tf.float32, [None, 3, 3]), 3, 3)


def test_boxes_are_said_with_how_many_there_are():
    boxes = [[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]
    numbers, count = run(tf.image.non_max_suppression_padded(boxes, tf.constant([0.5, 0.9, 0.1]), 3))
    assert (numbers.tolist(), count) == ([1, 2], 2)
