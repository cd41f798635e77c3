"""The gradients of normalisation's gradients, and of patches of images.

With x' for what is normalised, r for the inverse of the deviation, a bar for means over a channel, and u, v, w for what
arrives at the gradients of x, of the scale s and of the offset, the sum of all is
N s r (mean(u g) - mean(u) mean(g) - mean(u x') mean(g x')) + sum(v g x') + sum(w g), which is differentiated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.graph import BY_NAME
from compiler.tf2xla.gradients.spreading import INT32, rank_of, sizes
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output

_FLOAT = BY_NAME["float32"]


@dataclass(frozen=True, slots=True)
class _Channels:
    """How numbers of channels are spread over an array, and means taken of each channel."""

    axes: tuple[int, ...]
    dims: tuple[int, ...]

    def spread(self, x: Output) -> Output:
        """A number for each channel, so that it goes with the array."""
        return x.op("Reshape", np.array(self.dims, np.int32))

    def mean(self, x: Output) -> Output:
        """The mean of each channel."""
        return x.op("Mean", np.array(self.axes, np.int32), keep_dims=True)

    def total(self, x: Output) -> Output:
        """The sum of each channel, as a vector."""
        return x.op("Sum", np.array(self.axes, np.int32))


def _channels(node: Built) -> _Channels:
    rank = rank_of(node, node["x"])
    channel = rank - 1 if node.attribute("data_format").endswith(b"C") else 1
    axes = tuple(n for n in range(rank) if n != channel)
    return _Channels(axes, tuple(-1 if n == channel else 1 for n in range(rank)))


def _wide(x: Output) -> Output:
    return x if x.type.base == _FLOAT else x.op("Cast", DstT=_FLOAT)


def _trained(node: Built, along: _Channels, arrived: Sequence[Output]) -> Sequence[Output]:
    g, x, scale = (_wide(node[name]) for name in ("y_backprop", "x", "scale"))
    u, v, w = arrived
    centered = x - along.mean(x)
    r = (along.mean(centered * centered) + node.attribute("epsilon")).op("Rsqrt")
    normal = centered * r
    s, v, w = map(along.spread, (scale, v, w))
    by_u, by_g = along.mean(u * normal), along.mean(g * normal)
    flat_u = u - along.mean(u) - normal * by_u
    of_g = s * r * flat_u + v * normal + w
    of_scale = along.total(r * (g - along.mean(g) - normal * by_g) * u)
    joint = along.mean(u * g) - along.mean(u) * along.mean(g) - by_u * by_g
    q = v * g - s * r * (u * by_g + g * by_u)
    of_x = r * (q - along.mean(q) - normal * along.mean(q * normal)) - s * joint * r * r * normal
    return of_g, of_x, of_scale


def _given(node: Built, along: _Channels, arrived: Sequence[Output]) -> Sequence[Output]:
    """By a mean and a variance that are given: a product."""
    g, x, scale = (_wide(node[name]) for name in ("y_backprop", "x", "scale"))
    mean, variance = (along.spread(node[f"reserve_space_{n}"]) for n in (1, 2))
    u, v, w = arrived
    r = (variance + node.attribute("epsilon")).op("Rsqrt")
    s, v, w = map(along.spread, (scale, v, w))
    return u * s * r + v * (x - mean) * r + w, v * g * r, along.total(u * g * r)


def _normalised_back(
    node: Built, of_x: Output, of_scale: Output, of_offset: Output, *_kept: Gradient
) -> list[Gradient]:
    formula = _trained if node.attribute("is_training") else _given
    found = formula(node, _channels(node), [_wide(one) for one in (of_x, of_scale, of_offset)])
    kinds = [node[name].type.base for name in ("y_backprop", "x", "scale")]
    return [one if one.type.base == kind else one.op("Cast", DstT=kind) for one, kind in zip(found, kinds, strict=True)]


def _patches(node: Built, g: Output) -> Output:
    """Each place of the image has the sum over the places of patches that it went to."""
    x = node["images"]
    own, cut = sizes(x), sizes(node.output)
    batch, height, width, channels = (_size(own, n) for n in range(4))
    stated = {name: node.attribute(name) for name in ("ksizes", "strides", "rates", "padding")}
    _, rows, columns, _ = stated["ksizes"]
    count = height * width
    numbers = node.add("Range", 1, count + 1, 1)
    image = numbers.op("Reshape", _joined(node, 1, height, width, 1)).op("Cast", DstT=_FLOAT)
    positions = image.op("ExtractImagePatches", **stated).op("Cast", DstT=INT32).op("Reshape", [-1]) - 1
    patches = g.op("Reshape", _joined(node, batch, _size(cut, 1), _size(cut, 2), rows, columns, channels))
    flat = patches.op("Transpose", [1, 2, 3, 4, 0, 5]).op("Reshape", _joined(node, -1, batch * channels))
    found = flat.op("UnsortedSegmentSum", positions, count)
    return found.op("Reshape", _joined(node, height, width, batch, channels)).op("Transpose", [2, 0, 1, 3])


def _globally(node: Built, g: Output) -> Sequence[Gradient]:
    """Of x, means, variances, offsets and scales; a scale that is not used has zeros."""
    x, mean, variance, _, scale = node.inputs
    widened = variance + node.attribute("variance_epsilon")
    inverse = widened.op("Rsqrt")
    is_scaled = node.attribute("scale_after_normalization")
    factor = inverse * scale if is_scaled else inverse
    over = (g * (x - mean)).op("Sum", [0, 1, 2])
    of_variance = over * (factor / widened) * -0.5
    of_offset = g.op("Sum", [0, 1, 2])
    of_scale = over * inverse if is_scaled else scale.op("ZerosLike")
    return [g * factor, -(of_offset * factor), of_variance, of_offset, of_scale]


def _size(all_sizes: Output, number: int) -> Output:
    return all_sizes.op("StridedSlice", [number], [number + 1], [1], shrink_axis_mask=1)


def _joined(node: Built, *sizes_: Output | int) -> Output:
    outputs = [one if isinstance(one, Output) else node.constant(np.array(one, np.int32), INT32) for one in sizes_]
    return node.maker.add("Pack", outputs).output


GRADIENTS: dict[str, Differentiate] = {
    **dict.fromkeys((f"FusedBatchNormGrad{version}" for version in ("", "V2", "V3")), _normalised_back),
    "ExtractImagePatches": _patches,
    "BatchNormWithGlobalNormalization": _globally,
}
