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


@pytest.mark.parametrize(
    ("write", "held"), [("assign", [3, 4]), ("assign_add", [4, 6]), ("assign_sub", [-2, -2])], ids=str
)
def test_a_reference_is_written(graph, write, held):
    tf.import_graph_def(tf.GraphDef.FromString(to_binary(Graph(list(NODES)))), name="a")
    w = ImportedVariable(graph, tf.VariableDef(**NAMES).SerializeToString(), "a/")
    assert (w.name, w.dtype.name, w.shape.as_list()) == ("a/w:0", "float32", [2])
    with tf.Session() as session:
        assert not session.run(w.is_initialized())
        session.run(w.initializer)
        np.testing.assert_array_equal(session.run(getattr(w, write)([3, 4])), held)
        np.testing.assert_array_equal(session.run(w), held)
