"""What groups of devices and shardings must be to mean anything: rules of the language, as sentences on what is wrong.

XLA asks the same in its verifier (`CheckReplicaGroups`, `HloSharding::Validate`), with one exception: where a module
states one replica or partition it asks nothing, since tools that read modules may not know yet how many there will be.
Here a program runs on what it states, so a group that names more is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from compiler.diagnostics import UnsupportedError
from compiler.ir.devices import DeviceGroups, IotaDevices, ReplicaGroups, Sharding, TileSharding, TupleSharding
from compiler.ir.module import Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, leaves
from compiler.ops import OPS, Trait, narrowing

_MODES = ("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")
_OF_SOME = frozenset({"collective-broadcast"})  # whoever is in no group gets zeros, by the specification
_OF_NO_RESULT = narrowing(Trait.TOKENS, "infeed outfeed send send-done recv recv-done after-all")
"""What has a sharding of what it sends or takes; add-dependency has that of its result, an operand."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The devices of a program."""

    replicas: int
    partitions: int

    @classmethod
    def of(cls, module: Module) -> Grid:
        """The devices that a module's header asks for."""
        return cls(module.attributes.get("replica_count", 1), module.attributes.get("num_partitions", 1))

    @property
    def size(self) -> int:
        """How many devices there are."""
        return self.replicas * self.partitions

    def device(self, replica: int, partition: int) -> int:
        """A device's number."""
        return replica * self.partitions + partition

    def replica(self, device: int) -> int:
        """The replica that a device is."""
        return device // self.partitions

    def partition(self, device: int) -> int:
        """The partition that a device runs."""
        return device % self.partitions

    def numbered(self, mode: str) -> int:
        """How many things the numbers in a group may name in a mode."""
        return {"flattened_id": self.size, "cross_partition": self.partitions}.get(mode, self.replicas)


def mode_of(instruction: Instruction) -> str:
    """What the numbers of a collective's groups are, by the name that XLA gives it.

    Raises:
        UnsupportedError: the mode is none, or global numbers have no channel.
    """
    attributes = instruction.attributes
    stated = str(attributes.get("mode", "")).strip('"').lower().removeprefix("k")
    if stated:
        if stated not in _MODES:
            raise instruction.unsupported(f"mode {stated!r} is none of {', '.join(_MODES)}")
        return stated
    has_channel = "channel_id" in attributes
    if attributes.get("use_global_device_ids", False):
        if not has_channel:
            raise instruction.unsupported("use_global_device_ids needs a channel_id")
        return "flattened_id"
    if not has_channel:
        return "cross_replica"
    both = "use_global_device_ids" in OPS[instruction.opcode].optional
    return "cross_replica_and_partition" if both else "cross_partition"


def group_problems(instruction: Instruction, grid: Grid) -> Iterator[str]:
    """What is wrong about the devices that a collective names, in its groups or in its pairs of source and target."""
    pairs: Sequence[tuple[int, int]] | None = instruction.attributes.get("source_target_pairs")
    if pairs is not None:
        mode = "cross_partition" if "channel_id" in instruction.attributes else "cross_replica"
        for side, what in enumerate(("sources", "targets")):
            numbers = [pair[side] for pair in pairs]
            yield from _misnumbered(numbers, grid.numbered(mode), _kind(mode), f"the {what} of its pairs")
    given: DeviceGroups | None = instruction.attributes.get("replica_groups")
    if given is None or given == ReplicaGroups():
        return
    try:
        mode, groups = mode_of(instruction), given.groups()
    except UnsupportedError:
        return  # what the numbers mean is not known, and whoever needs to know says so
    except ValueError:
        yield "its groups hold another number of devices than they are made of"
        return
    if not all(groups):
        yield "one of its groups is empty: leave replica_groups={} for one group of all"
    named = [number for group in groups for number in group]
    count = grid.numbered(mode)
    wrong = list(_misnumbered(named, count, _kind(mode), "its groups"))
    yield from wrong
    is_whole = all(groups) and not wrong and instruction.opcode not in _OF_SOME
    missing = sorted(set(range(count)) - set(named)) if is_whole else []
    if missing:
        yield f"{_kind(mode)} {missing[0]} is in none of its groups: every one must be in one"


def _kind(mode: str) -> str:
    return {"flattened_id": "device", "cross_partition": "partition"}.get(mode, "replica")


def _misnumbered(numbers: Sequence[int], count: int, kind: str, where: str) -> Iterator[str]:
    strange = [number for number in numbers if not 0 <= number < count]
    if strange:
        states = "num_partitions" if kind == "partition" else "replica_count"
        yield f"{where} name {kind} {strange[0]} of {count}: there is none, unless the module's {states} says so"
    twice = [number for number, times in Counter(numbers).items() if times > 1]
    if twice:
        yield f"{where} name {kind} {twice[0]} more than once"


def sharding_problems(instruction: Instruction, grid: Grid) -> Iterator[str]:
    """What is wrong about the sharding of an instruction, given its shape and the number of partitions."""
    sharding: Sharding | None = instruction.attributes.get("sharding")
    if sharding is None:
        return
    is_of_result = instruction.opcode not in _OF_NO_RESULT
    arrays = list(leaves(instruction.shape))
    if not isinstance(sharding, TupleSharding):
        shape = instruction.shape if is_of_result else None
        if isinstance(sharding, TileSharding):
            yield from _tile_problems(sharding, shape, grid.partitions)
        return
    if is_of_result and len(sharding.elements) not in (len(arrays), max(len(arrays), 1)):
        yield f"its sharding is for {len(sharding.elements)} arrays, and it has {len(arrays)}"
        return
    for number, element in enumerate(sharding.elements):
        if isinstance(element, TileSharding):
            shape = arrays[number] if is_of_result and number < len(arrays) else None
            yield from _tile_problems(element, shape, grid.partitions)


def _tile_problems(sharding: TileSharding, shape: Shape | None, partitions: int) -> Iterator[str]:
    """What is wrong about tiles; the rank is compared with that of an array, and devices with several partitions."""
    devices = sharding.devices
    count = prod(devices.dims) if isinstance(devices, IotaDevices) else len(devices)
    if sharding.tiles and prod(sharding.tiles) != count:
        yield f"its sharding has {prod(sharding.tiles)} tiles for {count} devices"
        return
    if not isinstance(devices, IotaDevices):
        negative = [number for number in devices if number < 0]
        twice = [number for number, times in Counter(devices).items() if times > 1]
        if negative or twice:
            yield f"its sharding names device {(negative or twice)[0]}" + (" more than once" if not negative else "")
            return
    if partitions > 1 and devices:
        largest = count - 1 if isinstance(devices, IotaDevices) else max(devices)
        if largest >= partitions or (sharding.tiles and count != partitions):
            yield f"its sharding is over {count} devices up to number {largest}, and there are {partitions} partitions"
            return
    if sharding.tiles and isinstance(shape, ArrayShape):
        rank = len(sharding.tiles) - (len(sharding.subgroups) or int(sharding.replicate_last))
        if rank != shape.rank:
            yield f"its sharding cuts {rank} dimensions, and {shape} has {shape.rank}"
