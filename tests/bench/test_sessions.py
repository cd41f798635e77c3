"""What sessions cost: loading the namespace, an op, a step of the tutorial beside the same step of `xlabench train`."""

import subprocess
import sys

import numpy as np
import pytest
from bench.rounds import record, seconds

import xlabench.tensorflow as tf
from suites.models import mnist
from xlabench.engines import engine, execute

IMPORT_S = 0.3
DISPATCH_S = 60e-6
STEP_OVER_TRAIN = 1.3
BATCH = 100

pytestmark = pytest.mark.bench


def test_the_namespace_is_loaded_at_once(benchmark):
    def start():
        subprocess.run([sys.executable, "-c", "import xlabench.tensorflow"], check=True)

    import_s = min(seconds(start, 1) for _ in range(5))
    record(benchmark, start, import_s=import_s)
    assert import_s <= IMPORT_S


def test_an_addition_is_dispatched_in_microseconds(benchmark):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        y, feed = x + x, {x: np.ones(2, np.float32)}

        def step():
            session.run(y, feed)

        step()
        dispatch_s = min(seconds(step, 1000) for _ in range(5))
        record(benchmark, step, dispatch_s=dispatch_s)
    assert dispatch_s <= DISPATCH_S


def test_a_step_costs_what_that_of_train_does(benchmark, monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_cpu_global_jit")
    rng = np.random.default_rng(0)
    images = rng.random((BATCH, mnist.PIXELS), np.float32)
    labels = np.eye(mnist.CLASSES, dtype=np.float32)[rng.integers(0, mnist.CLASSES, BATCH)]
    subject = engine("cpu")
    program = subject.compile(mnist.train_step(BATCH))
    weights = [np.zeros((mnist.PIXELS, mnist.CLASSES), np.float32), np.zeros(mnist.CLASSES, np.float32)]

    def train():
        execute(subject, program, [*weights, images, labels])

    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None, mnist.PIXELS]), tf.placeholder(tf.float32, [None, mnist.CLASSES])
        w, b = tf.Variable(tf.zeros([mnist.PIXELS, mnist.CLASSES])), tf.Variable(tf.zeros([mnist.CLASSES]))
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b))
        descend = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        config = tf.ConfigProto()
        config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())

            def step():
                session.run(descend, {x: images, y: labels})

            for one in (step, train):
                one()
            times = [(seconds(step, 50), seconds(train, 50)) for _ in range(10)]
            step_s, train_s = (min(column) for column in zip(*times, strict=True))
            record(benchmark, step, step_s=step_s, train_s=train_s)
    assert step_s <= STEP_OVER_TRAIN * train_s
