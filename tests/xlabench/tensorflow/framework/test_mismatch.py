import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework import mismatch

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize(
    ("op", "shapes", "transposed", "found"),
    [
        ("AddV2", ([2, 3], [4]), (False, False), (3, 4)),
        ("AddV2", ([2, 1], [4]), (False, False), None),
        ("AddV2", ([None, 3], [2, None]), (False, False), None),
        ("AddV2", (None, [2]), (False, False), None),
        ("MatMul", ([2, 3], [4, 5]), (False, False), (3, 4)),
        ("MatMul", ([3, 2], [4, 3]), (True, True), None),
        ("MatMul", ([3], [4, 3]), (False, False), None),
    ],
    ids=str,
)
def test_sizes_that_must_be_equal_are_found(op, shapes, transposed, found):
    assert mismatch.unequal(op, shapes, transposed=transposed) == found


def test_graphs_say_it_as_tensorflow_does():
    said = r"Dimensions must be equal, but are 3 and 4 for '\{\{node add\}\} = AddV2\[\]\(zeros, zeros_1\)' with input"
    with pytest.raises(ValueError, match=said):
        _ = tf.zeros([2, 3]) + tf.zeros([4])
    with pytest.raises(ValueError, match="Transpose") as caught:  # an order is no size
        tf.transpose(tf.zeros([2, 3]), [0, 0])
    assert "Dimensions must be equal" not in str(caught.value)


def test_kernels_say_it_as_tensorflow_does():
    a, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"In\[0\]: \[1,2\], In\[1\]: \[1,3\]"),
    ):
        session.run(tf.matmul(a, b), {a: [[1, 2]], b: [[1, 2, 3]]})
