"""Where each node runs: as its specification says, and else on the first GPU, or the host where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from compiler.tf import RECORDS, Node, Trait
from xlabench.tensorflow import errors
from xlabench.tensorflow.framework.device_names import LOCAL, DeviceName, device_name_of
from xlabench.tensorflow.runtime.settings import Device

HOST_OPS = frozenset({"_Arg", "_Retval", "NoOp", "Assert", "Placeholder"}) | {
    name for name, record in RECORDS.items() if Trait.HOST in record.traits
}
"""Ops that run on the host unless they are said to run elsewhere."""


def assign_devices(nodes: Iterable[Node], devices: Mapping[str, Device], *, is_soft: bool) -> None:
    """Give every node the whole name of its device.

    Args:
        nodes: of the graph; their devices are changed.
        devices: by whole name, the host first.
        is_soft: whether a device that is not there is the host.

    Raises:
        InvalidArgumentError: one is to run where there is nothing.
    """
    host = next(iter(devices))
    first = next((name for name, one in devices.items() if one.device_name.type == "GPU"), host)
    for node in nodes:
        if not node.device:
            node.device = host if node.op in HOST_OPS else first
        elif node.device not in devices:
            node.device = _found(node, devices, host, first, is_soft=is_soft)


def lines_of(nodes: Iterable[Node], devices: Mapping[str, Device], *, is_soft: bool) -> Iterator[str]:
    """What TensorFlow prints of where `nodes` run, those that begin behind the others.

    `devices` and `is_soft` are as of `assign_devices`.
    """
    placed = [Node(one.name, one.op, one.inputs, one.device) for one in nodes]
    assign_devices(placed, devices, is_soft=is_soft)
    for one in sorted(placed, key=_begins):
        yield f"{one.name}: ({one.op}): {one.device}"


def _begins(node: Node) -> bool:
    """Whether a node takes nothing and gives one value, which is no reference."""
    outputs = RECORDS[node.op].signature.outputs if node.op in RECORDS else ()
    takes = any(not text.startswith("^") for text in node.inputs)
    return not takes and len(outputs) == 1 and outputs[0].is_one and not outputs[0].is_reference


def _found(node: Node, devices: Mapping[str, Device], host: str, first: str, *, is_soft: bool) -> str:
    stated = device_name_of(node.device)
    if not stated.type:
        stated = stated.within(DeviceName(type=device_name_of(first).type))
    match = next((name for name, one in devices.items() if stated.allows(one.device_name)), None)
    if match is not None:
        return match
    if is_soft and stated.within(LOCAL).allows(
        DeviceName(LOCAL.job, LOCAL.replica, LOCAL.task, stated.type, stated.index)
    ):
        return host
    names = ", ".join(devices)
    raise errors.InvalidArgumentError(
        node,
        None,
        f"Cannot assign a device for operation {node.name}: {{{{node {node.name}}}}} was explicitly assigned to "
        f"{node.device} but available devices are [ {names} ]. Make sure the device specification refers to a valid "
        f"device.\n\t [[{node.name}]]",
    )
