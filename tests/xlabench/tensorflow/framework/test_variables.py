"""Variables: their first values, what writes to them, and what is refused."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_a_variable_holds_its_first_value_then_what_it_is_given():
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v).tolist() == [1, 2]
        session.run(v.assign_add([1.0, 1.0]))
        assert session.run(v.assign_sub([0.5, 0.0])).tolist() == [1.5, 3]
        v.load([7.0, 8.0], session)
        assert v.eval(session).tolist() == [7, 8]


def test_a_function_makes_the_first_value_in_a_scope_of_its_own():
    v = tf.Variable(lambda: tf.zeros([2]), name="v")
    assert v.initial_value.name.startswith("v/Initializer/")
    assert (v.name, v.dtype.name, v.shape.as_list()) == ("v:0", "float32", [2])
    assert repr(v) == "<tf.Variable 'v:0' shape=(2,) dtype=float32>"


def test_what_is_not_trained_is_not_among_those_that_are():
    one, other = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    assert tf.trainable_variables() == [one]
    assert tf.global_variables() == [one, other]


def test_names_of_variables_are_their_own():
    assert [tf.Variable(0, name="v").name for _ in range(3)] == ["v:0", "v_1:0", "v_2:0"]


def test_formulas_take_a_variable_for_its_value():
    v = tf.Variable(3.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([v + 1, 1 - v, v * v, -v]) == [4, -2, 9, -3]


def test_a_variable_of_unknown_sizes_is_asked_for_when_it_is_to_be_checked():
    unknown = tf.placeholder("float32", [None])
    with pytest.raises(ValueError, match="initial_value must have a shape"):
        tf.Variable(unknown)
    v = tf.Variable(unknown, validate_shape=False)
    v.set_shape([3])
    assert v.get_shape().as_list() == [3]


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda v: v.assign([1.0, 2.0, 3.0]), ValueError),
        (lambda v: v.assign("a"), (TypeError, ValueError)),
        (iter, TypeError),
        pytest.param(lambda v: v.load([1.0, 2.0]), ValueError, id="no session"),
    ],
)
def test_what_makes_no_sense_is_refused(act, kind):
    with pytest.raises(kind):
        act(tf.Variable([1.0, 2.0]))


def test_a_variable_is_told_from_another_by_what_it_is():
    one, other = tf.Variable(1.0), tf.Variable(1.0)
    assert len({one, other, one}) == 2


def test_reading_before_the_first_value_is_an_error():
    v = tf.Variable(np.float32(1))
    with tf.Session() as session:
        assert not session.run(v.is_initialized())
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)


@pytest.mark.parametrize(
    ("key", "value", "then"),
    [
        (slice(1, 3), [7, 8], [0, 7, 8, 3]),
        (slice(None, None, 2), [7, 8], [7, 1, 8, 3]),
        (3, 9, [0, 1, 2, 9]),
        (-1, 9, [0, 1, 2, 9]),
    ],
    ids=str,
)
def test_a_piece_of_a_variable_is_replaced_where_it_is(key, value, then):
    variable = tf.Variable(tf.range(4))
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run(variable[key].assign(value)).tolist() == then
        assert session.run(variable).tolist() == then


def test_a_variable_is_fetched_by_its_name():
    variable = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session:
        session.run(variable.initializer)
        assert session.run("v:0").tolist() == [1.0, 2.0]
        assert session.run(variable.graph.get_tensor_by_name("v:0")).tolist() == [1.0, 2.0]
        bare = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="bare")
        with pytest.raises(ValueError, match="a variable that no node reads"):
            session.run(bare)
