"""Cholesky factors and triangular systems, an element at a time: each form of either is one form with views turned."""

import itertools

import numpy as np
import pytest
from emitted_kernels import for_each, kernel, run

import compiler
from compiler.codegen.llvm_ir import PTR, Value, integer
from compiler.codegen.triangular import Factorisation, Substitution, pivot_root, rest
from compiler.diagnostics import UnsupportedError

MATRIX = np.array([[4, 1, 0.5], [1, 5, 1], [0.5, 1, 6]])
FORMS = [
    (left, lower, unit, form)
    for left, lower, unit in itertools.product(("true", "false"), repeat=3)
    for form in ("NO_TRANSPOSE", "TRANSPOSE")
]


@pytest.mark.parametrize(("left", "lower", "unit", "form"), FORMS)
def test_every_form_of_a_triangular_system_is_solved(left, lower, unit, form):
    text = f"""ENTRY e {{ a = f64[3,3] parameter(0)  b = f64[3,3] parameter(1)
      ROOT x = f64[3,3] triangular-solve(a, b), left_side={left}, lower={lower}, unit_diagonal={unit},
        transpose_a={form} }}"""
    found = kernel(text)
    system = Substitution(found)
    inputs = [MATRIX, np.arange(9.0).reshape(3, 3) + 1]
    assert (system.size, system.columns, system.sides) == (3, 3, 3)

    def emit(builder):
        for side in range(system.sides):
            system.solve(builder, integer(side))

    np.testing.assert_allclose(
        run(found, emit, inputs), compiler.interpret(compiler.parse(text), *inputs)[0], rtol=1e-13
    )


@pytest.mark.parametrize("lower", ["true", "false"])
def test_a_factor_is_built_column_by_column_as_if_the_lower_one_were_asked_for(lower):
    text = f"ENTRY e {{ a = f32[2,3,3] parameter(0)  ROOT l = f32[2,3,3] cholesky(a), lower={lower} }}"
    found = kernel(text)
    factorisation = Factorisation(found)
    assert (factorisation.size, factorisation.batch, factorisation.is_lower) == (3, 2, lower == "true")

    def one(emission, number):
        builder = emission.builder
        source, factor = factorisation.matrices(builder, emission.value(number))
        for column in range(3):
            at = integer(column)
            diagonal = pivot_root(builder, rest(source.load(at, at), factor, at, at))
            factor.store(at, at, diagonal)
            for row in map(integer, range(column + 1, 3)):
                below = rest(source.load(row, at), factor, row, at)
                factor.store(row, at, builder.binary("fdiv", below, factor.load(at, at)))

    given = np.stack([MATRIX, 2 * MATRIX]).astype(np.float32)
    result = run(found, for_each(2, one), [given])
    np.testing.assert_allclose(result, compiler.interpret(compiler.parse(text), given)[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("left", "root"), [(4.0, 2.0), (0.0, np.nan), (-1.0, np.nan), (np.nan, np.nan), (np.inf, np.inf)]
)
def test_a_pivot_that_is_not_positive_is_nan_also_zero(left, root):
    found = kernel("ENTRY e { x = f64[1] parameter(0)  ROOT r = f64[1] sqrt(x) }")

    def emit(builder):
        given = builder.load("double", Value(PTR, "%in0"))
        builder.store(pivot_root(builder, given), Value(PTR, "%out0"))

    np.testing.assert_array_equal(run(found, emit, [np.array([left])]), [root])


def test_complex_matrices_are_refused_by_name():
    text = "ENTRY e { a = c64[2,2] parameter(0)  ROOT l = c64[2,2] cholesky(a), lower=true }"
    with pytest.raises(UnsupportedError, match="cholesky of c64"):
        Factorisation(kernel(text))
