"""Arrays as pictures: whatever their numbers, and back from the file as they were."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from xlabench.tensorflow.runtime.images import MODES, pixels, png

RED = np.array([255, 0, 0, 255], np.uint8)
FLOATS = ("float16", "float32", "float64")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("values", "expected"), [
    ([0, 1, 2, 4], [0, 63, 127, 255]),
    ([-2, 0, 1, 2], [1, 128, 191, 255]),
    ([0, 0, 0, 0], [0, 0, 0, 0]),
    ([np.nan, np.inf, 0, 1], [255, 255, 0, 255]),
])  # fmt: skip
def test_numbers_are_scaled(dtype, values, expected):
    found = pixels(np.array(values, dtype).reshape(2, 2, 1), RED)
    assert found.dtype == np.uint8
    assert found.reshape(-1).tolist() == expected


def test_an_image_may_have_no_pixels():
    assert pixels(np.zeros((0, 3, 1), np.float32), RED).shape == (0, 3, 1)


@pytest.mark.parametrize("channels", MODES)
def test_a_file_holds_the_bytes(channels):
    image = np.arange(6 * channels, dtype=np.uint8).reshape(2, 3, channels)
    found = np.asarray(Image.open(BytesIO(png(image))))
    assert found.reshape(image.shape).tolist() == image.tolist()
