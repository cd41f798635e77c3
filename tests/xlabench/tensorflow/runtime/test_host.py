"""Kernels that reach outside of the graph, by nodes that no function of the namespace makes."""

import numpy as np
import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_slices_of_variables_are_refused_by_name(tmp_path):
    pytest.importorskip("google.protobuf")
    saved = tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "m"), tensor_names=["w"], shape_and_slices=["4 0,2"], tensors=[np.ones(2, np.float32)]
    )
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match="slices of variables"):
        session.run(saved)


def test_a_function_of_another_process_is_said():
    made = tf.raw_ops.PyFunc(input=[1.0], token="pyfunc_of_another", Tout=[tf.float32])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Unknown callback"):
        session.run(made)
