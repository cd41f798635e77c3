"""LAPACK's routines as HLO: the reference's results, over types, forms of matrices and batches, and its failures."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.expansion.lapack import ROUTINES

OPTIONS = compiler.CompileOptions(verify_each=True)
TYPES = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
FORMS = {"f32": ((2, 2), 4, 7), "f64": ((), 1, 1), "c64": ((), 5, 5), "c128": ((3,), 6, 4)}
DTYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}


def shape(element_type, dims):
    return f"{element_type}[{','.join(map(str, dims))}]"


def call(name, element_type, batch, rows, columns, config=""):
    """A program of one routine on the matrix that is its parameter."""
    matrix, steps = shape(element_type, (*batch, rows, columns)), min(rows, columns)
    pivots, info = shape("s32", (*batch, steps)), shape("s32", batch)
    factors = shape(element_type, (*batch, steps))
    results = {
        "potrf": f"({matrix}, {info})",
        "getrf": f"({matrix}, {pivots}, {info})",
        "geqrf": f"({matrix}, {factors})",
    }
    target = f'custom_call_target="lapack_{TYPES[element_type]}{name}_ffi"'
    written = f", backend_config={{{config}}}" if config else ""
    return f"ENTRY e {{ x = {matrix} parameter(0) ROOT r = {results[name]} custom-call(x), {target}{written} }}"


def draw(element_type, dims, seed=0):
    generator = np.random.default_rng(seed)
    values = generator.standard_normal((2, *dims))
    return (values[0] + (1j * values[1] if element_type[0] == "c" else 0)).astype(DTYPES[element_type])


def agrees(text, *inputs):
    """Native code against the reference, and within its error bounds; returns the reference's results."""
    module = compiler.parse(text)
    expected = compiler.interpret(module, *inputs)
    found = compiler.compile(module, "cpu", OPTIONS)(*inputs)
    for want, have, wide in zip(expected, found, compiler.interpret(module, *inputs, wide=True), strict=True):
        tolerance = 2e-4 if have.dtype in (np.float32, np.complex64) else 1e-11
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
        assert wide.allows(have).all()
    return expected


@pytest.mark.slow
@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("name", ["getrf", "geqrf"])
def test_factors_are_those_of_the_reference(name, element_type):
    batch, rows, columns = FORMS[element_type]
    agrees(call(name, element_type, batch, rows, columns), draw(element_type, (*batch, rows, columns)))


def orgqr(element_type, vectors, factors):
    """The program that makes the orthogonal factor, from the shapes of vectors and factors."""
    return f"""ENTRY e {{ v = {shape(element_type, vectors)} parameter(0)
      t = {shape(element_type, factors)} parameter(1)
      ROOT q = {shape(element_type, vectors)} custom-call(v, t),
        custom_call_target="lapack_{TYPES[element_type]}orgqr_ffi" }}"""


# In a kernel: alone, with tiles and strips that are not whole, tall, wide, in a batch.
LARGE = [("f32", (), 64, 64), ("f64", (3,), 45, 17), ("f32", (), 33, 100), ("f64", (), 71, 71)]
COMPLEX = [("c64", (2,), 37, 37), ("c128", (), 45, 17), ("c64", (), 21, 30)]


@pytest.mark.parametrize(("element_type", "batch", "rows", "columns"), [*LARGE, *COMPLEX], ids=str)
def test_a_kernel_factors_large_matrices(element_type, batch, rows, columns):
    """Equations rather than the reference's own factors, which roundings lead elsewhere; NaN and zeros spread alike."""
    given, steps = draw(element_type, (*batch, rows, columns)), min(rows, columns)
    wide = np.complex128 if element_type in ("c64", "c128") else np.float64
    text = call("getrf", element_type, batch, rows, columns)
    kernel = compiler.compile(text, "cpu", OPTIONS)
    packed, pivots, info = kernel(given)
    assert not info.any()
    for index in np.ndindex(*batch):
        permuted = given[index].astype(wide)
        for row, pivot in enumerate(pivots[index]):
            permuted[[row, pivot - 1]] = permuted[[pivot - 1, row]]
        lower = np.tril(packed[index], -1)[:, :steps].astype(wide) + np.eye(rows, steps)
        assert np.abs(lower).max() <= (2**0.5 if wide is np.complex128 else 1)
        error = np.abs(lower @ np.triu(packed[index])[:steps].astype(wide) - permuted).max()
        assert error <= 20 * np.finfo(given.dtype).eps * np.abs(given).max()
    given[..., :, 11] = 0
    singular = kernel(given)
    given[..., 2, 15] = np.nan
    spoilt = kernel(given)
    assert (singular[2] == 12).all()
    assert (spoilt[2] == 12).all()
    np.testing.assert_array_equal(spoilt[0][..., :15, :15], singular[0][..., :15, :15])
    assert np.isnan(spoilt[0][..., 15]).any(axis=-1).all()


@pytest.mark.slow
@pytest.mark.parametrize(("element_type", "batch", "rows", "columns"), LARGE, ids=str)
def test_a_kernel_reflects_large_matrices(element_type, batch, rows, columns):
    """Of values whose squares leave the range of f32, too; one column is zero below its head, two are alike."""
    drawn, steps = draw(element_type, (*batch, rows, columns)), min(rows, columns)
    drawn[..., 1:, 3] = 0
    drawn[..., 12:, 12] = drawn[..., 12:, 11]
    reflect = compiler.compile(call("geqrf", element_type, batch, rows, columns), "cpu", OPTIONS)
    shapes = (*batch, rows, steps), (*batch, steps)
    multiply = compiler.compile(orgqr(element_type, *shapes), "cpu", OPTIONS)
    tolerance = 30 * np.finfo(drawn.dtype).eps
    for size in (1e-25, 1.0, 1e25):
        given = drawn * drawn.dtype.type(size)
        packed, factors = reflect(given)
        orthogonal = multiply(np.ascontiguousarray(packed[..., :steps]), factors)[0].astype(np.float64)
        square = np.swapaxes(orthogonal, -1, -2) @ orthogonal
        np.testing.assert_allclose(square, np.broadcast_to(np.eye(steps), square.shape), atol=tolerance)
        upper = np.triu(packed)[..., :steps, :].astype(np.float64) / size
        np.testing.assert_allclose(orthogonal @ upper, given.astype(np.float64) / size, atol=4 * tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(("element_type", "uplo"), [("f32", "L"), ("f64", "U"), ("c64", "U"), ("c128", "L")])
def test_choleskys_method_says_where_it_fails(element_type, uplo):
    matrix = draw(element_type, (4, 5, 5))
    definite = matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + np.eye(5, dtype=matrix.dtype)
    for which, (column, pivot) in enumerate([(0, -1), (3, -50), (4, np.nan)], 1):
        definite[which, column, column] = pivot
    text = call("potrf", element_type, (4,), 5, 5, f"uplo = {ord(uplo)} : ui8")
    module = compiler.parse(text)
    (factor, info), (native, failed) = (
        run(definite) for run in (lambda x: compiler.interpret(module, x), compiler.compile(module, "cpu", OPTIONS))
    )
    assert info.tolist() == failed.tolist() == [0, 1, 4, 5]
    np.testing.assert_allclose(native[0], factor[0], rtol=1e-4, atol=1e-4)
    agrees(text, np.where(np.isnan(definite), 1, definite)[:1].repeat(4, axis=0))


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("value", [4.6875, 3.0, 0.1, 7.7])
def test_where_there_is_no_factor_success_is_not_said(backend, value):
    """Of a matrix that is singular but for roundings, which decide whether the last pivot is above zero."""
    text = call("potrf", "f32", (), 2, 2, f"uplo = {ord('L')} : ui8")
    options = compiler.CompileOptions(device="sim" if backend == "nvptx" else "")
    factor, info = compiler.compile(text, backend, options)(np.full((2, 2), value, np.float32))
    assert np.isnan(factor[1, 1]) == (info != 0)


@pytest.mark.slow
@pytest.mark.parametrize("element_type", ["f32", "c128"])
def test_a_zero_pivot_is_passed_over_and_named(element_type):
    matrix = draw(element_type, (2, 4, 4))
    matrix[1, :, 1] = 0
    _, pivots, info = compiler.interpret(compiler.parse(call("getrf", element_type, (2,), 4, 4)), matrix)
    native = compiler.compile(call("getrf", element_type, (2,), 4, 4), "cpu", OPTIONS)(matrix)
    assert info.tolist() == native[2].tolist() == [0, 2]
    assert pivots.tolist() == native[1].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_lengths_of_columns_do_not_leave_the_range(size):
    matrix = draw("f32", (5, 3)) * np.float32(size)
    (expected, _), (found, _) = (
        run(matrix)
        for run in (
            lambda x: compiler.interpret(compiler.parse(call("geqrf", "f32", (), 5, 3)), x),
            compiler.compile(call("geqrf", "f32", (), 5, 3), "cpu", OPTIONS),
        )
    )
    upper = np.triu(np.ones((5, 3), np.bool_))
    np.testing.assert_allclose(found[upper] / size, expected[upper] / size, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("element_type", "wide"), [("f32", 5), ("f64", 3), ("c64", 3), ("c128", 5)])
def test_reflections_make_orthogonal_columns(element_type, wide):
    name = "ungqr" if element_type[0] == "c" else "orgqr"
    vectors, factors = compiler.interpret(
        compiler.parse(call("geqrf", element_type, (2,), 5, 3)), draw(element_type, (2, 5, 3))
    )
    padded = np.concatenate([vectors, np.zeros((2, 5, wide - 3), vectors.dtype)], axis=-1)
    text = orgqr(element_type, (2, 5, wide), (2, 3)).replace("orgqr", name)
    (product,) = agrees(text, padded, factors)
    square = np.conj(np.swapaxes(product, -1, -2)) @ product
    np.testing.assert_allclose(square, np.broadcast_to(np.eye(wide), square.shape), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("trans", "NTC")
@pytest.mark.parametrize("side", "LR")
def test_a_triangular_system_is_solved_from_either_side(side, trans):
    right = (2, 4, 3) if side == "L" else (2, 3, 4)
    options = {"diag": "N", "side": side, "trans_x": trans, "uplo": "U"}
    config = ", ".join(f"{key} = {ord(value)} : ui8" for key, value in options.items())
    text = f"""ENTRY e {{ a = c128[2,4,4] parameter(0) b = {shape("c128", right)} parameter(1)
      ROOT x = {shape("c128", right)} custom-call(a, b), custom_call_target="lapack_ztrsm_ffi",
        backend_config={{{config}}} }}"""
    agrees(text, draw("c128", (2, 4, 4)) + 4 * np.eye(4), draw("c128", right, seed=1))


def eigen(name, shapes, element_type, uplo="L"):
    """A program of a decomposition, from the shapes of its results."""
    return f"""ENTRY e {{ x = {shapes[0]} parameter(0) ROOT r = ({", ".join(shapes)}) custom-call(x),
        custom_call_target="lapack_{TYPES[element_type]}{name}_ffi",
        backend_config={{mode = 86 : ui8, uplo = {ord(uplo)} : ui8}} }}"""


SPECIAL = {
    "zero": np.zeros((20, 20)),
    # Of rank one: what is left behind the first reflection are roundings, and theirs in turn, down to nothing.
    "ones": np.ones((20, 20)),
    "small": 1e-36 * (np.eye(20, k=1) + np.eye(20, k=-1)),
    "great": 1e35 * (np.eye(20, k=3) + np.eye(20, k=-3)),
    "ordered": np.diag(np.arange(20.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_eigenvectors_of_special_matrices(element_type):
    shapes = (shape(element_type, (20, 20)), shape(element_type, (20,)), "s32[]")
    kernel = compiler.compile(eigen("syevd", shapes, element_type), "cpu", OPTIONS)
    for name, matrix in SPECIAL.items():
        given, scale = matrix.astype(DTYPES[element_type]), np.abs(matrix).max() or 1.0
        vectors, values, info = kernel(given)
        assert not info, name
        tolerance = 100 * np.finfo(given.dtype).eps
        np.testing.assert_allclose(matrix / scale @ vectors, vectors * (values / scale), atol=tolerance, err_msg=name)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(20), atol=tolerance, err_msg=name)
        assert (np.diff(values) >= 0).all(), name
    given = np.eye(20, dtype=DTYPES[element_type])
    given[7, 3] = np.nan
    vectors, values, info = kernel(given)
    assert info > 0
    assert np.isnan(vectors).all()
    assert np.isnan(values).all()


@pytest.mark.slow
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize(
    ("element_type", "form"),
    [
        *(("f32", ((3,), 5)), ("f64", ((2,), 2)), ("c64", ((), 1)), ("c128", ((), 5))),
        *(("f32", ((), 71)), ("f64", ((2,), 34))),
    ],
    ids=str,
)
def test_eigenvectors_diagonalise_what_one_triangle_gives(element_type, form, uplo):
    batch, size = form
    matrix = shape(element_type, (*batch, size, size))
    values = shape({"c64": "f32", "c128": "f64"}.get(element_type, element_type), (*batch, size))
    name = "heevd" if element_type[0] == "c" else "syevd"
    text = eigen(name, (matrix, values, shape("s32", batch)), element_type, uplo)
    module, given = compiler.parse(text), draw(element_type, (*batch, size, size))
    results = vectors, found, info = compiler.compile(module, "cpu", OPTIONS)(given)
    for wide, result in zip(compiler.interpret(module, given, wide=True), results, strict=True):
        assert wide.allows(result).all()
    triangle = np.tril(given) if uplo == "L" else np.triu(given)
    diagonal = np.eye(size) * np.real(np.diagonal(given, axis1=-2, axis2=-1))[..., None, :]
    off = triangle * (1 - np.eye(size))
    whole = off + np.conj(np.swapaxes(off, -1, -2)) + diagonal
    tolerance = 1e-4 if given.dtype in (np.float32, np.complex64) else 1e-11
    np.testing.assert_allclose(whole @ vectors, vectors * found[..., None, :], atol=tolerance)
    square = np.conj(np.swapaxes(vectors, -1, -2)) @ vectors
    np.testing.assert_allclose(square, np.broadcast_to(np.eye(size), square.shape), atol=tolerance)
    assert (np.diff(found, axis=-1) >= 0).all()
    assert not info.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("element_type", "form", "mode"),
    [
        *(("f32", (6, 6), "A"), ("f64", (5, 3), "A"), ("c64", (1, 1), "S"), ("c128", (3, 5), "S")),
        *(("f32", (40, 23), "A"), ("f64", (17, 21), "S"), ("f32", (18, 18), "S"), ("f64", (18, 18), "A")),
    ],
    ids=str,
)
def test_singular_vectors_are_orthonormal_and_make_the_matrix(element_type, form, mode):
    rows, columns = form
    count, name = min(form), "gesvd" if rows == columns else "gesdd"
    left, right = ((rows, rows), (columns, columns)) if mode == "A" else ((rows, count), (count, columns))
    real = {"c64": "f32", "c128": "f64"}.get(element_type, element_type)
    matrix, values = shape(element_type, form), shape(real, (count,))
    text = f"""ENTRY e {{ x = {matrix} parameter(0)
      ROOT r = ({matrix}, {values}, {shape(element_type, left)}, {shape(element_type, right)}, s32[]) custom-call(x),
        custom_call_target="lapack_{TYPES[element_type]}{name}_ffi", backend_config={{mode = {ord(mode)} : ui8}} }}"""
    module, given = compiler.parse(text), draw(element_type, form)
    if rows == columns > 1:
        given[:, 1], given[:, 3] = given[:, 2], 0  # singular: some vectors are free
    results = compiler.compile(module, "cpu", OPTIONS)(given)
    for wide, result in zip(compiler.interpret(module, given, wide=True), results, strict=True):
        assert wide.allows(result).all()
    _, found, u, v, info = results
    tolerance = 1e-5 if given.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose((u[:, :count] * found) @ v[:count], given, atol=tolerance)
    np.testing.assert_allclose(np.conj(u.T) @ u, np.eye(left[1]), atol=tolerance)
    np.testing.assert_allclose(v @ np.conj(v.T), np.eye(right[0]), atol=tolerance)
    assert (np.diff(found) <= 0).all()
    assert not info


@pytest.mark.parametrize("name", ["gesdd", "gesvd"])
@pytest.mark.parametrize("form", [(3, 5), (5, 3), (4, 4)], ids=str)
@pytest.mark.parametrize("is_full", [False, True], ids=["thin", "full"])
def test_singular_values_alone_are_given_beside_vectors_of_either_shape(name, form, is_full):
    """JAX asks for values alone beside shapes of vectors that follow its `full_matrices` all the same."""
    rows, columns = form
    left, right = (rows, rows if is_full else min(form)), (columns if is_full else min(form), columns)
    results = [form, (min(form),), left, right]
    text = f"""ENTRY e {{ x = {shape("f32", form)} parameter(0)
      c = ({", ".join(shape("f32", dims) for dims in results)}, s32[]) custom-call(x),
        custom_call_target="lapack_s{name}_ffi", backend_config={{mode = 78 : ui8}}
      ROOT v = f32[{min(form)}] get-tuple-element(c), index=1 }}"""
    given = draw("f32", form)
    (values,) = agrees(text, given)
    np.testing.assert_allclose(values, np.linalg.svd(given, compute_uv=False), rtol=1e-5)


@pytest.mark.parametrize("name", ROUTINES)
def test_what_does_not_have_the_routines_shapes_is_refused(name):
    text = f"""ENTRY e {{ x = f32[3] parameter(0)
      ROOT r = f32[3] custom-call(x), custom_call_target="lapack_s{name}_ffi" }}"""
    with pytest.raises(compiler.UnsupportedError):
        compiler.compile(text, "cpu", OPTIONS)
