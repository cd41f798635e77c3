"""Arrays as pictures, for events files: numbers become bytes as TensorFlow makes them, and bytes become PNG."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MODES: Mapping[int, str] = {1: "L", 3: "RGB", 4: "RGBA"}
"""What the library calls pictures of so many channels."""
_LEAST = 1e-6
"""Where all numbers are smaller the picture is of one colour (TensorFlow, summary_image_op.cc)."""


def pixels(image: NDArray[Any], bad_color: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The bytes of an image, [height, width, channels]; a pixel that is not finite has the colour that is given."""
    if image.dtype == np.uint8:
        return image
    is_finite = np.isfinite(image).all(axis=2, keepdims=True)
    known = np.where(is_finite, image, image.dtype.type(0))
    low, high = (float(one) for one in (known.min(initial=0), known.max(initial=0)))
    middle, top = (128, 127) if low < 0 else (0, 255)
    greatest = max(-low, high)
    scale = image.dtype.type(0 if greatest < _LEAST else top / greatest)
    return np.where(is_finite, (known * scale + image.dtype.type(middle)).astype(np.uint8), bad_color[: image.shape[2]])


def png(image: NDArray[np.uint8]) -> bytes:
    """A picture, [height, width, channels], as a PNG file."""
    mode = MODES[image.shape[2]]
    written = BytesIO()
    Image.fromarray(image[..., 0] if mode == "L" else image, mode).save(written, "PNG")
    return written.getvalue()
