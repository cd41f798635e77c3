"""Steps on an array and on rows of a table, held to the losses that TensorFlow 2.21 gave for the same five steps."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
INPUTS = np.random.RandomState(0).rand(8, 3).astype(np.float32)
TARGETS = np.random.RandomState(1).rand(8, 1).astype(np.float32)

CASES = {
    "Adadelta": (
        lambda: tf.train.AdadeltaOptimizer(1.0, 0.9),
        [0.871255, 0.869611, 0.867927, 0.866217, 0.864487],
        [0.998359, 0.998359, 0.998359, 1.0],
        {"accum": "Adadelta", "accum_update": "Adadelta_1"},
    ),
    "Ftrl": (
        lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
        [0.871255, 0.113906, 0.092752, 0.07944, 0.070449],
        [0.350189, 0.508227, 0.329196, 1.0],
        {"accum": "Ftrl", "linear": "Ftrl_1"},
    ),
    "FtrlV2": (
        lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1, name="FtrlV2"),
        [0.871255, 0.111562, 0.091742, 0.079641, 0.071575],
        [0.288881, 0.462278, 0.269398, 1.0],
        {"accum": "FtrlV2", "linear": "FtrlV2_1"},
    ),
    "FtrlBeta": (
        lambda: tf.train.FtrlOptimizer(0.1, beta=0.5, accum_name="acc", linear_name="lin", name="FtrlBeta"),
        [0.871255, 0.085905, 0.080432, 0.075631, 0.071398],
        [0.202323, 0.371025, 0.183428, 1.0],
        {"accum": "acc", "linear": "lin"},
    ),
    "ProximalAdagrad": (
        lambda: tf.train.ProximalAdagradOptimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02
        ),
        [0.871255, 0.450569, 0.275391, 0.183019, 0.130219],
        [0.772315, 0.747586, 0.774055, 1.0],
        {"accumulator": "ProximalAdagrad"},
    ),
    "ProximalGradientDescent": (
        lambda: tf.train.ProximalGradientDescentOptimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02
        ),
        [0.871255, 0.428839, 0.227159, 0.134257, 0.091131],
        [0.863806, 0.723109, 0.874543, 1.0],
        {},
    ),
    "AdagradDA": (
        lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step(), l1_regularization_strength=0.01),
        [0.871255, 0.331193, 0.175279, 0.119475, 0.090261],
        [0.044693, 0.005222, 0.072048, 1.0],
        {"gradient_accumulator": "AdagradDA", "gradient_squared_accumulator": "AdagradDA_1"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_tensorflow(name, monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")
    make, losses, table_then, slots = CASES[name]
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 1])
    w, table = tf.Variable(tf.fill([3, 1], 0.1), name="w"), tf.Variable(tf.ones([4, 1]), name="table")
    looked_up = tf.gather(table, [1, 2, 1, 0, 1, 2, 1, 0])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + looked_up - y))
    steps = tf.train.get_or_create_global_step()
    optimizer = make()
    step = optimizer.minimize(loss, global_step=steps)
    assert optimizer.get_name() == name
    assert optimizer.get_slot_names() == list(slots)
    assert {one.name for one in optimizer.variables()} == {
        f"{of}/{word}:0" for of in ("w", "table") for word in slots.values()
    }
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([step, loss], {x: INPUTS, y: TARGETS})[1] for _ in losses]
        np.testing.assert_allclose(found, losses, atol=3e-6)
        np.testing.assert_allclose(session.run(table)[:, 0], table_then, atol=3e-6)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tf.train.FtrlOptimizer(0.1, learning_rate_power=0.5), "learning_rate_power 0.5.* negative or zero"),
        (lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "l1_.* positive or zero"),
        (lambda: tf.train.FtrlOptimizer(0.1, l2_regularization_strength=-1.0), "l2_.* positive or zero"),
        (lambda: tf.train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0), "initial_.* positive or zero"),
        (lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive"),
        (lambda: tf.train.AdagradDAOptimizer(0.1, 0, 0.0), "must be positive"),
    ],
)
def test_strengths_that_make_no_sense_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()
