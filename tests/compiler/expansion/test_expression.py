"""Formulas on instructions mean what they say, and make valid programs."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression, concatenate, iota, largest_of_row, number, rows_of
from compiler.ir.types import F32, S32

X = np.array([[3, 1, 3], [np.nan, 5, -1]], np.float32)


def run(change, value=X, shape="f32[2,3]"):
    module = compiler.parse(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}")
    found = change(Expression(module.entry.root))
    module.entry.root = found.instruction
    module.sort_computations()
    compiler.verify(module)
    return compiler.interpret(module, value)[0]


FORMULAS = {
    "arithmetic": (lambda x: (x + 1) * x - x / 2, lambda x: (x + 1) * x - x / 2),
    "negation": (lambda x: -x, lambda x: -x),
    "transposed": (lambda x: x.transpose(1, 0), lambda x: x.T),
    "sliced": (lambda x: x.slice((0, 2), (0, 3, 2)), lambda x: x[:, ::2]),
    "reshaped": (lambda x: x.reshape(3, 2), lambda x: x.reshape(3, 2)),
    "spread": (lambda x: x.spread((2, 4, 3), (0, 2)), lambda x: np.repeat(x[:, None], 4, 1)),
    "summed": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "largest": (lambda x: x.largest(1), lambda x: x.max(1)),
    "chosen": (lambda x: x.compare("GT", 2).where(x, x.literal(0)), lambda x: np.where(x > 2, x, 0)),
    "converted": (lambda x: x.slice((0, 1), (0, 3)).to(S32), lambda x: x[:1].astype(np.int32)),
    "bits": (lambda x: x.bits_as(S32), lambda x: x.view(np.int32)),
    "in a row": (lambda x: concatenate([x, x], 1), lambda x: np.concatenate([x, x], 1)),
    "rows": (
        lambda x: rows_of(x, iota(x.instruction.computation, S32, (4,)).apply("minimum", 1)),
        lambda x: x[[0, 1, 1, 1]],
    ),
    "greatest of rows": (lambda x: largest_of_row(x.slice((0, 1), (0, 3)))[1], lambda x: np.array([0], np.int32)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_gives_what_numpy_gives(name):
    formula, truth = FORMULAS[name]
    np.testing.assert_array_equal(run(formula), truth(X))


def test_what_changes_nothing_adds_no_instruction():
    x = Expression(compiler.parse("ENTRY e { ROOT x = f32[2,3] parameter(0) }").entry.root)
    for same in (x.to(F32), x.reshape(2, 3), x.spread((2, 3), (0, 1)), x.bits_as(F32)):
        assert same is x


def test_a_number_is_of_the_formulas_type():
    x = Expression(compiler.parse("ENTRY e { ROOT x = s8[] parameter(0) }").entry.root)
    assert x.literal(300).instruction.literal.array == 44
    assert number(x.instruction.computation, 1 + 2j, F32).instruction.literal.array == 1
