"""Arrays are spread to sizes that they fit, aligned at their ends."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.expansion.matrices import conjugate
from compiler.tf2xla.broadcasting import spread


def run(shape, value, change):
    module = compiler.parse(f"ENTRY e {{ ROOT x = {shape} parameter(0) }}")
    module.entry.root = change(Expression(module.entry.root)).instruction
    compiler.verify(module)
    return compiler.interpret(module, value)[0]


@pytest.mark.parametrize(
    ("dims", "wanted"),
    [
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 1), (2, 3)),
        ((), (2, 3)),
        ((2, 3), (2, 3)),
        ((1,), (0,)),
        ((1, 3), (4, 5, 3)),
    ],
)
def test_a_one_becomes_any_size(dims, wanted):
    value = np.arange(np.prod(dims, dtype=int), dtype=np.float32).reshape(dims)
    found = run(f"f32[{','.join(map(str, dims))}]", value, lambda x: spread(x, wanted))
    np.testing.assert_array_equal(found, np.broadcast_to(value, wanted))


def test_only_complex_numbers_have_a_conjugate_of_their_own():
    z = np.array([1 + 2j, -3j], np.complex64)
    np.testing.assert_array_equal(run("c64[2]", z, conjugate), np.conj(z))
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(run("f32[2]", x, conjugate), x)
