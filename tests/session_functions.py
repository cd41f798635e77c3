"""More expressions of the namespace, of functions that scripts and tutorials call; types and values must be the same.

They are recorded and read as those of `session_api.py` are.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import xlabench.tensorflow as tf

_RANDOM = np.random.RandomState(2)
_IMAGES = _RANDOM.rand(2, 6, 4, 3).astype(np.float32)
_FILTER = _RANDOM.rand(2, 2, 3, 2).astype(np.float32)
_MATRIX = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)


def images() -> Any:
    """Images, as a tensor."""
    return tf.constant(_IMAGES)


def bytes_() -> Any:
    """The same images in bytes."""
    return tf.constant((_IMAGES * 255).astype(np.uint8))


def kernel(*shape: int) -> Any:
    """A filter of a shape, as a tensor."""
    return tf.constant(np.resize(_FILTER, shape))


def matrix() -> Any:
    """A positive definite matrix, as a tensor."""
    return tf.constant(_MATRIX)


WINDOWS = {
    "conv1d": lambda a, **_: tf.nn.conv1d(a[None], kernel(2, 3, 2), 1, "SAME"),
    "conv1d NWC": lambda a, **_: tf.nn.conv1d(tf.transpose(a)[None], kernel(1, 2, 2), 1, "VALID", data_format="NWC"),
    "conv2d_transpose": lambda **_: tf.nn.conv2d_transpose(
        images(), kernel(3, 3, 2, 3), [2, 12, 8, 2], [1, 2, 2, 1], "SAME"
    ),
    "depthwise_conv2d": lambda **_: tf.nn.depthwise_conv2d(images(), kernel(2, 2, 3, 2), [1, 1, 1, 1], "SAME"),
    "depthwise_conv2d rate": lambda **_: tf.nn.depthwise_conv2d(
        images(), kernel(2, 2, 3, 2), [1, 1, 1, 1], "VALID", rate=[2, 2]
    ),
    "separable_conv2d": lambda **_: tf.nn.separable_conv2d(
        images(), kernel(2, 2, 3, 2), kernel(1, 1, 6, 4), [1, 1, 1, 1], "SAME"
    ),
    "atrous_conv2d": lambda **_: tf.nn.atrous_conv2d(images(), kernel(2, 2, 3, 2), 2, "SAME"),
    "convolution": lambda **_: tf.nn.convolution(images(), kernel(2, 2, 3, 2), "VALID", strides=[2, 1]),
    "convolution 1": lambda a, **_: tf.nn.convolution(a[None], kernel(1, 3, 2), "SAME"),
    "conv3d": lambda **_: tf.nn.conv3d(images()[:, None], kernel(1, 2, 2, 3, 2), [1, 1, 2, 1, 1], "SAME"),
    "convolution 3": lambda **_: tf.nn.convolution(images()[:, None], kernel(1, 2, 2, 3, 2), "SAME"),
    "max_pool3d": lambda **_: tf.nn.max_pool3d(images()[:, None], [1, 1, 2, 2, 1], [1, 1, 2, 2, 1], "SAME"),
    "avg_pool3d": lambda **_: tf.nn.avg_pool3d(images()[:, None], [1, 1, 2, 2, 1], [1, 1, 1, 2, 1], "VALID"),
    "max_pool_with_argmax": lambda **_: tf.nn.max_pool_with_argmax(images(), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "conv2d_backprop_input": lambda **_: tf.nn.conv2d_backprop_input(
        [2, 6, 4, 2], kernel(2, 2, 2, 3), images(), [1, 1, 1, 1], "SAME"
    ),
    "conv2d_backprop_filter": lambda **_: tf.nn.conv2d_backprop_filter(
        images(), [2, 2, 3, 3], images(), [1, 1, 1, 1], "SAME"
    ),
    "extract": lambda **_: tf.space_to_depth(images(), 2),
    "depth_to_space": lambda **_: tf.depth_to_space(tf.tile(images(), [1, 1, 1, 4]), 2),
    "space_to_batch_nd": lambda **_: tf.space_to_batch_nd(images(), [2, 2], [[0, 0], [0, 0]]),
}
NETWORKS = {
    "log_sigmoid": lambda a, **_: tf.log_sigmoid(a),
    "swish": lambda a, **_: tf.nn.swish(a),
    "crelu": lambda a, **_: tf.nn.crelu(a - 0.6),
    "zero_fraction": lambda n, **_: tf.nn.zero_fraction(n - 1),
    "weighted_cross_entropy": lambda a, b, **_: tf.nn.weighted_cross_entropy_with_logits(
        targets=a, logits=b, pos_weight=2.0
    ),
    "log_poisson_loss": lambda a, b, **_: [
        tf.nn.log_poisson_loss(b, a),
        tf.nn.log_poisson_loss(b, a, compute_full_loss=True),
    ],
    "fused_batch_norm": lambda **_: tf.nn.fused_batch_norm(images(), tf.ones(3), tf.zeros(3)),
    "fused_batch_norm, not training": lambda **_: tf.nn.fused_batch_norm(
        images(), tf.ones(3), tf.zeros(3), tf.ones(3), tf.ones(3), is_training=False
    )[0],
    "weighted_moments": lambda a, b, **_: tf.nn.weighted_moments(a, [0], b),
    "reduce_std": lambda a, **_: [tf.math.reduce_std(a), tf.math.reduce_variance(a, 1, keepdims=True)],
    "reduce_euclidean_norm": lambda a, **_: tf.math.reduce_euclidean_norm(a, 0),
}
COUNTS = {
    "sequence_mask": lambda n, **_: [tf.sequence_mask([1, 3, 2]), tf.sequence_mask(n, 4, tf.float32)],
    "count_nonzero": lambda n, **_: [tf.count_nonzero(n - 2), tf.count_nonzero(n - 2, axis=0, keep_dims=True)],
    "confusion_matrix": lambda **_: [
        tf.confusion_matrix([0, 1, 2], [0, 2, 2]),
        tf.confusion_matrix([0, 1], [1, 1], num_classes=3, weights=[0.5, 2.0], dtype=tf.float32),
    ],
    "bincount": lambda **_: [
        tf.bincount([1, 1, 4]),
        tf.bincount([1, 1, 4], minlength=7),
        tf.bincount([1, 5, 1], maxlength=3),
        tf.bincount([1, 0, 1], weights=[0.5, 1.0, 2.0]),
    ],
    "sort": lambda a, n, **_: [
        tf.sort(a),
        tf.sort(a, axis=0, direction="DESCENDING"),
        tf.sort(n % 3, direction="DESCENDING"),
        tf.sort(tf.constant([3, -(2**31), 2**31 - 1])),
        tf.sort(tf.constant([3, 255, 0], tf.uint8)),
    ],
    "argsort": lambda a, n, **_: [tf.argsort(a), tf.argsort(n % 3, axis=0, direction="DESCENDING")],
    "reverse_sequence": lambda n, **_: tf.reverse_sequence(n, [2, 3], seq_axis=1, batch_axis=0),
    "unsorted_segment_mean": lambda a, **_: [
        tf.math.unsorted_segment_mean(a, [1, 1], 3),
        tf.math.unsorted_segment_sqrt_n(a, [1, 1], 3),
    ],
    "segments": lambda a, **_: [tf.segment_sum(a, [0, 0]), tf.segment_mean(a, [0, 1]), tf.segment_max(a, [0, 0])],
    "unique_with_counts": lambda **_: tf.unique_with_counts([1, 2, 1, 3]),
    "searchsorted": lambda **_: [
        tf.searchsorted([1.0, 3.0, 5.0], [3.0, 4.0]),
        tf.searchsorted([1.0, 3.0, 5.0], [3.0, 4.0], side="right"),
    ],
    "sparse_to_dense": lambda **_: tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 6], -1),
    "histogram_fixed_width": lambda **_: tf.histogram_fixed_width([0.0, 1.0, 2.0, 5.0], [0.0, 5.0], nbins=5),
    "random_crop of the whole": lambda a, **_: tf.random_crop(a, [2, 3]),
}
MATRICES = {
    "norm": lambda a, **_: [
        tf.norm(a),
        tf.norm(a, axis=1),
        tf.norm(a, 1, axis=0),
        tf.norm(a, np.inf, axis=-1, keep_dims=True),
        tf.norm(a, 3.0, axis=1),
        tf.norm(a, "fro", axis=[0, 1]),
        tf.norm(a, 1, axis=[0, 1]),
        tf.norm(a, np.inf, axis=[0, 1]),
        tf.norm(a, 0.5),
    ],
    "einsum": lambda a, b, **_: [
        tf.einsum("ij,kj->ik", a, b),
        tf.einsum("ij,ij", a, b),
        tf.einsum("ij,kj,kl->il", a, b, b),
        tf.einsum("...j->...", a),
        tf.einsum("ij -> ji", a),
    ],
    "trace": lambda **_: tf.trace(matrix()),
    "diagonals": lambda a, **_: [
        tf.matrix_diag(a),
        tf.matrix_diag_part(matrix()),
        tf.matrix_set_diag(matrix(), [7.0, 8.0, 9.0]),
        tf.diag([1.0, 2.0]),
        tf.diag_part(matrix()),
        tf.matrix_diag_part(matrix(), k=(-1, 1)),
    ],
    "matrix_transpose": lambda a, **_: [tf.matrix_transpose(a), tf.matrix_transpose(a[None])],
    "solutions": lambda **_: [
        tf.matrix_inverse(matrix()),
        tf.matrix_determinant(matrix()),
        tf.cholesky(matrix()),
        tf.matrix_solve(matrix(), [[1.0], [2.0], [3.0]]),
        tf.matrix_triangular_solve(matrix(), [[1.0], [2.0], [3.0]]),
        tf.cholesky_solve(tf.cholesky(matrix()), [[1.0], [2.0], [3.0]]),
    ],
    "decompositions": lambda a, **_: [
        tf.svd(a, compute_uv=False),
        tf.self_adjoint_eigvals(matrix()),
        tf.self_adjoint_eig(matrix())[0],
        tf.abs(tf.qr(a)[1]),
        tf.svd(a)[0],
    ],
    "scalar_mul": lambda a, **_: tf.scalar_mul(2, a),
    "transforms": lambda a, **_: tf.abs(tf.fft(tf.cast(a, tf.complex64))),
    "special": lambda a, b, **_: [tf.igamma(a, b), tf.betainc(a, b, a), tf.zeta(b + 1.0, a), tf.cross(a, b)],
}
PICTURES = {
    "resize_images": lambda **_: [
        tf.image.resize_images(images(), [3, 5]),
        tf.image.resize_images(bytes_(), (3, 5), method=tf.image.ResizeMethod.NEAREST_NEIGHBOR),
        tf.image.resize_images(images()[0], [7, 7], "bicubic"),
        tf.image.resize_images(images(), [3, 2], tf.image.ResizeMethod.AREA),
        tf.image.resize_images(images(), [7, 7], align_corners=True),
    ],
    "resize": lambda **_: [
        tf.image.resize_bilinear(images(), [7, 7], align_corners=True),
        tf.image.resize_nearest_neighbor(images(), [2, 9]),
        tf.image.resize_bicubic(images(), [7, 7]),
        tf.image.resize_area(images(), [3, 2]),
    ],
    "flips": lambda **_: [
        tf.image.flip_left_right(images()),
        tf.image.flip_up_down(images()[0]),
        tf.image.transpose_image(images()),
        *(tf.image.rot90(images(), k) for k in range(-1, 4)),
        tf.image.rot90(images()[0]),
    ],
    "pieces": lambda **_: [
        tf.image.central_crop(images()[0], 0.5),
        tf.image.central_crop(images(), 0.8),
        tf.image.crop_to_bounding_box(images(), 1, 1, 2, 3),
        tf.image.pad_to_bounding_box(images(), 1, 1, 9, 9),
        tf.image.resize_image_with_crop_or_pad(images(), 4, 7),
        tf.image.resize_image_with_crop_or_pad(images(), 9, 3),
        tf.image.crop_and_resize(images(), [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2]),
    ],
    "per_image_standardization": lambda **_: [
        tf.image.per_image_standardization(images()),
        tf.image.per_image_standardization(tf.ones([4, 4, 3])),
    ],
    "convert_image_dtype": lambda **_: [
        tf.image.convert_image_dtype(bytes_(), tf.float32),
        tf.image.convert_image_dtype(images() * 0.99, tf.uint8),
        tf.image.convert_image_dtype(images() * 2.0, tf.uint8, saturate=True),
        tf.image.convert_image_dtype(bytes_(), tf.int16),
        tf.image.convert_image_dtype(tf.constant([[[30000]]], tf.int16), tf.uint8),
        tf.image.convert_image_dtype(images(), tf.float64),
        tf.image.convert_image_dtype(bytes_(), tf.uint8),
    ],
    "colours": lambda **_: [
        tf.image.adjust_brightness(images(), 0.3),
        tf.image.adjust_brightness(bytes_(), 0.3),
        tf.image.adjust_contrast(images(), 2.0),
        tf.image.adjust_hue(images(), 0.2),
        tf.image.adjust_saturation(images(), 2.0),
        tf.image.adjust_gamma(images(), 2.0, 0.5),
        tf.image.rgb_to_grayscale(images()),
        tf.image.rgb_to_grayscale(bytes_()),
        tf.image.grayscale_to_rgb(images()[..., :1]),
        tf.image.rgb_to_hsv(images()),
        tf.image.hsv_to_rgb(images()),
    ],
    "chance": lambda **_: [
        tf.image.random_flip_left_right(images()[0], seed=1),
        tf.image.random_flip_up_down(images(), seed=4),
        tf.image.random_brightness(images(), 0.2, seed=2),
        tf.image.random_contrast(images(), 0.2, 1.8, seed=2),
        tf.image.random_saturation(images(), 0.5, 1.5, seed=5),
        tf.image.random_hue(images(), 0.2, seed=6),
        tf.image.random_crop(images()[0], [3, 2, 3], seed=3),
    ],
    "total_variation": lambda **_: [tf.image.total_variation(images()), tf.image.total_variation(images()[0])],
}


def _case(make: Callable[..., Any]) -> Callable[[Any, Any, Any, Any, Any], Any]:
    return lambda a, b, n, p, u: make(a=a, b=b, n=n, p=p, u=u)


FUNCTIONS: Mapping[str, Callable[[Any, Any, Any, Any, Any], Any]] = {
    text: _case(make) for rows in (WINDOWS, NETWORKS, COUNTS, MATRICES, PICTURES) for text, make in rows.items()
}
"""Expressions by what they show."""
