"""TensorArrays and stacks in sessions, op by op, with gradients."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler.tf2xla import RECORDS
from xlabench.tensorflow.runtime.stores import STORES

raw_ops = tf.raw_ops
pytestmark = pytest.mark.usefixtures("graph")
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def filled(x, **more):
    """A TensorArray of the rows of x in another order."""
    array, flow = raw_ops.TensorArrayV3(size=3, dtype=tf.float32, **more)
    return array, raw_ops.TensorArrayScatterV3(handle=array, indices=[2, 0, 1], value=x, flow_in=flow)


def test_what_was_written_is_read():
    array, flow = filled(X)
    row = raw_ops.TensorArrayReadV3(handle=array, index=2, flow_in=flow, dtype=tf.float32)
    rows = raw_ops.TensorArrayGatherV3(handle=array, indices=[0, 2], flow_in=flow, dtype=tf.float32)
    joined, lengths = raw_ops.TensorArrayConcatV3(handle=array, flow_in=flow, dtype=tf.float32)
    parts, begun = raw_ops.TensorArrayV3(size=2, dtype=tf.float32, dynamic_size=True)
    cut = raw_ops.TensorArraySplitV3(handle=parts, value=joined, lengths=tf.constant([2, 4], tf.int64), flow_in=begun)
    more = raw_ops.TensorArrayWriteV3(handle=parts, index=3, value=1.0, flow_in=cut)
    size = raw_ops.TensorArraySizeV3(handle=parts, flow_in=more)
    second = raw_ops.TensorArrayReadV3(handle=parts, index=1, flow_in=cut, dtype=tf.float32)
    with tf.Session() as session:
        for _ in range(2):  # every run begins anew
            found = [one.tolist() for one in session.run([row, rows, joined, lengths, size, second])]
            assert found == [[0, 1], [[2, 3], [0, 1]], [2, 3, 4, 5, 0, 1], [2, 2, 2], 4, [4, 5, 0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("jit", [False, True])
def test_gradients_are_added_where_an_element_was_read_twice(jit):
    x = tf.constant(X)
    array, flow = filled(x)
    rows = [raw_ops.TensorArrayReadV3(handle=array, index=1, flow_in=flow, dtype=tf.float32) for _ in range(2)]
    rest = raw_ops.TensorArrayGatherV3(handle=array, indices=[0, 1], flow_in=flow, dtype=tf.float32)
    loss = tf.reduce_sum(rows[0] * rows[1]) + tf.reduce_sum(rest * rest)
    [first], [second] = tf.gradients(loss, x), tf.gradients(loss * 2.0, x)
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1 if jit else 0
    with tf.Session(config=config) as session:
        found = session.run([first, second])
        np.testing.assert_array_equal(found[0], [[0, 0], [4, 6], [16, 20]])
        np.testing.assert_array_equal(found[1], found[0] * 2)


def test_what_was_pushed_last_is_popped_first():
    stack = raw_ops.StackV2(max_size=2, elem_type=tf.float32)
    pushed = raw_ops.StackPushV2(handle=stack, elem=X)
    with tf.control_dependencies([pushed]):
        again = raw_ops.StackPushV2(handle=stack, elem=1.0)
    with tf.control_dependencies([again]):
        last = raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
        over = raw_ops.StackPushV2(handle=stack, elem=2.0)
    with tf.control_dependencies([last]):
        first = raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([first]):
        none = raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
    with tf.Session() as session:
        assert [one.tolist() for one in session.run([last, first])] == [1.0, X.tolist()]
        with pytest.raises(tf.errors.InvalidArgumentError, match="overflowed"):
            session.run(over)
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty"):
            session.run(none)


def test_what_is_not_there_or_twice_is_refused():
    array, flow = filled(X)
    twice = raw_ops.TensorArrayWriteV3(handle=array, index=0, value=X[0], flow_in=flow)
    beyond = raw_ops.TensorArrayWriteV3(handle=array, index=3, value=X[0], flow_in=flow)
    far = raw_ops.TensorArrayReadV3(handle=array, index=-1, flow_in=flow, dtype=tf.float32)
    empty, begun = raw_ops.TensorArrayV3(size=1, dtype=tf.float32)
    none = raw_ops.TensorArrayReadV3(handle=empty, index=0, flow_in=begun, dtype=tf.float32)
    said = {
        twice: "already been written",
        beyond: "not resizeable",
        far: "array size is: 3",
        none: "nothing was written",
    }
    with tf.Session() as session:
        for fetch, text in said.items():
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(fetch)


def test_every_op_on_stores_has_a_kernel():
    assert {one for one in RECORDS if one.startswith(("TensorArray", "Stack"))} == set(STORES)
