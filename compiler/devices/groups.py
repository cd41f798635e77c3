"""Which devices take part in a collective together, and in which order.

A device is a replica of a partition; its number is `replica * num_partitions + partition`, which the language calls its
flattened id.  What the numbers of a replica group are follows from `channel_id` and `use_global_device_ids`:

| use_global_device_ids | channel_id | the numbers are | a group is |
|---|---|---|---|
| true | yes | flattened ids | those devices |
| false (all-gather, all-reduce, reduce-scatter) | yes | replicas | those replicas of all partitions |
| - (the other collectives) | yes | partitions | those partitions of one replica |
| false | no | replicas | those replicas of one partition |
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.device_rules import Grid, mode_of
from compiler.ir.devices import DeviceGroups, ReplicaGroups
from compiler.ir.module import Instruction

Group = tuple[int, ...]

_PAIRS = "_xla_send_recv_source_target_pairs"
_PAIR = re.compile(r"\{\s*(\d+)\s*,\s*(\d+)\s*\}")


def groups(instruction: Instruction, grid: Grid) -> list[Group]:
    """The groups of a collective, each the devices in the order that the language gives them.

    Raises:
        UnsupportedError: they are known at run time only, or do not hold the devices.
    """
    given: DeviceGroups = instruction.attributes.get("replica_groups", ReplicaGroups())
    try:
        listed = given.groups()
    except ValueError as error:
        raise instruction.unsupported(f"its groups do not hold the devices that they are made of ({error})") from error
    mode = mode_of(instruction)
    replicas, partitions = range(grid.replicas), range(grid.partitions)
    numbered = grid.numbered(mode)
    chosen = _checked(instruction, [tuple(group) for group in listed] or [tuple(range(numbered))], numbered)
    if instruction.attributes.get("has_dynamic_root", False):
        raise instruction.unsupported("its root is known at run time only")
    if mode == "flattened_id":
        return chosen
    if mode == "cross_replica":
        return [tuple(grid.device(r, p) for r in group) for group in chosen for p in partitions]
    if mode == "cross_partition":
        return [tuple(grid.device(r, p) for p in group) for group in chosen for r in replicas]
    return [tuple(grid.device(r, p) for r in group for p in partitions) for group in chosen]


def shard_size(instruction: Instruction, dims: Sequence[int], count: int) -> int:
    """The length, along its dimension, of each of the parts that a collective cuts an array of `dims` into.

    Args:
        instruction: the collective.
        dims: of the array.
        count: parts.

    Raises:
        UnsupportedError: the number of devices does not divide the length of the dimension.
    """
    along: int = instruction.attributes["dimensions"][0]
    size, rest = divmod(dims[along], count)
    if rest:
        reason = f"dimension {along} of {list(dims)} does not split into {count} parts, one for each device"
        raise instruction.unsupported(reason)
    return size


def check_operands(instruction: Instruction, count: int) -> None:
    """Refuse an all-to-all that sends whole operands but has not one for each of `count` devices."""
    given = len(instruction.operands)
    if given != count:
        raise instruction.unsupported(f"it has {given} operands for a group of {count} devices; give one for each")


def pairs(instruction: Instruction, grid: Grid) -> list[tuple[int, int]]:
    """Who sends to whom in a collective-permute: partitions of each replica with a channel, else replicas."""
    listed: Sequence[tuple[int, int]] = instruction.attributes["source_target_pairs"]
    has_channel = "channel_id" in instruction.attributes
    count = grid.partitions if has_channel else grid.replicas
    _checked(instruction, [tuple(source for source, _ in listed), tuple(target for _, target in listed)], count)
    if has_channel:
        return [(grid.device(r, s), grid.device(r, t)) for s, t in listed for r in range(grid.replicas)]
    return [(grid.device(s, p), grid.device(t, p)) for s, t in listed for p in range(grid.partitions)]


def transfer_pairs(instruction: Instruction, grid: Grid) -> list[tuple[int, int]]:
    """Who sends to whom by a send or recv between devices: partitions of each replica where there are several.

    Raises:
        UnsupportedError: the pairs are not stated, or make no sense.
    """
    listed = dict(instruction.attributes.get("frontend_attributes", {})).get(_PAIRS)
    if listed is None:
        reason = f"between devices it needs frontend_attributes={{{_PAIRS}=...}}, which say who sends to whom"
        raise instruction.unsupported(reason)
    found = [(int(source), int(target)) for source, target in _PAIR.findall(str(listed))]
    if grid.partitions == 1:
        return found
    return [(grid.device(r, s), grid.device(r, t)) for s, t in found for r in range(grid.replicas)]


def _checked(instruction: Instruction, numbered: list[Group], count: int) -> list[Group]:
    """The groups, none of whose numbers is out of range or stands twice."""
    for number in (number for group in numbered for number in group):
        if not 0 <= number < count:
            raise instruction.unsupported(f"device number {number} is not below {count}")
    for group in numbered:
        if len(set(group)) != len(group):
            raise instruction.unsupported(f"a device stands twice in {list(group)}")
    return numbered
