"""Images seen in perspective: gradients are seen back, by the inverse of each projection."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph import BY_NAME
from compiler.tf2xla.gradients.spreading import sizes
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output

_COUNT = 8  # of the numbers of a projection, the ninth being 1


def _inverse(node: Built) -> Output:
    transforms = node["transforms"]
    last = transforms.op("Slice", [0, 0], [-1, 1]).op("OnesLike")
    matrices = node.add("ConcatV2", [transforms, last], 1).op("Reshape", [-1, 3, 3])
    inverse = matrices.op("MatrixInverse").op("Reshape", [-1, _COUNT + 1])
    scaled = inverse / inverse.op("Slice", [0, _COUNT], [-1, 1])
    return scaled.op("Slice", [0, 0], [-1, _COUNT])


def _seen_back(node: Built, g: Output) -> Sequence[Gradient]:
    size = sizes(node["images"]).op("StridedSlice", [1], [3], [1])
    stated = {name: node.attribute(name) for name in ("interpolation", "fill_mode")}
    zero = node.constant(0, BY_NAME["float32"])
    return [g.op("ImageProjectiveTransformV3", _inverse(node), size, zero, **stated), None, None, None]


GRADIENTS: dict[str, Differentiate] = {"ImageProjectiveTransformV3": _seen_back}
