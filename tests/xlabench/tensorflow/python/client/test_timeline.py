import json

import pytest

import xlabench.tensorflow as tf
from xlabench.tensorflow.config import DeviceStepStats, NodeExecStats, StepStats
from xlabench.tensorflow.python.client.timeline import Timeline

HOST, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"


def _node(name, op, inputs, start, duration):
    node = NodeExecStats(
        node_name=name, timeline_label=f"{name} = {op}({inputs})", all_start_micros=start, all_end_rel_micros=duration
    )
    output = node.output.add()
    output.tensor_description.allocation_description.requested_bytes = 8
    output.tensor_description.allocation_description.allocator_name = "cpu"
    return node


@pytest.fixture
def stats():
    host = [_node("a", "Const", "", 10, 5), _node("b", "MatMul", "a, a", 16, 10), _node("c", "Exp", "a", 20, 2)]
    return StepStats(
        dev_stats=[
            DeviceStepStats(device=HOST, node_stats=host),
            DeviceStepStats(device=GPU, node_stats=[_node("d", "Mul", "b/_1, c:0", 30, 4)]),
            DeviceStepStats(device=f"{GPU}/memcpy", node_stats=[_node("edge_1_b:MEMCPYHtoD", "x", "", 27, 2)]),
        ]
    )


def _events(stats, **options):
    return json.loads(Timeline(step_stats=stats).generate_chrome_trace_format(**options))["traceEvents"]


def test_each_device_has_two_processes(stats):
    names = [event["args"]["name"] for event in _events(stats) if event["ph"] == "M"]
    devices = [f"{device} {what}" for device in (HOST, GPU, f"{GPU}/memcpy") for what in ("Compute", "Tensors")]
    assert names == ["Allocators", *devices]


def test_boxes_are_ops_with_their_inputs_and_overlap_on_lanes(stats):
    boxes = [event for event in _events(stats) if event["ph"] == "X"]
    assert [(one["name"], one["pid"], one["tid"], one["ts"], one["dur"]) for one in boxes] == [
        ("Const", 1, 0, 10, 5),
        ("MatMul", 1, 0, 16, 10),
        ("Exp", 1, 1, 20, 2),
        ("Mul", 3, 0, 30, 4),
        ("MEMCPYHtoD", 5, 0, 27, 2),
    ]
    assert boxes[1]["args"] == {"name": "b", "op": "MatMul", "input0": "a", "input1": "a"}
    assert boxes[4]["args"] == {"name": "edge_1_b", "op": "MEMCPYHtoD"}


def test_arrows_go_to_other_lanes_and_devices(stats):
    flows = [event for event in _events(stats) if event.get("cat") == "DataFlow"]
    assert [(one["ph"], one["name"], one["pid"], one["tid"], one["ts"]) for one in flows] == [
        ("s", "a", 1, 0, 15),
        ("t", "a", 1, 1, 20),
        ("s", "b", 1, 0, 26),
        ("t", "b", 3, 0, 30),
    ]
    assert not [event for event in _events(stats, show_dataflow=False) if event.get("cat") == "DataFlow"]


def test_memory_is_counted_by_allocator(stats):
    counters = [event["args"]["cpu"] for event in _events(stats, show_memory=True) if event["ph"] == "C"]
    assert max(counters) == 24
    assert counters[-1] == 0
    with pytest.raises(ValueError, match="is none of schedule"):
        _events(stats, op_time="never")


def test_a_traced_run_is_a_timeline(graph):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.matmul(x, x), {x: [[1, 2], [3, 4]]}, tf.RunOptions(trace_level=3), metadata)
    boxes = [event["args"] for event in _events(metadata.step_stats) if event["ph"] == "X"]
    assert [one["op"] for one in boxes] == ["NoOp", "_Arg", "MatMul", "_Retval"]
    assert boxes[2] == {"name": "MatMul", "op": "MatMul", "input0": "_arg_x_0_0", "input1": "_arg_x_0_0"}
