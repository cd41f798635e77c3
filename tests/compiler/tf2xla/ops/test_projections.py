"""Images seen in perspective: what is refused; results are TensorFlow's, recorded."""

import numpy as np
import pytest
from cluster_graphs import graph_of

import compiler
from compiler.ir.shape import ArrayShape
from compiler.ir.types import F32
from compiler.tf2xla import lower

GRAPH = """
    x = Placeholder()
    t = Placeholder()
    n = Placeholder() {dtype=int32}
    f = Placeholder()
    y = ImageProjectiveTransformV3(x, t, n, f) {interpolation=KIND, fill_mode=MODE}
"""


@pytest.mark.parametrize(
    ("dims", "size", "kind", "mode", "said"),
    [
        ((2, 8), (2, 2), "BILINEAR", "CONSTANT", r"must be \[1 or 1, 8\]"),
        ((1, 8), (0, 2), "BILINEAR", "CONSTANT", "two positive numbers"),
        ((1, 8), (2, 2), "CUBIC", "CONSTANT", "interpolation must be one of NEAREST, BILINEAR, not CUBIC"),
        ((1, 8), (2, 2), "NEAREST", "MIRROR", "fill_mode must be one of REFLECT"),
    ],
)
def test_what_makes_no_sense_is_refused(dims, size, kind, mode, said):
    feeds = {"x": ArrayShape(F32, (1, 3, 3, 1)), "t": ArrayShape(F32, dims), "n": np.array(size, np.int32)}
    graph = graph_of(GRAPH.replace("KIND", kind).replace("MODE", mode))
    with pytest.raises(compiler.InputError, match=said):
        lower(graph, feeds | {"f": np.array(0, np.float32)}, ["y"])
