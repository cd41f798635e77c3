"""What scripts read of devices before they place anything."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.python.client.device_lib import list_local_devices


@pytest.mark.parametrize("gpu", ["", "nvptx:sim"])
def test_devices_are_those_of_sessions(monkeypatch, gpu):
    monkeypatch.setenv("XLABENCH_TF_GPU", gpu)
    found = list_local_devices()
    with tf.Session() as session:
        assert [one.device_type for one in found] == [one.device_type for one in session.list_devices()]
    assert [(one.name, one.physical_device_desc) for one in found if one.device_type == "GPU"] == (
        [("/device:GPU:0", "nvptx:sim")] if gpu else []
    )
    assert found[0].name == "/device:CPU:0"
    assert len({one.incarnation for one in found}) == len(found)


def test_what_a_session_would_not_have_is_not_listed():
    config = tf.ConfigProto(device_count={"XLA_GPU": 0, "CPU": 0})
    assert [one.device_type for one in list_local_devices(config)] == ["CPU", "XLA_CPU"]
