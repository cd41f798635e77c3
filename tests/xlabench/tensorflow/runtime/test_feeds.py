"""What is fed fits the tensor that it is fed for, or is refused as TensorFlow refuses it."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.runtime.feeds import Fed, keys_of


def fed(dtype=tf.float32, shape=(None, 2)):
    return Fed(tf.placeholder(dtype, shape, name="x"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [([[1, 2]], [[1, 2]]), (np.zeros((0, 2)), []), (np.ones((2, 2), np.int8), [[1, 1]] * 2)],
)
def test_values_become_arrays_of_the_tensors_type(graph, given, expected):
    value = fed().value(given)
    assert (value.dtype, value.tolist()) == (np.float32, expected)


def test_an_array_of_the_type_is_taken_as_it_is(graph):
    array = np.zeros((3, 2), np.float32)
    assert fed().value(array) is array


@pytest.mark.parametrize("given", [[1, 2], [[1]], [[[1, 2]]], 3])
def test_sizes_that_do_not_fit_are_refused(graph, given):
    with pytest.raises(ValueError, match=r"Cannot feed value of shape .* for Tensor x:0, which has shape \(\?, 2\)"):
        fed().value(given)


def test_any_size_fits_where_nothing_is_known(graph):
    assert fed(shape=None).value(3).shape == ()


@pytest.mark.parametrize(("value", "good"), [(127, True), (-128, True), (128, False), (-129, False)])
def test_a_whole_number_beyond_the_type_is_refused(graph, value, good):
    one = fed(tf.int8, ())
    if good:
        assert one.value(value) == value
    else:
        with pytest.raises(TypeError, match=r"not compatible with Tensor type <class 'numpy\.int8'>"):
            one.value(value)


def test_texts_become_bytes(graph):
    assert fed(tf.string, (2,)).value(["a", b"b"]).tolist() == [b"a", b"b"]


def test_a_tensor_is_no_value(graph):
    with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf\.Tensor object"):
        fed().value(tf.constant(1.0))


def test_keys_are_tensors_or_their_names(graph):
    x = tf.placeholder(tf.float32, name="x")
    assert [one.tensor for one in keys_of(graph, {x: 1, "x:0": 2})] == [x, x]
    for key in (tf.no_op(), "gone:0", "x", 3):
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
            keys_of(graph, {key: 1})
