"""What TensorFlow 2.21's kernels on CPUs refuse, in their words, and what becomes of it where it is compiled."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler.tf import RECORDS
from xlabench.tensorflow.contrib.compiler import jit
from xlabench.tensorflow.runtime.refusals import REFUSALS

pytestmark = pytest.mark.usefixtures("graph")
P = np.arange(6, dtype=np.float32).reshape(3, 2)
F0, I0 = np.zeros(0, np.float32), np.zeros(0, np.int32)

CASES = [
    ("GatherV2", [P, [[0, 1], [7, 0]], 0], {}, "indices[1,0] = 7 is not in [0, 3)"),
    ("GatherV2", [P[:0], [0], 0], {}, "indices[0] = 0 is not in [0, 0)"),
    ("GatherV2", [P, [[0], [2], [1]], 1], {"batch_dims": 1}, "indices[1,0] = 2 is not in [0, 2)"),
    ("GatherV2", [P, -1, 0], {}, "indices = -1 is not in [0, 3)"),
    (
        "GatherNd",
        [P, [[[0, 0], [1, 2]]]],
        {},
        "indices[0,1] = [1, 2] does not index into param shape [3,2], node name: n",
    ),
    ("GatherNd", [P, [3]], {}, "indices = [3] does not index into param shape [3,2], node name: n"),
    ("ScatterNd", [[[0], [-1]], P[:2], [3, 2]], {}, "indices[1] = [-1] does not index into shape [3,2]"),
    ("ScatterNd", [[[[0, 0], [0, 9]]], P[:1], [3, 2]], {}, "indices[0,1] = [0, 9] does not index into shape [3,2]"),
    ("TensorScatterAdd", [P, [[0], [5]], P[:2]], {}, "indices[1] = [5] does not index into shape [3,2]"),
    ("UnsortedSegmentSum", [P, [[0, 1], [-1, 3], [0, 9]], 3], {}, "segment_ids[1,1] = 3 is out of range [0, 3)"),
    ("SparseSegmentSum", [P, [0, -9], [0, 1]], {}, "Bad: indices[1] == -9 out of range [0, 3)"),
    ("FloorDiv", [[1, 2], [1, 0]], {}, "Integer division by zero"),
    ("FloorMod", [[1, 2], 0], {}, "Integer division by zero"),
    (
        "TruncateDiv",
        [[1, 2], 0],
        {},
        "Unexpected error in binary operator (only integer div and mod should have errors)",
    ),
    ("InvertPermutation", [[1, 1]], {}, "1 is duplicated in the input."),
    ("InvertPermutation", [[0, -1]], {}, "-1 is not between 0 and 2"),
    ("ReverseSequence", [P, [1, -1, 1]], {"seq_dim": 1}, "seq_lens(1) < 0"),
    ("ReverseSequence", [P, [1, 1, 3]], {"seq_dim": 1}, "seq_lens(2) > input.dims(1)"),
    ("Bincount", [[1, -1], 3, F0], {}, "Input arr must be non-negative!"),
    ("Slice", [P, [4, 0], [1, 1]], {}, "Expected begin[0] in [0, 3], but got 4"),
    ("Slice", [P, [1, 0], [3, 1]], {}, "Expected size[0] in [0, 2], but got 3"),
    ("Slice", [P, [1, 0], [-2, 1]], {}, "Expected size[0] in [0, 2], but got -2"),
    (
        "SparseSoftmaxCrossEntropyWithLogits",
        [P, [0, 2, -1]],
        {},
        "Received a label value of -1 which is outside the valid range of [0, 2).  Label values: 0 2 -1",
    ),
]
KEPT = [
    ("FloorDiv", [I0, 0], {}),
    ("UnsortedSegmentSum", [P, [0, -1, -5], 3], {}),
    ("GatherV2", [P, I0, 0], {}),
    ("GatherNd", [P, np.zeros((2, 0), np.int32)], {}),
    ("Slice", [P, [1, 0], [-1, 1]], {}),
    ("Slice", [P, [3, 0], [0, 2]], {}),
    ("FloorDiv", [np.float32([1]), np.float32([0])], {}),
]


def _made(op, inputs, attributes):
    arrays = [np.asarray(one, None if isinstance(one, np.ndarray | np.generic) else np.int32) for one in inputs]
    fed = [tf.placeholder_with_default(tf.constant(one), None) for one in arrays]
    names = [port.name for port in RECORDS[op].signature.inputs]
    made = getattr(tf.raw_ops, op)(**dict(zip(names, fed, strict=True)), **attributes, name="n")
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize(("op", "inputs", "attributes", "said"), CASES)
def test_the_host_refuses_what_tensorflows_kernels_refuse(op, inputs, attributes, said):
    result = _made(op, inputs, attributes)
    with tf.Session() as session, pytest.raises(tf.errors.OpError) as caught:
        session.run(result)
    assert caught.value.message.startswith(f"{said}\n")


@pytest.mark.parametrize(("op", "inputs", "attributes"), KEPT)
def test_what_they_take_is_computed(op, inputs, attributes):
    with tf.Session() as session:
        session.run(_made(op, inputs, attributes))


ROWS = [
    ("indices[0,1] = 5 is not in [0, 3)", [[0, 5]], P[None, :2]),
    ("indices[1] = -2 is not in [0, 3)", [0, -2], P[:2]),
]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize(("said", "indices", "updates"), ROWS)
def test_a_variable_stays_as_it_was(said, indices, updates, use_resource):
    variable = tf.Variable(P, use_resource=use_resource)
    change = tf.scatter_add(variable, tf.constant(indices), tf.constant(updates))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(change)
        np.testing.assert_array_equal(session.run(variable), P)
    assert caught.value.message.startswith(f"{said}\n")


def test_a_row_of_a_variable_is_refused_as_one_of_an_array_is():
    variable = tf.Variable(P, use_resource=True)
    for fetch, said in (
        (tf.nn.embedding_lookup(variable, tf.constant([[0, 4]])), "indices[0,1] = 4 is not in [0, 3)"),
        (tf.scatter_nd_update(variable, [[0], [5]], P[:2]), "indices[1] = [5] does not index into shape [3,2]"),
    ):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                session.run(fetch)
        assert caught.value.message.startswith(f"{said}\n")


def test_compiled_code_takes_the_nearest_row():
    with jit.experimental_jit_scope():
        rows = tf.gather(tf.placeholder_with_default(P, None), tf.placeholder_with_default([-1, 7], None))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(rows), P[[0, 2]])


def test_other_devices_take_the_nearest_row():
    with tf.device("/device:XLA_CPU:0"):
        rows = tf.gather(tf.placeholder_with_default(P, None), tf.placeholder_with_default([-1, 7], None))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(rows), P[[0, 2]])


def test_a_policy_leaves_out_what_is_out_of_range():
    kept = _made("ScatterNd", [[[0], [5]], P[:2], [3, 2]], {"bad_indices_policy": "IGNORE"})
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(kept), [P[0], [0, 0], [0, 0]])


def test_every_op_that_is_looked_at_has_a_record():
    assert REFUSALS.keys() <= RECORDS.keys()
