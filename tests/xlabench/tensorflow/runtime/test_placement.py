"""A node runs where it says, and else on the first GPU, or on the host."""

import pytest

import xlabench.tensorflow as tf
from compiler.tf import Node
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework.device_names import LOCAL, DeviceName
from xlabench.tensorflow.runtime.placement import assign_devices
from xlabench.tensorflow.runtime.settings import Device


def devices(*kinds):
    names = [DeviceName(LOCAL.job, LOCAL.replica, LOCAL.task, kind, "0") for kind in kinds]
    return {str(one): Device(one, "cpu", "cpu") for one in names}


def placed(op="Add", device="", kinds=("CPU", "GPU"), *, is_soft=False):
    node = Node("n", op, (), device)
    assign_devices([node], devices(*kinds), is_soft=is_soft)
    return node.device.rpartition("device:")[2]


@pytest.mark.parametrize(
    ("op", "device", "kinds", "expected"),
    [
        ("Add", "", ("CPU", "GPU"), "GPU:0"),
        ("Add", "", ("CPU",), "CPU:0"),
        ("NoOp", "", ("CPU", "GPU"), "CPU:0"),
        ("Add", "/cpu:0", ("CPU", "GPU"), "CPU:0"),
        ("Add", "/device:XLA_GPU:0", ("CPU", "XLA_GPU"), "XLA_GPU:0"),
        ("Add", "/job:localhost", ("CPU", "GPU"), "GPU:0"),
        ("Add", "/device:GPU:*", ("CPU", "GPU"), "GPU:0"),
    ],
)
def test_what_is_stated_goes_before_what_is_usual(op, device, kinds, expected):
    assert placed(op, device, kinds) == expected


@pytest.mark.parametrize("device", ["/device:GPU:1", "/job:worker/device:CPU:0", "/device:TPU:0"])
def test_where_there_is_nothing_a_node_is_refused(device):
    with pytest.raises(errors.InvalidArgumentError, match=r"was explicitly assigned to .* available devices are"):
        placed(device=device)


def test_soft_placement_falls_back_to_the_host_but_not_to_another_job():
    assert placed(device="/device:GPU:1", is_soft=True) == "CPU:0"
    with pytest.raises(errors.InvalidArgumentError):
        placed(device="/job:worker/device:CPU:0", is_soft=True)


def test_the_lines_are_those_that_tensorflow_prints(capsys):
    config = tf.ConfigProto(log_device_placement=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        total = tf.add(tf.constant(1.0, name="a"), tf.placeholder_with_default(2.0, [], name="b"), name="total")
        session.run(total)
        session.run(total)
    host = "/job:localhost/replica:0/task:0/device:CPU:0"
    found = capsys.readouterr().out.splitlines()
    assert found[:2] == [f"b: (PlaceholderWithDefault): {host}", f"total: (AddV2): {host}"]
    assert found[2:] == [f"{name}: (Const): {host}" for name in ("a", "b/input")]
