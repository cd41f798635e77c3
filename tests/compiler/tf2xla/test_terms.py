"""Outputs of nodes as terms of formulas, and what is known of them before anything runs."""

import numpy as np
import pytest

import compiler
from compiler.graph import BY_NAME, PartialShape
from compiler.tf2xla import lower
from compiler.tf2xla.builder import Builder
from compiler.tf2xla.terms import IndexedSlices, Output, Trial

FLOAT = BY_NAME["float32"]


def output(*trials, holds=None, shape=(None,)):
    builder = Builder()
    built = builder.add("Placeholder", dtype="float32", shape=(None,))
    return Output(built, 0, FLOAT, PartialShape(shape), trials, holds)


def test_a_value_is_known_where_all_trials_agree():
    two, three = np.array(2), np.array(3)
    assert output(Trial((), two), Trial((), two)).value == 2
    assert output(Trial((), two), Trial((), three)).value is None
    assert output(Trial((), two), Trial(())).value is None
    assert output().value is None
    assert output(Trial((), two), holds=FLOAT).value is None


def test_sizes_of_what_a_variable_holds_are_those_that_trials_agree_on():
    assert output(Trial((3, 5)), Trial((3, 7)), holds=FLOAT).held_shape == PartialShape((3, None))
    assert output(holds=FLOAT).held_shape == PartialShape(None)
    assert output(Trial((3,)), shape=(4,)).held_shape == PartialShape((4,))


def test_the_first_output_is_named_by_its_node_alone():
    first = output()
    second = Output(first.built, 1, FLOAT, PartialShape(None))
    assert (first.text, first.name, second.text) == ("Placeholder", "Placeholder:0", "Placeholder:1")
    assert (first.rank, second.rank) == (1, None)


def run(made, *inputs):
    (found,) = compiler.interpret(lower(made.built.maker.graph, {}, [made.name]).module, *inputs)
    return found


def test_formulas_are_numpys():
    x = Builder().constant(np.array([1, 2, 4], np.float32))
    np.testing.assert_array_equal(run(1 - x * x / 2 + -x), 1 - np.array([1, 2, 4]) ** 2 / 2 - [1, 2, 4])
    np.testing.assert_array_equal(run(4 / x), [4, 2, 1])


@pytest.mark.parametrize("indices", [[], [1], [2, 0, 2]])
def test_rows_that_come_several_times_are_added(indices):
    builder = Builder()
    values = np.arange(2 * len(indices), dtype=np.float32).reshape(-1, 2) + 1
    expected = np.zeros((4, 2), np.float32)
    np.add.at(expected, indices, values)
    parts = (values, np.array(indices, np.int32), np.array([4, 2], np.int32))
    given = [builder.constant(one) for one in parts]
    np.testing.assert_array_equal(run(IndexedSlices(*given).dense()), expected)
