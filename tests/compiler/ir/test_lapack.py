"""LAPACK's routines by what their results must satisfy, by the library and as HLO; every name has a check."""

import numpy as np
import pytest

import compiler
from compiler.ir.lapack import ROUTINES, batched
from compiler.ir.types import of_dtype

SIZE = 5
LETTERS = {np.float32: "s", np.float64: "d", np.complex64: "c", np.complex128: "z"}


def text(array):
    return f"{of_dtype(array.dtype).name}[{','.join(map(str, array.shape))}]"


def program(name, values, options):
    """A program of one routine, with results of the shapes that the library gives."""
    expected = [np.asarray(part) for part in batched(name, values, options)]
    kind = max(value.dtype for value in values if value.dtype.kind in "fc")
    widths = {"f": kind.type(0).real.dtype, "c": np.result_type(kind, np.complex64), "i": np.int32}
    shapes = ", ".join(text(part.astype(widths[part.dtype.kind])) for part in expected)
    parameters = " ".join(f"p{n} = {text(value)} parameter({n})" for n, value in enumerate(values))
    config = ", ".join(f"{k} = {v} : i32" if v.isdigit() else f"{k} = {ord(v)} : ui8" for k, v in options.items())
    operands = ", ".join(f"p{n}" for n in range(len(values)))
    return f"""ENTRY e {{ {parameters} ROOT r = ({shapes}) custom-call({operands}),
      custom_call_target="lapack_{LETTERS[kind.type]}{name}_ffi", backend_config={{{config}}} }}"""


def native(name, values, options):
    return compiler.compile(program(name, values, options), "cpu")(*values)


def matrices(dtype):
    draw = np.random.default_rng(7).standard_normal
    value = draw((2, SIZE, SIZE)) + (1j * draw((2, SIZE, SIZE)) if np.dtype(dtype).kind == "c" else 0)
    return value.astype(dtype)


def adjoint(value):
    return np.conj(np.swapaxes(value, -1, -2))


def check_geev(run, a):
    *parts, left, right, info = run("geev", [a], {"compute_left": "V", "compute_right": "V"})
    values = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    assert not info.any()
    yield a @ right, right * values[:, None, :]
    yield adjoint(left) @ a, values[..., None] * adjoint(left)


def check_gees(run, a):
    triangle, vectors, *_, chosen, info = run("gees", [a], {"mode": "V", "sort": "N"})
    assert not info.any()
    assert not chosen.any()
    yield vectors @ triangle @ adjoint(vectors), a


def check_gehrd(run, a):
    packed, factors, info = run("gehrd", [a], {"low": "1", "high": str(SIZE)})
    assert factors.shape == (2, SIZE - 1)
    assert not info.any()
    yield np.trace(packed, axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1)


def check_sytrd(run, a):
    hermitian = a + adjoint(a)
    _, diagonal, beside, _, info = run("sytrd", [hermitian], {"uplo": "L"})
    assert not info.any()
    whole = [np.diag(d) + np.diag(e, 1) + np.diag(e, -1) for d, e in zip(diagonal, beside, strict=True)]
    yield np.linalg.eigvalsh(np.stack(whole)), np.linalg.eigvalsh(hermitian)


def check_geqp3(run, a):
    packed, pivots, _ = run("geqp3", [a, np.zeros((2, SIZE), np.int32)], {})
    upper = np.triu(packed)
    chosen = np.take_along_axis(a, pivots[:, None, :] - 1, axis=-1)
    yield adjoint(upper) @ upper, adjoint(chosen) @ chosen


def check_gtsv(run, a):
    lower, diagonal, upper, right = a[..., 0], a[..., 1] + 4, a[..., 2], a[..., :2]
    *_, solution, info = run("gtsv", [lower, diagonal, upper, right], {})
    assert not info.any()
    product = diagonal[..., None] * solution
    product[:, 1:] += lower[:, 1:, None] * solution[:, :-1]
    product[:, :-1] += upper[:, :-1, None] * solution[:, 1:]
    yield product, right


def check_gesvd(run, a):
    _, singular, left, right, info = run("gesvd", [a], {"mode": "A"})
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


NATIVELY = {("geev", np.float32), ("geev", np.complex128)}
"""What of the calls whose results are not determined is done by native code here."""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", LETTERS)
@pytest.mark.parametrize("name", ROUTINES)
def test_results_satisfy_their_equations(name, dtype):
    a = matrices(dtype)
    for run in (batched, native) if (name, dtype) in NATIVELY else (batched,):
        for got, expected in CHECKS[name](run, a):
            assert np.abs(got - expected).max() <= 200 * np.finfo(dtype).eps * np.abs(a).max() ** 2


HOT = (1, 2, 4, 1, 1, 2)
"""Of each row of a matrix the only element that is not 0: most of its eigenvalues are, and rounding moves them far."""


@pytest.mark.slow
def test_eigenvectors_of_a_defective_matrix_are_of_length_one():
    a = 2 * np.eye(len(HOT))[[list(HOT)]]
    *parts, left, right, info = native("geev", [a], {"compute_left": "V", "compute_right": "V"})
    values = (parts[0] + 1j * parts[1])[:, None, :]
    assert not info.any()
    for matrix, numbers, vectors in ((a, values, right), (adjoint(a), values.conj(), left)):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-14)
        np.testing.assert_allclose(matrix @ vectors, vectors * numbers, atol=1e-13)


def systems(a):
    """Tridiagonal ones of which the second has no pivot in its third row, and the third none in its last."""
    lower, diagonal, upper, right = a[..., 0], a[..., 1], a[..., 2], a[..., :2]
    lower, diagonal = (np.concatenate([array, array[:1]]) for array in (lower, diagonal))
    upper, right = (np.concatenate([array, array[:1]]) for array in (upper, right))
    lower[1, 2:4], diagonal[1, 2] = 0, 0
    lower[2, -1], diagonal[2, -1] = 0, 0
    return [lower, diagonal, upper, right]


DETERMINED = {
    "gehrd of all": ("gehrd", lambda a: [a], {"low": "1", "high": str(SIZE)}),
    "gehrd of a part": ("gehrd", lambda a: [a], {"low": "2", "high": "4"}),
    "sytrd, lower": ("sytrd", lambda a: [a], {"uplo": "L"}),
    "sytrd, upper": ("sytrd", lambda a: [a], {"uplo": "U"}),
    "sytrd of a number": ("sytrd", lambda a: [a[:, :1, :1]], {"uplo": "U"}),
    "geqp3, tall": ("geqp3", lambda a: [a[..., :3], np.zeros((2, 3), np.int32)], {}),
    "geqp3, wide": ("geqp3", lambda a: [a[:, :3], np.zeros((2, SIZE), np.int32)], {}),
    "gtsv": ("gtsv", systems, {}),
    "gtsv of a number": ("gtsv", lambda a: [*(a[:, 0, n:][:, :1] for n in range(3)), a[:, :1]], {}),
}
"""Calls whose results only roundings tell apart."""


@pytest.mark.slow
@pytest.mark.parametrize(("case", "dtype"), list(zip(DETERMINED, [*LETTERS] * len(DETERMINED), strict=False)))
def test_native_results_are_those_of_the_library(case, dtype):
    name, prepare, options = DETERMINED[case]
    values = prepare(matrices(dtype))
    for expected, found in zip(batched(name, values, options), native(name, values, options), strict=True):
        np.testing.assert_allclose(found, expected, atol=100 * np.finfo(dtype).eps, rtol=100 * np.finfo(dtype).eps)


@pytest.mark.slow
def test_matrices_of_any_kind_have_a_form_of_schur():
    """A permutation, whose eigenvalues lie on a circle; a chain; one of rank one; what is no number; great numbers."""
    a = np.stack(
        [np.roll(np.eye(SIZE), 1, axis=0), np.eye(SIZE, k=1), np.ones((SIZE, SIZE)), np.eye(SIZE), np.eye(SIZE)]
    )
    a[3, 1, 2], a[4] = np.nan, 1e300 * matrices(np.float64)[0]
    triangle, vectors, *_, info = compiler.compile(program("gees", [a], {"mode": "V", "sort": "N"}), "cpu")(a)
    assert info.tolist() == [0, 0, 0, SIZE, 0]
    for given, form, basis in zip(np.delete(a, 3, 0), np.delete(triangle, 3, 0), np.delete(vectors, 3, 0), strict=True):
        scale = np.abs(given).max()
        np.testing.assert_allclose(basis @ (form / scale) @ basis.T, given / scale, atol=1e-14)
        assert not np.tril(form, -2).any()


def test_of_empty_matrices_nothing_is_computed():
    texts = ["f32[0,3]", "(f32[0,3], s32[0], s32[])"], ["f32[2,0,0]", "(f32[2,0,0], s32[2,0], s32[2])"]
    for operand, results in texts:
        call = f"""ENTRY e {{ x = {operand} parameter(0)
          ROOT r = {results} custom-call(x), custom_call_target="lapack_sgetrf_ffi" }}"""
        given = np.zeros([int(n) for n in operand[4:-1].split(",")], np.float32)
        for results in (compiler.interpret(compiler.parse(call), given), compiler.compile(call, "cpu")(given)):
            assert [array.shape for array in results][-1] == given.shape[:-2]
            assert not results[-1].any()


@pytest.mark.slow
def test_columns_are_fixed_in_front_by_native_code_only():
    a, fixed = matrices(np.float64), np.zeros((2, SIZE), np.int32)
    with pytest.raises(ValueError, match="fixed"):
        batched("geqp3", [a, fixed + 1], {})
    run = compiler.compile(program("geqp3", [a, fixed], {}), "cpu")
    fixed[:, (1, 3)] = 1
    packed, pivots, _ = run(a, fixed)
    assert pivots[:, :2].tolist() == [[2, 4], [2, 4]]
    upper, chosen = np.triu(packed), np.take_along_axis(a, pivots[:, None, :] - 1, axis=-1)
    np.testing.assert_allclose(adjoint(upper) @ upper, adjoint(chosen) @ chosen, atol=1e-12)


@pytest.mark.parametrize("dtype", LETTERS)
@pytest.mark.parametrize("exponent", [-35, -21, 21, 35])
def test_eigenvalues_scale_with_their_matrix(dtype, exponent):
    """Also where the library scales the matrix itself, as OpenBLAS does wrongly."""
    a, scale = matrices(dtype), np.finfo(dtype).dtype.type(2.0) ** (3 * exponent)
    *values, _, _, info = batched("geev", [a * scale], {"compute_left": "N", "compute_right": "V"})
    *expected, _, _, _ = batched("geev", [a], {"compute_left": "N", "compute_right": "V"})
    assert not info.any()
    for got, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(got / scale, wanted, rtol=1e-3 if np.finfo(dtype).bits == 32 else 1e-10)
