"""Calls of ops on images: formats, edges, strides, distances, groups."""

import numpy as np
from op_values import ints, numbers

from compiler.graph import AttributeList
from compiler.ir.types import F32


def stated(strides=(1, 1), padding="SAME", layout="NHWC", **more):
    """The attributes of a window; of numbers for each place those for all dimensions."""
    attributes = {"strides": whole(strides, layout), "padding": padding.encode(), "data_format": layout.encode()}
    for name, value in more.items():
        attributes[name] = AttributeList("i", tuple(value)) if name == "explicit_paddings" else whole(value, layout)
    return attributes


def whole(places, layout):
    return AttributeList("i", (1, *places, 1) if layout == "NHWC" else (1, 1, *places))


def laid(array, layout):
    return array if layout == "NHWC" else np.moveaxis(array, -1, 1).copy()


# Attributes, sizes of images, and of filters.
_CONVOLUTIONS = (
    (stated(), (2, 5, 6, 3), (3, 3, 3, 4)),
    (stated((2, 1), "VALID"), (1, 6, 5, 2), (3, 2, 2, 3)),
    (stated((2, 2)), (1, 5, 6, 2), (2, 3, 2, 2)),
    (stated(padding="VALID", dilations=(2, 1)), (1, 6, 5, 2), (2, 2, 2, 3)),
    (stated((2, 1), "EXPLICIT", explicit_paddings=(0, 0, 1, 2, 0, 1, 0, 0)), (1, 5, 4, 2), (3, 2, 2, 2)),
    (stated(padding="SAME", dilations=(2, 2)), (1, 7, 6, 1), (3, 2, 1, 2)),
    (stated((1, 2)), (2, 4, 5, 4), (2, 3, 2, 6)),
    (stated((3, 3), "VALID"), (1, 8, 7, 1), (2, 2, 1, 2)),
)
_DEPTHWISE = (
    (stated(), (2, 4, 5, 3), (3, 2, 3, 2)),
    (stated((2, 2), "VALID"), (1, 5, 6, 2), (2, 3, 2, 1)),
    (stated(padding="VALID", dilations=(2, 2)), (1, 6, 5, 2), (2, 2, 2, 2)),
    (stated((2, 2), "EXPLICIT", explicit_paddings=(0, 0, 1, 0, 2, 1, 0, 0)), (1, 5, 4, 2), (3, 2, 2, 2)),
)


def _results(attributes, image, kernel, *, is_depthwise):
    """The sizes of what a convolution makes, by counting."""
    strides, dilations = attributes["strides"].values[1:3], (1, 1)
    if "dilations" in attributes:
        dilations = attributes["dilations"].values[1:3]
    places = []
    for axis in (0, 1):
        size, extent = image[1 + axis], (kernel[axis] - 1) * dilations[axis] + 1
        match attributes["padding"]:
            case b"SAME":
                places.append(-(-size // strides[axis]))
                continue
            case b"EXPLICIT":
                size += sum(attributes["explicit_paddings"].values[2 + 2 * axis : 4 + 2 * axis])
        places.append((size - extent) // strides[axis] + 1)
    return image[0], *places, kernel[-1] * (kernel[-2] if is_depthwise else 1)


def convolutions(name):
    """The convolution, or one of its gradients, in each setting."""
    is_depthwise = name.startswith("Depthwise")

    def rows(element_type):
        for attributes, image, kernel in _DEPTHWISE if is_depthwise else _CONVOLUTIONS:
            x, w = numbers(element_type, *image), numbers(element_type, *kernel, seed=1)
            g = numbers(element_type, *_results(attributes, image, kernel, is_depthwise=is_depthwise), seed=2)
            if name.endswith("Input"):
                yield attributes, [ints(*image), w, g]
            elif name.endswith("Filter"):
                yield attributes, [x, ints(*kernel), g]
            else:
                yield attributes, [x, w]

    return rows


# Attributes and sizes of images.
_POOLS = (
    (stated((2, 2), ksize=(2, 2)), (2, 5, 4, 3)),
    (stated((1, 2), "VALID", ksize=(3, 2)), (1, 5, 6, 2)),
    (stated((1, 1), ksize=(3, 2)), (1, 4, 5, 1)),
    (stated((3, 2), "VALID", ksize=(2, 2)), (1, 7, 6, 1)),
)
_EXPLICIT = (stated((2, 2), "EXPLICIT", ksize=(3, 2), explicit_paddings=(0, 0, 1, 1, 1, 0, 0, 0)), (1, 5, 4, 2))


def _places(attributes, image):
    kernel = (*attributes["ksize"].values[1:3], image[-1], image[-1])
    return _results(attributes, image, kernel, is_depthwise=False)


def _distinct(element_type, *dims):
    """No number twice, so that the greatest of a window is one element."""
    count = int(np.prod(dims))
    values = np.random.default_rng(0).permutation(count).reshape(dims)
    return (values / 4 if element_type.is_float else values).astype(element_type.dtype)


def greatest(element_type):
    for attributes, image in (*_POOLS, _EXPLICIT):
        yield attributes, [numbers(element_type, *image)]
    of_channels = AttributeList("i", (1, 1, 1, 2))
    yield {"ksize": of_channels, "strides": of_channels, "padding": b"VALID"}, [numbers(element_type, 2, 3, 2, 4)]


def _pooled(attributes, x):
    """The greatest of each window, by counting: what the gradient is given as the result."""
    kernel, strides = attributes["ksize"].values[1:3], attributes["strides"].values[1:3]
    edges = [(0, 0), (0, 0)]
    places = _places(attributes, x.shape)[1:3]
    if attributes["padding"] == b"SAME":
        sums = [
            max(0, (count - 1) * stride + size - one)
            for count, stride, size, one in zip(places, strides, kernel, x.shape[1:3], strict=True)
        ]
        edges = [(one // 2, one - one // 2) for one in sums]
    elif attributes["padding"] == b"EXPLICIT":
        stated_edges = attributes["explicit_paddings"].values
        edges = [tuple(stated_edges[2:4]), tuple(stated_edges[4:6])]
    padded = np.pad(x.astype(np.float64), [(0, 0), *edges, (0, 0)], constant_values=-np.inf)
    found = np.empty((x.shape[0], *places, x.shape[-1]))
    for row, column in np.ndindex(*places):
        top, left = row * strides[0], column * strides[1]
        window = padded[:, top : top + kernel[0], left : left + kernel[1]]
        found[:, row, column] = window.max((1, 2))
    return found.astype(x.dtype)


def greatest_back(element_type):
    for attributes, image in (*_POOLS, _EXPLICIT):
        x = _distinct(element_type, *image)
        y = _pooled(attributes, x)
        yield attributes, [x, y, numbers(element_type, *y.shape, seed=1)]


def greatest_of_gradients(element_type):
    for attributes, image in _POOLS:
        x = _distinct(element_type, *image)
        yield attributes, [x, _pooled(attributes, x), numbers(element_type, *image, seed=1)]


def means(element_type):
    for attributes, image in _POOLS:
        yield attributes, [numbers(element_type, *image)]


def means_back(element_type):
    for attributes, image in _POOLS:
        yield attributes, [ints(*image), numbers(element_type, *_places(attributes, image), seed=1)]


def normalised(kept, scales):
    """Trained, with means that are mixed, and not."""

    def rows(element_type):
        x = numbers(element_type, 2, 3, 4, 3)
        f32 = np.float32
        scale, offset, mean = (np.array(one, f32) for one in ([1, 0.5, -2], [0, 1, 0.25], [0.5, -1, 0]))
        variance = np.array([1, 2.5, 0.75], f32)
        types = {"U": scales} if scales else {}
        nothing = np.zeros(0, f32)
        yield types, [x, scale, offset, nothing, nothing], 3 + kept
        yield {**types, "epsilon": 0.125}, [x[:1, :1, :1], scale, offset, nothing, nothing], 3 + kept
        yield {**types, "is_training": False}, [x, scale, offset, mean, variance], 3 + kept
        yield {**types, "exponential_avg_factor": 0.25}, [x, scale, offset, mean, variance], 3 + kept
        if kept:
            yield (
                {**types, "data_format": b"NCHW", "is_training": False},
                [laid(x, "NCHW"), scale, offset, mean, variance],
                3 + kept,
            )

    return rows


def normalised_back(kept, scales):
    def rows(element_type):
        x, g = numbers(element_type, 2, 3, 4, 3), numbers(element_type, 2, 3, 4, 3, seed=1)
        wide = x.astype(np.float32)
        scale = np.array([1, 0.5, -2], np.float32)
        mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
        types = {"U": scales} if scales else {}
        more = [np.zeros(0, np.float32)] if kept == 3 else []
        yield types, [g, x, scale, mean, variance, *more], 5
        yield {**types, "is_training": False, "epsilon": 0.125}, [g, x, scale, mean, variance, *more], 5

    return rows


def local(element_type):
    x = numbers(element_type, 1, 2, 3, 7)
    yield {}, [x]
    yield {"depth_radius": 1, "bias": 2.0, "alpha": 0.5, "beta": 0.75}, [x]


def local_back(element_type):
    for attributes, (x,) in local(element_type):
        bias, alpha, beta = (
            attributes.get(name, default) for name, default in (("bias", 1), ("alpha", 1), ("beta", 0.5))
        )
        radius = attributes.get("depth_radius", 5)
        wide = x.astype(np.float64)
        near = sum(np.pad(wide, [(0, 0)] * 3 + [(radius, radius)])[..., k : k + 7] ** 2 for k in range(2 * radius + 1))
        y = (wide * (bias + alpha * near) ** -beta).astype(x.dtype)
        yield attributes, [numbers(element_type, 1, 2, 3, 7, seed=1), x, y]


def globally(element_type):
    x, *rest = (numbers(element_type, *dims, seed=n) for n, dims in enumerate(((2, 3, 2, 3), (3,), (3,), (3,), (3,))))
    rest[1] = rest[1] * rest[1]
    for is_scaled in (True, False):
        yield {"variance_epsilon": 0.125, "scale_after_normalization": is_scaled}, [x, *rest]


_BOXES = np.array([[0, 0, 1, 1], [0.25, 0.125, 0.875, 0.5], [0.75, 1, 0.125, 0.25], [-0.5, 0.25, 0.5, 1.5]], np.float32)
_OF = ints(1, 0, 1, 0)
# Attributes, sizes of pieces.
_PIECES = (({}, (3, 4)), ({"method": b"nearest"}, (2, 3)), ({}, (1, 1)), ({}, (1, 2)))


def pieces(name):
    """Pieces of two images, upright and turned over, inside and beyond the edges; or their gradients."""

    def rows(element_type):
        image = numbers(element_type, 2, 5, 4, 2)
        for number, (attributes, size) in enumerate(_PIECES):
            g = numbers(F32, len(_BOXES), *size, 2, seed=1)
            if name == "CropAndResize":
                yield {**attributes, "extrapolation_value": float(number)}, [image, _BOXES, _OF, ints(*size)]
            elif name.endswith("Image"):
                yield attributes, [g, _BOXES, _OF, ints(*image.shape)]
            elif not attributes:
                yield attributes, [g, image, _BOXES, _OF]

    return rows


ROWS = {
    "MaxPool": greatest,
    "MaxPoolGrad": greatest_back,
    "MaxPoolGradGrad": greatest_of_gradients,
    "AvgPool": means,
    "AvgPoolGrad": means_back,
    "LRN": local,
    "LRNGrad": local_back,
}
"""The calls of ops whose type is that of the attribute `T`, in all its types."""
