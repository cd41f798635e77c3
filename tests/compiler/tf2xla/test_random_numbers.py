"""Random numbers as TensorFlow's ops make them: of counters, so that parts of a sequence are the sequence."""

import numpy as np
import pytest

import compiler
from compiler.expansion.expression import Expression
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Module
from compiler.ir.types import BF16, F16, F32, F64, S64, U32, U64
from compiler.ops.build import constant
from compiler.tf2xla.random_numbers import Generator, bits, initial_state, normal, scrambled, truncated, uniform

MOST = (1 << 64) - 1


def drawn(make, low=3, high=0, key=7):
    """What a generator with these numbers gives."""
    module = Module("m")
    entry = module.add_computation(Computation("e"))
    module.entry = entry
    parts = [Expression(constant(entry, array_literal(np.array(value, np.uint64), U64))) for value in (low, high, key)]
    entry.root = make(Generator(*parts)).instruction
    (found,) = compiler.interpret(module)
    return found


@pytest.mark.parametrize("kind", [U32, U64], ids=str)
@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_fewer_numbers_are_the_first_of_more(kind, count):
    np.testing.assert_array_equal(drawn(lambda g: bits(g, count, kind)), drawn(lambda g: bits(g, 12, kind))[:count])


@pytest.mark.parametrize("low", [0, 3, MOST, MOST - 1])
def test_a_generator_that_goes_on_gives_what_follows(low):
    whole = drawn(lambda g: bits(g, 20, U32), low)
    np.testing.assert_array_equal(drawn(lambda g: bits(g.after(2), 12, U32), low), whole[8:])


def test_another_key_or_counter_gives_other_numbers():
    seen = {drawn(lambda g: bits(g, 2, U64), low, high, key).tobytes() for low, high, key in np.ndindex(2, 2, 2)}
    assert len(seen) == 2**3


@pytest.mark.parametrize("kind", [F16, BF16, F32, F64], ids=str)
def test_uniform_numbers_are_from_0_to_1_without_1(kind):
    found = drawn(lambda g: uniform(g, 2000, kind)).astype(np.float64)
    assert found.min() >= 0
    assert found.max() < 1
    assert abs(found.mean() - 0.5) < 0.03


@pytest.mark.parametrize("kind", [F32, F64], ids=str)
def test_normal_numbers_have_their_mean_and_deviation(kind):
    found = drawn(lambda g: normal(g, 3001, kind))
    assert found.shape == (3001,)
    assert abs(found.mean()) < 0.06
    assert abs(found.std() - 1) < 0.05
    assert np.abs(found).max() > 2


@pytest.mark.parametrize("kind", [F32, F64], ids=str)
def test_truncated_numbers_are_the_normal_ones_within_two_deviations(kind):
    found = drawn(lambda g: truncated(g, 501, kind))
    assert found.shape == (501,)
    assert np.abs(found).max() < 2
    assert abs(found.std() - 0.88) < 0.08


def test_a_seed_becomes_a_counter_that_begins_at_0():
    def made(seed):
        module = Module("m")
        entry = module.add_computation(Computation("e"))
        module.entry = entry
        entry.root = bits(
            scrambled(Expression(constant(entry, array_literal(np.array(seed, np.int64), S64)))), 4, U32
        ).instruction
        return compiler.interpret(module)[0].tobytes()

    assert len({made([0, 0]), made([0, 1]), made([1, 0]), made([-1, 5])}) == 4
    assert made([1, 2]) == made([1, 2])


def test_a_state_of_the_same_seeds_is_the_same():
    assert initial_state(1, 2).tolist() == initial_state(1, 2).tolist()
    assert initial_state(1, 2).tolist() != initial_state(2, 1).tolist()
