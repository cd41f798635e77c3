"""Matrices: norms, diagonals, decompositions and products by formulas, where more than one op is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from xlabench.tensorflow.framework.applying import apply, output_of
from xlabench.tensorflow.framework.convert import convert_to_tensor
from xlabench.tensorflow.framework.graph import get_default_graph
from xlabench.tensorflow.framework.tensor import Tensor
from xlabench.tensorflow.ops.math import REDUCTIONS, one_of

_ALIGN = "RIGHT_LEFT"


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The length of vectors, or the norm of matrices.

    Args:
        tensor: numbers.
        ord: `euclidean`, `fro`, or a number: 1, 2, infinity, and for vectors any that is positive.
        axis: the dimension of vectors, or the two of matrices; None takes all elements as one vector.
        keepdims: whether these are left with size 1.
        name: of the scope of the nodes.
        keep_dims: the older name of `keepdims`.

    Raises:
        ValueError: the norm is none of these.
    """
    is_kept = bool(one_of(keepdims, keep_dims, ("keepdims", "keep_dims")) or False)
    pair = isinstance(axis, list | tuple) and len(axis) > 1
    allowed = ("euclidean", "fro", 1, 2, np.inf) if pair else ("euclidean", 1, 2, np.inf)
    if ord not in allowed and (pair or isinstance(ord, str) or ord <= 0):
        raise ValueError(f"'ord' must be a supported {'matrix' if pair else 'vector'} norm in {allowed}, got {ord}")
    if pair and ord == 2:
        raise ValueError("tf.norm: the spectral norm of matrices is not here; take the first of tf.svd's values")
    with get_default_graph().name_scope(name or "norm"):
        value = convert_to_tensor(tensor)
        size = output_of("ComplexAbs" if value.dtype.is_complex else "Abs", value)
        if ord in ("fro", "euclidean", 2, 2.0):
            found = output_of("Sqrt", REDUCTIONS["reduce_sum"](size * size, axis, keepdims=True))
        elif ord == 1:
            found = REDUCTIONS["reduce_sum"](size, axis[0] if pair else axis, keepdims=True)
            found = REDUCTIONS["reduce_max"](found, axis[1], keepdims=True) if pair else found
        elif ord == np.inf:
            found = REDUCTIONS["reduce_sum"](size, axis[1], keepdims=True) if pair else size
            found = REDUCTIONS["reduce_max"](found, axis[0] if pair else axis, keepdims=True)
        else:
            found = REDUCTIONS["reduce_sum"](size ** float(ord), axis, keepdims=True) ** (1.0 / ord)
        if is_kept:
            return found
        dims = [] if axis is None else list(axis) if isinstance(axis, list | tuple) else [axis]
        return output_of("Squeeze", found, squeeze_dims=dims)


def einsum(equation: str, *inputs: Any, **options: Any) -> Tensor:
    """The sum of products that an equation such as `ij,jk->ik` says.

    Args:
        equation: letters for the dimensions of each input, and behind `->` those that are left.
        inputs: arrays.
        options: `name`, and `optimize`, which changes nothing.

    Raises:
        TypeError: an option is none.
    """
    name = options.pop("name", None)
    options.pop("optimize", None)
    if options:
        raise TypeError(f"Invalid keyword arguments for this function: {', '.join(sorted(options))}. Expected: name.")
    written = equation.replace(" ", "")
    if "->" not in written:
        letters = written.replace(",", "").replace("...", "")
        left = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
        written = f"{written}->{'...' if '...' in written else ''}{left}"
    sources, _, result = written.partition("->")
    words, values = sources.split(","), [convert_to_tensor(one) for one in inputs]
    if len(words) != len(values):
        raise ValueError(f'Got {len(values)} inputs for equation "{equation}", expecting {len(words)}')
    with get_default_graph().name_scope(name or "einsum"):
        while len(values) > 2:
            kept = "".join(sorted({one for one in words[0] + words[1] if one in "".join([*words[2:], result])} - {"."}))
            kept = f"{'...' if '...' in words[0] + words[1] else ''}{kept}"
            made = output_of("Einsum", values[:2], equation=f"{words[0]},{words[1]}->{kept}")
            words, values = [kept, *words[2:]], [made, *values[2:]]
        return output_of("Einsum", values, equation=f"{','.join(words)}->{result}", name="Einsum")


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal of each matrix of `x`."""
    with get_default_graph().name_scope(name or "Trace"):
        return REDUCTIONS["reduce_sum"](diagonals(x), [-1])


def matrix_diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = _ALIGN,
) -> Tensor:
    """Matrices with given diagonals.

    Args:
        diagonal: for each matrix its diagonal, or its diagonals.
        name: of the node.
        k: the number of the diagonal, or the first and the last of them; 0 is the main one.
        num_rows: how many rows there are, -1 for as many as are needed.
        num_cols: the same of columns.
        padding_value: what is elsewhere.
        align: where shorter diagonals lie in their rows.
    """
    value = convert_to_tensor(diagonal, name="diagonal")
    padding = convert_to_tensor(padding_value, value.dtype)
    return output_of("MatrixDiagV3", value, k, num_rows, num_cols, padding, align=align, name=name)


def diagonals(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = _ALIGN) -> Tensor:
    """The diagonals of matrices.

    Args:
        input: matrices.
        name: of the node.
        k: the number of the diagonal, or the first and the last of them.
        padding_value: what follows shorter diagonals.
        align: where these lie in their rows.
    """
    value = convert_to_tensor(input, name="input")
    padding = convert_to_tensor(padding_value, value.dtype)
    return output_of("MatrixDiagPartV3", value, k, padding, align=align, name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = _ALIGN) -> Tensor:
    """Matrices with other diagonals.

    Args:
        input: matrices.
        diagonal: for each matrix its diagonal, or its diagonals.
        name: of the node.
        k: the number of the diagonal, or the first and the last of them.
        align: where shorter diagonals lie in their rows.
    """
    return output_of("MatrixSetDiagV3", input, diagonal, k, align=align, name=name)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The matrices `a` with rows and columns exchanged, and with `conjugate` conjugated.

    Raises:
        ValueError: the rank is not known, or less than 2.
    """
    with get_default_graph().name_scope(name):
        value = convert_to_tensor(a, name="a")
        rank = value.shape.rank
        if rank is None:
            raise ValueError(f"tf.matrix_transpose takes tensors of known ranks here: {value}")
        if rank < 2:
            raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {value}")
        order = [*range(rank - 2), rank - 1, rank - 2]
        return output_of("ConjugateTranspose" if conjugate else "Transpose", value, order)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """What gives `rhs` when multiplied by the matrix whose Cholesky factor is `chol`."""
    with get_default_graph().name_scope(name or "cholesky_solve"):
        below = {"adjoint": False, "lower": True}
        inner = apply("MatrixTriangularSolve", [chol, rhs], below).outputs[0]
        return apply("MatrixTriangularSolve", [chol, inner], {**below, "adjoint": True}).outputs[0]


def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """The singular values of the matrices `tensor`, and with `compute_uv` the left and the right vectors.

    With `full_matrices` these are square.
    """
    attributes = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    values, left, right = apply("Svd", [tensor], attributes, name).outputs
    return (values, left, right) if compute_uv else values


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors of the symmetric matrices `tensor`."""
    values, vectors = apply("SelfAdjointEigV2", [tensor], {"compute_v": True}, name or "self_adjoint_eig").outputs
    return values, vectors


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of the symmetric matrices `tensor`."""
    return output_of("SelfAdjointEigV2", tensor, compute_v=False, name=name or "self_adjoint_eigvals")


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """The array `x` times one number, `scalar`.

    Raises:
        ValueError: it is several.
    """
    value = convert_to_tensor(x)
    factor = convert_to_tensor(scalar, value.dtype.base_dtype, "scalar")
    if factor.shape.rank not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {factor.shape}")
    return output_of("Mul", factor, value, name=name)
