"""What a traced run leaves: a row for each step, as messages of TensorFlow's names.

A device has its rows in the order in which they ran; copies between devices are rows of a device of their own,
`<device>/memcpy`, as a tracer of GPUs has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from xlabench.tensorflow.config import DeviceStepStats, NodeExecStats, NodeOutput, RunMetadata
from xlabench.tensorflow.framework.dtypes import as_dtype
from xlabench.tensorflow.runtime.kernels import DEAD
from xlabench.tensorflow.runtime.resources import Variable
from xlabench.tensorflow.runtime.steps import COPY, Row, Step

_RESOURCE = 20
_STRING = 7
_ALLOCATOR = "cpu"


def record(rows: Iterable[Row], metadata: RunMetadata) -> None:
    """Write the rows of a run."""
    devices: dict[str, list[NodeExecStats]] = {}
    for row in rows:
        node = row.step.node
        if node.op == COPY:
            source = node.inputs[0].partition(":")[0]
            kind = "MEMCPYHtoD" if "device:CPU:" in str(node.attributes["from"]) else "MEMCPYDtoH"
            device = row.step.node.device if kind == "MEMCPYHtoD" else bytes(node.attributes["from"]).decode()  # type: ignore[arg-type]  # bytes
            where = devices.setdefault(f"{device}/memcpy", [])
            where.append(_stats(row, f"edge_{len(where)}_{source}:{kind}", kind))
            continue
        where = devices.setdefault(row.step.node.device, [])
        if not where:
            where.append(_source(row))
        where.append(_stats(row, node.name, _label(row.step)))
    metadata.step_stats.dev_stats[:] = [
        DeviceStepStats(device=device, node_stats=stats) for device, stats in sorted(devices.items())
    ]


def _label(step: Step) -> str:
    shown = ", ".join(text.removesuffix(":0") for text in step.node.inputs if not text.startswith("^"))
    return f"{step.node.name} = {step.node.op}({shown})"


def _source(row: Row) -> NodeExecStats:
    """The node before all others, which TensorFlow shows first on each device."""
    start = row.start_ns // 1000 - 1
    return NodeExecStats(
        node_name="_SOURCE",
        timeline_label="_SOURCE = NoOp()",
        all_start_micros=start,
        scheduled_micros=start,
        all_start_nanos=start * 1000,
    )


def _stats(row: Row, name: str, label: str) -> NodeExecStats:
    start = row.start_ns
    made = NodeExecStats(
        node_name=name,
        timeline_label=label,
        all_start_micros=start // 1000,
        op_start_rel_micros=(row.begin_ns - start) // 1000,
        op_end_rel_micros=(row.end_ns - start) // 1000,
        all_end_rel_micros=(row.stop_ns - start) // 1000,
        scheduled_micros=start // 1000,
        all_start_nanos=start,
        op_start_rel_nanos=row.begin_ns - start,
        op_end_rel_nanos=row.end_ns - start,
        all_end_rel_nanos=row.stop_ns - start,
        scheduled_nanos=start,
    )
    made.output.extend(_output(slot, value) for slot, value in enumerate(row.outputs) if value is not DEAD)
    return made


def _output(slot: int, value: Any) -> NodeOutput:
    made = NodeOutput(slot=slot)
    description = made.tensor_description
    array = value if isinstance(value, np.ndarray | np.generic) else None
    description.dtype = _number(array, value)
    for size in () if array is None else array.shape:
        description.shape.dim.add(size=size)
    description.allocation_description.requested_bytes = 0 if array is None else array.nbytes
    description.allocation_description.allocator_name = _ALLOCATOR
    return made


def _number(array: Any, value: Any) -> int:
    if array is None:
        return _RESOURCE if isinstance(value, Variable) else _STRING
    return _STRING if array.dtype == object else as_dtype(array.dtype).as_datatype_enum
