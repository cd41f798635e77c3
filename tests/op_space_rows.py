"""Calls of ops on volumes, and of ops that move blocks of places, take patches, and turn sequences around."""

import numpy as np
import op_image_rows
from op_values import ints, numbers, specials

from compiler.graph import BY_NAME, AttributeList


def _stated(strides=(1, 1, 1), padding="SAME", layout="NDHWC", **more):
    attributes = {"padding": padding.encode(), "data_format": layout.encode()}
    for name, value in {"strides": strides, **more}.items():
        attributes[name] = AttributeList("i", (1, *value, 1))
    return attributes


_VOLUMES = (
    (_stated(), (1, 3, 4, 2, 2), (2, 3, 2, 2, 3)),
    (_stated((1, 2, 2), "VALID"), (1, 3, 4, 5, 1), (2, 2, 3, 1, 2)),
    (_stated((2, 1, 2)), (2, 3, 2, 4, 1), (2, 2, 2, 1, 1)),
)
_POOLS = (
    (_stated((2, 2, 2), ksize=(2, 2, 2)), (1, 3, 4, 2, 2)),
    (_stated((1, 2, 1), "VALID", ksize=(2, 1, 2)), (1, 3, 4, 3, 1)),
)


def _places(attributes, image, kernel):
    strides = attributes["strides"].values[1:4]
    if attributes["padding"] == b"SAME":
        return tuple(-(-size // stride) for size, stride in zip(image, strides, strict=True))
    return tuple((size - own) // stride + 1 for size, own, stride in zip(image, kernel, strides, strict=True))


def convolutions(name):
    def rows(element_type):
        for attributes, image, kernel in _VOLUMES:
            x, w = numbers(element_type, *image), numbers(element_type, *kernel, seed=1)
            places = _places(attributes, image[1:4], kernel[:3])
            g = numbers(element_type, image[0], *places, kernel[-1], seed=2)
            given = {"Conv3D": [x, w], "Conv3DBackpropInputV2": [ints(*image), w, g]}
            yield attributes, given.get(name, [x, ints(*kernel), g])

    return rows


def pools(element_type):
    for attributes, image in _POOLS:
        yield attributes, [numbers(element_type, *image)]


def means_back(element_type):
    for attributes, image in _POOLS:
        places = _places(attributes, image[1:4], attributes["ksize"].values[1:4])
        yield attributes, [ints(*image), numbers(element_type, image[0], *places, image[-1], seed=1)]


def _greatest(attributes, x):
    """The greatest of each window, by counting."""
    kernel, strides = attributes["ksize"].values[1:4], attributes["strides"].values[1:4]
    places = _places(attributes, x.shape[1:4], kernel)
    more = [(0, max(0, (n - 1) * s + k - m)) for n, s, k, m in zip(places, strides, kernel, x.shape[1:4], strict=True)]
    edges = [(total // 2, total - total // 2) for _, total in more]
    padded = np.pad(x.astype(np.float64), [(0, 0), *edges, (0, 0)], constant_values=-np.inf)
    found = np.empty((x.shape[0], *places, x.shape[-1]))
    for at in np.ndindex(*places):
        window = tuple(slice(n * s, n * s + k) for n, s, k in zip(at, strides, kernel, strict=True))
        found[:, *at] = padded[:, *window].max((1, 2, 3))
    return found.astype(x.dtype)


def _distinct(element_type, *dims):
    values = np.random.default_rng(0).permutation(int(np.prod(dims))).reshape(dims)
    return (values / 4 if element_type.is_float else values % 100).astype(element_type.dtype)


def greatest_back(*, is_of_gradient=False):
    def rows(element_type):
        for attributes, image in _POOLS:
            x = _distinct(element_type, *image)
            y = _greatest(attributes, x)
            yield attributes, [x, y, numbers(element_type, *(image if is_of_gradient else y.shape), seed=1)]

    return rows


def given_windows(rows):
    """The same calls with windows as inputs."""

    def moved(element_type):
        for attributes, inputs in rows(element_type):
            if attributes["padding"] != b"EXPLICIT":
                kept = {key: value for key, value in attributes.items() if key in ("padding", "data_format")}
                yield kept, [*inputs, *(ints(*attributes[name].values) for name in ("ksize", "strides"))]

    return moved


def _pairs(*values):
    return np.array(values, np.int32).reshape(-1, 2)


def to_batches(element_type):
    yield {}, [numbers(element_type, 1, 4, 6, 2), ints(2, 3), _pairs(0, 0, 0, 0)]
    yield {}, [numbers(element_type, 2, 3, 4), ints(2), _pairs(1, 2)]
    yield {}, [numbers(element_type, 1, 3, 5, 1), ints(2, 2), _pairs(0, 1, 2, 1)]


def from_batches(element_type):
    yield {}, [numbers(element_type, 6, 2, 1, 2), ints(2, 3), _pairs(0, 0, 0, 0)]
    yield {}, [numbers(element_type, 4, 3, 2), ints(2), _pairs(1, 2)]
    yield {}, [numbers(element_type, 4, 3, 2, 1), ints(2, 2), _pairs(0, 1, 1, 1)]


def old_to_batches(element_type):
    yield {"block_size": 2}, [numbers(element_type, 1, 3, 4, 2), _pairs(0, 1, 0, 0)]


def old_from_batches(element_type):
    yield {"block_size": 2}, [numbers(element_type, 4, 2, 3, 2), _pairs(0, 1, 1, 0)]


def to_channels(element_type):
    yield {"block_size": 2}, [numbers(element_type, 2, 4, 6, 3)]
    yield {"block_size": 3}, [numbers(element_type, 1, 3, 6, 1)]


def from_channels(element_type):
    yield {"block_size": 2}, [numbers(element_type, 2, 2, 3, 8)]
    yield {"block_size": 3}, [numbers(element_type, 1, 2, 1, 9)]


def patches(element_type):
    for padding, sides, strides, rates in (
        (b"VALID", (2, 3), (1, 2), (1, 1)),
        (b"SAME", (3, 2), (2, 1), (1, 2)),
        (b"VALID", (2, 2), (2, 2), (2, 1)),
    ):
        numbers_of = {"ksizes": sides, "strides": strides, "rates": rates}
        stated = {name: AttributeList("i", (1, *value, 1)) for name, value in numbers_of.items()}
        yield {**stated, "padding": padding}, [numbers(element_type, 1, 5, 6, 2)]


def reversals(element_type):
    for chosen in ((True, False, True), (False, False, False)):
        yield {}, [numbers(element_type, 2, 3, 4), np.array(chosen)]


def sequences(element_type):
    x = numbers(element_type, 3, 4, 2)
    yield {"seq_dim": 1}, [x, np.array([2, 4, 0])]
    yield {"seq_dim": 0, "batch_dim": 2}, [x, np.array([3, 1])]
    yield {"seq_dim": 0, "batch_dim": 1}, [x, np.array([1, 2, 3, 0])]


def orders(element_type):
    yield {}, [numbers(element_type, 2, 3, 4), ints(2, 0, 1)]
    yield {}, [numbers(element_type, 2, 3), ints(1, 0)]


_RESIZED = (
    ((1, 3, 4, 2), (5, 7), {}),
    ((1, 5, 4, 1), (3, 2), {"half_pixel_centers": True}),
    ((2, 3, 3, 1), (6, 4), {"align_corners": True}),
    ((1, 4, 3, 1), (8, 9), {"half_pixel_centers": True}),
    ((1, 1, 2, 1), (1, 5), {}),
)


def resized(element_type):
    for image, size, attributes in _RESIZED:
        yield attributes, [numbers(element_type, *image), ints(*size)]


def covered(element_type):
    """Other sizes, greater and less, and of what is not finite only what each new element covers."""
    for image, size, attributes in _RESIZED:
        if "half_pixel_centers" not in attributes:
            yield attributes, [numbers(element_type, *image), ints(*size)]
    yield {}, [numbers(element_type, 1, 7, 5, 2), ints(3, 2)]
    yield {}, [np.resize(specials(element_type), (1, 6, 7, 1)), ints(3, 4)]
    yield {"align_corners": True}, [numbers(element_type, 1, 7, 5, 2), ints(3, 2)]
    yield {}, [numbers(element_type, 0, 2, 2, 1), ints(3, 2)]


_KINDS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")
_SCALED = [(kind, number % 2 == 0, (0.5, 0.7) if number % 3 else (1.5, 1.2)) for number, kind in enumerate(_KINDS)]


def scaled(element_type):
    for kind, smooths, scale in _SCALED:
        attributes = {"kernel_type": kind.encode(), "antialias": smooths}
        places = [np.array(scale, np.float32), np.array((0.25, -0.5), np.float32)]
        yield attributes, [numbers(element_type, 1, 5, 7, 2), ints(4, 6), *places]


def scaled_back(element_type):
    g = numbers(element_type, 1, 4, 6, 2, seed=1)
    for attributes, (image, _, *places) in scaled(element_type):
        yield attributes, [g, image, *places]


def nearest_back(element_type):
    for image, size, attributes in _RESIZED:
        yield attributes, [numbers(element_type, image[0], *size, image[-1]), ints(*image[1:3])]


def resized_back(element_type):
    for image, size, attributes in _RESIZED:
        g = np.random.default_rng(1).integers(-8, 9, (image[0], *size, image[-1])).astype(np.float32) / 4
        yield attributes, [g, numbers(element_type, *image)]


_TURNED = (0.9, -0.3, 0.6, 0.25, 1.1, -0.7, 0.05, -0.02)
_FAR = (2.5, 0.4, -6.0, -0.6, 3.0, 2.0, 0.0, 0.0)
_HALF = (0.5, 0.0, 0.25, 0.0, 0.5, 0.25, 0.0, 0.0)
_ENDLESS = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.5, 0.0)


def projected(element_type):
    image = numbers(element_type, 2, 4, 5, 2)
    for kind in ("NEAREST", "BILINEAR"):
        for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
            stated = {"interpolation": kind.encode(), "fill_mode": mode.encode()}
            for fields, size in (((_TURNED, _FAR), (3, 6)), ((_HALF,), (7, 9)), ((_ENDLESS,), (4, 5))):
                transforms = np.array(fields, np.float32)
                yield stated, [image, transforms, ints(*size), np.array(2, np.float32)]


def placed(*, is_back):
    """Equal numbers, too, of which the first counts."""

    def rows(element_type):
        for number, (side, strides, padding) in enumerate((((2, 2), (2, 1), b"SAME"), ((3, 2), (1, 2), b"VALID"))):
            attributes = {"padding": padding, "include_batch_in_index": number == 0}
            attributes["Targmax"] = BY_NAME["int32" if number and not is_back else "int64"]  # as there are kernels
            for key, value in (("ksize", side), ("strides", strides)):
                attributes[key] = AttributeList("i", (1, *value, 1))
            x = numbers(element_type, 2, 3, 4, 2)
            if not is_back:
                yield attributes, [x]
                yield attributes, [np.zeros_like(x)]
                continue
            g = numbers(element_type, 2, *((1, 2) if number else (2, 4)), 2, seed=1)
            places = np.arange(g.size).reshape(g.shape) % (x[0].size if number else x.size)
            yield attributes, [x, g, places]

    return rows


_DILATIONS = (
    ({"strides": (1, 1), "rates": (1, 1), "padding": "SAME"}, (2, 3, 4, 2), (2, 3)),
    ({"strides": (2, 1), "rates": (1, 2), "padding": "VALID"}, (1, 5, 6, 1), (2, 2)),
    ({"strides": (2, 3), "rates": (2, 1), "padding": "SAME"}, (1, 5, 4, 1), (3, 2)),
)


def dilations(*, is_back):
    """Whole numbers too: of equal sums the first counts."""

    def rows(element_type):
        for stated, image, kernel in _DILATIONS:
            attributes = {key: AttributeList("i", (1, *stated[key], 1)) for key in ("strides", "rates")}
            attributes["padding"] = stated["padding"].encode()
            x, w = numbers(element_type, *image), numbers(element_type, *kernel, image[-1], seed=1)
            effective = [(size - 1) * rate + 1 for size, rate in zip(kernel, stated["rates"], strict=True)]
            is_same = stated["padding"] == "SAME"
            places = [
                -(-(size if is_same else size - own + 1) // stride)
                for size, own, stride in zip(image[1:3], effective, stated["strides"], strict=True)
            ]
            g = numbers(element_type, image[0], *places, image[-1], seed=2)
            yield attributes, [x, w, g] if is_back else [x, w]

    return rows


ROWS = {
    "MaxPoolWithArgmax": placed(is_back=False),
    "MaxPoolGradWithArgmax": placed(is_back=True),
    "Dilation2D": dilations(is_back=False),
    "Dilation2DBackpropInput": dilations(is_back=True),
    "Dilation2DBackpropFilter": dilations(is_back=True),
    "MaxPoolV2": given_windows(op_image_rows.greatest),
    "MaxPoolGradV2": given_windows(op_image_rows.greatest_back),
    "MaxPoolGradGradV2": given_windows(op_image_rows.greatest_of_gradients),
    "AvgPool3DGrad": means_back,
    "MaxPool3DGrad": greatest_back(),
    "MaxPool3DGradGrad": greatest_back(is_of_gradient=True),
    "SpaceToBatchND": to_batches,
    "BatchToSpaceND": from_batches,
    "SpaceToBatch": old_to_batches,
    "BatchToSpace": old_from_batches,
    "SpaceToDepth": to_channels,
    "DepthToSpace": from_channels,
    "ExtractImagePatches": patches,
    "Reverse": reversals,
    "ReverseSequence": sequences,
    "ConjugateTranspose": orders,
    "ResizeNearestNeighborGrad": nearest_back,
    "ResizeNearestNeighbor": resized,
    "ResizeArea": covered,
    "ResizeBilinear": resized,
    "ScaleAndTranslate": scaled,
    "ScaleAndTranslateGrad": scaled_back,
    "ResizeBicubic": resized,
    "ResizeBilinearGrad": resized_back,
    "ResizeBicubicGrad": resized_back,
    "MaxPool3D": pools,
    "AvgPool3D": pools,
}
"""The calls of ops whose type is that of the attribute `T`, in all its types."""
