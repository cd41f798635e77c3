"""Steps of optimizers, held to the losses that TensorFlow 2.21 gave for the same five steps."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
INPUTS = np.random.RandomState(0).rand(8, 3).astype(np.float32)
CLASSES = np.array([0, 1, 1, 0, 1, 0, 0, 1])

LOSSES = {
    "GradientDescent": (
        lambda: tf.train.GradientDescentOptimizer(0.5),
        [0.694397, 0.691351, 0.688908, 0.686665, 0.684535],
        [],
    ),
    "Momentum": (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        [0.694397, 0.693746, 0.692582, 0.691062, 0.689319],
        ["w/Momentum:0", "b/Momentum:0"],
    ),
    "Nesterov": (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True, name="Nesterov"),
        [0.694397, 0.693178, 0.691613, 0.689829, 0.687895],
        ["w/Nesterov:0", "b/Nesterov:0"],
    ),
    "Adam": (
        lambda: tf.train.AdamOptimizer(0.1),
        [0.694397, 0.677953, 0.671822, 0.666444, 0.655924],
        ["beta1_power:0", "beta2_power:0", "w/Adam:0", "w/Adam_1:0", "b/Adam:0", "b/Adam_1:0"],
    ),
    "RMSProp": (
        lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
        [0.694397, 0.693711, 0.69271, 0.691586, 0.690421],
        ["w/RMSProp:0", "w/RMSProp_1:0", "b/RMSProp:0", "b/RMSProp_1:0"],
    ),
    "Adagrad": (
        lambda: tf.train.AdagradOptimizer(0.1),
        [0.694397, 0.692425, 0.690758, 0.689246, 0.687824],
        ["w/Adagrad:0", "b/Adagrad:0"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_steps_are_those_of_tensorflow(name):
    make, losses, slots = LOSSES[name]
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
    w, b = tf.Variable(tf.fill([3, 2], 0.1), name="w"), tf.Variable([0.0, 0.1], name="b")
    logits = tf.nn.relu(tf.matmul(x, w) + b)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    optimizer = make()
    step = optimizer.minimize(loss)
    assert step.name == name == optimizer.get_name()
    assert [one.name for one in tf.global_variables()] == ["w:0", "b:0", *slots]
    assert {one.name for one in optimizer.variables()} == set(slots)
    assert len(optimizer.get_slot_names()) * 2 == len([one for one in slots if "power" not in one])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([step, loss], {x: INPUTS, y: CLASSES})[1] for _ in losses]
    np.testing.assert_allclose(found, losses, atol=2e-6)


def test_steps_are_counted_and_rates_follow():
    w = tf.Variable(1.0)
    steps = tf.train.create_global_step()
    rate = tf.train.exponential_decay(0.1, steps, 2, 0.5, staircase=True)
    step = tf.train.GradientDescentOptimizer(rate).minimize(w * w, global_step=steps)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rates = [session.run([rate, step])[0] for _ in range(4)]
        assert session.run(tf.train.get_or_create_global_step()) == 4
    np.testing.assert_allclose(rates, [0.1, 0.1, 0.05, 0.05])


def test_gradients_may_be_changed_on_their_way():
    w = tf.Variable([3.0, 4.0])
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(w * w) / 2.0, gate_gradients=optimizer.GATE_NONE)
    assert optimizer.GATE_NONE < optimizer.GATE_OP < optimizer.GATE_GRAPH
    step = optimizer.apply_gradients([(tf.clip_by_norm(gradient, 1.0), one) for gradient, one in pairs])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(w), [2.4, 3.2], rtol=1e-6)


def test_rows_are_trained_and_no_others():
    table = tf.Variable(tf.ones([3, 2]), name="table")
    loss = tf.reduce_sum(tf.gather(table, [1]))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(table).tolist() == [[1, 1], [0.5, 0.5], [1, 1]]


def test_what_cannot_be_trained_is_refused():
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(tf.constant(1.0))
    w = tf.Variable(1.0, name="w")
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(tf.constant(1.0))
    with pytest.raises(LookupError, match="No gradient defined for operation 'TruncateMod'"):
        optimizer.minimize(tf.raw_ops.TruncateMod(x=w, y=w))
    assert optimizer.get_slot(w, "momentum") is None


@pytest.mark.slow
def test_random_numbers_are_tensorflows():
    tf.set_random_seed(1)
    normal, whole = tf.random_normal([2, 3], seed=7), tf.random_uniform([3], 0, 10, dtype=tf.int32, seed=5)
    free = [tf.random_uniform([2]) for _ in range(2)]
    drawn = [[-0.65731, -0.21176, -0.40898], [-0.1848, 0.36029, -0.9464]]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(normal), drawn, atol=1e-5)
        assert session.run(normal)[0][0] == pytest.approx(-0.53052, abs=1e-5)
        assert session.run(whole).tolist() == [6, 9, 2]
        first, second = session.run(free)
    assert first.tolist() != second.tolist()
