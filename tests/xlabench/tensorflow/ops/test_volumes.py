"""What is convolved is told by its rank; values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_a_convolution_is_of_as_many_dimensions_as_there_are(rank):
    made = tf.nn.convolution(tf.ones([2] + [4] * (rank - 2) + [3]), tf.ones([2] * (rank - 2) + [3, 5]), "VALID")
    assert made.shape.as_list() == [2] + [3] * (rank - 2) + [5]


def test_other_ranks_are_refused():
    with pytest.raises(ValueError, match="takes rows, images or volumes"):
        tf.nn.convolution(tf.ones([2, 3]), tf.ones([3, 4]), "SAME")
