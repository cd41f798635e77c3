import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.errors import NotHereError

pytestmark = pytest.mark.usefixtures("graph")
ZEROS = tf.zeros_initializer()


def test_variables_are_shared_where_the_scope_says_so():
    with tf.variable_scope("a") as scope:
        first = tf.get_variable("v", [1], initializer=ZEROS)
        with pytest.raises(ValueError, match="Variable a/v already exists, disallowed"):
            tf.get_variable("v", [1])
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("v") is first
        with pytest.raises(ValueError, match="Variable a/z does not exist"):
            tf.get_variable("z", [1])
        with pytest.raises(ValueError, match="Trying to share variable a/v"):
            tf.get_variable("v", [2])
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        assert tf.get_variable("v", [1]) is first
        assert tf.get_variable("w", [1], initializer=ZEROS).name == "a/w:0"


def test_scopes_of_names_are_their_own():
    with tf.variable_scope("a"):
        tf.constant(1, name="c")
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        again = tf.constant(1, name="c")
    assert again.name == "a_1/c:0"
    with tf.variable_scope(None, default_name="d"), tf.variable_scope(None, default_name="d"):
        assert tf.get_variable("v", [1], initializer=ZEROS).name == "d/d/v:0"


def test_initializers_and_regularizers_are_inherited():
    ones = tf.ones_initializer()
    with tf.variable_scope("a", initializer=ones, regularizer=tf.nn.l2_loss):
        v = tf.get_variable("v", [4])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([v, *tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])[1] == 2


def test_a_variable_has_the_nodes_that_tensorflow_makes(graph):
    tf.Variable(tf.zeros([2]), name="v")
    assert [one.name for one in graph.get_operations()] == [
        "zeros",
        "v",
        "v/IsInitialized/VarIsInitializedOp",
        "v/Assign",
        "v/Read/ReadVariableOp",
    ]


def test_a_variable_is_read_where_it_is_taken(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    assert [tf.exp(v).op.inputs[0].name, (v + 1.0).op.inputs[0].name] == ["Exp/ReadVariableOp:0", "ReadVariableOp:0"]
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"
    assert v.get_shape() == [2]
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="Incompatible type conversion requested"):
        tf.convert_to_tensor(v, tf.int32)


def test_a_scope_changes_for_what_follows():
    with tf.variable_scope("a") as scope:
        scope.set_initializer(ZEROS)
        v = tf.get_variable("v", [1])
        scope.reuse_variables()
        assert tf.get_variable("v", [1]) is v
        assert scope.original_name_scope == "a/"
    assert scope.global_variables() == scope.trainable_variables() == [v]
    assert tf.local_variables() == tf.model_variables() == []
    assert ZEROS.get_config() == {"dtype": "float32"}


def test_one_variable_begins_as_another():
    v = tf.Variable([2.0])
    w = tf.Variable(v.initialized_value() * 2.0)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        assert session.run([w, tf.is_variable_initialized(w)]) == [4, True]
        session.run(v.assign([5.0]))
        session.run(w.initializer)
        assert session.run(w) == [10]


def test_variables_of_this_process_are_not_trained():
    mine = tf.get_local_variable("mine", [2], collections=["more"])
    assert tf.get_collection("more") == tf.local_variables() == [mine]
    assert tf.global_variables() == tf.trainable_variables() == []


def test_templates_share_their_variables():
    def scaled(x, by):
        return x * tf.get_variable("k", [], initializer=tf.ones_initializer()) * by

    first, second = tf.make_template("scale", scaled, by=2.0), tf.make_template("scale", scaled, by=3.0)
    made = [first(1.0), first(2.0), second(1.0)]
    assert [one.name for one in tf.global_variables()] == ["scale/k:0", "scale_1/k:0"]
    assert [one.op.name.partition("/")[0] for one in made] == ["scale", "scale_1", "scale_1_1"]
    with tf.variable_scope("a"):
        at_once = tf.make_template("b", scaled, create_scope_now_=True, by=1.0)
    at_once(1.0)
    assert tf.global_variables()[-1].name == "a/b/k:0"
    with pytest.raises(NotHereError, match="custom_getter_"):
        tf.make_template("c", scaled, custom_getter_=scaled)
