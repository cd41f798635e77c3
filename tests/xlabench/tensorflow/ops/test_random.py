"""Random numbers have seeds of the graph and of the op, and the sizes and types that are asked for."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.ops.random import seeds

pytestmark = pytest.mark.usefixtures("graph")


def test_an_op_has_two_seeds_which_follow_from_the_graphs_and_its_own(graph):
    assert seeds(graph, None) == {"seed": 0, "seed2": 0}
    own = seeds(graph, 7)
    assert own["seed2"] == 7
    tf.set_random_seed(5)
    assert seeds(graph, 7) == {"seed": 5, "seed2": 7}
    assert seeds(graph, None)["seed"] == 5


@pytest.mark.parametrize("make", [tf.random_normal, tf.truncated_normal, tf.random_uniform])
def test_numbers_have_sizes_and_a_type(make):
    assert make([2, 3]).shape.as_list() == [2, 3]
    assert make([2], dtype=tf.float64).dtype == tf.float64


def test_whole_numbers_need_a_limit():
    assert tf.random_uniform([2], 0, 9, tf.int32).dtype == tf.int32
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        tf.random_uniform([2], dtype=tf.int32)


def test_dropout_takes_one_of_two_rates():
    x = tf.zeros([4])
    assert tf.nn.dropout(x, keep_prob=1.0).op.type == "Identity"
    assert tf.nn.dropout(x, rate=0.5).shape.as_list() == [4]
    for arguments in ({}, {"rate": 1.5}, {"rate": -0.1}):
        with pytest.raises(ValueError, match="rate"):
            tf.nn.dropout(x, **arguments)


def test_rows_are_shuffled_and_pieces_and_classes_chosen_by_seeds():
    rows = tf.constant([[1, 2], [3, 4], [5, 6]])
    shuffled, piece = tf.random_shuffle(rows, seed=1), tf.random_crop(rows, [2, 1], seed=2)
    classes = tf.multinomial([[0.0, -1e9], [-1e9, 0.0]], 4, output_dtype=tf.int32)
    gammas = tf.random_gamma([1000], [0.5, 3.0], beta=[1.0, 2.0], seed=3)
    with tf.Session() as session:
        assert sorted(session.run(shuffled).tolist()) == [[1, 2], [3, 4], [5, 6]]
        cut = session.run(piece)
        assert cut.shape == (2, 1)
        assert cut[1, 0] - cut[0, 0] == 2
        assert session.run(classes).tolist() == [[0] * 4, [1] * 4]
        assert session.run(tf.random.categorical([[0.0, -1e9]], 2)).dtype == "int64"
        assert session.run(gammas).mean(0).tolist() == pytest.approx([0.5, 1.5], rel=0.15)
