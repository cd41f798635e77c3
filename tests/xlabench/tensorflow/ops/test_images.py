"""What is refused of images; values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda x: tf.image.flip_left_right(x[0, 0]), "must have either 3 or 4 dimensions"),
        (lambda x: tf.image.resize_images(x, [2, 2], method=9), "Resize method is not implemented: 9"),
        (lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 3, 3), "do not fit"),
        (lambda x: tf.image.central_crop(x, 0.0), "central_fraction must be within"),
        (lambda x: tf.image.random_brightness(x, -1.0), "max_delta must be non-negative"),
        (lambda x: tf.image.random_contrast(x, 1.0, 1.0), "upper must be > lower"),
        (lambda x: tf.image.random_saturation(x, -1.0, 1.0), "lower must be non-negative"),
        (lambda x: tf.image.random_hue(x, 0.6), "max_delta must be <= 0.5"),
    ],
    ids=range(8),
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make(tf.zeros([1, 4, 4, 3]))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 9, 9),
        lambda x: tf.image.resize_image_with_crop_or_pad(x, 2, 2),
        lambda x: tf.image.central_crop(x, 0.5),
    ],
    ids=["pad", "crop or pad", "crop"],
)
def test_sizes_that_are_needed_must_be_known(make):
    with pytest.raises(ValueError, match="known sizes"):
        make(tf.placeholder(tf.float32, [None, None, 3]))
