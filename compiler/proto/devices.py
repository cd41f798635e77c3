"""Which devices hold what, as `OpSharding`, `MeshProto` and the three kinds of lists of replica groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from compiler.diagnostics import UnsupportedError
from compiler.ir.devices import (
    AxisRef,
    DeviceGroups,
    DimensionSharding,
    IotaDevices,
    IotaReplicaGroups,
    Mesh,
    MeshSharding,
    ReplicaGroups,
    Sharding,
    TileSharding,
    TupleSharding,
)
from compiler.proto.notes import metadata_proto
from compiler.proto.shape import BY
from compiler.proto.wire import Message


def groups_proto(value: DeviceGroups) -> Message:
    """The fields of an instruction that say which devices work together."""
    if isinstance(value, ReplicaGroups):
        return {"collective_device_list": {"replica_groups": [{"replica_ids": group} for group in value.listed]}}
    if isinstance(value, IotaReplicaGroups):
        groups = {"num_replica_groups": value.count, "num_devices_per_group": value.size, **_iota(value.iota)}
        return {"iota_collective_device_list": groups}
    axes = [_axis_proto(axis, value.mesh) for axis in value.axes]
    return {"mesh_axes_replica_group_list": {"mesh": _mesh_proto(value.mesh), "axes": axes}}


def _iota(value: IotaDevices) -> Message:
    transpose = value.transpose or tuple(range(len(value.dims)))
    return {"iota_reshape_dims": value.dims, "iota_transpose_perm": transpose}


def _mesh_proto(mesh: Mesh) -> Message:
    message: dict[str, Any] = {"axes": [{"name": name, "size": size} for name, size in mesh.axes]}
    if mesh.maximal is not None:
        message["device_ids"] = [mesh.maximal]
    elif isinstance(mesh.devices, IotaDevices):
        iota = _iota(mesh.devices)
        message["iota_transform"] = {
            "reshape_dims": iota["iota_reshape_dims"],
            "transpose_perm": iota["iota_transpose_perm"],
        }
    elif mesh.devices is not None:
        message["device_ids"] = mesh.devices
    return message


def _axis_proto(axis: AxisRef, mesh: Mesh) -> Message:
    message: dict[str, Any] = {"mesh_axis_index": [name for name, _ in mesh.axes].index(axis.name)}
    if axis.sub_axis is not None:
        message["sub_axis_info"] = {"pre_size": axis.sub_axis[0], "size": axis.sub_axis[1]}
    return message


def sharding_proto(value: Sharding) -> Message:
    """An `OpSharding`."""
    if isinstance(value, TupleSharding):
        return {"type": "TUPLE", "tuple_shardings": [sharding_proto(element) for element in value.elements]}
    return _mesh_sharding(value) if isinstance(value, MeshSharding) else _tile_sharding(value)


def _tile_sharding(value: TileSharding) -> Message:
    message: dict[str, Any] = {
        "type": value.kind.upper() or "OTHER",
        "tile_assignment_dimensions": value.tiles,
        "replicate_on_last_tile_dim": value.replicate_last,
        "last_tile_dims": [word.upper() for word in value.subgroups],
        "metadata": [metadata_proto(entry) for entry in value.metadata],
    }
    if isinstance(value.devices, IotaDevices):
        if math.prod(value.devices.dims) != math.prod(value.tiles):
            raise UnsupportedError(f"a sharding with tiles {list(value.tiles)}", BY, "its devices are not as many")
        message |= _iota(value.devices)
    else:
        message["tile_assignment_devices"] = value.devices
    if value.group is not None:
        word, number = value.group
        kind = word.removeprefix("shard_").upper()
        message |= {"is_shard_group": True, "shard_group_id": number, "shard_group_type": kind}
    return message


def _mesh_sharding(value: MeshSharding) -> Message:
    mesh = value.mesh

    def axes(listed: Sequence[AxisRef]) -> list[Message]:
        return [_axis_proto(axis, mesh) for axis in listed]

    def dimension(cut: DimensionSharding) -> Message:
        return {"axes": axes(cut.axes), "is_closed": not cut.is_open}

    named = {
        "mesh": _mesh_proto(mesh),
        "dim_shardings": [dimension(cut) for cut in value.dimensions],
        "replicated_axes": axes(value.replicated),
        "unreduced_axes": axes(value.unreduced),
        "manual_axes": axes(value.manual),
        "metadata": [metadata_proto(entry) for entry in value.metadata],
    }
    return {"named_sharding": named}
