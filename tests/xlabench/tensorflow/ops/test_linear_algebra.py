"""What is refused of matrices; values are held to TensorFlow's in `tests/xlabench/test_tensorflow.py`."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


NO_SENSE = {
    "norm other": (lambda x: tf.norm(x, "other"), ValueError, "must be a supported vector norm"),
    "norm -1": (lambda x: tf.norm(x, -1), ValueError, "must be a supported vector norm"),
    "norm 3 of a matrix": (lambda x: tf.norm(x, 3, axis=[0, 1]), ValueError, "must be a supported matrix norm"),
    "norm 2 of a matrix": (lambda x: tf.norm(x, 2, axis=[0, 1]), ValueError, "spectral norm"),
    "einsum of one": (lambda x: tf.einsum("ij,jk", x), ValueError, "Got 1 inputs"),
    "einsum with more": (
        lambda x: tf.einsum("ij", x, more=1),
        TypeError,
        "Invalid keyword arguments for this function: more",
    ),
    "transpose of a vector": (lambda x: tf.matrix_transpose(x[0]), ValueError, "rank >= 2"),
    "transpose of any rank": (lambda _: tf.matrix_transpose(tf.placeholder(tf.float32)), ValueError, "known ranks"),
    "scalar that is none": (lambda x: tf.scalar_mul(x, x), ValueError, "Only scalar multiply works"),
}


@pytest.mark.parametrize("name", NO_SENSE)
def test_what_makes_no_sense_is_refused(name):
    make, error, said = NO_SENSE[name]
    with pytest.raises(error, match=said):
        make(tf.ones([2, 2]))


def test_sums_of_products_have_gradients():
    a, b = tf.ones([2, 3]), tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.Session() as session:
        assert session.run(tf.gradients(tf.einsum("ij,jk->ik", a, b), a))[0].tolist() == [[3, 7, 11], [3, 7, 11]]


def test_matrices_are_conjugated_where_that_is_asked_for():
    with tf.Session() as session:
        found = session.run(tf.matrix_transpose(tf.constant([[1 + 1j, 2]], tf.complex64), conjugate=True))
    assert found.tolist() == [[1 - 1j], [2]]
