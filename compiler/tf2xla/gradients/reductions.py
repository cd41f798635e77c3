"""Reductions: the gradient of a result goes to every element that it was made of."""

from __future__ import annotations

import math

from compiler.tf2xla.gradients.spreading import INT32, rank_of, sizes, unknown
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Output


def _axes(node: Built) -> list[int] | None:
    """The axes in order where they and the rank are known."""
    x, value = node.inputs[0], node.inputs[1].value
    if value is None or x.rank is None:
        return None
    return sorted({int(axis) % x.rank for axis in value.reshape(-1)} if x.rank else ())


def kept(node: Built, result: Output) -> Output:
    """A result of the reduction, or its gradient, with the axes as dimensions of one element."""
    if node.attribute("keep_dims"):
        return result
    axes = _axes(node)
    if axes is None:
        return result.op("Reshape", _kept_sizes(node))
    if result.rank == 0 or axes == list(range(len(axes))):
        return result  # it is aligned as it is
    for axis in axes:
        result = result.op("ExpandDims", axis)
    return result


def _kept_sizes(node: Built) -> Output:
    """The sizes of the input with 1 along the axes, where these are known to nobody before the program runs."""
    x, axes = node.inputs[0], node.inputs[1].op("Cast", DstT=INT32)
    own = x.op("Shape")
    rank = own.op("Size")
    every = node.add("Range", 0, rank, 1)
    at = (axes + rank).op("FloorMod", rank)
    return node.maker.add("DynamicStitch", [every, at], [own, at.op("OnesLike")]).output


def _sum(node: Built, g: Output) -> Output:
    return kept(node, g).op("BroadcastTo", sizes(node.inputs[0]))


def _mean(node: Built, g: Output) -> Output:
    x, result = node.inputs[0], node.output
    every, left = x.shape.static, result.shape.static
    if every is not None and left is not None:
        count = node.constant(math.prod(every) // max(math.prod(left), 1), g.type.base)
    else:
        count = x.op("Size").op("FloorDiv", result.op("Size").op("Maximum", 1)).op("Cast", DstT=g.type.base)
    return _sum(node, g) / count


def _extreme(node: Built, g: Output) -> Output:
    """Equal parts to all elements that are the greatest, or the least."""
    x = node.inputs[0]
    chosen = kept(node, node.output).op("Equal", x).op("Cast", DstT=g.type.base)
    count = chosen.op("Sum", node.inputs[1], keep_dims=True)
    return chosen / count * kept(node, g)


def _product(node: Built, g: Output) -> Output:
    """The product of all others: those before along the axes times those behind, so that a 0 does no harm."""
    x = node.inputs[0]
    axes = _axes(node)
    rank = rank_of(node, x)
    if axes is None:
        raise unknown(node, "its axes")
    order = [*axes, *(axis for axis in range(rank) if axis not in axes)]
    inverse = [order.index(axis) for axis in range(rank)]
    turned = x.op("Transpose", order)
    first = turned.op("Shape")
    rows = turned.op("Reshape", _halves(node, first, len(axes)))
    before = rows.op("Cumprod", 0, exclusive=True)
    behind = rows.op("Cumprod", 0, exclusive=True, reverse=True)
    others = (before * behind).op("Reshape", first).op("Transpose", inverse)
    if str(x.type.base).startswith("complex"):
        others = others.op("Conj")
    return others * kept(node, g)


def _halves(node: Built, all_sizes: Output, first: int) -> Output:
    """How many elements the first dimensions have, and the others."""
    sizes_ = [
        all_sizes.op("StridedSlice", [begin], [end], [1]).op("Prod", [0])
        for begin, end in ((0, first), (first, 1 << 20))
    ]
    return node.maker.add("Pack", sizes_).output


def _nothing(*names: str) -> dict[str, Differentiate]:
    return dict.fromkeys(names, no_gradient)


def _length(node: Built, g: Output) -> Output:
    return node.inputs[0] / (kept(node, node.output) / kept(node, g))


GRADIENTS: dict[str, Differentiate] = {
    "Sum": _sum,
    "Mean": _mean,
    "EuclideanNorm": _length,
    "Max": _extreme,
    "Min": _extreme,
    "Prod": _product,
    **_nothing("ArgMax", "ArgMin"),
}
