import pytest

import xlabench.tensorflow as tf


def test_names_are_those_of_their_scopes(graph):
    with tf.name_scope("outer") as scope:
        first = tf.constant(1, name="a")
        inner = [tf.name_scope("inner") for _ in range(2)]
        named = []
        for one in inner:
            with one:
                named.append(tf.constant(1, name="a").name)
    with tf.name_scope(scope):
        again = tf.constant(1, name="a")
    assert [first.name, *named, again.name] == ["outer/a:0", "outer/inner/a:0", "outer/inner_1/a:0", "outer/a_1:0"]
    assert [tf.constant(1, name="B").op.name, tf.constant(1, name="b").op.name] == ["B", "b_1"]
    with pytest.raises(ValueError, match="is not a valid scope name"):
        tf.constant(1, name="not a name")


def test_devices_are_stated_in_parts(graph):
    with tf.device("/job:localhost"), tf.device("/cpu:0"):
        host = tf.constant(1)
        with tf.device("/device:GPU:1"):
            other = tf.constant(1)
        with tf.device(None):
            nowhere = tf.constant(1)
    with tf.device(lambda op: "/gpu:0" if op.type == "Const" else ""):
        chosen = tf.constant(1)
    assert host.device == "/job:localhost/device:CPU:0"
    assert [other.device, nowhere.device, chosen.device] == ["/job:localhost/device:GPU:1", "", "/device:GPU:0"]
    with pytest.raises(ValueError, match="Unknown attribute"), tf.device("/nothing"):
        pass


def test_nodes_wait_for_what_their_scope_says(graph):
    a, b = tf.constant(1, name="a"), tf.constant(2, name="b")
    with tf.control_dependencies([a]):
        first = tf.identity(b)
        through = first + 1
        with tf.control_dependencies(None):
            free = tf.identity(b)
    assert [[one.name for one in x.op.control_inputs] for x in (first, through, free)] == [["a"], [], []]


def test_graphs_keep_apart(graph):
    x = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        with pytest.raises(ValueError, match=r"is not an element of this graph"):
            other.as_graph_element(x)
        y = tf.constant(2.0)
    with pytest.raises(ValueError, match="must be from the same graph as"):
        tf.add(x, y)


def test_a_finalized_graph_stays_as_it_is(graph):
    graph.finalize()
    with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
        tf.constant(1)


def test_collections_are_filtered_by_scope(graph):
    with tf.variable_scope("layer"):
        tf.get_variable("w", [1], initializer=tf.zeros_initializer())
    tf.add_to_collection("mine", 1)
    assert [one.name for one in tf.trainable_variables("layer")] == ["layer/w:0"]
    assert tf.global_variables("other") == []
    assert tf.get_collection("mine") == tf.get_collection_ref("mine") == [1]
    graph.clear_collection("mine")
    assert tf.get_collection("mine") == []


def test_elements_are_found_by_name(graph):
    x = tf.constant([1.0], name="x")
    assert graph.get_tensor_by_name("x:0") is x
    assert graph.get_operation_by_name("x") is x.op
    assert tf.identity(x).op.inputs == (x,)
    assert x.consumers() == [graph.get_operations()[-1]]
    assert x.value_index == 0
    assert x.op.get_attr("dtype") == tf.float32
    with pytest.raises(ValueError, match="has no attr named 'nope'"):
        x.op.get_attr("nope")
    with pytest.raises(KeyError, match="refers to a Tensor which does not exist"):
        graph.get_tensor_by_name("y:0")


def test_a_tensor_has_no_value_before_a_session_runs(graph):
    x = tf.placeholder(tf.float32, [None, 2])
    assert repr(x) == "<tf.Tensor 'Placeholder:0' shape=(?, 2) dtype=float32>"
    for use in (bool, list):
        with pytest.raises(TypeError, match=r"symbolic `tf\.Tensor`"):
            use(x)
    assert (x == x, x != tf.constant(1.0)) == (True, True)


def test_shapes_come_to_be_known(graph):
    x = tf.placeholder(tf.float32, [None, 2])
    x.set_shape([3, None])
    assert x.get_shape().as_list() == [3, 2]
    assert x.shape.ndims == 2
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal, but are 3 and 4"):
        x.set_shape([4, 2])
    assert tf.gradients(x * 2.0, x)[0].shape == x.shape


def test_the_default_graph_begins_anew():
    tf.constant(1.0)
    before = tf.get_default_graph()
    tf.reset_default_graph()
    assert tf.get_default_graph() is not before
