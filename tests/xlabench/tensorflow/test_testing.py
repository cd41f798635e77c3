"""What the machine is asked for: a GPU is there where an engine was given."""

from pathlib import Path

import pytest

import xlabench.tensorflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_a_gpu_is_there_where_an_engine_is_given(monkeypatch):
    assert (tf.test.gpu_device_name(), tf.test.is_gpu_available()) == ("", False)
    monkeypatch.setenv("XLABENCH_TF_GPU", "nvptx:sim")
    assert (tf.test.gpu_device_name(), tf.test.is_gpu_available(cuda_only=True)) == ("/device:GPU:0", True)


def test_what_it_was_built_with_is_said():
    assert tf.test.is_built_with_cuda()
    assert tf.test.is_built_with_gpu_support()
    assert tf.test.is_built_with_xla()
    assert not tf.test.is_built_with_rocm()
    assert Path(tf.test.get_temp_dir()).is_dir()
    assert tf.test.get_temp_dir() == tf.test.get_temp_dir()


def test_tests_of_kernels_are_refused():
    with pytest.raises(AttributeError, match=r"tf\.test\.TestCase: .* use unittest"):
        _ = tf.test.TestCase
