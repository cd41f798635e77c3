"""Variables of TensorFlow 1: who wants a value has what they hold when it runs, and who changes them has themselves."""

import numpy as np
import pytest
from graph_nodes import BOOL, FLOAT, INT, const, node, placeholder

import xlabench.tensorflow as tf
from compiler.graph import Graph, PartialShape, to_binary

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
pytestmark = pytest.mark.usefixtures("graph")
W = node("w", "VariableV2", dtype=FLOAT, shape=PartialShape((2,)))
NODES = [
    W,
    const("first", [1, 2], np.float32),
    node("init", "Assign", "w", "first", T=FLOAT),
    node("w/read", "Identity", "w", T=FLOAT),
    node("add", "AssignAdd", "w", "first", T=FLOAT),
    node("double", "Add", "add", "add", T=FLOAT),
    node("after", "Neg", "w", "^add", T=FLOAT),
    node("is_there", "IsVariableInitialized", "w", dtype=FLOAT),
    const("row", [1]),
    const("new", [7], np.float32),
    node("scatter", "ScatterUpdate", "w", "row", "new", T=FLOAT, Tindices=INT),
    node("longer", "Assign", "w", "row/float", T=FLOAT),
    const("row/float", [1], np.float32),
    placeholder("is_taken", BOOL),
    node("switch", "RefSwitch", "w", "is_taken", T=FLOAT),
    node("left", "AssignSub", "switch", "first", T=FLOAT),
    node("right", "AssignAdd", "switch:1", "first", T=FLOAT),
    node("merge", "RefMerge", "left", "right", T=FLOAT, N=2),
    node("count", "VariableV2", dtype=INT, shape=PartialShape(())),
    const("zero", 0),
    node("count/init", "Assign", "count", "zero", T=INT),
    node("up", "CountUpTo", "count", T=INT, limit=2),
]


@pytest.fixture
def session(graph):
    tf.import_graph_def(tf.GraphDef.FromString(to_binary(Graph(list(NODES)))), name="")
    with tf.Session() as made:
        yield made


def test_reading_what_has_no_value_is_refused(session):
    assert not session.run("is_there:0")
    for fetch in ("w:0", "w/read:0", "add:0", "scatter:0"):
        with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value w"):
            session.run(fetch)


@pytest.mark.parametrize(
    ("fetch", "feeds", "value", "held"),
    [
        ("w/read:0", {}, [1, 2], [1, 2]),
        ("add:0", {}, [2, 4], [2, 4]),
        ("double:0", {}, [4, 8], [2, 4]),
        ("after:0", {}, [-2, -4], [2, 4]),
        ("scatter:0", {}, [1, 7], [1, 7]),
        ("is_there:0", {}, True, [1, 2]),
        ("merge:0", {"is_taken:0": True}, [2, 4], [2, 4]),
        ("merge:0", {"is_taken:0": False}, [0, 0], [0, 0]),
    ],
)
def test_what_a_reference_stands_for(session, fetch, feeds, value, held):
    np.testing.assert_array_equal(session.run("init:0"), [1, 2])
    np.testing.assert_array_equal(session.run(fetch, feeds), value)
    np.testing.assert_array_equal(session.run("w:0"), held)


def test_a_value_of_other_sizes_is_refused(session):
    session.run("init:0")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Assign requires shapes of both tensors to match"):
        session.run("longer:0")


def test_a_count_ends_at_its_limit(session):
    session.run("count/init")
    assert [session.run("up:0") for _ in range(2)] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
        session.run("up:0")
