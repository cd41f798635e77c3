"""`timeline.Timeline`: the statistics of a step as a trace that Chrome and Perfetto open.

Each device has two processes, `<device> Compute` with a box for each execution of a node, and `<device> Tensors`;
process 0 holds counters of the allocators' memory.  A box is named by its op, which together with the node's inputs is
read from its label, `name = op(inputs)`.  Boxes that overlap lie on lanes of their own, and an arrow goes from a
value's producer to those that take it elsewhere: on another lane or another device.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")
_COPY_SUFFIX = "/_"
_ALLOCATORS = 0

Event = dict[str, Any]


@dataclass(slots=True)
class _Value:
    """A value: where it came from, and how long it was needed."""

    name: str
    number: int
    made_us: int
    needed_us: int
    process: int
    lane: int
    tensors: int
    allocator: str
    size_bytes: int
    done_us: int


class Timeline:
    """The trace of one step."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        """Take what `RunMetadata.step_stats` holds; the graph is what TensorFlow's own takes, and is not needed."""
        self._devices = [(one.device, list(one.node_stats)) for one in step_stats.dev_stats]
        self._graph = graph
        self._values: dict[str, _Value] = {}

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON text.

        Args:
            show_dataflow: draw arrows from producers to users.
            show_memory: show when values lived, and the memory of each allocator.
            op_time: `schedule`, which is all that there is of devices without streams of their own.

        Raises:
            ValueError: `op_time` is none of `schedule`, `gpu` and `all`.
        """
        if op_time not in ("schedule", "gpu", "all"):
            raise ValueError(f"op_time {op_time!r} is none of schedule, gpu, all")
        self._values.clear()
        names = [_process("Allocators", _ALLOCATORS)]
        for number, (device, _) in enumerate(self._devices):
            names += [_process(f"{device} Compute", 2 * number + 1), _process(f"{device} Tensors", 2 * number + 2)]
        lanes = [_lanes(nodes) for _, nodes in self._devices]
        events = [event for n in range(len(lanes)) for event in self._snapshots(n, lanes[n], is_shown=show_memory)]
        flows = iter(range(1 << 62))
        for number in range(len(lanes)):
            events += self._boxes(number, lanes[number], flows if show_dataflow else None)
        counters = self._memory() if show_memory else []
        trace = {"traceEvents": [*names, *events, *counters]}
        return json.dumps(trace, indent=4, separators=(",", ": "))

    def _snapshots(self, device: int, lanes: list[int], *, is_shown: bool) -> Iterator[Event]:
        """Know every value that nodes of a device made; as events where memory is shown."""
        for node, lane in zip(self._devices[device][1], lanes, strict=True):
            start, end = node.all_start_micros, node.all_start_micros + node.all_end_rel_micros
            for slot, output in enumerate(node.output):
                name = f"{node.node_name}:{slot}" if slot else node.node_name
                memory = output.tensor_description.allocation_description
                process, tensors = 2 * device + 1, 2 * device + 2
                allocation = memory.allocator_name, memory.requested_bytes
                value = _Value(name, len(self._values), start, end, process, lane, tensors, *allocation, end)
                self._values[name] = value
                if is_shown:
                    said = str(output.tensor_description).replace('"', "")
                    yield _object("N", value, start, lane)
                    yield {**_object("O", value, end - 1, lane), "args": {"snapshot": {"tensor_description": said}}}

    def _boxes(self, device: int, lanes: list[int], flows: Iterator[int] | None) -> Iterator[Event]:
        process = 2 * device + 1
        is_traced = "/stream:" in self._devices[device][0] or "/memcpy" in self._devices[device][0]
        for node, lane in zip(self._devices[device][1], lanes, strict=True):
            name, op, inputs = _kernel(node.node_name) if is_traced else _parsed(node.node_name, node.timeline_label)
            yield {
                "ph": "X",
                "cat": "Op",
                "name": op,
                "pid": process,
                "tid": lane,
                "ts": node.all_start_micros,
                "dur": node.all_end_rel_micros,
                "args": {"name": name, "op": op} | {f"input{n}": given for n, given in enumerate(inputs)},
            }
            for given in inputs:
                yield from self._arrow(given, node, (process, lane), flows)

    def _arrow(self, name: str, node: Any, position: tuple[int, int], flows: Iterator[int] | None) -> Iterator[Event]:
        """From where a value was made to a node that takes it, unless both lie on one lane."""
        if name not in self._values:  # what was copied here has the name of its source with a number
            name = name[: name.rfind(_COPY_SUFFIX)] if name.rfind(_COPY_SUFFIX) > 0 else name
        value = self._values.get(name)
        if value is None:
            return
        value.needed_us = max(value.needed_us, node.all_start_micros + node.all_end_rel_micros - 1)
        if flows is None or (value.process, value.lane) == position:
            return
        number = next(flows)
        yield _flow("s", value.name, (value.process, value.lane), value.done_us, number)
        yield _flow("t", value.name, position, node.all_start_micros, number)

    def _memory(self) -> Iterator[Event]:
        """Ends of values, and the memory of each allocator after each change."""
        changes: dict[str, list[tuple[int, int]]] = {}
        for value in self._values.values():
            yield _object("D", value, value.needed_us, 0)
            row = changes.setdefault(value.allocator, [])
            row += [(value.made_us, value.size_bytes), (value.needed_us, -value.size_bytes)]
        for allocator, row in changes.items():
            total = 0
            for when, size in sorted(row):
                total += size
                counter = {"ph": "C", "cat": "Memory", "name": allocator, "pid": _ALLOCATORS, "tid": 0, "ts": when}
                yield {**counter, "args": {allocator: total}}


def _lanes(nodes: list[Any]) -> list[int]:
    """A lane for each node, such that no two of one lane overlap."""
    ends = [0]
    lanes = []
    for node in nodes:
        lane = next((number for number, end in enumerate(ends) if node.all_start_micros > end), len(ends))
        ends[lane : lane + 1] = [node.all_start_micros + node.all_end_rel_micros]
        lanes.append(lane)
    return lanes


class _Execution(NamedTuple):
    """What a box shows: a node's name, its op, and the names of its inputs."""

    name: str
    op: str
    inputs: list[str]


def _parsed(name: str, label: str) -> _Execution:
    """A node's execution by its label."""
    found = _LABEL.match(label)
    if found is None:
        return _Execution(name, "unknown", [])
    return _Execution(name, found[2], found[3].split(", ") if found[3] else [])


def _kernel(name: str) -> _Execution:
    """What a tracer of a GPU saw, `name:op`, whose inputs nobody knows."""
    node, _, op = name.partition(":")
    return _Execution(node, op or "unknown", [])


def _process(name: str, number: int) -> Event:
    return {"name": "process_name", "ph": "M", "pid": number, "args": {"name": name}}


def _object(kind: str, value: _Value, when: int, lane: int) -> Event:
    fields = {"name": value.name, "pid": value.tensors, "tid": lane, "ts": when, "id": value.number}
    return {"ph": kind, "cat": "Tensor", **fields}


def _flow(kind: str, name: str, lane: tuple[int, int], when: int, number: int) -> Event:
    event = {"ph": kind, "cat": "DataFlow", "name": name, "pid": lane[0], "tid": lane[1], "ts": when}
    return {**event, "id": number}
