"""Record which clusters TensorFlow itself makes of graphs drawn at random, and which graphs it makes them of.

    pip install tensorflow-cpu==2.21.* . && python tests/record_clusters.py

It writes `compiler/jit/clusters.json` beside itself.  A graph is recorded as TensorFlow dumps it before clustering, so
that what its sessions do to graphs first is in it: feeds and fetches are nodes, constants are copied.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path

FOLDER = tempfile.mkdtemp()
FLAGS = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=2"
os.environ |= {"TF_XLA_FLAGS": f"{FLAGS} --tf_xla_clustering_debug", "TF_DUMP_GRAPH_PREFIX": FOLDER}

import numpy as np  # noqa: E402 - TensorFlow reads its flags when it is loaded
import tensorflow as tf  # noqa: E402
from cluster_graphs import text_of  # noqa: E402

from compiler.graph import read_graph  # noqa: E402
from compiler.jit import cluster_of  # noqa: E402

COUNT = 60
v1 = tf.compat.v1


def main() -> None:
    """Draw graphs, run them, and keep what TensorFlow dumps."""
    v1.disable_eager_execution()
    v1.disable_control_flow_v2()  # loops of frames
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    rows = []
    for seed in range(COUNT):
        with tf.Graph().as_default() as graph:
            feeds, fetches, targets = _drawn(random.Random(seed))
        with v1.Session(graph=graph, config=config) as session:
            session.run([fetches, targets], feeds)
        ending = f"_{seed}" if seed else ""
        before = read_graph(Path(FOLDER) / f"before_mark_for_compilation{ending}.pbtxt")
        marked = read_graph(Path(FOLDER) / f"mark_for_compilation{ending}.pbtxt")
        members: dict[str, list[str]] = {}
        for node in marked.nodes:
            members.setdefault(cluster_of(node), []).append(node.name)
        members.pop("", None)
        rows.append([text_of(before), sorted(sorted(nodes) for nodes in members.values())])
    lines = ",\n".join(json.dumps(row) for row in rows)
    (Path(__file__).parent / "compiler" / "jit" / "clusters.json").write_text(f"[\n{lines}\n]\n", encoding="ascii")


UNARY = (tf.negative, tf.exp, tf.nn.relu, tf.identity, tf.square, tf.nn.softmax, tf.stop_gradient)
BINARY = (tf.add, tf.multiply, tf.matmul, tf.maximum)


def _drawn(draw: random.Random) -> tuple[dict[tf.Tensor, np.ndarray], list[tf.Tensor], list[tf.Operation]]:
    """A graph: what is fed, fetched, and only run."""
    x, chosen = v1.placeholder(tf.float32, [2, 2]), v1.placeholder(tf.bool, [])
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2, 2])
    last = tf.raw_ops.AssignVariableOp(resource=handle, value=x)
    values, waited = [x], []
    for _ in range(draw.randint(5, 24)):
        a, b, kind = draw.choice(values), draw.choice(values), draw.random()
        with tf.control_dependencies([draw.choice(waited)] if waited and draw.random() < 0.15 else []):
            if kind < 0.8:
                made = draw.choice(MAKERS)(draw, a, b)
            elif kind < 0.88:
                values.append(tf.exp(tf.raw_ops.Switch(data=a, pred=chosen).output_true))
                other = tf.negative(tf.raw_ops.Switch(data=b, pred=chosen).output_false)
                made = tf.raw_ops.Merge(inputs=[other, tf.square(values[-1])]).output
            else:
                with tf.control_dependencies([last]):
                    made = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
                    if draw.random() < 0.5:
                        last = tf.raw_ops.AssignAddVariableOp(resource=handle, value=b)
                        waited.append(last)
        made.set_shape([2, 2])
        values.append(made)
        waited.append(made.op)
    fed = {x: np.ones((2, 2), np.float32), chosen: np.array(True)}  # noqa: FBT003 - a value
    return fed, draw.sample(values[1:], min(3, len(values) - 1)), [last]


def _loop(draw: random.Random, a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """A loop, with a value that is the same in every iteration."""
    iteration, kept = draw.choice(UNARY), draw.choice(BINARY)
    start = [tf.constant(0), a]
    return v1.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, iteration(kept(y, b)) + 1), start)[1]


MAKERS = (
    lambda draw, a, _: draw.choice(UNARY)(a),
    lambda draw, a, _: draw.choice(UNARY)(a),
    lambda draw, a, b: draw.choice(BINARY)(a, b),
    lambda draw, a, b: draw.choice(BINARY)(a, b),
    lambda _, a, b: tf.reshape(b, tf.raw_ops.Shape(input=a)),
    lambda _, a, __: tf.fill([2, 2], tf.reduce_sum(a)),
    lambda _, a, b: tf.cast(tf.raw_ops.Size(input=a), tf.float32) * b,
    lambda _, a, __: v1.py_func(lambda value: value, [a], tf.float32),
    lambda _, __, ___: tf.random.uniform([2, 2]),
    lambda draw, a, b: _loop(draw, a, b),
)


if __name__ == "__main__":
    main()
