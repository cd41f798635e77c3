"""Products of vectors, systems of three diagonals, sums in logarithms, sparse arrays, and parts replaced."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from compiler.tf2xla.gradients.movement import MASKS
from compiler.tf2xla.gradients.spreading import as_shaped, conj, rank_of, unspread
from compiler.tf2xla.record import Differentiate, no_gradient
from compiler.tf2xla.terms import Built, Gradient, Output

_MATRIX = 2
"""The rank of a matrix."""


def _cross(node: Built, g: Output) -> Sequence[Output]:
    a, b = node.inputs
    return b.op("Cross", g), g.op("Cross", a)


def _log_sums(node: Built, g: Output) -> Output:
    """In logarithms, so that nothing grows too large: of positive gradients and of negative ones."""
    x, axis = node["x"], node["axis"]
    kind = x.type.base
    assert kind.element_type is not None
    finite = node.constant(-float(ml_dtypes.finfo(kind.element_type.dtype).max), kind)  # type: ignore[no-untyped-call]
    switches = {"exclusive": node.attribute("exclusive"), "reverse": not node.attribute("reverse")}
    sums = []
    for one in (g, -g):
        there = one.op("Greater", one.op("ZerosLike"))
        logarithm = there.op("SelectV2", there.op("SelectV2", one, one.op("OnesLike")).op("Log"), finite)
        sums.append(((logarithm - node.output).op("CumulativeLogsumexp", axis, **switches) + x).op("Exp"))
    return sums[0] - sums[1]


def _shifted(rank: int, x: Output, *, is_left: bool) -> Output:
    """Rows moved by one, zeros following."""
    outside = [[0, 0]] * (rank - 2)
    masks = {"begin_mask": 4 if is_left else 6, "end_mask": 6 if is_left else 4, "ellipsis_mask": 1}
    rows = x.op("StridedSlice", [0, int(is_left), 0], [0, 0 if is_left else -1, 0], [1, 1, 1], **masks)
    return rows.op("Pad", np.array([*outside, [0, 1] if is_left else [1, 0], [0, 0]], np.int32))


def _neighbours(rank: int, x: Output) -> list[Output]:
    """What follows each row, the rows themselves, and what is before each."""
    return [_shifted(rank, x, is_left=True), x, _shifted(rank, x, is_left=False)]


def _along(x: Output) -> Output:
    return x.op("Sum", [-1])


def _turned(rank: int, x: Output) -> Output:
    return x.op("Transpose", [*range(rank - 2), rank - 1, rank - 2])


def _diagonals_times(node: Built, g: Output) -> Sequence[Output]:
    rank = rank_of(node, node["rhs"])
    upper, middle, lower = (_turned(rank, conj(node[name])) for name in ("superdiag", "maindiag", "subdiag"))
    of_rows = [_along(one * g).op("ExpandDims", -2) for one in _neighbours(rank, conj(node["rhs"]))]
    back = _shifted(rank, upper * g, is_left=False) + middle * g + _shifted(rank, lower * g, is_left=True)
    return [*of_rows, back]


def _diagonals_solved(node: Built, g: Output) -> Sequence[Output]:
    """By the solution of the turned equations."""
    rank = rank_of(node, node["rhs"])
    columns = _turned(rank, node["diagonals"])
    upper, middle, lower = (columns.op("StridedSlice", [0, n], [0, n + 1], [1, 1], ellipsis_mask=1) for n in range(3))
    moved = [_shifted(rank, lower, is_left=True), middle, _shifted(rank, upper, is_left=False)]
    joined = _turned(rank, node.maker.add("ConcatV2", moved, -1).output)
    switches = {name: node.attribute(name) for name in ("partial_pivoting", "perturb_singular")}
    of_x = joined.op("TridiagonalSolve", g, **switches)
    bands = [_along(of_x * one) for one in _neighbours(rank, node.output)]
    return -node.maker.add("Pack", bands, axis=-2).output, of_x


def _dense(node: Built, g: Output) -> Sequence[Gradient]:
    indices = node["sparse_indices"]
    rank = rank_of(node, indices)
    of_values = g.op("GatherV2", indices, 0) if rank < 2 else g.op("GatherNd", indices)
    every = g.op("Sum", node.add("Range", 0, g.op("Rank"), 1))
    scalar = np.array([], np.int32)
    of_indices = of_values.op("Sum", node.add("Range", 0, of_values.op("Rank"), 1))
    return [None, None, as_shaped(of_values, node["sparse_values"]), (every - of_indices).op("Reshape", scalar)]


def _product(node: Built, g: Output) -> Sequence[Output]:
    """As of any product of matrices, in the types of its factors."""
    a, b = node.inputs
    by_a, by_b = node.attribute("transpose_a"), node.attribute("transpose_b")
    wide_a, wide_b = (one.op("Cast", DstT=g.type.base) for one in (a, b))
    if by_a:
        of_a = wide_b.op("MatMul", g, transpose_a=by_b, transpose_b=True)
    else:
        of_a = g.op("MatMul", wide_b, transpose_b=not by_b)
    if by_b:
        of_b = g.op("MatMul", wide_a, transpose_a=True, transpose_b=by_a)
    else:
        of_b = wide_a.op("MatMul", g, transpose_a=not by_a)
    return of_a.op("Cast", DstT=a.type.base), of_b.op("Cast", DstT=b.type.base)


def _dense_product(node: Built, g: Output) -> Sequence[Gradient]:
    """To each element the row of the gradient along that of b which it was multiplied by."""
    positions, values, sizes, b = node.inputs
    by_a, by_b = node.attribute("adjoint_a"), node.attribute("adjoint_b")
    of_b = positions.op("SparseTensorDenseMatMul", values, sizes, g, adjoint_a=not by_a)
    rows, columns = (positions.op("GatherV2", number, 1) for number in ((1, 0) if by_a else (0, 1)))
    right = _turned(_MATRIX, b) if by_b else conj(b)
    of_values = _along(g.op("GatherV2", rows, 0) * right.op("GatherV2", columns, 0))
    return [None, conj(of_values) if by_a else of_values, None, conj(_turned(_MATRIX, of_b)) if by_b else of_b]


def _changed(node: Built, g: Output) -> Sequence[Gradient]:
    """To the value what was taken of the part; to the array nothing where it was replaced."""
    at = [node[name] for name in ("begin", "end", "strides")]
    masks = {name: node.attribute(name) for name in MASKS}
    taken = g.op("StridedSlice", *at, **masks)
    rest = g.op("TensorStridedSliceUpdate", *at, taken.op("ZerosLike"), **masks)
    return [rest, None, None, None, unspread(node, (node["value"], taken), (taken, None))[0]]


GRADIENTS: dict[str, Differentiate] = {
    "Cross": _cross,
    "CumulativeLogsumexp": _log_sums,
    "TridiagonalMatMul": _diagonals_times,
    "TridiagonalSolve": _diagonals_solved,
    "SparseToDense": _dense,
    "SparseTensorDenseMatMul": _dense_product,
    "SparseMatMul": _product,
    "TensorStridedSliceUpdate": _changed,
    **dict.fromkeys(("ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub"), no_gradient),
}
