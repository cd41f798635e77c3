"""Elements taken from places and put at them: what one does is the gradient of the other.

Rows that are taken from a variable have a gradient for these rows only (`IndexedSlices`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.diagnostics import UnsupportedError
from compiler.tf2xla.gradients.spreading import INT32, rank_of, unknown
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, IndexedSlices, Output


def _pieces(node: Built, *values: Output | Sequence[int]) -> Output:
    """Sizes one after the other."""
    outputs = [one if isinstance(one, Output) else node.constant(np.array(one, np.int32), INT32) for one in values]
    return node.maker.add("ConcatV2", outputs, 0).output


def _cut(sizes: Output, begin: int, end: int | None) -> Output:
    """Some of the sizes of an array."""
    return sizes.op("StridedSlice", [begin], [0 if end is None else end], [1], end_mask=int(end is None))


def _product(sizes: Output) -> Output:
    return sizes.op("Prod", [0]).op("Reshape", [1])


def rows_of(node: Built, g: Output, indices: Output, all_sizes: Output) -> IndexedSlices:
    """The gradient of an array of which rows were taken.

    Args:
        node: the op that took the rows.
        g: the gradient of the rows.
        indices: of the rows that were taken.
        all_sizes: of the array.
    """
    values = g.op("Reshape", _pieces(node, [-1], _cut(all_sizes, 1, None)))
    return IndexedSlices(values, indices.op("Reshape", [-1]), all_sizes)


def _gathered(node: Built, g: Output) -> Sequence[Gradient]:
    params, indices = node["params"], node["indices"]
    is_new = node.node.op == "GatherV2"
    axis = 0
    if is_new:
        known = node["axis"].value
        if known is None:
            raise unknown(node, "its axis")
        axis = int(known)
    batch = node.attribute("batch_dims") if is_new else 0
    if not axis and not batch:
        return [rows_of(node, g, indices, params.op("Shape"))]
    return [_gathered_along(node, g, axis, batch)]


def _gathered_along(node: Built, g: Output, axis: int, batch: int) -> Output:
    """By segments: the index in front, each index of the batch having rows of its own."""
    params, indices = node["params"], node["indices"]
    whole, own_rank = rank_of(node, params), rank_of(node, indices)
    axis, batch = axis % whole, batch + own_rank if batch < 0 else batch
    count = own_rank - batch
    outer = axis - batch
    rank = whole - 1 + count
    inside = range(axis, axis + count)
    order = [*range(batch), *inside, *range(batch, axis), *range(axis + count, rank)]
    own, index_sizes = params.op("Shape"), indices.op("Shape")
    rest = [_cut(own, batch, axis), _cut(own, axis + 1, None)]
    turned = g.op("Transpose", order)
    length = _cut(own, axis, axis + 1)
    times = _product(_cut(own, 0, batch))
    flat = indices.op("Reshape", [-1])
    if batch:
        each = indices.op("Reshape", _pieces(node, times, [-1]))
        first = node.add("Range", 0, times.op("Reshape", np.array([], np.int32)), 1) * length
        flat = (each + first.op("ExpandDims", 1).op("Cast", DstT=indices.type)).op("Reshape", [-1])
    rows = turned.op("Reshape", _pieces(node, _product(index_sizes), *rest))
    total = (times * length).op("Reshape", np.array([], np.int32))
    summed = rows.op("UnsortedSegmentSum", flat, total)
    shaped = summed.op("Reshape", _pieces(node, _cut(own, 0, batch), length, *rest))
    back = [*range(batch), *range(batch + 1, batch + 1 + outer), batch, *range(batch + 1 + outer, whole)]
    return shaped.op("Transpose", back)


def _gathered_deep(node: Built, g: Output) -> Output:
    indices = node["indices"]
    return indices.op("ScatterNd", g, node["params"].op("Shape", out_type=indices.type))


def _from_variable(node: Built, g: Output) -> Gradient:
    batch = node.attribute("batch_dims")
    if batch:
        raise UnsupportedError(f"the gradient of {node.node.name!r} ({node.node.op})", "TensorFlow", "it has a batch")
    return rows_of(node, g, node["indices"], node["resource"].op("VariableShape"))


def _from_variable_deep(node: Built, g: Output) -> Output:
    indices = node["indices"]
    return indices.op("ScatterNd", g, node["resource"].op("VariableShape", out_type=indices.type))


def _kept_rows(node: Built, g: Output) -> Output:
    """The row of the segment for each of its elements, zeros where the number is negative."""
    ids = node["segment_ids"]
    rows = g.op("GatherV2", _inside(ids), 0)
    keeps = ids.op("GreaterEqual", ids.op("ZerosLike"))
    for _ in range(rank_of(node, node["data"]) - rank_of(node, ids)):
        keeps = keeps.op("ExpandDims", -1)
    return keeps.op("SelectV2", rows, rows.op("ZerosLike"))


def _inside(ids: Output) -> Output:
    return ids.op("Maximum", ids.op("ZerosLike"))


def _segment_extreme(node: Built, g: Output) -> Output:
    """Equal parts to all elements that are the greatest, or the least, of their segment."""
    found = _kept_rows(node, node.output)
    chosen = node["data"].op("Equal", found).op("Cast", DstT=g.type.base)
    count = chosen.op("UnsortedSegmentSum", node["segment_ids"], node["num_segments"])
    rows = _kept_rows(node, g / count)
    return chosen.op("Greater", chosen.op("ZerosLike")).op("SelectV2", rows, rows.op("ZerosLike"))


def _segment_product(node: Built, g: Output) -> Output:
    """The product of all others, also where one element, or several, are 0."""
    x, ids, count = node["data"], node["segment_ids"], node["num_segments"]
    is_zero = x.op("Equal", x.op("ZerosLike"))
    zeros = is_zero.op("Cast", DstT=INT32).op("UnsortedSegmentSum", ids, count)
    g = zeros.op("Greater", 1).op("SelectV2", g.op("ZerosLike"), g)
    others = is_zero.op("SelectV2", x.op("OnesLike"), x).op("UnsortedSegmentProd", ids, count)
    inside = _inside(ids)
    rest = is_zero.op(
        "SelectV2", others.op("GatherV2", inside, 0), node.output.op("GatherV2", inside, 0).op("RealDiv", x)
    )
    return _kept_rows(node, g) * rest


def _scattered(node: Built, g: Output) -> Sequence[Gradient]:
    return [None, g.op("GatherNd", node["indices"])]


def _added_to(sign: Callable[[Output], Output]) -> Differentiate:
    return lambda node, g: [g, None, sign(g.op("GatherNd", node["indices"]))]


def _replaced(node: Built, g: Output) -> Sequence[Gradient]:
    indices = node["indices"]
    zeros = node["updates"].op("ZerosLike")
    return [g.op("TensorScatterUpdate", indices, zeros), None, g.op("GatherNd", indices)]


def _scatter_extreme(node: Built, g: Output) -> Sequence[Gradient]:
    x, indices, updates = node.inputs
    kind = g.type.base
    of_x = x.op("Equal", node.output).op("Cast", DstT=kind)
    of_updates = updates.op("Equal", node.output.op("GatherNd", indices)).op("Cast", DstT=kind)
    count = of_x + indices.op("ScatterNd", of_updates, x.op("Shape", out_type=indices.type))
    return [g * of_x / count, None, (g / count).op("GatherNd", indices) * of_updates]


def _stitched(node: Built, g: Output) -> Sequence[Gradient]:
    indices = node.takes["indices"]
    return [*[None] * len(indices), *(g.op("GatherV2", one, 0) for one in indices)]


def _parted(node: Built, *gradients: Output) -> Output:
    """Back to where the rows were."""
    numbers = node["partitions"]
    own = numbers.op("Shape")
    count = own.op("Prod", [0])
    positions = node.add("Range", 0, count, 1).op("Reshape", own)
    partitions = node.maker.add(
        "DynamicPartition", positions, numbers, num_partitions=node.attribute("num_partitions")
    ).outputs
    whole = node.maker.add("ParallelDynamicStitch", list(partitions), list(gradients)).output
    return whole.op("Reshape", node["data"].op("Shape"))


def _greatest(node: Built, g: Output, _of_indices: Gradient) -> Output:
    return _scatter_back(node, node["input"], node["indices"], g)


def _of_rank(node: Built, g: Output) -> Output:
    """In equal parts to the elements that are what was found."""
    is_found = node["input"].op("Equal", node.output.op("ExpandDims", -1)).op("Cast", DstT=g.type)
    return is_found * (g.op("ExpandDims", -1) / is_found.op("Sum", [-1], keep_dims=True))


def _greatest_along(node: Built, g: Output, _of_indices: Gradient) -> Output:
    rank = rank_of(node, node["input"])
    axis = node.attribute("reduction_dimension") % rank
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    turned = [one.op("Transpose", order) for one in (node["input"], node["indices"], g)]
    return _scatter_back(node, *turned).op("Transpose", order)


def _scatter_back(node: Built, x: Output, indices: Output, g: Output) -> Output:
    """Back to where the greatest of each row stand."""
    own, indices_ = x.op("Shape"), indices.op("Cast", DstT=INT32)
    length = _cut(own, -1, None)
    rows = indices_.op("Reshape", _pieces(node, _product(_cut(own, 0, -1)), _cut(indices_.op("Shape"), -1, None)))
    scalar = np.array([], np.int32)
    count = rows.op("Shape").op("StridedSlice", [0], [1], [1], shrink_axis_mask=1)
    first = (node.add("Range", 0, count, 1) * length.op("Reshape", scalar)).op("ExpandDims", -1)
    flat = (rows + first).op("Reshape", [-1, 1])
    return flat.op("ScatterNd", g.op("Reshape", [-1]), _product(own)).op("Reshape", own)


def _sums(node: Built, g: Output) -> Output:
    switches = {"exclusive": node.attribute("exclusive"), "reverse": not node.attribute("reverse")}
    return g.op("Cumsum", node["axis"], **switches)


def _products(node: Built, g: Output) -> Output:
    switches = {"exclusive": node.attribute("exclusive"), "reverse": not node.attribute("reverse")}
    return (node.output * g).op("Cumsum", node["axis"], **switches).op("DivNoNan", node["x"])


GRADIENTS: dict[str, Differentiate] = {
    "GatherV2": _gathered,
    "Gather": _gathered,
    "GatherNd": _gathered_deep,
    "ResourceGather": _from_variable,
    "ResourceGatherNd": _from_variable_deep,
    "UnsortedSegmentSum": _kept_rows,
    "UnsortedSegmentMax": _segment_extreme,
    "UnsortedSegmentMin": _segment_extreme,
    "UnsortedSegmentProd": _segment_product,
    "ScatterNd": _scattered,
    "TensorScatterAdd": _added_to(lambda g: g),
    "TensorScatterSub": _added_to(lambda g: -g),
    "TensorScatterUpdate": _replaced,
    "TensorScatterMax": _scatter_extreme,
    "TensorScatterMin": _scatter_extreme,
    "DynamicStitch": _stitched,
    "DynamicPartition": _parted,
    "ParallelDynamicStitch": _stitched,
    "TopKV2": _greatest,
    "NthElement": _of_rank,
    "ApproxTopK": _greatest_along,
    "Cumsum": _sums,
    "Cumprod": _products,
}
