"""A loop takes so many steps, numbered from 0, or ends before the first that is not to be."""

import numpy as np
import pytest

import compiler
from compiler.expansion.counted_loop import counted_loop
from compiler.expansion.expression import Expression
from compiler.ir.types import F32


def run(count, goes_on=None, value=1.0):
    module = compiler.parse("ENTRY e { ROOT x = f32[] parameter(0) }")

    def step(number, state):
        (x,) = state
        return [x * 2 + number.to(F32)]

    (found,) = counted_loop("steps", count, [Expression(module.entry.root)], step, goes_on)
    module.entry.root = found.instruction
    module.sort_computations()
    compiler.verify(module)
    return compiler.interpret(module, np.float32(value))[0]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_steps_are_numbered_from_zero(count):
    expected = 1.0
    for number in range(count):
        expected = 2 * expected + number
    assert run(count) == expected


@pytest.mark.parametrize(("limit", "expected"), [(0.5, 1), (2, 2), (100, 58)])
def test_a_loop_ends_before_the_step_that_is_not_to_be(limit, expected):
    assert run(5, lambda _, state: state[0].compare("LT", limit)) == expected
