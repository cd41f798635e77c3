"""Functions of Python as operations."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def test_a_function_takes_and_gives_arrays():
    x = tf.placeholder(tf.float32, [None])
    doubled, text = tf.py_func(lambda a, b: (a * b, "é"), [x, 2.0], [tf.float32, tf.string])
    made = run([doubled + 1, text], {x: [1, 2]})
    assert made[0].tolist() == [3, 5]
    assert made[1] == "é".encode()


def test_one_type_gives_a_tensor_and_none_an_operation():
    seen = []
    assert run(tf.py_func(np.sum, [[1, 2]], tf.int64)) == 3
    assert run(tf.py_func(seen.append, [tf.constant(5)], [])) is None
    assert seen == [5]


def test_a_function_lives_as_long_as_its_graph():
    with tf.Graph().as_default() as graph:
        made = tf.py_func(lambda: np.float32(4), [], tf.float32)
    with tf.Session(graph=graph) as session:
        assert session.run(made) == 4


def test_no_cluster_holds_it():
    with tf.contrib.compiler.jit.experimental_jit_scope():
        assert run(tf.py_func(lambda a: a, [tf.ones([2]) * 3], tf.float32) + 1).tolist() == [4, 4]


def failing(kind):
    def function():
        raise kind("reason")

    return function


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (TypeError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
def test_its_exceptions_are_those_that_tensorflow_makes_of_them(kind, error):
    with pytest.raises(error, match=rf"{kind.__name__}: .?reason"):
        run(tf.py_func(failing(kind), [], tf.float32))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: np.float64(1), "0-th value returned by pyfunc_.* is float64, but expects float32"),
        (lambda: (np.float32(1), np.float32(2)), "returns 2 values, but expects to see 1 values"),
    ],
)
def test_what_it_gives_must_be_what_was_said(function, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        run(tf.py_func(function, [], tf.float32))
