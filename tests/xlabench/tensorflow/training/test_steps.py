"""The number of steps of a graph."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_steps_are_counted_once():
    assert tf.train.get_global_step() is None
    made = tf.train.get_or_create_global_step()
    assert tf.train.get_or_create_global_step() is made is tf.train.get_global_step()
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()
    assert (made.dtype.name, made.name, made.trainable) == ("int64", "global_step:0", False)
    assert tf.trainable_variables() == []


def test_steps_of_another_graph_are_its_own():
    with tf.Graph().as_default() as other:
        tf.train.create_global_step()
    assert tf.train.get_global_step() is None
    assert tf.train.get_global_step(other) is not None
