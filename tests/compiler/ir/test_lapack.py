"""LAPACK's routines by what their results must satisfy; every name of the table has a check."""

import numpy as np
import pytest

from compiler.ir.lapack import ROUTINES, batched

SIZE = 5
TYPES = (np.float32, np.float64, np.complex64, np.complex128)


def matrices(dtype):
    draw = np.random.default_rng(7).standard_normal
    value = draw((2, SIZE, SIZE)) + (1j * draw((2, SIZE, SIZE)) if np.dtype(dtype).kind == "c" else 0)
    return value.astype(dtype)


def adjoint(value):
    return np.conj(np.swapaxes(value, -1, -2))


def check_geev(a):
    *parts, left, right, info = batched("geev", [a], {"compute_left": "V", "compute_right": "V"})
    values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    assert not info.any()
    yield a @ right, right * values[:, None, :]
    yield adjoint(left) @ a, values[..., None] * adjoint(left)


def check_gees(a):
    triangle, vectors, *_, chosen, info = batched("gees", [a], {"mode": "V", "sort": "N"})
    assert not info.any()
    assert not chosen.any()
    yield vectors @ triangle @ adjoint(vectors), a


def check_gehrd(a):
    packed, factors, info = batched("gehrd", [a], {"low": "1", "high": str(SIZE)})
    assert factors.shape == (2, SIZE - 1)
    assert not info.any()
    yield np.trace(packed, axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1)


def check_sytrd(a):
    hermitian = a + adjoint(a)
    _, diagonal, beside, _, info = batched("sytrd", [hermitian], {"uplo": "L"})
    assert not info.any()
    whole = [np.diag(d) + np.diag(e, 1) + np.diag(e, -1) for d, e in zip(diagonal, beside, strict=True)]
    yield np.linalg.eigvalsh(np.stack(whole)), np.linalg.eigvalsh(hermitian)


def check_geqp3(a):
    packed, pivots, _ = batched("geqp3", [a, np.zeros((2, SIZE), np.int32)], {})
    upper = np.triu(packed)
    chosen = np.take_along_axis(a, pivots[:, None, :] - 1, axis=-1)
    yield adjoint(upper) @ upper, adjoint(chosen) @ chosen


def check_gtsv(a):
    lower, diagonal, upper, right = a[..., 0], a[..., 1] + 4, a[..., 2], a[..., :2]
    *_, solution, info = batched("gtsv", [lower, diagonal, upper, right], {})
    assert not info.any()
    product = diagonal[..., None] * solution
    product[:, 1:] += lower[:, 1:, None] * solution[:, :-1]
    product[:, :-1] += upper[:, :-1, None] * solution[:, 1:]
    yield product, right


def check_gesvd(a):
    _, singular, left, right, info = batched("gesvd", [a], {"mode": "A"})
    assert not info.any()
    yield left * singular[:, None, :] @ right, a


CHECKS = {
    "geev": check_geev,
    "gees": check_gees,
    "gehrd": check_gehrd,
    "sytrd": check_sytrd,
    "hetrd": check_sytrd,
    "geqp3": check_geqp3,
    "gtsv": check_gtsv,
    "gesvd": check_gesvd,
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ROUTINES)
def test_results_satisfy_their_equations(name, dtype):
    a = matrices(dtype)
    for got, expected in CHECKS[name](a):
        assert np.abs(got - expected).max() <= 200 * np.finfo(dtype).eps * np.abs(a).max() ** 2


def test_columns_cannot_be_fixed():
    with pytest.raises(ValueError, match="fixed"):
        batched("geqp3", [matrices(np.float64), np.ones((2, SIZE), np.int32)], {})
