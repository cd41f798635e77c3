"""What a traced run leaves: a row for each step, by device, and a device of its own for copies."""

import numpy as np

from compiler.graph import Node
from xlabench.tensorflow.config import RunMetadata
from xlabench.tensorflow.runtime.kernels import DEAD
from xlabench.tensorflow.runtime.step_stats import record
from xlabench.tensorflow.runtime.steps import COPY, Row, Step

CPU, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0"


def row(node, start, *outputs):
    step = Step(0, node, lambda inputs: inputs, (), 0, len(outputs), ())
    return Row(step, start, start + 1000, start + 3000, start + 4000, outputs)


def recorded(*rows):
    metadata = RunMetadata()
    record(rows, metadata)
    return {one.device: list(one.node_stats) for one in metadata.step_stats.dev_stats}


def test_each_device_has_its_rows_in_order_behind_the_source():
    rows = recorded(
        row(Node("a", "Neg", ("x:0", "^w"), CPU), 10_000_000, np.zeros((2, 3), np.float32)),
        row(Node("b", "Neg", ("a:1",), GPU), 20_000_000),
        row(Node("c", "Neg", (), CPU), 30_000_000, DEAD),
    )
    assert {device: [one.node_name for one in found] for device, found in rows.items()} == {
        CPU: ["_SOURCE", "a", "c"],
        GPU: ["_SOURCE", "b"],
    }
    assert [one.timeline_label for one in rows[CPU]] == ["_SOURCE = NoOp()", "a = Neg(x)", "c = Neg()"]
    assert rows[GPU][1].timeline_label == "b = Neg(a:1)"


def test_times_are_in_micros_and_nanos_from_the_start():
    found = recorded(row(Node("a", "Neg", (), CPU), 10_000_000))[CPU][1]
    assert (found.all_start_micros, found.op_start_rel_micros, found.op_end_rel_micros) == (10_000, 1, 3)
    assert (found.all_start_nanos, found.op_start_rel_nanos, found.all_end_rel_nanos) == (10_000_000, 1000, 4000)


def test_outputs_have_types_and_sizes_and_dead_ones_are_left_out():
    (stats,) = recorded(row(Node("a", "Switch", (), CPU), 0, DEAD, np.zeros((2, 3), np.float64)))[CPU][1:]
    (output,) = stats.output
    description = output.tensor_description
    assert (output.slot, description.dtype, [dim.size for dim in description.shape.dim]) == (1, 2, [2, 3])
    assert description.allocation_description.requested_bytes == 48


def test_copies_between_devices_are_rows_of_their_own():
    there = Node("copy", COPY, ("a:0",), GPU, {"from": CPU.encode()})
    back = Node("copy", COPY, ("b:0",), CPU, {"from": GPU.encode()})
    rows = recorded(row(there, 0, np.zeros(1)), row(back, 1, np.zeros(1)), row(there, 2, np.zeros(1)))
    assert [one.node_name for one in rows[f"{GPU}/memcpy"]] == [
        "edge_0_a:MEMCPYHtoD",
        "edge_1_b:MEMCPYDtoH",
        "edge_2_a:MEMCPYHtoD",
    ]
    assert rows.keys() == {f"{GPU}/memcpy"}


def test_a_run_of_nothing_leaves_nothing():
    assert recorded() == {}
