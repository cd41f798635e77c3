"""TensorArrays hold what is written, in the order of their flows, and know the sizes of their elements."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")
ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch):
    monkeypatch.setenv("XLABENCH_TF_CPU", "reference")


def ran(fetches):
    with tf.Session() as session:
        return session.run(fetches)


def array(**more):
    return tf.TensorArray("float32", 3, **more)


def test_what_is_written_is_read_gathered_and_stacked():
    held = array().write(0, ROWS[0]).write(2, ROWS[2]).write(1, ROWS[1])
    assert held.element_shape.as_list() == [2]
    assert (held.read(1).shape.as_list(), held.stack().shape.as_list()) == ([2], [3, 2])
    read, some, every, size = ran([held.read(1), held.gather([2, 0]), held.stack(), held.size()])
    np.testing.assert_array_equal(read, ROWS[1])
    np.testing.assert_array_equal(some, ROWS[[2, 0]])
    np.testing.assert_array_equal(every, ROWS)
    assert size == 3


def test_rows_and_pieces_are_put_in_at_once():
    rows, pieces = array().unstack(ROWS), tf.TensorArray("float32", 2, infer_shape=False).split(ROWS, [2, 1])
    assert rows.element_shape.as_list() == [2]
    joined, first, again = ran([rows.concat(), pieces.read(0), rows.identity().read(0)])
    np.testing.assert_array_equal(joined, ROWS.reshape(-1))
    np.testing.assert_array_equal(first, ROWS[:2])
    np.testing.assert_array_equal(again, ROWS[0])


def test_an_array_that_grows_says_its_size_when_it_runs():
    held = tf.TensorArray("float32", 0, dynamic_size=True).write(4, 1.0)
    assert held.size().op.type == "TensorArraySizeV3"
    assert ran(held.size()) == 5


def test_gradients_add_up_in_an_array_of_their_own():
    held = array(element_shape=[2])
    gradients = held.grad("g").write(0, ROWS[0]).write(0, ROWS[1])
    np.testing.assert_array_equal(ran(gradients.read(0)), ROWS[0] + ROWS[1])
    assert held.close().type == "TensorArrayCloseV3"


def test_branches_and_loops_carry_it_among_their_values():
    held = array(element_shape=[])
    loop = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, tf.cast(i, "float32"))), (0, held))
    assert isinstance(loop[1], tf.TensorArray)
    np.testing.assert_array_equal(ran(loop[1].stack()), [0, 1, 2])
    chosen = tf.cond(tf.constant(1) > 0, lambda: held.write(0, 5.0), lambda: held.write(0, 6.0))
    assert ran(chosen.read(0)) == 5


@pytest.mark.parametrize("given", [{}, {"size": 3, "handle": 1}, {"handle": 1}])
def test_it_is_a_size_or_a_handle_with_its_flow(given):
    with pytest.raises(ValueError, match="must be"):
        tf.TensorArray("float32", **given)


def test_elements_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="compatible"):
        array().write(0, ROWS[0]).write(1, 1.0)
