"""The same programs on TensorFlow itself, now: run by `tox -e tensorflow` only, where its release 2.21 is installed.

What tests elsewhere compare with was recorded from it; these run it, so that a recording that has aged shows.
"""

import importlib

import numpy as np
import op_cases
import pytest
from op_results import recorded

from compiler import graph as graphs
from compiler.graph import BY_NAME, DataType
from compiler.jit.compiled_ops import NEVER_COMPILED, WITHOUT
from compiler.jit.op_groups import GROUPS
from compiler.tf2xla import RECORDS

tensorflow = pytest.importorskip("tensorflow", reason="TensorFlow is not installed: pip install '.[tensorflow]'")

op_def_registry = importlib.import_module("tensorflow.python.framework.op_def_registry")

OPS = sorted({case.op for case in op_cases.cases()})
STEPS = 20


@pytest.fixture(scope="module")
def kernels():
    """The module that records what kernels give."""
    return importlib.import_module("record_tensorflow")


@pytest.mark.parametrize("op", OPS)
def test_kernels_give_what_was_recorded(kernels, op):
    for case in op_cases.CASES_OF[op][:3]:
        found, right = kernels.results_of(case), recorded()[case.name]
        assert (found is None) == (right is None), case.name
        for one, other in zip(found or (), right or (), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), case.name
            if one.dtype.kind in "fc":
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=case.name)


def test_groups_hold_ops_of_tensorflow():
    names = {op for ops in GROUPS.values() for op in ops}
    assert [name for name in sorted(names) if op_def_registry.get(name) is None] == []


@pytest.fixture(scope="module")
def compiled():
    """For each op with compiled kernels, the types that each attribute may be, where it says any."""
    tensorflow.function(lambda x: x + 1, jit_compile=True)(tensorflow.ones(2))  # they are registered by then
    registered = importlib.import_module("tensorflow.python.framework.kernels").get_registered_kernels_for_op
    found = {}
    for op in RECORDS:
        rows = [one for one in registered(op).kernel if one.device_type == "XLA_CPU_JIT"]
        for row in rows:
            types = {one.name: {DataType(n) for n in one.allowed_values.list.type} for one in row.constraint}
            found.setdefault(op, []).append(types)
    return found


def test_clusters_hold_ops_that_tensorflow_compiles(compiled):
    never = {name for name in RECORDS if name in NEVER_COMPILED}
    assert set(RECORDS) - set(compiled) == never - {"Unique", "Where", "NonMaxSuppressionV3"}


NARROW = ("int2", "int4", "uint2", "uint4", "float4", "float8", "q")
"""Types whose kernels nobody asks for."""
ANY = {one for name, one in BY_NAME.items() if one.element_type is not None and not name.startswith(NARROW)}


def test_clusters_hold_types_that_tensorflow_compiles(compiled):
    left_out = {}
    for op, rows in compiled.items():
        for row in RECORDS[op].signature.attributes.values():
            allowed = (row.allowed or ANY) & ANY if row.kind == "type" else set()
            missing = allowed - set().union(*(one.get(row.name, allowed) for one in rows))
            if missing:
                left_out[op, row.name] = missing
    assert left_out == {key: set(types) for key, types in WITHOUT.items() if key[0] in compiled}


PROGRAM = """
x, y = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.float32, [None, 4])
w, b = tf.Variable(tf.zeros([12, 4])), tf.Variable(tf.zeros([4]))
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b))
step = tf.train.{optimizer}.minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], {{x: xs, y: ys}})[0] for _ in range(steps)]
"""
OPTIMIZERS = (
    "GradientDescentOptimizer(0.5)",
    "MomentumOptimizer(0.1, 0.9)",
    "AdamOptimizer(0.05)",
    "RMSPropOptimizer(0.01)",
    "AdagradOptimizer(0.5)",
)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_model_is_trained_as_tensorflow_trains_it(optimizer):
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(8, 12)).astype(np.float32)
    ys = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 8)]
    curves = []
    for name in ("tensorflow.compat.v1", "xlabench.tensorflow"):
        tf = importlib.import_module(name)
        names = {"tf": tf, "xs": xs, "ys": ys, "steps": STEPS}
        with tf.Graph().as_default():
            exec(PROGRAM.format(optimizer=optimizer), names)
        curves.append(names["losses"])
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4)


def test_models_are_read_and_what_is_written_is_read_by_tensorflow(tmp_path):
    class Model(tensorflow.Module):
        def __init__(self):
            self.w = tensorflow.Variable(np.arange(6, dtype=np.float32).reshape(2, 3))

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 2], name="x")])
        def serve(self, x):
            return {"y": tensorflow.tanh(x @ self.w)}

    model = Model()
    folder = tmp_path / "m"
    tensorflow.saved_model.save(model, str(folder), {"serving_default": model.serve.get_concrete_function()})
    read = graphs.read_saved_model(folder)
    [node] = read.keys
    graphs.write_saved_model(read, tmp_path / "again", {node: read.variable(node) / 8})
    index = "variables/variables.index"
    graphs.write_saved_model(read, tmp_path / "same")
    assert (tmp_path / "same" / index).read_bytes() == (folder / index).read_bytes()
    x = np.array([[0.5, -1]], np.float32)
    served = tensorflow.saved_model.load(str(tmp_path / "again")).signatures["serving_default"]
    np.testing.assert_allclose(served(x=tensorflow.constant(x))["y"], np.tanh(x @ model.w.numpy() / 8), rtol=1e-6)
