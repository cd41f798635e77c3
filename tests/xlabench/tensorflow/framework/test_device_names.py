"""Names of devices are read in all forms, and a part that is open allows any."""

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.framework.device_names import LOCAL, DeviceName, device_name_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", DeviceName()),
        ("/cpu:0", DeviceName(type="CPU", index="0")),
        ("/device:XLA_GPU:1", DeviceName(type="XLA_GPU", index="1")),
        ("/job:a/replica:0/task:2", DeviceName("a", "0", "2")),
        ("/job:localhost/replica:0/task:0/device:GPU:*", DeviceName("localhost", "0", "0", "GPU", "*")),
    ],
)
def test_a_name_is_read(text, expected):
    assert device_name_of(text) == expected
    assert device_name_of(str(device_name_of(text))) == device_name_of(text)


@pytest.mark.parametrize("text", ["cpu", "/job:", "/nonsense:1", "/cpu:0/what:1"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match="Unknown attribute"):
        device_name_of(text)


def test_what_is_left_open_comes_from_around():
    inner, outer = DeviceName(type="GPU", index="1"), DeviceName("job", "0", "0", "CPU", "0")
    assert inner.within(outer) == DeviceName("job", "0", "0", "GPU", "1")
    assert DeviceName().within(outer) == outer
    assert DeviceName(type="GPU").within(outer).index == ""


@pytest.mark.parametrize(
    ("stated", "allowed"), [("/gpu:0", True), ("/device:GPU:*", True), ("", True), ("/gpu:1", False), ("/cpu:0", False)]
)
def test_a_device_is_allowed_where_all_that_is_stated_holds(stated, allowed):
    assert device_name_of(stated).allows(DeviceName(LOCAL.job, LOCAL.replica, LOCAL.task, "GPU", "0")) is allowed


@pytest.mark.parametrize(
    "text", ["", "/device:CPU:0", "/job:localhost/replica:0/task:0/device:XLA_GPU:1", "/job:w/device:GPU:*"]
)
def test_specifications_are_names_in_parts(text):
    spec = tf.DeviceSpec.from_string(text)
    assert spec.to_string() == str(spec) == text


def test_nodes_run_where_a_specification_says():
    with tf.Graph().as_default(), tf.device(tf.DeviceSpec(device_type="cpu", device_index=0)):
        assert tf.constant(1).device == "/device:CPU:0"
