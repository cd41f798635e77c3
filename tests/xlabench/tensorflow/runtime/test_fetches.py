"""A structure is taken apart into leaves that run once each, and put together again."""

import collections

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.runtime import fetches

Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture
def x(graph):
    return tf.constant(1.0, name="x")


def test_a_leaf_that_stands_there_twice_runs_once(graph, x):
    found = fetches.of(graph, [x, "x:0", {"k": (x,)}])
    assert found.tensors == (x,)
    assert found.build([7]) == [7, 7, {"k": (7,)}]


def test_the_structure_comes_back_as_it_was(graph, x):
    y = tf.constant(2.0)
    found = fetches.of(graph, Pair([x, ()], collections.OrderedDict(b=y, a=x)))
    built = found.build(["X", "Y"])
    assert built == Pair(["X", ()], {"b": "Y", "a": "X"})
    assert list(built.b) == ["b", "a"]


def test_an_operation_runs_and_gives_nothing(graph, x):
    op = tf.no_op(name="op")
    found = fetches.of(graph, [op, "op", x])
    assert (found.targets, found.build([3])) == (("op",), [None, None, 3])


@pytest.mark.parametrize(
    ("fetch", "error", "message"),
    [
        (None, TypeError, "Cannot be None"),
        (3, TypeError, 'has invalid type "int" must be a string or Tensor'),
        ("gone:0", ValueError, "cannot be interpreted as a Tensor"),
        ("x:5", ValueError, "cannot be interpreted as a Tensor"),
        ([[None]], TypeError, "Cannot be None"),
    ],
)
def test_what_cannot_be_fetched_is_said(graph, x, fetch, error, message):
    with pytest.raises(error, match=message):
        fetches.of(graph, fetch)
