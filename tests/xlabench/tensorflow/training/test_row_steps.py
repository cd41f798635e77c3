"""Steps on gradients of rows, held to the losses that TensorFlow 2.21 gave for the same five steps."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.5),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "Centered": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
}
LOSSES = {
    "GradientDescent": [7.04, 5.3, 5.3, 5.3, 5.3],
    "Momentum": [7.04, 3.0216, 0.36818, 1.55217, 3.64304],
    "Nesterov": [7.04, 0.97414, 0.4622, 1.01548, 0.83321],
    "Adam": [7.04, 5.68, 4.48539, 3.45738, 2.5945],
    "RMSProp": [7.04, 4.28113, 1.87511, 0.56698, 0.08831],
    "Centered": [7.04, 4.20723, 1.7367, 0.4489, 0.04408],
    "Adagrad": [7.04, 5.69465, 4.88112, 4.29014, 3.82689],
}
"""The losses of five steps of TensorFlow 2.21 on a table of which rows were taken, some twice, some by two ops."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_steps_of_rows_are_those_of_tensorflow(name):
    begin = np.arange(12, dtype=np.float32).reshape(6, 2) / 10 - 0.4
    ids, table = tf.placeholder(tf.int32, [None]), tf.Variable(begin, name="table")
    near = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))
    step = OPTIMIZERS[name]().minimize(near + tf.reduce_sum(tf.gather(table, [2, 0]) ** 2))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([step, near], {ids: [1, 3, 1, 4]})[1] for _ in range(5)]
        assert session.run(table)[5].tolist() == begin[5].tolist()
    np.testing.assert_allclose(found, LOSSES[name], atol=2e-5)
