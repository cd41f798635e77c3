"""Ops whose results have other sizes in every run, in a session."""

import numpy as np
import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.runtime.value_sizes import VALUE_SIZES

raw_ops = tf.raw_ops

pytestmark = pytest.mark.usefixtures("graph")
X = np.array([3, 1, 3, 0, 1], np.int32)


def _results(op, *inputs, **attributes):
    made = getattr(raw_ops, op)(**attributes, **{name: tf.placeholder_with_default(v, None) for name, v in inputs})
    with tf.Session() as session:
        return [one.tolist() for one in session.run(list(made) if isinstance(made, list | tuple) else [made])]


BOXES = [
    ("boxes", np.array([[0, 0, 1, 1], [0, 10, 1, 11], [0, 10.1, 1, 11.1]], np.float32)),
    ("scores", np.array([0.5, 0.6, 0.9], np.float32)),
    ("max_output_size", np.array(3, np.int32)),
    ("iou_threshold", np.array(0.5, np.float32)),
    ("score_threshold", np.array(0, np.float32)),
]
CALLS = {
    "Where": ([("condition", X)], {}, [[[0], [1], [2], [4]]]),
    "Unique": ([("x", X)], {}, [[3, 1, 0], [0, 1, 0, 2, 1]]),
    "UniqueV2": ([("x", X[None]), ("axis", np.array([1]))], {}, [[[3, 1, 0]], [0, 1, 0, 2, 1]]),
    "ListDiff": ([("x", X), ("y", np.array([1, 5], np.int32))], {}, [[3, 3, 0], [0, 2, 3]]),
    "DynamicPartition": (
        [("data", X[:, None]), ("partitions", X % 2)],
        {"num_partitions": 3},
        [[[0]], [[3], [1], [3], [1]], []],
    ),
    "NonMaxSuppressionV3": (BOXES, {}, [[2, 0]]),
    "NonMaxSuppressionV4": (BOXES, {}, [[2, 0], 2]),
}


@pytest.mark.parametrize("op", VALUE_SIZES)
def test_sizes_follow_from_values(op):
    inputs, attributes, right = CALLS[op]
    assert _results(op, *inputs, **attributes) == right


@pytest.mark.parametrize(
    ("op", "inputs", "said"),
    [
        ("Unique", [("x", X[None])], "expects a 1D vector"),
        ("UniqueV2", [("x", X), ("axis", np.array([1]))], "axis has to be between"),
        ("UniqueV2", [("x", X), ("axis", np.array([0, 0]))], "axis does not support"),
        ("ListDiff", [("x", X[None]), ("y", X)], "should be a 1D vector"),
        ("DynamicPartition", [("data", X), ("partitions", X)], r"not in \[0, 3\): 3"),
        ("DynamicPartition", [("data", X), ("partitions", X[:2])], "must start with partitions.shape"),
    ],
)
def test_what_makes_no_sense_is_said(op, inputs, said):
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        _results(op, *inputs, **CALLS[op][1])
