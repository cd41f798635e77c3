"""Arrays cut, joined, turned and spread: gradients go back the same way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.tf2xla.gradients.spreading import INT32, sizes, unspread
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _transposed(node: Built, g: Output) -> Output:
    order = node["perm"]
    known = order.value
    return g.op("Transpose", order.op("InvertPermutation") if known is None else np.argsort(known).astype(known.dtype))


def _unjoined(node: Built, g: Output, values: str, axis: Output) -> list[Output]:
    """The part of each array that was joined."""
    inputs = node.takes[values]
    if len(inputs) == 1:
        return [g]
    known = axis.value
    lengths = [None if one.shape.static is None or known is None else one.shape.static[int(known)] for one in inputs]
    if any(one is None for one in lengths):
        after = axis + 1
        along = [one.op("Shape").op("StridedSlice", _vector(axis), _vector(after), [1]) for one in inputs]
        listed: Output | list[int] = node.maker.add("ConcatV2", along, 0).output
    else:
        listed = [int(one) for one in lengths if one is not None]
    given = np.array(listed, np.int32) if isinstance(listed, list) else listed
    return list(node.maker.add("SplitV", g, given, axis, num_split=len(inputs)).outputs)


def _vector(x: Output) -> Output:
    """A number as a vector of it."""
    return x.op("Reshape", [1])


def _positive(node: Built, axis: Output) -> Output:
    """An axis counted from the front."""
    rank = node.output.op("Rank")
    if axis.value is not None and node.output.rank is not None:
        return node.constant(int(axis.value) % node.output.rank, INT32)
    return (axis.op("Cast", DstT=INT32) + rank).op("FloorMod", rank)


def _joined(node: Built, g: Output) -> Sequence[Gradient]:
    return [*_unjoined(node, g, "values", _positive(node, node["axis"])), None]


def _joined_first(node: Built, g: Output) -> Sequence[Gradient]:
    return [None, *_unjoined(node, g, "values", _positive(node, node["concat_dim"]))]


def _packed(node: Built, g: Output) -> Sequence[Gradient]:
    return node.maker.add("Unpack", g, num=node.attribute("N"), axis=node.attribute("axis")).outputs


def _unpacked(node: Built, *gradients: Output) -> Output:
    return node.maker.add("Pack", list(gradients), axis=node.attribute("axis")).output


def _split(node: Built, *gradients: Output) -> Sequence[Gradient]:
    joined = node.maker.add("ConcatV2", list(gradients), node["split_dim"]).output
    return [None, joined] if node.node.op == "Split" else [joined]


def _sliced(node: Built, g: Output) -> Output:
    """In zeros of the sizes of what it was cut from."""
    begin, kind = node["begin"], node["begin"].type
    before = begin
    behind = node["input"].op("Shape", out_type=kind) - g.op("Shape", out_type=kind) - begin
    return g.op("Pad", node.maker.add("Pack", [before, behind], axis=1).output)


def _indexed(node: Built, g: Output) -> Output:
    kind = node["begin"].type
    masks = {name: node.attribute(name) for name in MASKS}
    shape = node["input"].op("Shape", out_type=kind)
    return node.maker.add("StridedSliceGrad", shape, node["begin"], node["end"], node["strides"], g, **masks).output


def _indexed_back(node: Built, g: Output) -> Sequence[Gradient]:
    masks = {name: node.attribute(name) for name in MASKS}
    given = [node[name] for name in ("begin", "end", "strides")]
    return [None, None, None, None, g.op("StridedSlice", *given, **masks)]


def _unpadded(node: Built, g: Output) -> Sequence[Gradient]:
    before = node["paddings"].op("StridedSlice", [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2)
    return [g.op("Slice", before, node["input"].op("Shape", out_type=before.type))]


def _mirrored(node: Built, g: Output) -> Output:
    return g.op("MirrorPadGrad", node["paddings"], mode=node.attribute("mode"))


def _mirrored_back(node: Built, g: Output) -> Output:
    return g.op("MirrorPad", node["paddings"], mode=node.attribute("mode"))


def _tiled(node: Built, g: Output) -> Output:
    """The sum of all repetitions."""
    x, times = node["input"], node["multiples"]
    pairs = node.maker.add("Pack", [times, x.op("Shape", out_type=times.type)], axis=1).output
    flat = pairs.op("Reshape", [-1])
    return g.op("Reshape", flat).op("Sum", node.add("Range", 0, flat.op("Size"), 2)).op("Reshape", sizes(x))


def _spread(node: Built, g: Output) -> Gradient:
    return unspread(node, (node["input"], g), (node.output, None))[0]


def _reversed(node: Built, g: Output) -> Output:
    return g.op("ReverseV2", node["axis"])


def _rolled(node: Built, g: Output) -> Output:
    return g.op("Roll", -node["shift"], node["axis"])


def _banded(node: Built, g: Output) -> Output:
    return g.op("MatrixBandPart", node["num_lower"], node["num_upper"])


def _complex(node: Built, g: Output) -> Sequence[Gradient]:
    kind = node["real"].type.base
    return unspread(node, (node["real"], g.op("Real", Tout=kind)), (node["imag"], g.op("Imag", Tout=kind)))


def _with_imaginary(node: Built, real: Output | None, imaginary: Output | None) -> Output:
    """A complex number of one part, the other being 0."""
    components = [real, imaginary]
    there = next(one for one in components if one is not None)
    filled = [there.op("ZerosLike") if one is None else one for one in components]
    return node.add("Complex", *filled, Tout=node.inputs[0].type.base)


def _distance(node: Built, g: Output) -> Output:
    return _with_imaginary(node, g, None) * node["x"].op("Sign")


def _angle(node: Built, g: Output) -> Output:
    x = node["input"]
    kind = g.type.base
    turned = node.add("Complex", x.op("Imag", Tout=kind), x.op("Real", Tout=kind), Tout=x.type.base)
    return -_with_imaginary(node, g, None) * turned.op("Reciprocal")


GRADIENTS: dict[str, Differentiate] = {
    "Transpose": _transposed,
    "ConcatV2": _joined,
    "Concat": _joined_first,
    "Pack": _packed,
    "Unpack": _unpacked,
    "Split": _split,
    "SplitV": _split,
    "Slice": _sliced,
    "StridedSlice": _indexed,
    "StridedSliceGrad": _indexed_back,
    "Pad": _unpadded,
    "PadV2": _unpadded,
    "MirrorPad": _mirrored,
    "MirrorPadGrad": _mirrored_back,
    "Tile": _tiled,
    "BroadcastTo": _spread,
    "ReverseV2": _reversed,
    "Roll": _rolled,
    "MatrixBandPart": _banded,
    "EnsureShape": lambda _node, g: g,
    "Conj": lambda _node, g: g.op("Conj"),
    "Real": lambda node, g: _with_imaginary(node, g, None),
    "Imag": lambda node, g: _with_imaginary(node, None, g),
    "Complex": _complex,
    "ComplexAbs": _distance,
    "Angle": _angle,
    "ConcatOffset": no_gradient,
    "InvertPermutation": no_gradient,
}
