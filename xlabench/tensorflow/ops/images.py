"""`tf.image`: images turned, cut, padded, resized and recoloured, by formulas of other ops.

Images are [height, width, channels], or a batch of these, of floats between 0 and 1 or of whole numbers of any type.

Args:
    image: an image, or a batch of them; `images` is the same.
    seed: of the op that chooses.
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.dtypes import DType, as_dtype
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.static_values import static_value
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import transpose
from xlabench.tensorflow.ops.math import REDUCTIONS, cast, saturate_cast, tensordot
from xlabench.tensorflow.ops.random import random_uniform

_ONE, _BATCH = 3, 4
"""Ranks of an image, and of a batch of them."""
_GREY = (0.2989, 0.587, 0.114)
"""What red, green and blue count for in grey (TensorFlow, ops/image_ops_impl.py)."""


class ResizeMethod:
    """How `resize_images` finds what lies between pixels."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {0: "ResizeBilinear", 1: "ResizeNearestNeighbor", 2: "ResizeBicubic", 3: "ResizeArea"}
_METHOD_WORDS = {"bilinear": 0, "nearest": 1, "bicubic": 2, "area": 3}


def _known(image: Any) -> tuple[Tensor, int]:
    """An image as a tensor, and its rank.

    Raises:
        ValueError: the rank is another.
    """
    value = convert_to_tensor(image, name="image")
    rank = value.shape.rank
    if rank not in (_ONE, _BATCH):
        raise ValueError(f"'image' (shape {value.shape}) must have either 3 or 4 dimensions.")
    return value, rank


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another height and width.

    Args:
        images: an image, or a batch of them.
        size: the height and the width.
        method: one of `ResizeMethod`.
        align_corners: whether corners stay corners, pixels being points.
        preserve_aspect_ratio: whether images keep their height to their width, and are smaller than `size` in one.
        name: of the scope of the nodes.

    Raises:
        ValueError: the method is none.
    """
    number = _METHOD_WORDS.get(method, method) if isinstance(method, str) else method
    if number not in _METHODS:
        raise ValueError(f"Resize method is not implemented: {method}")
    with get_default_graph().name_scope(name or "resize"):
        value, rank = _known(images)
        batch = output_of("ExpandDims", value, 0) if rank == _ONE else value
        wanted = cast(convert_to_tensor(size), "int32")
        wanted = _fitting(batch, wanted) if preserve_aspect_ratio else wanted
        known = static_value(wanted)
        if known is not None and known.tolist() == batch.shape.as_list()[1:-1]:
            return value
        made = output_of(_METHODS[number], batch, wanted, align_corners=align_corners)
        return output_of("Squeeze", made, squeeze_dims=[0]) if rank == _ONE else made


def _fitting(images: Tensor, size: Tensor) -> Tensor:
    """The greatest size within another in which images keep their height to their width."""
    known, asked = images.shape.as_list()[1:-1], static_value(size)
    if None not in known and asked is not None:
        sizes = np.array(known, np.float32)
        return convert_to_tensor(np.round((asked.astype(np.float32) / sizes).min() * sizes).astype(np.int32))
    found = cast(output_of("Shape", images)[1:3], "float32")
    scale = REDUCTIONS["reduce_min"](cast(size, "float32") / found)
    return cast(output_of("Round", scale * found), "int32")


def _flip(word: str, axis: int) -> Callable[..., Tensor]:
    def flip(image: Any) -> Tensor:
        with get_default_graph().name_scope(word):
            value, rank = _known(image)
            return output_of("ReverseV2", value, [axis + rank - _ONE])

    flip.__name__ = flip.__qualname__ = word
    flip.__doc__ = "Images mirrored, left to right." if axis else "Images mirrored, upside down."
    return flip


flip_left_right, flip_up_down = _flip("flip_left_right", 1), _flip("flip_up_down", 0)


def _flip_by_chance(word: str, axis: int) -> Callable[..., Tensor]:
    def flip(image: Any, seed: int | None = None) -> Tensor:
        with get_default_graph().name_scope(word):
            value, rank = _known(image)
            count = [] if rank == _ONE else [output_of("Shape", value)[0]]
            drawn = random_uniform(count, 0, 1.0, seed=seed)
            turned = output_of("ReverseV2", value, [axis + rank - _ONE])
            if rank == _ONE:
                return output_of("SelectV2", drawn < 0.5, turned, value)
            stays = cast(output_of("Reshape", output_of("Round", drawn), [-1, 1, 1, 1]), value.dtype)
            return stays * turned + (1 - stays) * value

    flip.__name__ = flip.__qualname__ = word
    flip.__doc__ = "Images of which `seed` chooses those that are mirrored."
    return flip


random_flip_left_right = _flip_by_chance("random_flip_left_right", 1)
random_flip_up_down = _flip_by_chance("random_flip_up_down", 0)


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Images with height and width exchanged."""
    with get_default_graph().name_scope(name or "transpose_image"):
        value, rank = _known(image)
        return transpose(value, [1, 0, 2] if rank == _ONE else [0, 2, 1, 3])


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Images turned `k` times by a quarter, against the clock."""
    quarters = k % 4
    with get_default_graph().name_scope(name or "rot90"):
        value, _ = _known(image)
        if quarters in (1, 3):
            return transpose_image(flip_left_right(value) if quarters == 1 else flip_up_down(value))
        return flip_up_down(flip_left_right(value)) if quarters else value


def crop_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """A piece of images.

    Args:
        image: an image, or a batch of them.
        offset_height: the first row.
        offset_width: the first column.
        target_height: how many rows.
        target_width: how many columns.
    """
    with get_default_graph().name_scope("crop_to_bounding_box"):
        value, rank = _known(image)
        first, sizes = [offset_height, offset_width, 0], [target_height, target_width, -1]
        return output_of("Slice", value, [0] * (rank - _ONE) + first, [-1] * (rank - _ONE) + sizes)


def pad_to_bounding_box(
    image: Any, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Tensor:
    """Images of known sizes in black ones.

    Args:
        image: an image, or a batch of them.
        offset_height: how many rows are above.
        offset_width: how many columns are at the left.
        target_height: how many rows there are then.
        target_width: how many columns.

    Raises:
        ValueError: they do not fit, or their sizes are not known.
    """
    with get_default_graph().name_scope("pad_to_bounding_box"):
        value, rank = _known(image)
        height, width, _ = value.shape.as_list()[-_ONE:]
        if height is None or width is None:
            raise ValueError(f"tf.image.pad_to_bounding_box takes images of known sizes here: {value}")
        below, right = target_height - offset_height - height, target_width - offset_width - width
        if min(offset_height, offset_width, below, right) < 0:
            raise ValueError("the images do not fit: target sizes must be at least offsets and sizes")
        inner = [[offset_height, below], [offset_width, right], [0, 0]]
        return output_of("Pad", value, [[0, 0]] * (rank - _ONE) + inner)


def resize_image_with_crop_or_pad(image: Any, target_height: int, target_width: int) -> Tensor:
    """Images of known sizes cut or padded around their middle, to `target_height` and `target_width`.

    Raises:
        ValueError: their sizes are not known.
    """
    value, _ = _known(image)
    height, width, _ = value.shape.as_list()[-_ONE:]
    if height is None or width is None:
        raise ValueError(f"tf.image.resize_image_with_crop_or_pad takes images of known sizes here: {value}")
    above, left = max((height - target_height) // 2, 0), max((width - target_width) // 2, 0)
    value = crop_to_bounding_box(value, above, left, min(target_height, height), min(target_width, width))
    above, left = max((target_height - height) // 2, 0), max((target_width - width) // 2, 0)
    return pad_to_bounding_box(value, above, left, target_height, target_width)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of images of known sizes: the share `central_fraction` of their height and of their width.

    Raises:
        ValueError: the share is none, or the sizes are not known.
    """
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    value, _ = _known(image)
    height, width, _ = value.shape.as_list()[-_ONE:]
    if height is None or width is None:
        raise ValueError(f"tf.image.central_crop takes images of known sizes here: {value}")
    above, left = (int((size - size * central_fraction) / 2) for size in (height, width))
    return crop_to_bounding_box(value, above, left, height - 2 * above, width - 2 * left)


def per_image_standardization(image: Any) -> Tensor:
    """Each image with the mean 0 and the deviation 1, or where it is nearly even over the least that is divided by."""
    with get_default_graph().name_scope("per_image_standardization") as scope:
        value = convert_image_dtype(_known(image)[0], "float32")
        value = cast(value, "float32")
        axes = [-1, -2, -3]
        count = REDUCTIONS["reduce_prod"](output_of("Shape", value)[-_ONE:])
        mean = REDUCTIONS["reduce_mean"](value, axes, keepdims=True)
        apart = value - mean
        deviation = output_of("Sqrt", REDUCTIONS["reduce_mean"](output_of("Square", apart), axes, keepdims=True))
        least = output_of("Rsqrt", cast(count, "float32"))
        return output_of("RealDiv", apart, output_of("Maximum", deviation, least), name=scope)


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Images in another type, scaled so that the greatest whole number stands for 1.

    Args:
        image: an image, or a batch of them.
        dtype: the type.
        saturate: whether what does not fit becomes the nearest number that does.
        name: of the scope of the nodes.
    """
    value, wanted = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if value.dtype == wanted:
        return output_of("Identity", value, name=name or "convert_image")
    with get_default_graph().name_scope(name or "convert_image") as scope:
        fitted = saturate_cast if saturate else cast
        if value.dtype.is_integer and wanted.is_integer:
            return _between(value, wanted, fitted)
        if value.dtype.is_floating and wanted.is_floating:
            return cast(value, wanted)
        if value.dtype.is_integer:
            scale = convert_to_tensor(1.0 / value.dtype.max, wanted)
            return output_of("Mul", cast(value, wanted), scale, name=scope)
        return fitted(value * (wanted.max + 0.5), wanted)


def _between(value: Tensor, wanted: DType, fitted: Callable[[Any, Any], Tensor]) -> Tensor:
    """Whole numbers of one type as those of another, in its range."""
    if value.dtype.max > wanted.max:
        factor = convert_to_tensor((value.dtype.max + 1) // (wanted.max + 1), value.dtype)
        return fitted(output_of("FloorDiv", value, factor), wanted)
    return cast(value, wanted) * convert_to_tensor((wanted.max + 1) // (value.dtype.max + 1), wanted)


def _in_floats(image: Any, change: Callable[[Tensor], Tensor]) -> Tensor:
    """What a change of floats makes of images of any type."""
    value, _ = _known(image)
    if value.dtype.is_floating:
        return change(value)
    return convert_image_dtype(change(convert_image_dtype(value, "float32")), value.dtype, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Images that are brighter by `delta`."""
    with get_default_graph().name_scope("adjust_brightness"):
        return _in_floats(image, lambda value: value + cast(delta, value.dtype))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images of which each channel is `contrast_factor` times as far from its mean."""
    with get_default_graph().name_scope("adjust_contrast"):
        return _in_floats(images, lambda value: output_of("AdjustContrastv2", value, cast(contrast_factor, "float32")))


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Images whose colours are turned by `delta` of the circle."""
    with get_default_graph().name_scope(name or "adjust_hue"):
        return _in_floats(image, lambda value: output_of("AdjustHue", value, cast(delta, "float32")))


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Images whose colours are `saturation_factor` times as strong."""
    with get_default_graph().name_scope(name or "adjust_saturation"):
        return _in_floats(image, lambda value: output_of("AdjustSaturation", value, cast(saturation_factor, "float32")))


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Images raised to the power `gamma`, times `gain`."""
    with get_default_graph().name_scope("adjust_gamma"):
        return _in_floats(image, lambda value: float(gain) * value ** float(gamma))


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Images that are brighter or darker by at most `max_delta`, as `seed` chooses.

    Raises:
        ValueError: it is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _by_chance(word: str, adjust: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def change(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
        if upper <= lower:
            raise ValueError("upper must be > lower.")
        if lower < 0:
            raise ValueError("lower must be non-negative.")
        return adjust(image, random_uniform([], lower, upper, seed=seed))

    change.__name__ = change.__qualname__ = word
    change.__doc__ = f"`{adjust.__name__}` by a factor between `lower` and `upper` that `seed` chooses."
    return change


random_contrast = _by_chance("random_contrast", adjust_contrast)
random_saturation = _by_chance("random_saturation", adjust_saturation)


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Images whose colours are turned by at most `max_delta` of the circle, as `seed` chooses.

    Raises:
        ValueError: it is negative, or more than half of it.
    """
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be <= 0.5 and non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Images in grey, with one channel."""
    with get_default_graph().name_scope(name or "rgb_to_grayscale"):
        value = convert_to_tensor(images, name="images")
        exact = convert_image_dtype(value, "float32")
        grey = output_of(
            "ExpandDims", tensordot(exact, convert_to_tensor(list(_GREY)), [[_known(exact)[1] - 1], [0]]), -1
        )
        return convert_image_dtype(grey, value.dtype)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Grey images with three channels."""
    with get_default_graph().name_scope(name or "grayscale_to_rgb"):
        value, rank = _known(images)
        return output_of("Tile", value, [1] * (rank - 1) + [3])


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """How much neighbouring pixels differ in all, for each image."""
    with get_default_graph().name_scope(name or "total_variation"):
        value, rank = _known(images)
        rows, columns = (value[1:] - value[:-1], value[:, 1:] - value[:, :-1]) if rank == _ONE else (
            value[:, 1:] - value[:, :-1], value[:, :, 1:] - value[:, :, :-1]
        )  # fmt: skip
        axes = None if rank == _ONE else [1, 2, 3]
        return REDUCTIONS["reduce_sum"](output_of("Abs", rows), axes) + REDUCTIONS["reduce_sum"](
            output_of("Abs", columns), axes
        )
