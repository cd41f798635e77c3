"""A second call has to answer to the bit what the first did, but for what a routine leaves open."""

import itertools
import threading

import numpy as np
import pytest

import compiler
from xlabench import repeats

PLAIN = compiler.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }")
SINGULAR = compiler.parse("""ENTRY e { x = f32[3,3] parameter(0)
  ROOT r = (f32[3,3], f32[3], f32[3,3], f32[3,3], s32[]) custom-call(x), custom_call_target="lapack_sgesvd_ffi",
    backend_config={mode = 65 : ui8} }""")


def test_calls_that_differ_are_counted():
    numbers = iter(range(100))
    assert repeats.differing([np.array(0)], lambda: [np.array(next(numbers) % 2)]) == 10
    assert not repeats.same_bytes([np.array(0.0)], [np.array(-0.0)])
    assert not repeats.same_bytes([np.zeros(2)], [np.zeros((1, 2))])


def test_where_arrays_lie_otherwise_the_answer_is_the_same():
    assert "are strided" in repeats.by_layout("strided", PLAIN, [np.zeros(2)], [np.ones(2)])
    assert repeats.by_layout("strided", PLAIN, [np.zeros(2)], [np.zeros(2)]) == ""
    first, other = [np.zeros(1)] * 5, [np.ones(1), *[np.zeros(1)] * 4]
    assert repeats.by_layout("strided", SINGULAR, first, other) == ""


def test_calls_at_the_same_time_are_held_against_those_alone():
    def at_once(begun):
        """Two callers that meet in their first calls, of which one gives what the other was to give."""
        met, left = threading.Barrier(2), [True, True]

        def caller(number):
            def call():
                if left[number]:
                    left[number] = False
                    met.wait()
                    return [np.array(number ^ begun)]
                return [np.array(number)]

            return call

        return repeats.differs_at_once([caller(0), caller(1)], [[np.array(0)], [np.array(1)]])

    assert [at_once(begun) for begun in (0, 1)] == [False, True]


def test_what_is_raised_beside_another_call_is_raised():
    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        repeats.differs_at_once([fails, lambda: [np.array(0)]], [[np.array(0)]] * 2)


def test_an_engine_may_answer_otherwise_where_nothing_is_said():
    counted, first = itertools.count(), [np.zeros(1)] * 5

    def another(number):
        return lambda: [*first[:number], np.full(1, next(counted) + 1.0), *first[number + 1 :]]

    assert repeats.unsteadiness(SINGULAR, first, another(0)) == ""
    assert "20 of 20" in repeats.unsteadiness(SINGULAR, first, another(1))
