import numpy as np
import pytest

import xlabench.tensorflow as tf
from compiler.tf2xla import RECORDS
from xlabench.tensorflow.runtime.lists import LISTS

raw_ops = tf.raw_ops

pytestmark = pytest.mark.usefixtures("graph")


def _list(count):
    return raw_ops.TensorListReserve(element_shape=[2], num_elements=count, element_dtype=tf.float32)


def test_a_list_is_another_one_after_a_change():
    empty = raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=3, element_dtype=tf.float32)
    one = raw_ops.TensorListPushBack(input_handle=empty, tensor=[1.0, 2.0])
    two = raw_ops.TensorListPushBack(input_handle=one, tensor=[3.0, 4.0])
    rest, last = raw_ops.TensorListPopBack(input_handle=two, element_shape=[2], element_dtype=tf.float32)
    lengths = [raw_ops.TensorListLength(input_handle=each) for each in (empty, one, two, rest)]
    with tf.Session() as session:
        assert session.run([*lengths, last])[:4] == [0, 1, 2, 1]
        assert session.run(last).tolist() == [3, 4]


def test_what_nobody_has_set_is_zero():
    filled = raw_ops.TensorListSetItem(input_handle=_list(3), index=1, item=[5.0, 6.0])
    stacked = raw_ops.TensorListStack(input_handle=filled, element_shape=[2], element_dtype=tf.float32)
    again = raw_ops.TensorListFromTensor(tensor=stacked, element_shape=[2])
    row = raw_ops.TensorListGetItem(input_handle=again, index=1, element_shape=[2], element_dtype=tf.float32)
    with tf.Session() as session:
        assert session.run(stacked).tolist() == [[0, 0], [5, 6], [0, 0]]
        assert session.run(row).tolist() == [5, 6]
        none = raw_ops.TensorListStack(input_handle=_list(0), element_shape=[2], element_dtype=tf.float32)
        assert session.run(none).shape == (0, 2)


def test_a_list_becomes_longer_where_that_is_asked_for():
    longer = raw_ops.TensorListSetItem(
        input_handle=_list(0), index=2, item=[5.0, 6.0], resize_if_index_out_of_bounds=True
    )
    first = raw_ops.TensorListSetItem(input_handle=longer, index=0, item=[1.0, 2.0], resize_if_index_out_of_bounds=True)
    stacked = raw_ops.TensorListStack(input_handle=first, element_shape=[2], element_dtype=tf.float32)
    with tf.Session() as session:
        assert session.run(stacked).tolist() == [[1, 2], [0, 0], [5, 6]]


def test_rows_are_put_in_under_their_numbers():
    made = raw_ops.TensorListScatterV2(tensor=[[1.0], [2.0]], indices=[2, 0], element_shape=[1], num_elements=-1)
    more = raw_ops.TensorListScatterIntoExistingList(input_handle=made, tensor=[[5.0], [6.0]], indices=[1, 3])
    wrong = raw_ops.TensorListScatterIntoExistingList(input_handle=made, tensor=[[5.0]], indices=[1, 3])
    whole, none = (
        raw_ops.TensorListStack(input_handle=one, element_shape=[1], element_dtype=tf.float32) for one in (more, wrong)
    )
    with tf.Session() as session:
        assert session.run(whole).tolist() == [[2], [5], [1], [6]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid number of rows"):
            session.run(none)


def test_every_op_on_lists_has_a_kernel():
    ports = ((name, (*one.signature.inputs, *one.signature.outputs)) for name, one in RECORDS.items())
    variants = {name for name, those in ports if any(port.type == "variant" for port in those)}
    assert {name for name in variants if not name.startswith("Optional")} == set(LISTS)


def test_elements_are_picked_and_joined_and_have_sizes():
    rows = raw_ops.TensorListFromTensor(tensor=[[1.0, 2.0], [3.0, 4.0]], element_shape=[2])
    picked = raw_ops.TensorListGather(input_handle=rows, indices=[1, 0, 1], element_shape=[2], element_dtype=tf.float32)
    joined, lengths = raw_ops.TensorListConcatV2(
        input_handle=rows, element_shape=[2], leading_dims=tf.constant([], tf.int64), element_dtype=tf.float32
    )
    open_ended = raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=3, element_dtype=tf.float32)
    filled = raw_ops.TensorListPushBack(input_handle=open_ended, tensor=[[1.0, 2.0, 3.0]])
    lists = (rows, open_ended, filled)
    sizes = [raw_ops.TensorListElementShape(input_handle=one, shape_type=tf.int64) for one in lists]
    with tf.Session() as session:
        assert session.run(picked).tolist() == [[3, 4], [1, 2], [3, 4]]
        assert [one.tolist() for one in session.run([joined, lengths])] == [[1, 2, 3, 4], [2, 2]]
        assert [one.tolist() for one in session.run(sizes)] == [[2], -1, [1, 3]]


def test_lists_are_added_and_have_zeros():
    one = raw_ops.TensorListSetItem(input_handle=_list(3), index=1, item=[5.0, 6.0])
    other = raw_ops.TensorListSetItem(input_handle=one, index=2, item=[7.0, 8.0])
    made = [raw_ops.AddN(inputs=[one, other, one]), raw_ops.ZerosLike(x=other)]
    stacked = [raw_ops.TensorListStack(input_handle=x, element_shape=[2], element_dtype=tf.float32) for x in made]
    shorter = raw_ops.TensorListLength(input_handle=raw_ops.AddN(inputs=[one, _list(2)]))
    with tf.Session() as session:
        total, zeros = session.run(stacked)
        assert total.tolist() == [[0, 0], [15, 18], [7, 8]]
        assert zeros.tolist() == [[0, 0]] * 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="different lengths"):
            session.run(shorter)


@pytest.mark.parametrize("number", [-1, 3])
def test_an_element_that_is_not_there_is_an_error(number):
    row = raw_ops.TensorListGetItem(input_handle=_list(3), index=number, element_shape=[2], element_dtype=tf.float32)
    change = raw_ops.TensorListSetItem(input_handle=_list(3), index=number, item=[5.0, 6.0])
    length = raw_ops.TensorListLength(input_handle=change)
    _, last = raw_ops.TensorListPopBack(input_handle=_list(0), element_shape=[2], element_dtype=tf.float32)
    with tf.Session() as session:
        for fetch, said in (
            (row, f"access element {number}"),
            (length, f"modify element {number}"),
            (last, "empty list"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=said):
                session.run(fetch)


def test_gradients_go_through_loops_and_branches():
    x, condition = tf.Variable(2.0), tf.placeholder(tf.bool, [])
    _, power = tf.while_loop(lambda i, _: i < 3, lambda i, z: (i + 1, z * x), [tf.constant(0), tf.constant(1.0)])
    chosen = tf.cond(condition, lambda: x * x, lambda: tf.exp(x))
    gradients = [tf.gradients(power, x)[0], tf.gradients(chosen, x)[0]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(gradients, {condition: True}) == [12, 4]
        np.testing.assert_allclose(session.run(gradients, {condition: False})[1], np.exp(2), rtol=1e-6)
