import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler import InputError
from xlabench.tensorflow.contrib.compiler import jit
from xlabench.tensorflow.runtime import clustering

pytestmark = pytest.mark.usefixtures("graph")
TRACED = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def _ran(session, fetch, feeds, device="CPU:0"):
    """The value, and the ops that ran on a device."""
    metadata = tf.RunMetadata()
    value = session.run(fetch, feeds, TRACED, metadata)
    rows = [one.node_stats for one in metadata.step_stats.dev_stats if one.device.endswith(f"device:{device}")]
    labels = [one.timeline_label for row in rows for one in row]
    return value, [one.partition(" = ")[2].partition("(")[0] for one in labels]


def _sum():
    x, y, z = (tf.placeholder(tf.float32, [8]) for _ in range(3))
    return [x, y, z], lambda: tf.reduce_sum(x + y * z)


@pytest.mark.slow
def test_three_kernels_are_one_when_compiled():
    inputs, model = _sum()
    apart = model()
    with jit.experimental_jit_scope():
        together = model()
    assert together.op.get_attr("_XlaCompile") is True
    feeds = {one: np.arange(8) for one in inputs}
    with tf.Session() as session:
        one_by_one, kernels = _ran(session, apart, feeds)
        compiled, ops = _ran(session, together, feeds)
    assert [op for op in kernels if op in ("Mul", "AddV2", "Sum")] == ["Mul", "AddV2", "Sum"]
    assert [op for op in ops if op in ("Mul", "AddV2", "Sum", "_XlaRun")] == ["_XlaRun"]
    assert one_by_one == compiled == sum(n + n * n for n in range(8))


def test_scopes_count_and_their_depth_does_not():
    with jit.experimental_jit_scope():
        first = tf.constant(1.0) + 1.0
        with jit.experimental_jit_scope(compile_ops=lambda node: node.op == "Mul"):
            inner = [first + 1.0, first * 2.0]
    with jit.experimental_jit_scope(compile_ops=False):
        second = first + 1.0
    scopes = [one.op.get_attr("_XlaScope") for one in (first, *inner, second)]
    assert scopes == [b"jit_scope_0", b"jit_scope_0", b"jit_scope_0", b"jit_scope_1"]
    assert [one.op.get_attr("_XlaCompile") for one in inner] == [False, True]


def _trained(flags, monkeypatch):
    """Losses of steps of a softmax regression, and the ops of one, with the session's jit level on."""
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    rng = np.random.default_rng(0)
    data = {"x": rng.random((8, 5)), "y": np.eye(3)[rng.integers(0, 3, 8)]}
    x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 3])
    w, b = tf.Variable(tf.zeros([5, 3])), tf.Variable(tf.zeros([3]))
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    feeds = {x: data["x"], y: data["y"]}
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], feeds)[0] for _ in range(4)]
        _, ops = _ran(session, step, feeds)
    return losses, ops


@pytest.mark.slow
def test_a_step_is_one_cluster_where_cpus_are_asked_for(monkeypatch):
    apart, kernels = _trained("", monkeypatch)
    assert "MatMul" in kernels
    assert "_XlaRun" not in kernels
    with tf.Graph().as_default():
        together, ops = _trained("--tf_xla_cpu_global_jit", monkeypatch)
    assert "_XlaRun" in ops
    assert "MatMul" not in ops
    np.testing.assert_allclose(apart, together, rtol=1e-5)


def test_a_graph_is_clustered_on_a_gpu_that_an_engine_stands_for(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_GPU", "reference")
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(tf.nn.relu(x * 2.0 + 1.0) - x)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    with tf.Session(config=config) as session:
        value, ops = _ran(session, y, {x: [0, 1]}, "GPU:0")
    np.testing.assert_allclose(value, np.exp([1, 2]), rtol=1e-6)
    assert "_XlaRun" in ops


def test_another_shape_runs_op_by_op_until_it_is_asked_for_again():
    x = tf.placeholder(tf.float32, [None])
    with jit.experimental_jit_scope():
        y = tf.exp(x) + 1.0
    with tf.Session() as session:
        ran = [_ran(session, y, {x: np.zeros(size)})[1] for size in (3, 3, 4, 4)]
    assert ["_XlaRun" in ops for ops in ran] == [True, True, False, True]
    assert "StatefulPartitionedCall" in ran[2]


def test_a_flag_that_nobody_knows_is_refused(monkeypatch):
    monkeypatch.setenv("TF_XLA_FLAGS", "--tf_xla_nothing")
    with pytest.raises(InputError, match="unknown flag --tf_xla_nothing"):
        tf.Session()


@pytest.mark.parametrize(("flags", "level", "said"), [("", 1, 1), ("", 0, 0), ("--tf_xla_cpu_global_jit", 1, 0)])
def test_a_session_that_asks_for_clusters_and_gets_none_is_told_why_once(monkeypatch, capsys, flags, level, said):
    clustering.say_once.cache_clear()
    monkeypatch.setenv("TF_XLA_FLAGS", flags)
    x = tf.placeholder(tf.float32, [2])
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = level
    for fetch in (x + 1.0, x + 2.0):
        with tf.Session(config=config) as session:
            session.run(fetch, {x: [1, 2]})
    assert capsys.readouterr().err.count("not using XLA:CPU for clusters: set --tf_xla_cpu_global_jit") == said
