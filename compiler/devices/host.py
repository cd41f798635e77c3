"""The world outside of the devices: queues for infeed, outfeed and host transfers, and channels between devices."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.device_rules import Grid
from compiler.devices.groups import transfer_pairs
from compiler.diagnostics import InputError
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Value, zeros
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves


@dataclass(slots=True)
class Host:
    """The infeeds that one device's host has for it, and the outfeeds that it gets.

    Attributes:
        infeed: what each infeed takes in turn, one list of leaves for each.
        outfeed: what each outfeed gave, one list of leaves for each.
        received: for each channel, what host-to-device transfers take in turn.
        sent: for each channel, what device-to-host transfers gave.
    """

    infeed: deque[Sequence[Array]] = field(default_factory=deque)
    outfeed: list[list[Array]] = field(default_factory=list)
    received: dict[int, deque[Array]] = field(default_factory=dict)
    sent: dict[int, list[Array]] = field(default_factory=dict)

    def feed(self, instruction: Instruction) -> Value:
        """The value of an infeed: the next of the queue, and a token.

        Raises:
            InputError: the queue is empty, or holds other arrays.
        """
        shape = instruction.shape
        assert isinstance(shape, TupleShape)
        wanted = shape.elements[0]
        if not self.infeed:
            raise InputError(f"infeed {instruction.name} waits for {wanted}, but its queue is empty; give it more")
        pending = list(self.infeed.popleft())
        count = sum(1 for _ in leaves(wanted))
        if len(pending) != count:
            raise InputError(f"infeed {instruction.name} takes {count} arrays at a time, {len(pending)} given")
        return (_shaped(instruction, wanted, iter(pending)), ())

    def take(self, value: Value) -> None:
        """Keep a value that an outfeed gives."""
        self.outfeed.append([np.array(leaf) for leaf in _leaves(value)])


def _leaves(value: Value) -> list[Array]:
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in _leaves(element)]
    return [value]


def _shaped(instruction: Instruction, shape: Shape, pending: Any) -> Value:
    if isinstance(shape, TupleShape):
        return tuple(_shaped(instruction, element, pending) for element in shape.elements)
    expected = shape if isinstance(shape, ArrayShape) else shape.array
    array = np.asarray(next(pending))
    if (array.dtype, array.shape) != (expected.element_type.dtype, expected.dims):
        given = f"{array.dtype}{list(array.shape)}"
        raise InputError(f"{instruction.opcode} {instruction.name} takes {expected}, {given} given: convert it")
    return array


@dataclass(slots=True)
class Channels:
    """Values sent and not yet received, by channel and device; in program order, which is the order of the run."""

    grid: Grid
    hosts: Sequence[Host]
    pending: dict[tuple[int, int], deque[Any]] = field(default_factory=dict)

    def send(self, instruction: Instruction, values: dict[int, Any]) -> None:
        """Put what the devices send where the receivers find it."""
        channel = instruction.attributes.get("channel_id", 0)
        if instruction.attributes.get("is_host_transfer", False):
            for device, value in values.items():
                self.hosts[device].sent.setdefault(channel, []).append(np.array(value))
            return
        for source, target in transfer_pairs(instruction, self.grid):
            if source in values:
                self.pending.setdefault((channel, target), deque()).append(values[source])

    def receive(self, instruction: Instruction, device: int) -> Any:
        """The value that was sent to a device; zeros where nobody sends to it.

        Raises:
            InputError: the channel of the host is empty.
            UnsupportedError: nothing was sent to the device before.
        """
        channel, shape = instruction.attributes.get("channel_id", 0), instruction.shape
        assert isinstance(shape, TupleShape)
        if instruction.attributes.get("is_host_transfer", False):
            queue = self.hosts[device].received.get(channel)
            if not queue:
                raise InputError(f"recv {instruction.name} waits for channel {channel} of its host, which is empty")
            return _shaped(instruction, shape.elements[0], iter([queue.popleft()]))
        if device not in {target for _, target in transfer_pairs(instruction, self.grid)}:
            return zeros(shape.elements[0])
        waiting = self.pending.get((channel, device))
        if not waiting:
            reason = f"device {device} waits for channel {channel}, on which nothing was sent before"
            raise instruction.unsupported(reason)
        return waiting.popleft()
