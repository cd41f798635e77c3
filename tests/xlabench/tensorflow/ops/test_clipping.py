"""Tensors of a list are cut together; what is missing stays missing."""

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x():
    return tf.zeros([4, 5])


def test_gradients_are_clipped_together(x):
    clipped, norm = tf.clip_by_global_norm([x, None, x], 1.0)
    assert [one is None for one in clipped] == [False, True, False]
    assert norm.shape.as_list() == []
