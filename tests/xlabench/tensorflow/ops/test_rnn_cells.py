"""Cells compute their formulas, with variables under the names that TensorFlow gives them."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = [pytest.mark.usefixtures("graph"), pytest.mark.slow]
cells = tf.nn.rnn_cell
X = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], np.float32)
S = np.array([[0.5, -0.25], [0.125, 1.0]], np.float32)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def ran(cell, state):
    """What a cell gives, its next state, and what its variables hold, each by its name."""
    made, after = cell(tf.constant(X), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run((made, after, {one.op.name: one for one in tf.global_variables()}))


def test_a_basic_cell_gives_its_state():
    made, after, held = ran(cells.BasicRNNCell(2), tf.constant(S))
    expected = np.tanh(np.concatenate([X, S], 1) @ held["basic_rnn_cell/kernel"] + held["basic_rnn_cell/bias"])
    np.testing.assert_allclose(made, expected, rtol=1e-6)
    np.testing.assert_array_equal(made, after)


def test_a_gated_unit_gives_what_lies_between_its_state_and_a_candidate():
    made, after, held = ran(cells.GRUCell(2), tf.constant(S))
    gates = sigmoid(np.concatenate([X, S], 1) @ held["gru_cell/gates/kernel"] + held["gru_cell/gates/bias"])
    assert (held["gru_cell/gates/bias"] == 1).all()
    reset, update = np.split(gates, 2, 1)
    candidate = np.tanh(np.concatenate([X, reset * S], 1) @ held["gru_cell/candidate/kernel"])
    old, new = update * S, (1 - update) * candidate
    assert (np.abs(made - (old + new)) <= 1e-5 * (np.abs(old) + np.abs(new))).all()  # of which digits may cancel
    np.testing.assert_array_equal(made, after)


@pytest.mark.parametrize("is_tuple", [True, False])
def test_a_long_short_term_memory_carries_memory_and_output(is_tuple):
    state = cells.LSTMStateTuple(tf.constant(S), tf.constant(S * 2)) if is_tuple else tf.constant(np.hstack([S, S * 2]))
    made, after, held = ran(cells.BasicLSTMCell(2, state_is_tuple=is_tuple), state)
    gates = np.concatenate([X, S * 2], 1) @ held["basic_lstm_cell/kernel"] + held["basic_lstm_cell/bias"]
    taken, candidate, kept, shown = np.split(gates, 4, 1)
    memory = S * sigmoid(kept + 1) + sigmoid(taken) * np.tanh(candidate)
    np.testing.assert_allclose(made, np.tanh(memory) * sigmoid(shown), rtol=1e-5)
    np.testing.assert_allclose(np.hstack(after) if is_tuple else after, np.hstack([memory, made]), rtol=1e-5)


def test_cells_upon_each_other_have_scopes_of_their_numbers():
    cell = cells.MultiRNNCell([cells.BasicRNNCell(4), cells.GRUCell(2)])
    assert (cell.state_size, cell.output_size) == ((4, 2), 2)
    made, after, held = ran(cell, cell.zero_state(2, "float32"))
    assert {name.rpartition("/")[0] for name in held} == {
        "multi_rnn_cell/cell_0/basic_rnn_cell",
        "multi_rnn_cell/cell_1/gru_cell/gates",
        "multi_rnn_cell/cell_1/gru_cell/candidate",
    }
    assert (made.shape, [one.shape for one in after]) == ((2, 2), [(2, 4), (2, 2)])


def test_a_memory_with_its_own_initializer_is_the_basic_one():
    state = cells.LSTMStateTuple(tf.constant(S), tf.constant(S * 2))
    made, _, held = ran(cells.LSTMCell(2, initializer=tf.constant_initializer(0.25), forget_bias=0.0), state)
    assert (held["lstm_cell/kernel"] == 0.25).all()
    gate = 0.25 * np.concatenate([X, S * 2], 1).sum(1, keepdims=True)
    memory = sigmoid(gate) * (S + np.tanh(gate))
    np.testing.assert_allclose(made, np.tanh(memory) * sigmoid(gate), rtol=1e-5)
    with pytest.raises(NotImplementedError, match="use_peepholes"):
        cells.LSTMCell(2, use_peepholes=True)


def test_dropping_leaves_variables_their_names_and_an_lstm_its_memory():
    cell = tf.contrib.rnn.DropoutWrapper(cells.BasicLSTMCell(2), 1.0, 1e-6, 1e-6, seed=3)
    made, after, held = ran(cell, cells.LSTMStateTuple(tf.constant(S), tf.constant(S)))
    assert {name.partition("/")[0] for name in held} == {"basic_lstm_cell"}
    assert not made.any()
    assert not after.h.any()
    assert after.c.all()
    assert ran(cells.DropoutWrapper(cells.BasicRNNCell(2)), tf.constant(S))[0].all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="at least one cell"):
        cells.MultiRNNCell([])
    with pytest.raises(ValueError, match=r"inputs.shape\[-1\] to be known"):
        cells.BasicRNNCell(2)(tf.placeholder("float32", [2, None]), tf.constant(S))
    with pytest.raises(TypeError, match="abstract"):
        cells.RNNCell()
