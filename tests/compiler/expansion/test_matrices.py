"""The words for matrices mean what books mean by them, for each matrix of a batch."""

import numpy as np
import pytest

import compiler
from compiler.expansion import matrices
from compiler.expansion.expression import Expression, number
from compiler.ir.types import S32

BATCH = (np.arange(2 * 3 * 3) - 7).reshape(2, 3, 3).astype(np.float64)
COMPLEX = BATCH + 1j * BATCH.transpose(0, 2, 1)


def run(change, value):
    kind = "c128" if value.dtype.kind == "c" else "f64"
    module = compiler.parse(f"ENTRY e {{ ROOT x = {kind}[{','.join(map(str, value.shape))}] parameter(0) }}")
    module.entry.root = change(Expression(module.entry.root)).instruction
    module.sort_computations()
    compiler.verify(module)
    return compiler.interpret(module, value)[0]


def at(x, value):
    return number(x.instruction.computation, value, S32)


WORDS = {
    "row": (lambda x: matrices.line(x, 1, at(x, 1)), lambda a: a[:, 1]),
    "column": (lambda x: matrices.line(x, 2, at(x, 2)), lambda a: a[:, :, 2]),
    "adjoint": (matrices.adjoint, lambda a: a.conj().transpose(0, 2, 1)),
    "diagonal": (matrices.diagonal, lambda a: np.einsum("bii->bi", a)),
    "corner": (lambda x: matrices.corner(x, 2, 1), lambda a: a[:, :2, :1]),
    "padded": (lambda x: matrices.padded(x, 4, 5), lambda a: np.pad(a, ((0, 0), (0, 1), (0, 2)))),
    "turned round": (matrices.turned_round, lambda a: a[:, ::-1, ::-1]),
    "next": (lambda x: matrices.next_along(x, 2), lambda a: np.pad(a[:, :, 1:], ((0, 0), (0, 0), (0, 1)))),
    "previous": (lambda x: matrices.previous_along(x, 1), lambda a: np.pad(a[:, :-1], ((0, 0), (1, 0), (0, 0)))),
    "real": (matrices.real, lambda a: a.real),
    "squares": (matrices.squares, lambda a: np.abs(a) ** 2),
    "nonzero": (matrices.nonzero, lambda a: np.where(a == 0, 1, a)),
    "identity": (lambda x: matrices.identity(x, 2), lambda a: np.stack([np.eye(2)] * 2).astype(a.dtype)),
    "finite": (matrices.is_finite, lambda a: np.array([True, True])),
    "scaled": (lambda x: matrices.scaled(x)[0], lambda a: a / np.abs(a).max((1, 2), keepdims=True)),
}


@pytest.mark.parametrize("value", [BATCH, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("name", WORDS)
def test_a_word_means_what_numpy_says(name, value):
    word, truth = WORDS[name]
    np.testing.assert_allclose(run(word, value), truth(value), rtol=1e-15)


@pytest.mark.parametrize("lower", [True, False])
def test_one_triangle_gives_the_matrix(lower):
    whole = COMPLEX + COMPLEX.conj().transpose(0, 2, 1)
    given = np.tril(whole) if lower else np.triu(whole)
    np.testing.assert_array_equal(run(lambda x: matrices.hermitian(x, lower=lower), given), whole)


def test_a_matrix_with_an_infinity_is_not_finite_and_one_of_zeros_is_scaled_by_one():
    values = np.stack([np.zeros((2, 2)), np.array([[np.inf, 0], [0, 1]])])
    assert run(matrices.is_finite, values).tolist() == [True, False]
    assert run(lambda x: matrices.scaled(x)[1], values).tolist() == [1, np.inf]
