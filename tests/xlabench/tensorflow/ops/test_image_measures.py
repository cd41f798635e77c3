"""Images and themselves are alike; a difference shows in decibels; other values are in `tests/session_arrays.py`."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
IMAGES = np.random.RandomState(0).rand(2, 13, 14, 3).astype(np.float32)


def run(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_an_image_is_like_itself():
    np.testing.assert_allclose(run(tf.image.ssim(IMAGES, IMAGES, 1.0)), [1, 1], rtol=1e-6)
    assert np.isposinf(run(tf.image.psnr(IMAGES, IMAGES, 1.0))).all()
    half = (0.5, 0.5)
    np.testing.assert_allclose(run(tf.image.ssim_multiscale(IMAGES, IMAGES, 1.0, half, 5)), [1, 1], rtol=1e-6)


def test_noise_is_said_in_decibels():
    found = run(tf.image.psnr(tf.zeros([4, 4, 1]), tf.fill([4, 4, 1], 0.1), 1.0))
    np.testing.assert_allclose(found, 20, rtol=1e-6)


def test_edges_are_differences():
    down, right = run(tf.image.image_gradients(IMAGES))
    np.testing.assert_array_equal(down[:, :-1], np.diff(IMAGES, axis=1))
    np.testing.assert_array_equal(right[:, :, :-1], np.diff(IMAGES, axis=2))
    assert not down[:, -1].any()
    assert not right[:, :, -1].any()
    slope = np.tile(np.arange(5, dtype=np.float32)[None, :, None, None], (1, 1, 4, 1))
    edges = run(tf.image.sobel_edges(slope))
    np.testing.assert_array_equal(edges[0, 1:-1, :, 0], np.broadcast_to([8.0, 0.0], (3, 4, 2)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.image.ssim(IMAGES, IMAGES[:, :5], 1.0),
        lambda: tf.image.psnr(IMAGES[0, 0], IMAGES[0, 0], 1.0),
        lambda: tf.image.image_gradients(IMAGES[0]),
        lambda: tf.image.ssim_multiscale(*[tf.placeholder(tf.float32, [1, None, 9, 1])] * 2, 1.0),
    ],
    ids=["ssim", "psnr", "image_gradients", "ssim_multiscale"],
)
def test_other_shapes_are_refused(call):
    with pytest.raises(ValueError, match=r".+"):
        call()
