"""Functions of the namespace open scopes of the default graph, or of the graph of what they are given."""

import xlabench.tensorflow as tf


def test_a_name_scope_is_that_of_the_graph_of_its_values(graph):
    other = tf.Graph()
    with other.as_default():
        y = tf.constant(1.0)
    with tf.name_scope("a", values=[y]):
        assert tf.get_default_graph() is other
        assert tf.constant(1.0).name == "a/Const:0"
    with tf.name_scope(None, "usual", [3]) as scope:
        assert scope == "usual/"
        assert tf.constant(1.0).graph is graph
    with tf.op_scope([y], "b"):
        assert tf.get_default_graph() is other


def test_nodes_are_placed_and_wait_as_the_scopes_around_them_say(graph):
    x = tf.constant(1.0, name="x")
    with tf.device("/cpu:0"), tf.control_dependencies([x]):
        y = tf.constant(2.0)
    assert "CPU:0" in y.op.device
    assert y.op.control_inputs == [x.op]
    assert tf.constant(3.0).op.control_inputs == []
