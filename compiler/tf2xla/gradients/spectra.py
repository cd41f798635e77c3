"""Decompositions of matrices: by the equations that their factors keep.

Where eigenvalues or singular values are equal, vectors are no functions of the matrix, and TensorFlow's formulas, which
these are, have large numbers there in place of infinite ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.tf2xla.gradients.spreading import conj, rank_of, unknown
from compiler.tf2xla.record import Differentiate
from compiler.tf2xla.terms import Built, Output

_LEAST = 1e-20
"""What is added to a square so that its inverse is finite, as TensorFlow has it (linalg_grad.py, `_SafeReciprocal`)."""


def _product(x: Output, y: Output, *, adj_x: bool = False, adj_y: bool = False) -> Output:
    return x.op("BatchMatMulV2", y, adj_x=adj_x, adj_y=adj_y)


def _turned(rank: int, x: Output) -> Output:
    """The adjoint."""
    return conj(x.op("Transpose", [*range(rank - 2), rank - 1, rank - 2]))


def _band(x: Output, lower: int, upper: int) -> Output:
    return x.op("MatrixBandPart", lower, upper)


def _columns(x: Output, begin: int, end: int | None) -> Output:
    """Some columns of matrices."""
    at = [0, 0 if end is None else end]
    return x.op("StridedSlice", [0, begin], at, [1, 1], ellipsis_mask=1, end_mask=0 if end is not None else 2)


def _inverse(x: Output) -> Output:
    """1 / x, and 0 where x is."""
    return x * (x * x + _LEAST).op("Reciprocal")


def _gaps(values: Output) -> Output:
    """The inverses of all differences of values, 0 on the diagonal."""
    differences = values.op("ExpandDims", -2) - values.op("ExpandDims", -1)
    return _inverse(differences).op("MatrixSetDiag", values.op("ZerosLike"))


def _sizes(node: Built, x: Output) -> tuple[int, int]:
    """Rows and columns, which these formulas must know."""
    dims = x.shape.dims
    rows, columns = dims[-2:] if dims is not None and len(dims) > 1 else (None, None)
    if rows is None or columns is None:
        raise unknown(node, f"how many rows and columns {x.name} has")
    return rows, columns


def _over(rank: int, x: Output, r: Output) -> Output:
    """The product with the adjoint of a triangle's inverse."""
    return _turned(rank, r.op("MatrixTriangularSolve", _turned(rank, x), lower=False))


def _deep_qr(rank: int, q: Output, r: Output, of_q: Output, of_r: Output) -> Output:
    """Of matrices that have no more columns than rows."""
    by_q = _product(q, of_q, adj_x=True)
    by_r = _product(r, of_r, adj_y=True)
    lower = _band(by_q - _turned(rank, by_q) + by_r - _turned(rank, by_r), -1, 0)
    found = _product(q, of_r + _over(rank, lower, r)) + _over(rank, of_q - _product(q, by_q), r)
    if conj(q) is q:
        return found
    middle = _band(by_r - _turned(rank, by_q), 0, 0)
    correction = (middle - conj(middle)) * 0.5
    return found + _over(rank, _product(q, correction, adj_y=True), r)


def _qr(node: Built, of_q: Output, of_r: Output) -> Output:
    q, r = node.outputs
    rank = rank_of(node, node["input"])
    rows, columns = _sizes(node, node["input"])
    if rows > columns and node.attribute("full_matrices"):
        raise unknown(node, "what TensorFlow has no formula for, full matrices of more rows than columns")
    if rows >= columns:
        return _deep_qr(rank, q, r, of_q, of_r)
    rest = _columns(node["input"], rows, None)
    square, of_square, of_rest = _columns(r, 0, rows), _columns(of_r, 0, rows), _columns(of_r, rows, None)
    of_first = _deep_qr(rank, q, square, of_q + _product(rest, of_rest, adj_y=True), of_square)
    return node.maker.add("ConcatV2", [of_first, _product(q, of_rest)], -1).output


def _eigen(node: Built, of_values: Output, of_vectors: Output) -> Output:
    """Of the lower triangle, which is all that is looked at."""
    rank = rank_of(node, node["input"])
    values, vectors = node.outputs
    middle = of_values.op("MatrixDiag")
    if node.attribute("compute_v"):
        middle = middle + _gaps(values) * _product(vectors, of_vectors, adj_x=True)
    else:
        vectors = node.maker.add("SelfAdjointEigV2", node["input"], compute_v=True).outputs[1]
    whole = _product(vectors, _product(middle, vectors, adj_y=True))
    both = whole + _turned(rank, whole)
    return _band(both, -1, 0) - _band(both, 0, 0) * 0.5


def _singular(node: Built, of_values: Output, of_left: Output, of_right: Output) -> Output:
    x, full = node["input"], node.attribute("full_matrices")
    rank, (rows, columns) = rank_of(node, x), _sizes(node, x)
    kind = x.type.base
    of_values = of_values.op("Cast", DstT=kind)
    if not node.attribute("compute_uv"):
        _, left, right = node.maker.add("Svd", x, compute_uv=True).outputs
        return _product(left, _product(of_values.op("MatrixDiag"), right, adj_y=True))
    if full and abs(rows - columns) > 1:
        raise unknown(node, "what TensorFlow has no formula for, full matrices far from square ones")
    values, left, right = node.outputs
    sides = [(left, of_left), (right, of_right)]
    if rows > columns:
        sides.reverse()
    found = _wide_singular(node, values.op("Cast", DstT=kind), of_values, sides, min(rows, columns))
    return _turned(rank, found) if rows > columns else found


def _wide_singular(
    node: Built, values: Output, of_values: Output, sides: Sequence[tuple[Output, Output]], least: int
) -> Output:
    """Of matrices that have no more rows than columns: the factors' gradients between the vectors."""
    rank = rank_of(node, node["input"])
    (left, of_left), (right, of_right) = sides
    (_, rows), wide = _sizes(node, left), max(_sizes(node, node["input"]))
    first, of_first = _columns(right, 0, least), _columns(of_right, 0, least)
    gaps, diagonal = _gaps(values * values), values.op("MatrixDiag")
    by_left = gaps * _product(left, of_left, adj_x=True)
    by_right = _product(first, of_first, adj_x=True)
    own = gaps * by_right
    middle = of_values.op("MatrixDiag") + _product(by_left + _turned(rank, by_left), diagonal)
    middle = middle + _product(diagonal, own + _turned(rank, own))
    inverse = _inverse(values).op("MatrixDiag")
    if conj(left) is not left:
        phases = _band(by_right, 0, 0)
        middle = middle + _product(inverse, _turned(rank, phases) - phases) * 0.5
    found = _product(left, _product(middle, first, adj_y=True))
    if wide == rows:
        return found
    turned = _turned(rank, of_first)
    rest = turned - _product(_product(turned, first), first, adj_y=True)
    if node.attribute("full_matrices"):
        second, of_second = _columns(right, least, None), _columns(of_right, least, None)
        rest = rest - _product(_product(first, of_second, adj_x=True), second, adj_y=True)
    return found + _product(_product(left, inverse), rest)


GRADIENTS: dict[str, Differentiate] = {"Qr": _qr, "SelfAdjointEigV2": _eigen, "Svd": _singular}
