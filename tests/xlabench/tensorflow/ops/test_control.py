import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_what_is_printed_goes_to_standard_error(capsys):
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.Session() as session:
        assert session.run(tf.Print(x, [x, x * 2.0], "x is ")).tolist() == [1, 2, 3, 4]
    assert capsys.readouterr().err == "x is [1 2 3...][2 4 6...]\n"


def test_an_assertion_fails_the_run():
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(x > 0.0, ["x was", x])]):
        y = tf.identity(x)
    with tf.Session() as session:
        assert session.run(y, {x: 1}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[x was\] \[-1\]"):
            session.run(y, {x: -1})


def test_infinities_and_nans_are_found():
    x = tf.placeholder(tf.float32, [2])
    checked = tf.check_numerics(x, "x")
    assert checked.shape == [2]
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="x : Tensor had Inf and NaN values"),
    ):
        session.run(checked, {x: [np.inf, np.nan]})


def test_a_group_is_done_when_all_are():
    counts = [tf.Variable(0), tf.Variable(0)]
    both = tf.group(*(one.assign_add(1) for one in counts))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(both)
        assert session.run(counts) == [1, 1]
    with pytest.raises(ValueError, match="unexpected keyword arguments"):
        tf.group(both, nme="x")


def test_tensors_of_a_tuple_wait_for_each_other():
    a, b = tf.tuple([tf.constant(1), None])
    assert b is None
    assert [one.type for one in a.op.control_inputs] == ["NoOp"]
