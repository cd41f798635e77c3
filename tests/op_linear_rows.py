"""Calls of products by letters, and of equations of matrices."""

import numpy as np
from op_values import numbers

EQUATIONS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("abc->ca", (2, 3, 4)),
    ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 2)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ijk,k->ij", (2, 3, 2), (2,)),
    ("ab,c->c", (2, 3), (2,)),
    ("...a->...", (2, 3)),
    ("aab->ba", (3, 3, 2)),
    ("a,b->bab", (2,), (3,)),
    ("iij,jkk->ik", (2, 2, 3), (3, 2, 2)),
)


def products(element_type):
    for equation, *sizes in EQUATIONS:
        given = [numbers(element_type, *dims, seed=n) for n, dims in enumerate(sizes)]
        yield {"equation": equation.encode(), "N": len(sizes)}, given


def _triangular(element_type, *dims, upper=False):
    x = numbers(element_type, *dims).astype(element_type.dtype)
    x = np.triu(x) if upper else np.tril(x)
    return x + (np.eye(dims[-1]) * 20).astype(element_type.dtype)


def positive(element_type):
    for dims in ((3, 3), (2, 2, 2), (0, 0)):
        x = numbers(element_type, *dims).astype(np.complex128 if element_type.is_complex else np.float64)
        whole = x @ np.swapaxes(x.conj(), -1, -2) / 8 + np.eye(dims[-1])
        yield {}, [whole.astype(element_type.dtype)]


def equations(element_type):
    for lower in (True, False):
        for adjoint in (False, True):
            a = _triangular(element_type, 3, 3, upper=not lower)
            yield {"lower": lower, "adjoint": adjoint}, [a, numbers(element_type, 3, 2, seed=1)]
    yield {}, [_triangular(element_type, 2, 2, 2), numbers(element_type, 2, 2, 3, seed=1)]


ROWS = {
    "Cholesky": positive,
    "MatrixTriangularSolve": equations,
}
"""The calls of ops whose type is that of the attribute `T`, in all its types."""
