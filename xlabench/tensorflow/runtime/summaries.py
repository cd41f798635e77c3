"""Kernels of ops that make what events files hold: numbers, and how often numbers of each size are."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.tf import Node, message_class
from xlabench.tensorflow import errors
from xlabench.tensorflow.runtime.images import MODES, pixels, png
from xlabench.tensorflow.runtime.kernels import Maker, raised, stateless, text_of

_LEAST, _GREATEST, _GROWTH = 1.0e-12, 1.0e20, 1.1
"""The buckets of a histogram, on both sides of zero (TensorFlow, histogram.cc)."""
_IMAGES = 4
"""Dimensions of a batch of images."""
_LARGEST = sys.float_info.max


@cache
def _limits() -> NDArray[np.float64]:
    """Where each bucket of a histogram ends."""
    limits, limit = [], _LEAST
    while limit < _GREATEST:
        limits.append(limit)
        limit *= _GROWTH
    limits.append(_LARGEST)
    return np.array([*(-one for one in reversed(limits)), 0.0, *limits])


def histogram(values: NDArray[Any]) -> Any:
    """A `HistogramProto` of finite numbers; of neighbouring empty buckets one is left."""
    flat = np.asarray(values, np.float64).reshape(-1)
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, flat, side="right"), minlength=limits.size)[: limits.size]
    made = message_class("HistogramProto")()
    with np.errstate(over="ignore"):
        made.num, made.sum, made.sum_squares = float(flat.size), _in_order(flat), _in_order(flat * flat)
    made.min, made.max = (float(flat.min()), float(flat.max())) if flat.size else (_LARGEST, -_LARGEST)
    is_last = np.append((counts[:-1] > 0) | (counts[1:] > 0), [True])
    made.bucket_limit.extend(limits[is_last].tolist())
    made.bucket.extend(counts[is_last].astype(np.float64).tolist())
    return made


def _in_order(values: NDArray[np.float64]) -> float:
    """Their sum from the first to the last, as TensorFlow adds them."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


def _written(summary: Any) -> Sequence[Any]:
    return (np.array(summary.SerializeToString(), object).reshape(()),)


def _scalars(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    tags, values = inputs
    if tags.shape != values.shape:
        said = f"tags and values are not the same shape: {list(tags.shape)} != {list(values.shape)}"
        raise raised(errors.InvalidArgumentError, node, said)
    summary = message_class("Summary")()
    for tag, value in zip(tags.reshape(-1), values.reshape(-1), strict=True):
        summary.value.add(tag=tag.decode(), simple_value=float(value))
    return _written(summary)


def _histogram(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    tag, values = text_of(inputs[0]), np.asarray(inputs[1], np.float64)
    found = next((word for word, test in (("Nan", np.isnan), ("Infinity", np.isinf)) if test(values).any()), "")
    if found:
        raise raised(errors.InvalidArgumentError, node, f"{found} in summary histogram for: {tag}")
    summary = message_class("Summary")()
    summary.value.add(tag=tag, histo=histogram(values))
    return _written(summary)


def _images(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    most: Any = node.attributes["max_images"]
    bad: Any = node.attributes["bad_color"]
    tag, images = text_of(inputs[0]), inputs[1]
    if images.ndim != _IMAGES or images.shape[3] not in MODES:
        shown = ",".join(map(str, images.shape))
        said = f"Tensor must be 4-D with last dim 1, 3, or 4, not [{shown}]"
        raise raised(errors.InvalidArgumentError, node, said)
    summary = message_class("Summary")()
    for number, one in enumerate(images[:most]):
        value = summary.value.add(tag=f"{tag}/image" if most == 1 else f"{tag}/image/{number}")
        value.image.height, value.image.width, value.image.colorspace = one.shape
        value.image.encoded_image_string = png(pixels(one, bad.array()))
    return _written(summary)


def _merged(node: Node, inputs: Sequence[Any]) -> Sequence[Any]:
    kind, seen = message_class("Summary"), set[str]()
    summary = kind()
    for one in inputs:
        for value in kind.FromString(np.asarray(one, object).reshape(-1)[0]).value:
            if value.tag in seen:
                said = f"Duplicate tag {value.tag} found in summary inputs"
                raise raised(errors.InvalidArgumentError, node, said)
            seen.add(value.tag)
            summary.value.append(value)
    return _written(summary)


KERNELS: Mapping[str, Maker] = {
    name: stateless(function)
    for name, function in {
        "ScalarSummary": _scalars,
        "HistogramSummary": _histogram,
        "ImageSummary": _images,
        "MergeSummary": _merged,
    }.items()
}
"""Ops whose result an events file holds."""
