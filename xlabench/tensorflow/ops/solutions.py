"""Matrices: what is solved for, and lengths and determinants, by formulas of other ops.

Args:
    matrix: matrices, [..., rows, columns].
    name: of the scope of the nodes, None for one of the function.
"""

from __future__ import annotations

from typing import Any

from xlabench.tensorflow.framework.applying import output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.arrays import eye
from xlabench.tensorflow.ops.linear_algebra import cholesky_solve, diagonals, matrix_transpose, norm
from xlabench.tensorflow.ops.math import REDUCTIONS, matmul


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Matrices transposed and conjugated."""
    return matrix_transpose(matrix, name or "adjoint", conjugate=True)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithms of the determinants of matrices that are hermitian and positive definite."""
    with get_default_graph().name_scope(name or "logdet"):
        value = convert_to_tensor(matrix)
        found = diagonals(output_of("Cholesky", value))
        if value.dtype.is_complex:
            found = output_of("Real", found, Tout="float64" if value.dtype.name == "complex128" else "float32")
        return 2.0 * REDUCTIONS["reduce_sum"](output_of("Log", found), [-1])


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The products of matrices with vectors.

    Args:
        a: matrices, [..., rows, terms].
        b: vectors, [..., terms].
        transpose_a: whether the matrices are transposed before.
        adjoint_a: whether they are conjugated too.
        a_is_sparse: must be False, as must the next.
        b_is_sparse: the same of `b`.
        name: of the scope of the nodes.
    """
    with get_default_graph().name_scope(name or "MatVec"):
        columns = output_of("ExpandDims", convert_to_tensor(b), -1)
        sparse: dict[str, Any] = {"a_is_sparse": a_is_sparse, "b_is_sparse": b_is_sparse}
        made = matmul(a, columns, transpose_a=transpose_a, adjoint_a=adjoint_a, **sparse)
        return output_of("Squeeze", made, squeeze_dims=[-1])


def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """What times matrices is closest to others, by the normal equations.

    Args:
        matrix: matrices, [..., rows, columns], of known sizes and full rank.
        rhs: the others, [..., rows, solutions].
        l2_regularizer: what the squares of the solution count for beside those of the error.
        fast: must be True: there is no other way here.
        name: of the scope of the nodes.

    Raises:
        ValueError: sizes are not known, or another way is asked for.
    """
    with get_default_graph().name_scope(name or "matrix_solve_ls"):
        value, wanted = convert_to_tensor(matrix, name="matrix"), convert_to_tensor(rhs, name="rhs")
        rows, columns = value.shape.as_list()[-2:] if value.shape.rank is not None else (None, None)
        if rows is None or columns is None or not fast:
            raise ValueError(f"tf.matrix_solve_ls takes matrices of known sizes here, and fast=True: {value}")
        is_tall = rows >= columns
        gram = matmul(value, value, adjoint_a=is_tall, adjoint_b=not is_tall)
        size = min(rows, columns)
        gram = gram + convert_to_tensor(l2_regularizer, value.dtype) * eye(size, dtype=value.dtype)
        root = output_of("Cholesky", gram)
        if is_tall:
            return cholesky_solve(root, matmul(value, wanted, adjoint_a=True))
        return matmul(value, cholesky_solve(root, wanted), adjoint_a=True)


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Vectors, or matrices, over their norms, and these; `tensor`, `ord` and `axis` are as of `tf.norm`."""
    with get_default_graph().name_scope(name or "normalize"):
        value = convert_to_tensor(tensor)
        length = norm(value, ord, axis, keepdims=True)
        return value / length, length
