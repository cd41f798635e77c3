"""Variables by the names that files give them: what they hold is read and written by nodes that are there."""

import numpy as np
import pytest
from graph_nodes import FLOAT, const, node

import xlabench.tensorflow as tf
from compiler.graph import Graph, PartialShape, to_binary
from xlabench.tensorflow.framework.imported_variables import ImportedVariable

pytest.importorskip("google.protobuf", reason="protobuf is not installed")
NAMES = {"variable_name": "w:0", "initializer_name": "w/Assign", "snapshot_name": "w/read:0"}
NODES = [
    node("w", "VariableV2", dtype=FLOAT, shape=PartialShape((2,))),
    const("first", [1, 2], np.float32),
    node("w/Assign", "Assign", "w", "first", T=FLOAT),
    node("w/read", "Identity", "w", T=FLOAT),
]


def reference(graph):
    """A variable that begins with 1 and 2, in the scope `a`."""
    tf.import_graph_def(tf.GraphDef.FromString(to_binary(Graph(list(NODES)))), name="a")
    return ImportedVariable(graph, tf.VariableDef(**NAMES).SerializeToString(), "a/")


@pytest.mark.parametrize(
    ("write", "held"), [("assign", [3, 4]), ("assign_add", [4, 6]), ("assign_sub", [-2, -2])], ids=str
)
def test_a_reference_is_written(graph, write, held):
    w = reference(graph)
    assert (w.name, w.dtype.name, w.shape.as_list()) == ("a/w:0", "float32", [2])
    with tf.Session() as session:
        assert not session.run(w.is_initialized())
        session.run(w.initializer)
        np.testing.assert_array_equal(session.run(getattr(w, write)([3, 4])), held)
        np.testing.assert_array_equal(session.run(w), held)


OPTIMIZERS = {
    "GradientDescent": {},
    "Momentum": {"momentum": 0.9},
    "Adam": {},
    "RMSProp": {},
    "Adagrad": {},
}


@pytest.mark.parametrize("takes", [lambda w: w, lambda w: tf.gather(w, [1, 1])], ids=["all", "rows"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_references_are_trained_as_resources_are(graph, name, takes):
    both = reference(graph), tf.Variable([1.0, 2.0])
    steps = []
    for one in both:
        optimizer = getattr(tf.train, f"{name}Optimizer")(0.1, **OPTIMIZERS[name])
        steps.append(optimizer.minimize(tf.reduce_sum(tf.square(takes(one))), var_list=[one]))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), both[0].initializer])
        for _ in range(2):
            session.run(steps)
        first, second = session.run(both)
    assert (first != [1, 2]).any()
    np.testing.assert_array_equal(first, second)


def test_references_are_saved_and_restored(graph, tmp_path):
    w = reference(graph)
    with tf.Session() as session:
        session.run(w.initializer)
        saver = tf.train.Saver([w])
        path = saver.save(session, tmp_path / "model")
        session.run(w.assign([7, 7]))
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(w), [1, 2])
