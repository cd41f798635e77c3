"""A cell over time gives the same in a loop and written out, and stays where it is when a sequence has ended."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = [pytest.mark.usefixtures("graph"), pytest.mark.slow]
X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


@pytest.mark.parametrize("lengths", [None, [3, 1]])
def test_a_loop_gives_what_steps_give(lengths):
    cell = tf.nn.rnn_cell.BasicLSTMCell(2)
    x = tf.placeholder("float32", [None, 4, 3])
    outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype="float32")
    steps, last = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype="float32", sequence_length=lengths)
    assert [one.op.name for one in tf.global_variables()] == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]
    both = [tf.gradients(one, tf.global_variables()) for one in (outputs, steps)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made, after, listed, end, gradients = session.run((outputs, state, steps, last, both), {x: X})
    np.testing.assert_allclose(made, np.stack(listed, 1), rtol=1e-6)
    np.testing.assert_allclose(after, end, rtol=1e-6)
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    if lengths:
        assert not made[0, 3:].any()
        assert not made[1, 1:].any()
        np.testing.assert_array_equal(after.h[1], made[1, 0])


def test_time_may_come_first_and_the_state_be_given():
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    state = tf.ones([2, 2])
    one, _ = tf.nn.dynamic_rnn(cell, X, initial_state=state)
    other, _ = tf.nn.dynamic_rnn(cell, X.transpose(1, 0, 2), initial_state=state, time_major=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run((one, other))
    np.testing.assert_array_equal(first, second.transpose(1, 0, 2))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda cell: tf.nn.dynamic_rnn(cell, X), "you must give a dtype"),
        (lambda cell: tf.nn.dynamic_rnn(cell, X[0], dtype="float32"), "batch, time, features"),
        (lambda cell: tf.nn.static_rnn(cell, [], dtype="float32"), "inputs must not be empty"),
    ],
)
def test_what_makes_no_sense_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call(tf.nn.rnn_cell.BasicRNNCell(2))
