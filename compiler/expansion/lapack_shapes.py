"""The shapes that LAPACK's routines give, from those of their operands; ValueError where these do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.shape import ArrayShape, without_layout
from compiler.ir.types import C64, C128, F64, S32
from compiler.ops.arithmetic import real_part_type

Options = dict[str, str]

TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}


def _square(matrix: ArrayShape) -> None:
    if matrix.rank < 2 or matrix.dims[-1] != matrix.dims[-2]:
        raise ValueError(f"{matrix} holds no square matrices")


def _like(matrix: ArrayShape) -> ArrayShape:
    if matrix.rank < 2:
        raise ValueError(f"{matrix} holds no matrices")
    return ArrayShape(matrix.element_type, matrix.dims)


def _eigenvalue_shapes(matrix: ArrayShape) -> list[ArrayShape]:
    """Of a complex matrix one array, of a real one real and imaginary parts."""
    _square(matrix)
    return [_like(matrix).with_dims(matrix.dims[:-1])] * (1 if matrix.element_type.is_complex else 2)


def potrf_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The factor, and where it fails."""
    (matrix,) = operands
    _square(matrix)
    if options["uplo"] not in "LU":
        raise ValueError("uplo is L or U")
    return [_like(matrix), ArrayShape(S32, matrix.dims[:-2])]


def trsm_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The shape of a triangular system's solution."""
    matrix, right = operands
    _square(matrix)
    side = {"L": -2, "R": -1}[options["side"]]
    fits = right.rank == matrix.rank and right.dims[:-2] == matrix.dims[:-2] and right.dims[side] == matrix.dims[-1]
    known = options["uplo"] in "LU" and options["diag"] in "UN" and options["trans_x"] in TRANSPOSES
    if not fits or not known or right.element_type is not matrix.element_type:
        raise ValueError(f"{matrix} and {right} do not fit")
    return [_like(right)]


def getrf_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    """Factors, pivots, and where one is 0."""
    (matrix,) = operands
    result, batch = _like(matrix), matrix.dims[:-2]
    return [result, ArrayShape(S32, (*batch, min(matrix.dims[-2:]))), ArrayShape(S32, batch)]


def geqrf_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    """R over the vectors, and factors of reflections."""
    (matrix,) = operands
    result = _like(matrix)
    return [result, result.with_dims((*matrix.dims[:-2], min(matrix.dims[-2:])))]


def orgqr_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    """The product's first columns."""
    vectors, factors = operands
    fits = factors.dims[:-1] == vectors.dims[:-2] and factors.dims[-1] <= min(vectors.dims[-2:])
    if not fits or factors.element_type is not vectors.element_type:
        raise ValueError(f"{factors} are no factors of {vectors}")
    return [_like(vectors)]


def ormqr_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The shape of the product of reflections and a matrix."""
    vectors, factors, matrix = operands
    orgqr_shapes([vectors, factors], options)
    side = {"true": -2, "false": -1}[options["left"]]
    fits = vectors.dims[:-2] == matrix.dims[:-2] and matrix.rank >= 2 and vectors.dims[-2] == matrix.dims[side]
    if not fits or options["transpose"] not in {"true", "false"} or matrix.element_type is not vectors.element_type:
        raise ValueError(f"{vectors} do not fit {matrix}")
    return [_like(matrix)]


def syevd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """Vectors, values, and failures."""
    (matrix,) = operands
    _square(matrix)
    if options["uplo"] not in "LU":
        raise ValueError("uplo is L or U")
    values = ArrayShape(real_part_type(matrix.element_type), matrix.dims[:-1])
    return [_like(matrix), values, ArrayShape(S32, matrix.dims[:-2])]


def gesdd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The matrix, values, left and right vectors, and failures."""
    (matrix,) = operands
    result, batch = _like(matrix), matrix.dims[:-2]
    rows, columns = matrix.dims[-2:]
    count, full = min(rows, columns), options["mode"] != "S"
    return [
        result,
        ArrayShape(real_part_type(matrix.element_type), (*batch, count)),
        result.with_dims((*batch, rows, rows if full else count)),
        result.with_dims((*batch, columns if full else count, columns)),
        ArrayShape(S32, batch),
    ]


def geqp3_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """R over the vectors, columns' numbers, and factors."""
    matrix, fixed = operands
    result, factors = geqrf_shapes([matrix], options)
    pivots = ArrayShape(S32, (*matrix.dims[:-2], matrix.dims[-1]))
    if without_layout(fixed) != pivots:
        raise ValueError(f"{fixed} are no columns of {matrix}")
    return [result, pivots, factors]


def gehrd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The form over the vectors, factors, and success."""
    (matrix,) = operands
    _square(matrix)
    size, low, high = matrix.dims[-1], int(options["low"]), int(options["high"])
    if not 1 <= low <= high <= size:
        raise ValueError(f"rows {low} to {high} are not in {matrix}")
    result, batch = _like(matrix), matrix.dims[:-2]
    return [result, result.with_dims((*batch, size - 1)), ArrayShape(S32, batch)]


def sytrd_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """The form over the vectors, both diagonals, factors, and success."""
    result, values, info = syevd_shapes(operands, options)
    beside = (*values.dims[:-1], values.dims[-1] - 1)
    return [result, values, values.with_dims(beside), result.with_dims(beside), info]


def gtsv_shapes(operands: Sequence[ArrayShape], _: Options) -> list[ArrayShape]:
    """Factors, the solution, and where a pivot is 0."""
    *diagonals, right = operands
    expected = _like(right).with_dims(right.dims[:-1])
    if len(diagonals) != 3 or any(without_layout(diagonal) != expected for diagonal in diagonals):
        raise ValueError(f"{diagonals} are no diagonals for {right}")
    return [expected, expected, expected, _like(right), ArrayShape(S32, right.dims[:-2])]


def gees_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """Schur's form, vectors, eigenvalues, none chosen, and failures."""
    (matrix,) = operands
    if options.get("sort", "N") != "N" or options["mode"] not in "NV":
        raise ValueError("eigenvalues cannot be sorted, and vectors are wanted or not")
    info = ArrayShape(S32, matrix.dims[:-2])
    return [_like(matrix), _like(matrix), *_eigenvalue_shapes(matrix), info, info]


def geev_shapes(operands: Sequence[ArrayShape], options: Options) -> list[ArrayShape]:
    """Eigenvalues, left and right vectors, and failures."""
    (matrix,) = operands
    if not {options["compute_left"], options["compute_right"]} <= set("NV"):
        raise ValueError("vectors are wanted or not")
    double = matrix.element_type in (F64, C128)
    vectors = ArrayShape(C128 if double else C64, matrix.dims)
    return [*_eigenvalue_shapes(matrix), vectors, vectors, ArrayShape(S32, matrix.dims[:-2])]
