"""Manual sharding, as JAX's `shard_map` writes it: where a program goes from whole arrays to shards, and back.

Such a program is written for whole arrays.  Between a call that enters a manual region and one that leaves it each
device has its part, of which `partition-id` and collectives speak.  Entering, a device takes its part of the whole
that it has; leaving, the parts of the devices that differ in the region's own axes only are joined again, each from
the first device that holds it, so that these devices have the same whole.  Outside of all regions all devices have the
same values, and a run takes and gives them once.

| calls                                                        | parts are said by                                     |
|--------------------------------------------------------------|-------------------------------------------------------|
| `xla.sdy.GlobalToLocalShape`, `xla.sdy.LocalToGlobalShape`   | `frontend_attributes`, over the header's named meshes |
| `SPMDFullToShardShape`, `SPMDShardToFullShape`               | the sharding of the whole: of the operand, its own    |

Regions inside of others have axes of their own, and axes of no region are those of devices that compute the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from compiler.ir.devices import AxisRef, IotaDevices, Mesh, Sharding, TileSharding
from compiler.ir.module import Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape

ENTERING = ("xla.sdy.GlobalToLocalShape", "SPMDFullToShardShape")
LEAVING = ("xla.sdy.LocalToGlobalShape", "SPMDShardToFullShape")
CROSSINGS = frozenset((*ENTERING, *LEAVING))
"""Targets of custom calls between whole arrays and parts."""

_NAME = r'(?:"(?:[^"\\]|\\.)*"|[\w.$\-]+)'
_MESH = re.compile(rf"({_NAME})\s*=\s*\W*(?:#sdy\.)?mesh<(?:\[([^\]]*)\])?[,\s]*(?:device_ids=\[([\d,\s]*)\])?\s*>")
_AXIS_SIZE = re.compile(r'"([^"]+)"\s*=\s*(\d+)')
_VALUE = re.compile(
    rf"<(?:@({_NAME})|mesh<\[([^\]]*)\][,\s]*(?:device_ids=\[([\d,\s]*)\])?\s*>),\s*"
    r"\[((?:\s*\{[^}]*\}(?:p\d+)?,?)*)\s*\]([^<>]*)>"
)
_DIMENSION = re.compile(r"\{([^}]*)\}")
_AXIS = re.compile(r'"([^"]+)"(?::\((\d+)\)(\d+))?')


@dataclass(frozen=True, slots=True)
class Cut:
    """The split of one array over the devices of a region.

    Attributes:
        counts: how many parts each dimension is cut into.
        positions: the indices of each device's part, one for each dimension.
        holders: for each device, where it gets the parts of its whole from, in row-major order of the parts.
    """

    counts: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    holders: tuple[tuple[int, ...], ...]


def is_crossing(instruction: Instruction) -> bool:
    """Whether an instruction enters or leaves a manual region."""
    return instruction.opcode == "custom-call" and target_of(instruction) in CROSSINGS


def enters(crossing: Instruction) -> bool:
    """Whether a crossing goes from whole arrays to parts."""
    return target_of(crossing) in ENTERING


def target_of(call: Instruction) -> str:
    """The target of a custom call, older names of Shardy's as their present ones."""
    target: str = call.attributes["custom_call_target"]
    return target.removeprefix("local_") if target.startswith("local_xla.sdy.") else target


def partitions_named(module: Module) -> int:
    """How many partitions the meshes and tiles of a module's crossings speak of; 1 where there are none."""
    found = 1
    meshes = _meshes(module)
    for crossing in filter(is_crossing, module.instructions()):
        if "sdy" in target_of(crossing):
            # A mesh that is nowhere is refused where the crossing is run.
            used = [_used(match, meshes) for match in _VALUE.finditer(_stated(crossing))]
            found = max([found, *(prod(size for _, size in mesh.axes) for mesh in used if mesh is not None)])
        else:
            sharding = _tiles(crossing)
            is_cut = isinstance(sharding, TileSharding) and not sharding.kind
            found = max(found, prod(sharding.tiles) if is_cut and isinstance(sharding, TileSharding) else 1)
    return found


def cuts_of(crossing: Instruction) -> tuple[Cut, ...]:
    """The split of each operand of a crossing over the partitions of its module.

    Raises `UnsupportedError` where it does not say so, or where the shapes are not those of equal parts.
    """
    module = crossing.computation.module
    assert module is not None, f"{crossing!r} belongs to no module"
    if module.attributes.get("replica_count", 1) > 1:
        raise crossing.unsupported("its module has several replicas, and only partitions hold parts of one array")
    partitions: int = module.attributes.get("num_partitions", 1)
    wholes, shards = [operand.shape for operand in crossing.operands], _results(crossing.shape)
    if not enters(crossing):
        wholes, shards = shards, wholes
    if len(wholes) != len(shards):
        raise crossing.unsupported(f"it has {len(wholes)} whole arrays and {len(shards)} kinds of parts")
    if partitions == 1:
        cuts = [_whole(shape, 1) for shape in wholes]
    elif "sdy" in target_of(crossing):
        cuts = _by_mesh(crossing, wholes, partitions)
    else:
        cuts = [_by_tiles(crossing, wholes[0], partitions)]
    for whole, shard, cut in zip(wholes, shards, cuts, strict=True):
        _check(crossing, whole, shard, cut)
    return tuple(cuts)


def _results(shape: Shape) -> list[Shape]:
    return list(shape.elements) if isinstance(shape, TupleShape) else [shape]


def _whole(shape: Shape, partitions: int) -> Cut:
    """An array of which every device has all."""
    rank = shape.rank if isinstance(shape, ArrayShape) else 0
    return Cut((1,) * rank, ((0,) * rank,) * partitions, ((0,),) * partitions)


def _check(crossing: Instruction, whole: Shape, shard: Shape, cut: Cut) -> None:
    assert isinstance(whole, ArrayShape)
    assert isinstance(shard, ArrayShape)
    dims_ = tuple(size * count for size, count in zip(shard.dims, cut.counts, strict=False))
    if shard.rank != whole.rank or dims_ != whole.dims or shard.element_type is not whole.element_type:
        cuts = "x".join(map(str, cut.counts)) or "1"
        raise crossing.unsupported(f"{cuts} parts {shard} are not {whole}: only equal parts are run")


def _stated(crossing: Instruction) -> str:
    """What a crossing of Shardy's says of its values."""
    side = "in" if enters(crossing) else "out"
    return str(dict(crossing.attributes.get("frontend_attributes", ())).get(f"xla.sdy.{side}_shardings", ""))


def _meshes(module: Module) -> dict[str, Mesh]:
    stated = str(dict(module.attributes.get("frontend_attributes", ())).get("xla.sdy.meshes", "")).replace("\\", "")
    return {name.strip('"'): _mesh(axes, devices) for name, axes, devices in _MESH.findall(stated)}


def _mesh(axes: str, devices: str) -> Mesh:
    sizes = tuple((name, int(size)) for name, size in _AXIS_SIZE.findall(axes))
    return Mesh(sizes, tuple(int(number) for number in devices.split(",")) if devices.strip() else None)


def _used(match: re.Match[str], meshes: dict[str, Mesh]) -> Mesh | None:
    """The mesh of one value, written out or named; None where nothing has that name."""
    return _mesh(match[2], match[3] or "") if match[1] is None else meshes.get(match[1].strip('"'))


def _by_mesh(crossing: Instruction, wholes: Sequence[Shape], partitions: int) -> list[Cut]:
    """Parts over the axes of a mesh; only the region's own axes count, others are cut elsewhere or not at all."""
    module = crossing.computation.module
    assert module is not None
    stated = list(_VALUE.finditer(_stated(crossing)))
    if len(stated) != len(wholes):
        raise crossing.unsupported(f"it states the shardings of {len(stated)} arrays, and has {len(wholes)}")
    said = str(dict(crossing.attributes.get("frontend_attributes", ())).get("xla.sdy.manual_axes", ""))
    manual, meshes = {name for name, _, _ in _AXIS.findall(said)}, _meshes(module)
    cuts = []
    for match, whole in zip(stated, wholes, strict=True):
        mesh, dimensions = _used(match, meshes), _DIMENSION.findall(match[4])
        if mesh is None:
            raise crossing.unsupported(
                f"its mesh @{match[1]} is none of xla.sdy.meshes in the header's frontend_attributes"
            )
        devices = prod(size for _, size in mesh.axes)
        if devices != partitions:
            raise crossing.unsupported(f"its mesh has {devices} devices, and the module num_partitions={partitions}")
        if isinstance(whole, ArrayShape) and len(dimensions) != whole.rank:
            raise crossing.unsupported(f"it states a sharding of {len(dimensions)} dimensions for {whole}")
        axes = [[a for a in _axes(text) if a.name in manual] for text in dimensions]
        cuts.append(_over_axes(crossing, mesh, axes, manual))
    return cuts


def _axes(text: str) -> Iterator[AxisRef]:
    for name, before, size in _AXIS.findall(text):
        yield AxisRef(name, (int(before), int(size)) if size else None)


def _over_axes(crossing: Instruction, mesh: Mesh, dimensions: Sequence[Sequence[AxisRef]], manual: set[str]) -> Cut:
    sizes = dict(mesh.axes)
    unknown = sorted({a.name for axes in dimensions for a in axes}.union(manual) - set(sizes))
    if unknown:
        raise crossing.unsupported(f"its mesh has no axis {unknown[0]!r}; axes are: {', '.join(sizes)}")
    grid = mesh.grid()
    coordinates: dict[int, dict[str, int]] = {
        int(grid[index]): dict(zip(sizes, index, strict=True)) for index in np.ndindex(grid.shape)
    }
    counts = tuple(prod(_extent(axis, sizes)[1] for axis in axes) for axes in dimensions)
    positions: dict[int, tuple[int, ...]] = {}
    for device, at in coordinates.items():
        position = []
        for axes in dimensions:
            number = 0
            for axis in axes:
                inner, size = _extent(axis, sizes)
                number = number * size + at[axis.name] // inner % size
            position.append(number)
        positions[device] = tuple(position)
    held = [name for name in sizes if name not in manual]
    groups: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    for device, at in coordinates.items():
        groups.setdefault(tuple(at[name] for name in held), {}).setdefault(positions[device], device)
    order = list(product(*(range(count) for count in counts)))
    own = {device: groups[tuple(at[name] for name in held)] for device, at in coordinates.items()}
    numbers = range(len(coordinates))
    return Cut(
        counts,
        tuple(positions[d] for d in numbers),
        tuple(tuple(own[d][position] for position in order) for d in numbers),
    )


def _extent(axis: AxisRef, sizes: dict[str, int]) -> tuple[int, int]:
    """How many coordinates of its axis lie within one of a reference's, and how many it has."""
    if axis.sub_axis is None:
        return 1, sizes[axis.name]
    before, size = axis.sub_axis
    return sizes[axis.name] // (before * size), size


def _tiles(crossing: Instruction) -> Sharding | None:
    """The sharding of the whole array: that of what is cut, or what joins it."""
    whole = crossing.operands[0] if enters(crossing) and crossing.operands else crossing
    sharding: Sharding | None = whole.attributes.get("sharding")
    return sharding


def _by_tiles(crossing: Instruction, whole: Shape, partitions: int) -> Cut:
    """Parts as tiles of devices; all axes are the region's own."""
    sharding = _tiles(crossing)
    local = crossing if enters(crossing) else crossing.operands[0]
    within = local.attributes.get("sharding")
    if isinstance(within, TileSharding) and "manual" in within.subgroups:
        raise crossing.unsupported("some axes are manual and others are not, which only Shardy's calls name")
    if not isinstance(sharding, TileSharding) or sharding.kind not in ("", "replicated"):
        raise crossing.unsupported("it needs the sharding of the whole array, as tiles of devices or replicated")
    if sharding.kind == "replicated":
        return _whole(whole, partitions)
    assert isinstance(whole, ArrayShape)
    given = sharding.devices
    devices = [int(d) for d in (given.devices() if isinstance(given, IotaDevices) else given)]
    if sorted(devices) != list(range(partitions)) or prod(sharding.tiles) != partitions:
        tiles = "x".join(map(str, sharding.tiles))
        raise crossing.unsupported(f"{tiles} tiles of {len(devices)} devices are not num_partitions={partitions}")
    counts = sharding.tiles[: whole.rank]
    order = list(product(*(range(count) for count in counts)))
    copies = partitions // prod(counts)
    positions = {device: order[number // copies] for number, device in enumerate(devices)}
    first = tuple(min(devices[n * copies : (n + 1) * copies]) for n in range(len(order)))
    return Cut(counts, tuple(positions[d] for d in range(partitions)), (first,) * partitions)
