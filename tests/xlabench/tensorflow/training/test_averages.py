"""Averages of variables and of tensors, held to those of TensorFlow 2.21."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")

OF_THE_VARIABLE = {
    False: [[1.1, 2.1], [1.29, 2.29], [1.561, 2.561]],
    True: [[1.818182, 2.818182], [2.704546, 3.704546], [3.601399, 4.601398]],
}
"""Whether steps are counted, and the averages after each of three."""
OF_THE_TENSOR = {
    (False, False): [[0.6, 0.9], [1.44, 2.01], [2.496, 3.309001]],
    (False, True): [[4.909091, 7.363636], [7.977273, 10.840909], [10.762238, 13.72028]],
    (True, False): [[6.0, 9.0], [7.578946, 10.578947], [9.210331, 12.21033]],
    (True, True): [[6.0, 9.0], [8.509091, 11.563636], [11.085155, 14.131952]],
}
"""The same by whether zeros at the beginning count."""


@pytest.mark.parametrize(("zero_debias", "is_counted"), OF_THE_TENSOR)
def test_averages_are_those_of_tensorflow(zero_debias, is_counted, monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")
    v, n = tf.Variable([1.0, 2.0], name="v"), tf.Variable(0, name="n", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.9, n if is_counted else None, zero_debias)
    t = tf.multiply(v, 3.0, name="t")
    grown = tf.group(v.assign_add([1.0, 1.0]), n.assign_add(1))
    update = ema.apply([v, t])
    kept = ["t/ExponentialMovingAverage/biased", "t/ExponentialMovingAverage/local_step"] if zero_debias else []
    names = ["v", "n", "v/ExponentialMovingAverage", "t/ExponentialMovingAverage", *kept]
    assert [one.op.name for one in tf.global_variables()] == names
    assert (update.name, ema.name) == ("ExponentialMovingAverage", "ExponentialMovingAverage")
    assert tf.moving_average_variables() == [v]
    assert ema.average_name(n) == "n/ExponentialMovingAverage"
    assert sorted(ema.variables_to_restore()) == sorted(names[1:])
    assert ema.variables_to_restore()["v/ExponentialMovingAverage"] is v
    assert ema.average(n) is None
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(grown)
            session.run(update)
            found.append(session.run([ema.average(v), ema.average(t)]))
    np.testing.assert_allclose([one for one, _ in found], OF_THE_VARIABLE[is_counted], rtol=2e-6)
    np.testing.assert_allclose([one for _, one in found], OF_THE_TENSOR[zero_debias, is_counted], rtol=2e-6)


def test_an_average_begins_as_its_variable_is():
    v = tf.Variable([1.0])
    ema = tf.train.ExponentialMovingAverage(0.5)
    update = ema.apply()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(v.assign([5.0]))
        session.run(ema.average(v).initializer)
        assert session.run(ema.average(v)).tolist() == [5.0]
        session.run(update)
        assert session.run(ema.average(v)).tolist() == [5.0]


def test_averages_are_of_floating_point_numbers():
    with pytest.raises(TypeError, match="The variables must be half, float, or double: n:0"):
        tf.train.ExponentialMovingAverage(0.5).apply([tf.Variable(1, name="n")])
