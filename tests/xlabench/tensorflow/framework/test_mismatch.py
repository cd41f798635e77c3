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
    said = r"Dimensions must be equal, but are 3 and 4 for '\{\{node add\}\} = AddV2\[T=DT_FLOAT\]\(zeros, z"
    with pytest.raises(ValueError, match=said):
        _ = tf.zeros([2, 3]) + tf.zeros([4])
    with pytest.raises(ValueError, match="Transpose") as caught:  # an order is no size
        tf.transpose(tf.zeros([2, 3]), [0, 0])
    assert "Dimensions must be equal" not in str(caught.value)


SAID = {
    "reshape": (
        lambda: tf.reshape(tf.zeros([4]), [3, 3]),
        """Cannot reshape a tensor with 4 elements to shape [3,3] (9 elements) for '{{node Reshape}} = Reshape[
        T=DT_FLOAT, Tshape=DT_INT32](zeros, Reshape/shape)' with input shapes: [4], [2] and with input tensors computed
        as partial shapes: input[1] = [3,3].""",
    ),
    "concat": (
        lambda: tf.concat([tf.zeros([2, 2]), tf.zeros([3, 3])], 0),
        """Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]. for '{{node concat}} =
        ConcatV2[N=2, T=DT_FLOAT, Tidx=DT_INT32](zeros, zeros_1, concat/axis)' with input shapes: [2,2], [3,3], [] and
        with computed input tensors: input[2] = <0>.""",
    ),
    "conv2d": (
        lambda: tf.nn.conv2d(tf.zeros([1, 4, 4, 3]), tf.zeros([2, 2, 2, 3]), [1, 1, 1, 1], "SAME"),
        """Depth of input (3) is not a multiple of input depth of filter (2) for '{{node Conv2D}} = Conv2D[T=DT_FLOAT,
        data_format="NHWC", dilations=[1, 1, 1, 1], explicit_paddings=[], padding="SAME", strides=[1, 1, 1, 1],
        use_cudnn_on_gpu=true](zeros, zeros_1)' with input shapes: [1,4,4,3], [2,2,2,3].""",
    ),
}
"""What TensorFlow 2.21 says."""


@pytest.mark.parametrize("op", SAID)
def test_what_else_does_not_fit_is_said_as_tensorflow_does(op):
    make, said = SAID[op]
    with pytest.raises(ValueError, match="node") as caught:
        make()
    assert str(caught.value) == " ".join(said.split()).replace("[ T", "[T")


@pytest.mark.parametrize(
    ("sizes", "said"),
    [([3], "requested shape has 3"), ([-1, 4], "requested shape requires a multiple of 4"), ([0], "has 0")],
)
def test_a_reshape_that_does_not_fit_is_said_at_a_run(sizes, said):
    x = tf.placeholder(tf.float32)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError, match=f"Input to reshape is a tensor with 2 values, but the .*{said}"
        ),
    ):
        session.run(tf.reshape(x, sizes), {x: [[1.0, 2.0]]})


def test_kernels_say_it_as_tensorflow_does():
    a, b = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [None, None])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"In\[0\]: \[1,2\], In\[1\]: \[1,3\]"),
    ):
        session.run(tf.matmul(a, b), {a: [[1, 2]], b: [[1, 2, 3]]})
