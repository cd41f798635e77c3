"""What is the same in every iteration of a loop is computed once, whatever it is and wherever it stands."""

from functools import cache

import numpy as np
import pytest
from invariant_loops import INNER_ITERATIONS, ITERATIONS, PLACES, VALUES, N, counted, program

import compiler

PAIRS = [(value, place) for place in PLACES for value in VALUES if value != "nothing"]
INPUTS = (np.linspace(-1, 1, N, dtype=np.float32), np.linspace(0, 0.5, N, dtype=np.float32), np.array(1, bool))


@cache
def optimized(value, place):
    module = compiler.parse(program(value, place))
    return module, compiler.optimize(module, compiler.CompileOptions(verify_each=True))


def work_of(value, place):
    return counted(optimized(value, place)[1])


@pytest.mark.parametrize(("value", "place"), PAIRS)
def test_what_never_changes_is_not_computed_in_each_iteration(value, place):
    once = (counted(optimized(value, "body")[0]) - counted(optimized("nothing", "body")[0])) / ITERATIONS
    trip_count = ITERATIONS * (INNER_ITERATIONS if place == "inner loop" else 1)
    assert work_of(value, place) <= work_of("nothing", place) + 2 * INNER_ITERATIONS * (once + N) + 2 * trip_count


@pytest.mark.parametrize(("value", "place"), PAIRS)
def test_the_results_are_the_same_bits(value, place):
    module, after = optimized(value, place)
    for result, expected in zip(compiler.interpret(after, *INPUTS), compiler.interpret(module, *INPUTS), strict=True):
        np.testing.assert_array_equal(result, expected)
