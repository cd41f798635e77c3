"""JAX's linear algebra: the module that each function lowers to, in the reference and run by JAX."""

import numpy as np
import pytest

import compiler
from xlabench import from_jax

pytest.importorskip("jax", reason="jax is not installed")

import jax
from jax import enable_x64
from jax import numpy as jnp
from jax.lax import linalg
from jax.scipy import linalg as scipy_linalg


def adjoint(a):
    return a.conj().swapaxes(-1, -2)


FUNCTIONS = {
    "cholesky": lambda a: jnp.linalg.cholesky(a @ adjoint(a) + jnp.eye(a.shape[-1], dtype=a.dtype)),
    "det": jnp.linalg.det,
    "eig": linalg.eig,
    "eigh": lambda a: jnp.linalg.eigh(a + adjoint(a))[0],
    "eigvals": jnp.linalg.eigvals,
    "expm": scipy_linalg.expm,
    "hessenberg": lambda a: scipy_linalg.hessenberg(a, calc_q=True),
    "inv": jnp.linalg.inv,
    "lu": scipy_linalg.lu,
    "pinv": jnp.linalg.pinv,
    "qr": jnp.linalg.qr,
    "qr, pivoting": lambda a: scipy_linalg.qr(a, pivoting=True),
    "schur": linalg.schur,
    "solve": lambda a: jnp.linalg.solve(a, a[..., :1]),
    "sqrtm": scipy_linalg.sqrtm,
    "svd": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "svd, QR": lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR),
    "tridiagonal": lambda a: linalg.tridiagonal(a + adjoint(a), lower=True),
    "tridiagonal_solve": lambda a: linalg.tridiagonal_solve(a[..., 0], a[..., 1] + 4, a[..., 2], a[..., :2]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_reference_agrees_with_jax(name, dtype):
    draw = np.random.default_rng(3).standard_normal
    a = (draw((4, 4)) + (1j * draw((4, 4)) if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    with enable_x64():
        module = from_jax(FUNCTIONS[name], a)
        expected = [np.asarray(leaf) for leaf in jax.tree.leaves(FUNCTIONS[name](a))]
    for got, leaf in zip(compiler.interpret(module, a), expected, strict=True):
        assert got.dtype == leaf.dtype
        assert np.abs(got - leaf).max() <= 100 * np.finfo(dtype).eps * max(1, np.abs(leaf).max())
