"""`tf.image`: how alike two images are, and where one has edges.

Args:
    img1: images, [.., height, width, channels].
    img2: others of these sizes; batches are spread to each other.
    max_val: the greatest value that a pixel may have.
    filter_size: the height and width of the windows in which images are compared.
    filter_sigma: the deviation of the bell by which pixels of a window are weighed.
    k1: what keeps means from being divided by nothing, in units of `max_val`.
    k2: the same for deviations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import concat, pad, shape, stack
from xlabench.tensorflow.ops.images import convert_image_dtype
from xlabench.tensorflow.ops.math import REDUCTIONS, cast

_mean = REDUCTIONS["reduce_mean"]
_SIZES = 3
"""Dimensions of an image: height, width and channels."""
_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""What each scale counts for, as the authors of the measure found it (TensorFlow, ops/image_ops_impl.py)."""
_SOBEL = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
"""Differences of rows, and of columns, of pixels around one."""


def _pair(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Images in float32, and their greatest value.

    Raises:
        ValueError: they have other sizes.
    """
    first, second = convert_to_tensor(img1, name="img1"), convert_to_tensor(img2, name="img2")
    if None not in (first.shape.rank, second.shape.rank):
        sizes = [one.shape.as_list() for one in (first, second)]
        if min(map(len, sizes)) < _SIZES:
            raise ValueError(f"images have at least rank 3: {first.shape} and {second.shape}")
        first.shape[-_SIZES:].assert_is_compatible_with(second.shape[-_SIZES:])
    most = convert_image_dtype(cast(max_val, first.dtype), "float32")
    return convert_image_dtype(first, "float32"), convert_image_dtype(second, "float32"), most


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The greatest value of a pixel over the noise between `a` and `b`, in decibels; `name` is that of the scope."""
    with get_default_graph().name_scope(name or "PSNR"):
        first, second, most = _pair(a, b, max_val)
        noise = _mean(output_of("SquaredDifference", first, second), [-3, -2, -1])
        signal = 20 * output_of("Log", most) / math.log(10.0)
        return signal - float(np.float32(10 / np.log(10))) * output_of("Log", noise)


def _bell(size: int, sigma: float) -> np.ndarray[Any, Any]:
    """Weights of a window that sum to 1."""
    apart = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2.0)
    squares = apart * apart * np.float32(-0.5 / sigma**2)
    grown = np.exp(squares[None, :] + squares[:, None])
    weights: np.ndarray[Any, Any] = (grown / grown.sum()).astype(np.float32).reshape(size, size, 1, 1)
    return weights


def _blurred(value: Tensor, window: np.ndarray[Any, Any]) -> Tensor:
    """Each channel by itself, weighed by a window."""
    sizes = shape(value)
    images = output_of("Reshape", value, concat([[-1], sizes[-_SIZES:]], 0))
    kernel = output_of("Tile", convert_to_tensor(window), stack([1, 1, sizes[-1], 1]))
    made = output_of("DepthwiseConv2dNative", images, kernel, strides=[1, 1, 1, 1], padding="VALID")
    return output_of("Reshape", made, concat([sizes[:-_SIZES], shape(made)[1:]], 0))


def _compared(
    first: Tensor, second: Tensor, window: np.ndarray[Any, Any], floors: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """How alike windows are, and their contrast and structure alone."""
    means = _blurred(first, window), _blurred(second, window)
    product = means[0] * means[1] * 2.0
    squares = output_of("Square", means[0]) + output_of("Square", means[1])
    light = (product + floors[0]) / (squares + floors[0])
    both = _blurred(first * second, window) * 2.0
    each = _blurred(output_of("Square", first) + output_of("Square", second), window)
    structure = (both - product + floors[1]) / (each - squares + floors[1])
    return light * structure, structure


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """How alike the structure of images is, at most 1; for each window with `return_index_map`, else for each image."""
    with get_default_graph().name_scope("SSIM"):
        first, second, most = _pair(img1, img2, max_val)
        floors = [(k1 * most) ** 2, (k2 * most) ** 2]
        found, _ = _compared(first, second, _bell(filter_size, filter_sigma), floors)
        return _mean(found if return_index_map else _mean(found, [-3, -2]), [-1])


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The same over several scales, each half of the one before, to the `power_factors` and multiplied.

    Raises:
        ValueError: the sizes of the images are not known.
    """
    with get_default_graph().name_scope("MS-SSIM"):
        first, second, most = _pair(img1, img2, max_val)
        floors, window = [(k1 * most) ** 2, (k2 * most) ** 2], _bell(filter_size, filter_sigma)
        found = []
        for number in range(len(power_factors)):
            if number:
                first, second = _halved(first), _halved(second)
            alike, structure = (_mean(one, [-3, -2]) for one in _compared(first, second, window, floors))
            found.append(output_of("Relu", alike if number == len(power_factors) - 1 else structure))
        powers = output_of("Pow", stack(found, -1), convert_to_tensor(list(power_factors), "float32"))
        return _mean(REDUCTIONS["reduce_prod"](powers, [-1]), [-1])


def _halved(value: Tensor) -> Tensor:
    """Images of half the height and width, of known sizes: means of squares of four pixels."""
    sizes: list[Any] = value.shape.as_list()[-_SIZES:]
    height, width, channels = sizes
    if None in (height, width, channels):
        raise ValueError(f"tf.image.ssim_multiscale takes images of known sizes here: {value}")
    odd = [[0, 0], [0, height % 2], [0, width % 2], [0, 0]]
    head = shape(value)[:-_SIZES]
    images = output_of("Reshape", value, [-1, height, width, channels])
    images = pad(images, odd, mode="SYMMETRIC") if height % 2 or width % 2 else images
    window = [1, 2, 2, 1]
    made = output_of("AvgPool", images, ksize=window, strides=window, padding="VALID")
    return output_of("Reshape", made, concat([head, shape(made)[1:]], 0))


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """How much each pixel of `image`, a batch, differs from the one below and the one to its right; 0 at the edge.

    Raises:
        ValueError: that is no batch.
    """
    value = convert_to_tensor(image)
    if value.shape.rank != _SIZES + 1:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {value.shape}.")
    down = pad(value[:, 1:] - value[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    right = pad(value[:, :, 1:] - value[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return output_of("Reshape", down, shape(value)), output_of("Reshape", right, shape(value))


def sobel_edges(image: Any) -> Tensor:
    """Differences of rows and of columns around each pixel of `image`, a batch, as a last dimension of 2."""
    value = convert_to_tensor(image)
    sizes = shape(value)
    kernel = convert_to_tensor(_SOBEL.transpose(1, 2, 0)[:, :, None].tolist(), value.dtype)
    kernels = output_of("Tile", kernel, stack([1, 1, sizes[-1], 1]))
    padded = pad(value, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    made = output_of("DepthwiseConv2dNative", padded, kernels, strides=[1, 1, 1, 1], padding="VALID")
    return output_of("Reshape", made, concat([sizes, [len(_SOBEL)]], 0))
