"""Equations and determinants of matrices, Fourier transforms, and rows combined by sorted numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.tf2xla.gradients.spreading import INT32, conj, rank_of, sizes
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Gradient, Output


def _product(x: Output, y: Output, *, adj_x: bool = False, adj_y: bool = False) -> Output:
    return x.op("BatchMatMulV2", y, adj_x=adj_x, adj_y=adj_y)


def _inverse(node: Built, g: Output) -> Output:
    found = node.output
    if node.attribute("adjoint"):  # of the adjoint's inverse the gradient of the adjoint, turned back
        return -_product(found, _product(g, found, adj_x=True))
    return -_product(found, _product(g, found, adj_y=True), adj_x=True)


def _solved(node: Built, g: Output) -> Sequence[Gradient]:
    a, x, adjoint = node["matrix"], node.output, node.attribute("adjoint")
    of_b = a.op("MatrixSolve", g, adjoint=not adjoint)
    return [-_product(x, of_b, adj_y=True) if adjoint else -_product(of_b, x, adj_y=True), of_b]


def _determinant(node: Built, g: Output) -> Output:
    back = node["input"].op("MatrixInverse", adjoint=True)
    scale = g * conj(node.output)
    return back * scale.op("ExpandDims", -1).op("ExpandDims", -1)


def _logarithm_of_determinant(node: Built, _sign: Output, g: Output) -> Output:
    back = node["input"].op("MatrixInverse", adjoint=True)
    return back * g.op("ExpandDims", -1).op("ExpandDims", -1)


def _transform(inverse: str, count: int, *, is_forward: bool) -> Differentiate:
    def formula(node: Built, g: Output) -> Output:
        rank = rank_of(node, node["input"])
        own = sizes(node["input"]).op("StridedSlice", [rank - count], [rank], [1])
        number = own.op("Prod", [0]).op("Cast", DstT=g.type.base)
        back = g.op(inverse)
        return back * number if is_forward else back / number

    return formula


def _fitted(x: Output, last: Output, count: int) -> Output:
    """The last dimensions cut, or filled with zeros, to sizes."""
    front = x.op("Shape").op("StridedSlice", [0], [-count], [1], begin_mask=1)
    wanted = x.built.maker.add("ConcatV2", [front, last.op("Cast", DstT=INT32)], 0).output
    own = x.op("Shape")
    zeros = own.op("ZerosLike")
    cut = x.op("Slice", zeros, own.op("Minimum", wanted))
    behind = (wanted - own).op("Maximum", zeros)
    return cut.op("Pad", x.built.maker.add("Pack", [zeros, behind], axis=1).output)


def _of_real(inverse: str, count: int) -> Differentiate:
    """Of the half of a transform: that of the whole one, whose other half is nothing."""

    def formula(node: Built, g: Output) -> Output:
        x, lengths = node["input"], node["fft_length"]
        number = lengths.op("Prod", [0]).op("Cast", DstT=x.type.base)
        whole = _fitted(g, lengths, count).op(inverse).op("Real", Tout=x.type.base) * number
        return _fitted(whole, _last(node, x, count), count)

    return formula


def _to_real(forward: str, count: int) -> Differentiate:
    """Numbers of the half but the first, and the middle one, stand for two of the whole."""

    def formula(node: Built, g: Output) -> Output:
        x, lengths = node["input"], node["fft_length"]
        found = g.op(forward, lengths, Tcomplex=x.type.base)
        length = lengths.op("StridedSlice", [-1], [0], [1], shrink_axis_mask=1, end_mask=1)
        frequency = node.add("Range", 0, length.op("FloorDiv", 2) + 1, 1)
        is_one = frequency.op("Equal", 0).op("LogicalOr", (frequency * 2).op("Equal", length))
        times = is_one.op("SelectV2", 1, 2).op("Cast", DstT=g.type.base)
        scale = (times / lengths.op("Prod", [0]).op("Cast", DstT=g.type.base)).op("Cast", DstT=x.type.base)
        return _fitted(found * scale, _last(node, x, count), count)

    return formula


def _last(node: Built, x: Output, count: int) -> Output:
    rank = rank_of(node, x)
    return sizes(x).op("StridedSlice", [rank - count], [rank], [1])


def _product_of_rows(node: Built, g: Output) -> Output:
    """The product of all others, also where one row, or several, are 0."""
    x, ids = node["data"], node["segment_ids"]
    is_zero = x.op("Equal", x.op("ZerosLike"))
    zeros = is_zero.op("Cast", DstT=INT32).op("SegmentSum", ids)
    g = zeros.op("Greater", 1).op("SelectV2", g.op("ZerosLike"), g)
    filled = is_zero.op("SelectV2", x.op("OnesLike"), x)
    others = filled.op("SegmentProd", ids).op("GatherV2", ids, 0)
    rest = is_zero.op("SelectV2", others, node.output.op("GatherV2", ids, 0) / filled)
    return g.op("GatherV2", ids, 0) * rest


def _rows(node: Built, g: Output) -> Output:
    return g.op("GatherV2", node["segment_ids"], 0)


def _mean_of_rows(node: Built, g: Output) -> Output:
    ids, data = node["segment_ids"], node["data"]
    ones = ids.op("OnesLike").op("Cast", DstT=g.type.base).op("SegmentSum", ids)
    for _ in range(rank_of(node, data) - 1):
        ones = ones.op("ExpandDims", -1)
    return (g / ones).op("GatherV2", ids, 0)


def _taken_rows(share: Callable[[Output], Output] | None) -> Differentiate:
    """Back to the rows that were taken, of each segment what its sum was divided by."""

    def formula(node: Built, g: Output) -> Output:
        ids, data = node["segment_ids"], node["data"]
        if share is not None:
            counts = ids.op("OnesLike").op("Cast", DstT=g.type.base).op("SegmentSum", ids)
            divisor = share(counts.op("Maximum", 1))
            for _ in range(rank_of(node, data) - 1):
                divisor = divisor.op("ExpandDims", -1)
            g = g / divisor
        rows = sizes(data).op("StridedSlice", [0], [1], [1], shrink_axis_mask=1)
        return g.op("GatherV2", ids, 0).op("UnsortedSegmentSum", node["indices"], rows)

    return formula


def _extreme_of_rows(node: Built, g: Output) -> Output:
    """Equal parts to all elements that are the greatest, or the least, of their segment."""
    ids, data = node["segment_ids"], node["data"]
    chosen = data.op("Equal", node.output.op("GatherV2", ids, 0)).op("Cast", DstT=g.type.base)
    shares = g / chosen.op("SegmentSum", ids)
    rows = shares.op("GatherV2", ids, 0)
    return chosen.op("Greater", chosen.op("ZerosLike")).op("SelectV2", rows, rows.op("ZerosLike"))


_DIMENSIONS = {1: "", 2: "2D", 3: "3D"}
GRADIENTS: dict[str, Differentiate] = {
    "MatrixInverse": _inverse,
    "MatrixSolve": _solved,
    "MatrixDeterminant": _determinant,
    "LogMatrixDeterminant": _logarithm_of_determinant,
    **{f"FFT{suffix}": _transform(f"IFFT{suffix}", n, is_forward=True) for n, suffix in _DIMENSIONS.items()},
    **{f"IFFT{suffix}": _transform(f"FFT{suffix}", n, is_forward=False) for n, suffix in _DIMENSIONS.items()},
    **{f"RFFT{suffix}": _of_real(f"IFFT{suffix}", n) for n, suffix in _DIMENSIONS.items() if n < 3},
    **{f"IRFFT{suffix}": _to_real(f"RFFT{suffix}", n) for n, suffix in _DIMENSIONS.items() if n < 3},
    "SegmentProd": _product_of_rows,
    "SegmentSum": _rows,
    "SegmentMean": _mean_of_rows,
    "SparseSegmentSum": _taken_rows(None),
    "SparseSegmentMean": _taken_rows(lambda count: count),
    "SparseSegmentSqrtN": _taken_rows(lambda count: count.op("Sqrt")),
    "SegmentMax": _extreme_of_rows,
    "SegmentMin": _extreme_of_rows,
}
