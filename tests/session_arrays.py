"""More expressions of the namespace, of pools, images, spectra and elements; types and values must be the same.

They are recorded and read as those of `session_api.py` are.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from session_training import flat

import xlabench.tensorflow as tf

_RANDOM = np.random.RandomState(0)
_MATRIX = _RANDOM.rand(3, 4).astype(np.float32)
_ROWS = _RANDOM.randn(2, 7, 3).astype(np.float32)
_IMAGES = _RANDOM.rand(2, 6, 5, 3).astype(np.float32)
_OTHERS = np.clip(_IMAGES + 0.1 * _RANDOM.randn(2, 6, 5, 3), 0, 1).astype(np.float32)
_VOLUMES = _RANDOM.randn(1, 2, 2, 4, 2).astype(np.float32)
_SIGNALS = _RANDOM.randn(2, 12).astype(np.float32)
_BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], np.float32)
_SYMMETRIC = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)


def kernel(*shape: int) -> Any:
    """A filter of a shape."""
    return np.resize(_MATRIX, shape)


def both(*spectra: Any) -> list[Any]:
    """Real and imaginary parts."""
    return [part for one in spectra for part in (tf.real(one), tf.imag(one))]


def images() -> tuple[Any, Any]:
    """Two that are alike."""
    return tf.constant(_IMAGES), tf.constant(_OTHERS)


def bytes_() -> tuple[Any, Any]:
    """The same in bytes."""
    return tf.constant((_IMAGES * 255).astype(np.uint8)), tf.constant((_OTHERS * 255).astype(np.uint8))


POOLS = {
    "pool": lambda **_: [
        tf.nn.pool(_ROWS, [3], "MAX", "SAME", strides=[2]),
        tf.nn.pool(_IMAGES, [2, 2], "AVG", "VALID"),
        tf.nn.pool(_IMAGES, [2, 2], "MAX", "VALID", dilation_rate=[2, 2]),
        tf.nn.pool(_IMAGES, [2, 2], "AVG", "VALID", dilation_rate=[2, 1]),
        tf.nn.pool(_VOLUMES, [2, 2, 2], "MAX", "SAME"),
    ],
    "pools by rank": lambda **_: [
        tf.nn.max_pool1d(_ROWS, 2, 2, "SAME"),
        tf.nn.avg_pool1d(_ROWS, [1, 3, 1], 1, "VALID"),
        tf.nn.max_pool2d(_IMAGES, 2, 1, "SAME"),
        tf.nn.max_pool_v2(tf.constant(_IMAGES), 2, 2, "SAME"),
        tf.nn.avg_pool_v2(tf.constant(_ROWS), 2, 1, "VALID"),
        tf.nn.max_pool_v2(tf.constant(_VOLUMES), [1, 2, 2, 2, 1], 2, "VALID"),
    ],
    "transposed": lambda **_: [
        tf.nn.conv1d_transpose(_ROWS, kernel(3, 2, 3), [2, 14, 2], 2),
        tf.nn.conv3d_transpose(_VOLUMES, kernel(2, 2, 2, 3, 2), [1, 4, 4, 8, 3], [1, 2, 2, 2, 1]),
        tf.nn.conv_transpose(_ROWS, kernel(3, 2, 3), [2, 14, 2], 2),
        tf.nn.conv_transpose(_IMAGES, kernel(3, 2, 2, 3), [2, 12, 10, 2], 2),
    ],
    "windows of ops": lambda **_: [
        tf.nn.dilation2d(_IMAGES, kernel(2, 2, 3), [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        tf.nn.erosion2d(_IMAGES, kernel(2, 2, 3), [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        tf.extract_image_patches(_IMAGES, [1, 2, 2, 1], [1, 3, 3, 1], [1, 1, 1, 1], "VALID"),
        tf.image.extract_patches(_IMAGES, [1, 2, 2, 1], [1, 4, 4, 1], [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d_native(_IMAGES, kernel(2, 2, 3, 2), [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d_backprop_input([2, 6, 5, 3], kernel(2, 2, 3, 1), _IMAGES, [1, 1, 1, 1], "SAME"),
        tf.nn.depthwise_conv2d_backprop_filter(_IMAGES, [2, 2, 3, 1], _IMAGES, [1, 1, 1, 1], "SAME"),
        tf.nn.batch_norm_with_global_normalization(
            _IMAGES,
            np.ones(3, np.float32),
            np.full(3, 2, np.float32),
            kernel(3),
            kernel(3),
            1e-3,
            scale_after_normalization=True,
        ),
    ],
}
ELEMENTS = {
    "repeat": lambda **_: [
        tf.repeat([1, 2, 3], 2),
        tf.repeat([1, 2, 3], [0, 2, 1]),
        tf.repeat([[1, 2], [3, 4]], [1, 2], axis=0),
        tf.repeat([[1, 2], [3, 4]], 2, axis=1),
        tf.repeat([[1, 2], [3, 4]], 3),
        tf.repeat([[1, 2], [3, 4]], [2, 1], axis=-1),
        tf.repeat(5, 3),
        tf.repeat([1, 2], 0),
    ],
    "gather_nd of batches": lambda **_: [
        tf.gather_nd(_MATRIX, [[1], [2], [0]], batch_dims=1),
        tf.gather_nd(_IMAGES, [[[0, 1], [1, 1]], [[2, 2], [3, 3]]], batch_dims=1),
        tf.batch_gather(_MATRIX, [[0, 1], [2, 3], [1, 1]]),
    ],
    "shapes": lambda **_: flat(
        tf.shape_n([_MATRIX, _IMAGES]),
        tf.parallel_stack([_MATRIX, _MATRIX + 1]),
        tf.required_space_to_batch_paddings([5, 7], [2, 3]),
        tf.required_space_to_batch_paddings([5, 7], [2, 3], [[1, 1], [0, 2]]),
    ),
    "sparse_segment": lambda **_: [
        tf.sparse_segment_sum(_MATRIX, [0, 1, 2], [0, 0, 1]),
        tf.sparse_segment_mean(_MATRIX, [0, 1], [0, 0]),
        tf.sparse_segment_sqrt_n(_MATRIX, [0, 1], [0, 0]),
    ],
    "arg_max": lambda **_: [tf.arg_max(_MATRIX, 1), tf.arg_min(_MATRIX, 0, tf.int32)],
    "sufficient_statistics": lambda **_: flat(
        tf.nn.sufficient_statistics(_MATRIX, [0])[:3],
        tf.nn.sufficient_statistics(_MATRIX, [0, 1], shift=0.5, keep_dims=True),
        tf.nn.normalize_moments(*tf.nn.sufficient_statistics(_MATRIX, [1])),
        tf.nn.normalize_moments(*tf.nn.sufficient_statistics(_MATRIX, [1], 0.3)),
    ),
    "polyval": lambda a, **_: [
        tf.math.polyval([1.0, 2.0, 3.0], a),
        tf.math.polyval([], a),
        tf.math.reciprocal_no_nan([2.0, 0.0, -0.5, np.inf]),
        tf.lbeta(_MATRIX),
    ],
    "orders": lambda **_: [
        tf.is_non_decreasing([1, 1, 2]),
        tf.is_strictly_increasing([1, 1, 2]),
        tf.is_strictly_increasing([[1.0, 2.0], [3.0, 4.0]]),
        tf.is_non_decreasing([5.0]),
    ],
    "conversions": lambda **_: [
        tf.cast(tf.to_bfloat16([1.5, 1.00390625]), tf.float32),
        tf.real(tf.to_complex64([1.0])),
    ],
}
MATRICES = {
    "solved": lambda **_: flat(
        tf.linalg.logdet(_SYMMETRIC),
        tf.linalg.slogdet(_SYMMETRIC),
        tf.linalg.lu(_SYMMETRIC),
        tf.linalg.matvec(_SYMMETRIC, [1.0, 2.0, 3.0]),
        tf.linalg.matvec(_MATRIX, [1.0, 2.0, 3.0], transpose_a=True),
        tf.matrix_solve_ls(_MATRIX.T, np.ones((4, 2), np.float32)),
        tf.matrix_solve_ls(_MATRIX, np.ones((3, 2), np.float32), 0.1),
        tf.linalg.normalize(_MATRIX, axis=1),
        tf.linalg.normalize(_MATRIX, 1, axis=0),
    ),
    "adjoint": lambda **_: both(tf.linalg.adjoint(_MATRIX.astype(np.complex64) * (1 + 2j))),
    "rfft": lambda **_: both(
        tf.signal.rfft(_SIGNALS),
        tf.signal.rfft(_SIGNALS, [8]),
        tf.signal.rfft(_SIGNALS, [16]),
        tf.signal.rfft2d(_ROWS),
        tf.signal.rfft3d(_IMAGES[:, :4]),
    ),
    "irfft": lambda **_: [
        tf.signal.irfft(tf.signal.rfft(_SIGNALS)),
        tf.signal.irfft(tf.signal.rfft(_SIGNALS), [11]),
        tf.signal.irfft(tf.signal.rfft(_SIGNALS), [20]),
        tf.signal.irfft2d(tf.signal.rfft2d(_ROWS)),
    ],
    "windows": lambda **_: [
        tf.signal.hann_window(8),
        tf.signal.hann_window(7),
        tf.signal.hann_window(8, periodic=False),
        tf.signal.hamming_window(9),
        tf.signal.hamming_window(1),
        tf.signal.hann_window(6, dtype=tf.float64),
    ],
    "frame": lambda **_: [
        tf.signal.frame(_SIGNALS, 4, 2),
        tf.signal.frame(_SIGNALS, 5, 3, pad_end=True, pad_value=7.0),
        tf.signal.frame(_SIGNALS, 20, 3),
        tf.signal.frame(_ROWS, 2, 1, axis=1),
        tf.signal.overlap_and_add(_ROWS, 2),
        tf.signal.overlap_and_add(_SIGNALS, 20),
    ],
    "stft": lambda **_: both(
        tf.signal.stft(_SIGNALS, 5, 2),
        tf.signal.stft(_SIGNALS, 4, 2, fft_length=8, window_fn=None),
        tf.signal.stft(_SIGNALS, 6, 3, pad_end=True),
        tf.signal.stft(_SIGNALS, 8, 3, fft_length=4),
    ),
    "dct": lambda **_: [tf.signal.dct(_SIGNALS), tf.signal.dct(_SIGNALS, norm="ortho")],
}
PICTURES = {
    "psnr": lambda **_: [tf.image.psnr(*images(), 1.0), tf.image.psnr(*bytes_(), 255)],
    "ssim": lambda **_: [
        tf.image.ssim(*images(), 1.0, filter_size=3),
        tf.image.ssim(*bytes_(), 255, filter_size=5, filter_sigma=1.2, k1=0.02, k2=0.05),
        tf.image.ssim(_IMAGES, _OTHERS[:1], 1.0, filter_size=4, return_index_map=True),
    ],
    "ssim_multiscale": lambda **_: tf.image.ssim_multiscale(
        _IMAGES, _OTHERS, 1.0, power_factors=(0.4, 0.6), filter_size=3
    ),
    "edges": lambda **_: flat(tf.image.image_gradients(images()[0]), tf.image.sobel_edges(images()[0])),
    "other colours": lambda **_: [
        getattr(tf.image, name)(_IMAGES[:1, :2]) for name in ("rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb")
    ],
    "fitted": lambda **_: [
        tf.image.resize_image_with_pad(_IMAGES, 3, 9),
        tf.image.resize_image_with_pad(_IMAGES[0], 9, 4),
        tf.image.resize_images(_IMAGES, [3, 9], preserve_aspect_ratio=True),
        tf.image.resize_images(bytes_()[0], [6, 5]),
    ],
    "non_max_suppression": lambda **_: flat(
        tf.image.non_max_suppression(_BOXES, [0.9, 0.8, 0.7], 4),
        tf.image.non_max_suppression(_BOXES, [0.9, 0.8, 0.7], 4, iou_threshold=0.95, score_threshold=0.75),
        tf.image.non_max_suppression_padded(_BOXES, tf.constant([0.9, 0.8, 0.7]), 4, pad_to_max_output_size=True),
    ),
}


def _case(make: Callable[..., Any]) -> Callable[[Any, Any, Any, Any, Any], Any]:
    return lambda a, b, n, p, u: make(a=a, b=b, n=n, p=p, u=u)


ARRAYS: Mapping[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    text: _case(make) for rows in (POOLS, ELEMENTS, MATRICES, PICTURES) for text, make in rows.items()
}
"""Expressions by what they show."""
