"""Calls of ops on diagonals, of decompositions, of Fourier transforms, and of ops that count."""

import numpy as np
from op_rows import spread_batches
from op_values import ints, numbers, scalar

from compiler.graph import BY_NAME, AttributeList
from compiler.ir.types import S8, S32


def _wide(element_type, *dims, seed=0):
    kind = np.complex128 if element_type.is_complex else np.float64
    return numbers(element_type, *dims, seed=seed).astype(kind)


def _regular(element_type, *dims, seed=0):
    return (_wide(element_type, *dims, seed=seed) / 4 + 3 * np.eye(dims[-2], dims[-1])).astype(element_type.dtype)


def inverses(element_type):
    yield {}, [_regular(element_type, 3, 3)]
    yield {"adjoint": True}, [_regular(element_type, 2, 2, 2)]
    yield {}, [numbers(element_type, 3, 3, seed=4) + np.eye(3, dtype=element_type.dtype)[::-1] * 20]


def solved(element_type):
    yield {}, [_regular(element_type, 3, 3), numbers(element_type, 3, 2, seed=1)]
    yield {"adjoint": True}, [_regular(element_type, 2, 2, 2), numbers(element_type, 2, 2, 3, seed=1)]


def determinants(element_type):
    yield {}, [_regular(element_type, 3, 3)]
    yield {}, [_regular(element_type, 2, 2, 2)[..., ::-1].copy()]


def factored(element_type):
    """Rows that change places, matrices of several batches, numbers whose parts and sizes choose other rows, none."""
    yield {}, [_regular(element_type, 2, 3, 3)]
    yield {"output_idx_type": BY_NAME["int64"]}, [numbers(element_type, 4, 4, seed=4)]
    first = np.array([[1, 2, 0], [3 + 4j, 1, 1], [4 + 3.5j, 0, 2]] if element_type.is_complex else np.eye(3)[[2, 0, 1]])
    yield {}, [first.astype(element_type.dtype)]
    yield {}, [np.zeros((2, 0, 0), element_type.dtype)]


def reflected(element_type):
    yield {}, [_regular(element_type, 4, 3)]
    yield {"full_matrices": True}, [_regular(element_type, 4, 2)]
    yield {}, [_regular(element_type, 2, 2, 3)]


def spectra(name):
    """Matrices whose vectors are known up to nothing, and values alone, beside which kernels leave memory as it was."""

    def rows(element_type):
        for values in ([1, 2, 3], [2, 5]):
            given = values if name == "compute_v" else values[::-1]
            yield {}, [np.diag(np.array(given)).astype(element_type.dtype)]
        x = _regular(element_type, 3, 3)
        yield {name: False}, [((x + x.conj().T) / 2).astype(element_type.dtype)], 1

    return rows


def vectors(element_type):
    yield {}, [numbers(element_type, 3)]
    yield {}, [numbers(element_type, 2, 3)]


def square(element_type):
    yield {}, [numbers(element_type, 3, 3)]
    yield {}, [numbers(element_type, 2, 3, 2, 3)]


def batches(element_type):
    yield {}, [numbers(element_type, 3, 4)]
    yield {}, [numbers(element_type, 2, 3, 2)]


def with_diagonals(element_type):
    yield {}, [numbers(element_type, 2, 3, 4), numbers(element_type, 2, 3, seed=1)]


_ALIGNED = (b"RIGHT_LEFT", b"LEFT_RIGHT", b"LEFT_LEFT", b"RIGHT_RIGHT")


def _aligned(is_aligned, number):
    return {"align": _ALIGNED[number % 4]} if is_aligned else {}


def parts(*, is_aligned):
    def rows(element_type):
        x = numbers(element_type, 2, 4, 3)
        for number, k in enumerate(((0,), (-2, 1), (1,), (-1, 1), (-3, -1))):
            yield _aligned(is_aligned, number), [x, ints(*k), np.array(7, element_type.dtype)]

    return rows


_MADE = (((0,), (2, 3), -1, -1), ((1,), (2,), -1, -1), ((-1, 1), (3, 3), -1, -1), ((-1, 0), (2, 3), 4, 3))


def made(*, is_aligned):
    def rows(element_type):
        for number, (k, dims, height, width) in enumerate(_MADE):
            given = [ints(*k), scalar(height), scalar(width), np.array(7, element_type.dtype)]
            yield _aligned(is_aligned, number), [numbers(element_type, *dims), *given]

    return rows


def replaced(*, is_aligned):
    def rows(element_type):
        x = numbers(element_type, 2, 4, 3)
        for number, (k, dims) in enumerate(
            (((0,), (2, 3)), ((-2, 1), (2, 4, 3)), ((2,), (2, 1)), ((-1, 1), (2, 3, 3)))
        ):
            yield _aligned(is_aligned, number), [x, numbers(element_type, *dims, seed=1), ints(*k)]

    return rows


def transformed(count):
    def rows(element_type):
        yield {}, [numbers(element_type, *(4, 3, 2)[3 - count :])]
        yield {}, [numbers(element_type, 2, *(2, 2, 5)[3 - count :])]

    return rows


def of_real(count):
    def rows(element_type):
        kind = {"Tcomplex": _COMPLEX[element_type.bits]}
        yield kind, [numbers(element_type, 2, *(2, 3, 6)[3 - count :]), ints(*(2, 3, 6)[3 - count :])]
        yield kind, [numbers(element_type, *(2, 4, 5)[3 - count :]), ints(*(3, 2, 7)[3 - count :])]

    return rows


def to_real(count):
    def rows(element_type):
        kind = {"Treal": _REAL[element_type.bits]}
        yield kind, [numbers(element_type, 2, *(2, 3, 4)[3 - count :]), ints(*(2, 3, 6)[3 - count :])]
        yield kind, [numbers(element_type, *(2, 4, 5)[3 - count :]), ints(*(2, 2, 7)[3 - count :])]

    return rows


def counted(element_type):
    arr = ints(1, 3, 1, 0, 4)
    yield {}, [arr, scalar(4), np.zeros(0, element_type.dtype)]
    yield {}, [arr, scalar(6), numbers(element_type, 5)]


def counted_by_rows(element_type):
    arr = np.array([[1, 3, 1], [0, 4, 1]], np.int32)
    nothing = np.zeros(0, element_type.dtype)
    kind = {"Tidx": INT32}
    yield kind, [arr, scalar(4), nothing]
    yield kind, [arr, scalar(5), numbers(element_type, 2, 3)]
    yield {**kind, "binary_output": True}, [arr, scalar(5), nothing]
    yield kind, [arr[0], scalar(4), numbers(element_type, 3)]


def bounded(element_type):
    values = [-1, 0, 1, 2, 5, 9] + ([0.5, np.inf, np.nan] if element_type.is_float else [])
    yield {"boundaries": AttributeList("f", (0.0, 0.5, 2.0, 5.0))}, [np.array(values).astype(element_type.dtype)]


def among(element_type):
    values = np.array([[0, 1, 2, 2, 5], [1, 1, 1, 3, 4]]).astype(element_type.dtype)
    yield {}, [values, np.array([[2, 1, 7], [1, 0, 4]]).astype(element_type.dtype)]


def histograms(element_type):
    """Values at the limits, between parts, and outside."""
    values = np.array([[-1, 0, 1, 2], [4, 5, 9, 3]]).astype(element_type.dtype)
    for count, low, high in ((5, 0, 5), (3, 1, 4), (1, 0, 1)):
        limits = np.array([low, high]).astype(element_type.dtype)
        yield {"dtype": BY_NAME["int64" if count == 3 else "int32"]}, [values, limits, scalar(count)]


def numbered(element_type):
    dims = np.array([2, 3, 4]).astype(element_type.dtype)
    for indices in ([0, 5, 23, 12], [], 7):
        yield {}, [np.array(indices).astype(element_type.dtype), dims]


def segments(element_type):
    kind = {"Tindices": INT32}
    yield kind, [numbers(element_type, 5, 2), ints(0, 0, 1, 3, 3)]
    yield kind, [numbers(element_type, 4), ints(0, 1, 1, 2)]


def taken_segments(element_type):
    yield {}, [numbers(element_type, 4, 2), ints(3, 0, 0, 2, 1), ints(0, 0, 1, 3, 3)]
    yield {}, [numbers(element_type, 4), ints(1, 1, 3), ints(0, 1, 1)]


INT32, _COMPLEX, _REAL = (
    BY_NAME["int32"],
    {32: BY_NAME["complex64"], 64: BY_NAME["complex128"]},
    {64: BY_NAME["float32"], 128: BY_NAME["float64"]},
)


ROWS = {
    "MatrixInverse": inverses,
    "MatrixSolve": solved,
    "MatrixDeterminant": determinants,
    "LogMatrixDeterminant": determinants,
    "Lu": factored,
    "Qr": reflected,
    "Diag": vectors,
    "DiagPart": square,
    "MatrixSetDiag": with_diagonals,
    "HistogramFixedWidth": histograms,
    "Bincount": counted,
    "DenseBincount": counted_by_rows,
    "Bucketize": bounded,
    "MatrixDiagPartV2": parts(is_aligned=False),
    "MatrixDiagPartV3": parts(is_aligned=True),
    "MatrixDiagV2": made(is_aligned=False),
    "MatrixDiagV3": made(is_aligned=True),
    "MatrixSetDiagV2": replaced(is_aligned=False),
    "MatrixSetDiagV3": replaced(is_aligned=True),
    "MatrixDiag": batches,
    "MatrixDiagPart": batches,
}
"""The calls of ops whose type is that of the attribute `T`, in all its types."""


def mixed_batches(element_type):
    alike = next(one for one in BY_NAME.values() if one.element_type is element_type)
    for attributes, inputs in spread_batches(element_type):
        yield {"Ta": alike, "Tb": alike, **attributes}, inputs
    if element_type is S32:
        yield {"Ta": BY_NAME["int8"], "Tb": BY_NAME["int8"]}, [numbers(S8, 3, 4), numbers(S8, 4, 2, seed=1)]
