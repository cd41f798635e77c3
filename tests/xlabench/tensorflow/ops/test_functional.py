"""Loops over rows that sessions build give what TensorFlow gives for the same programs: op by op and whole."""

import numpy as np
import pytest
from frame_programs import PROGRAMS, recorded

import compiler
import xlabench.tensorflow as tf
from compiler.tf import lower
from xlabench.tensorflow.framework.structures import flattened

pytestmark = pytest.mark.usefixtures("graph")
ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def ran(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_tensorflow_gives(graph, name):
    build, given = PROGRAMS[name]
    x = tf.placeholder("float32", given.shape, name="x")
    fetches = flattened(build(tf, x))
    expected = recorded(name)[2]
    lowered = lower(graph.builder.graph, {"x": given}, [one.name for one in fetches])
    held = [np.zeros(graph.builder.built[one].outputs[0].held_shape.static, np.float32) for one in lowered.reads]
    whole = compiler.interpret(lowered.module, *(lowered.values[one] for one in lowered.inputs), *held)
    for results in (ran(fetches, {x: given}), whole[: len(expected)]):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_rows_of_several_tensors_and_results_of_another_structure():
    rows = tf.constant(ROWS)
    found = tf.map_fn(
        lambda pair: {"a": pair[0] + pair[1], "b": tf.reduce_sum(pair[0])},
        (rows, rows[:, 0:1]),
        dtype={"a": "float32", "b": "float32"},
    )
    assert found["a"].shape.as_list() == [3, 2]
    results = ran(found)
    np.testing.assert_array_equal(results["a"], ROWS + ROWS[:, :1])
    np.testing.assert_array_equal(results["b"], ROWS.sum(1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("given", [None, 10.0])
def test_a_scan_goes_either_way_from_a_value_or_the_first_row(reverse, given):
    found = tf.scan(lambda total, row: total * 2.0 + row, tf.constant(ROWS[:, 0]), given, reverse=reverse)
    row, total, expected = ROWS[::-1, 0] if reverse else ROWS[:, 0], given, []
    for one in row:
        total = one if total is None else total * 2 + one
        expected.append(total)
    np.testing.assert_array_equal(ran(found), expected[::-1] if reverse else expected)


def test_folds_of_a_number_of_rows_that_is_not_known():
    rows = tf.placeholder("float32", [None])
    found = tf.foldl(lambda a, b: a - b, rows), tf.foldr(lambda a, b: a - b, rows, 1.0)
    assert ran(found, {rows: [5, 2, 1]}) == (2, -7)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: tf.map_fn(1, x), TypeError, "is not callable"),
        (lambda x: tf.map_fn(lambda row: row, x[0, 0]), ValueError, "1\\+ dimensional"),
        (lambda x: tf.foldl(lambda a, b: a, []), ValueError, "at least one tensor"),
        (lambda x: tf.scan(lambda a, b: (a, b), x), ValueError, "same number of elements"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call(tf.constant(ROWS))
