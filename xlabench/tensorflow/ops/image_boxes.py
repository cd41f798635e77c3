"""`tf.image`: colours by a matrix, images made to fit into others, and boxes of which few are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.images import pad_to_bounding_box, resize_images
from xlabench.tensorflow.ops.math import tensordot

_COLOURS = {
    "rgb_to_yiq": ((0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617), (0.114, -0.32134392, 0.31119955)),
    "yiq_to_rgb": ((1, 1, 1), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049)),
    "rgb_to_yuv": (
        (0.299, -0.14714119, 0.61497538),
        (0.587, -0.28886916, -0.51496512),
        (0.114, 0.43601035, -0.10001026),
    ),
    "yuv_to_rgb": ((1, 1, 1), (0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0)),
}
"""What each colour, a row, adds to each other (TensorFlow, ops/image_ops_impl.py)."""


def _coloured(word: str) -> Callable[..., Tensor]:
    def change(images: Any) -> Tensor:
        value = convert_to_tensor(images, name="images")
        matrix = convert_to_tensor([list(map(float, row)) for row in _COLOURS[word]], value.dtype, "kernel")
        return tensordot(value, matrix, [[(value.shape.rank or 0) - 1], [0]])

    change.__name__ = change.__qualname__ = word
    there, here = word.upper().split("_TO_")
    change.__doc__ = f"The colours {here} of `images` in {there}, the last dimension."
    return change


rgb_to_yiq, yiq_to_rgb = _coloured("rgb_to_yiq"), _coloured("yiq_to_rgb")
rgb_to_yuv, yuv_to_rgb = _coloured("rgb_to_yuv"), _coloured("yuv_to_rgb")


def resize_image_with_pad(
    image: Any, target_height: int, target_width: int, method: Any = 0, align_corners: bool = False
) -> Tensor:
    """Images as large as fits into others with their height to their width as it is, in the middle of black ones.

    Args:
        image: an image, or a batch of them, of known sizes.
        target_height: the height of the others.
        target_width: their width.
        method: one of `ResizeMethod`.
        align_corners: whether corners stay corners, pixels being points.

    Raises:
        ValueError: a size is not positive, or those of the images are not known.
    """
    if target_width <= 0 or target_height <= 0:
        raise ValueError(f"target_{'width' if target_width <= 0 else 'height'} must be > 0.")
    with get_default_graph().name_scope("resize_image_with_pad"):
        value = convert_to_tensor(image, name="image")
        sizes = value.shape.as_list()[-3:-1] if value.shape.rank in (3, 4) else [None]
        if None in sizes:
            raise ValueError(f"tf.image.resize_image_with_pad takes images of known sizes here: {value}")
        targets = np.array([target_height, target_width], np.float32)
        found = np.array(sizes, np.float32) / (np.array(sizes, np.float32) / targets).max()
        before = [max(0, math.floor(one)) for one in (targets - found) / np.float32(2)]
        made = resize_images(value, [math.floor(one) for one in found], method, align_corners)
        return pad_to_bounding_box(made, before[0], before[1], target_height, target_width)


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = -math.inf,
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The numbers of boxes that overlap little, those with the greatest scores first, and how many there are.

    Args:
        boxes: [boxes, 4], two corners each.
        scores: of each box.
        max_output_size: how many are chosen at most.
        iou_threshold: which share of two boxes may be common to both.
        score_threshold: which scores are too small.
        pad_to_max_output_size: whether as many as that are given, behind the last 0.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "non_max_suppression_padded"):
        limits = [convert_to_tensor(one, "float32") for one in (iou_threshold, score_threshold)]
        given = [boxes, scores, max_output_size, *limits]
        made = apply("NonMaxSuppressionV4", given, {"pad_to_max_output_size": pad_to_max_output_size}).outputs
        return made[0], made[1]
