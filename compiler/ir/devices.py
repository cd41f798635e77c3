"""Which devices hold what: shardings, device meshes and the groups that collectives work in.

Devices are written as a plain list, as a transposed iota (`<=[2,4]T(1,0)`), or as axes of a named mesh.  Each form is
kept as it was written, and `groups` says what it means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Devices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class IotaDevices:
    """`[dims]T(transpose)`: the numbers 0, 1, ... in the shape `dims`, transposed; no transpose for a single one."""

    dims: tuple[int, ...]
    transpose: tuple[int, ...] = ()

    def devices(self) -> Devices:
        """The device numbers in order."""
        iota = np.arange(int(np.prod(self.dims)), dtype=np.int64).reshape(self.dims)
        return (iota.transpose(self.transpose) if self.transpose else iota).reshape(-1)


@dataclass(frozen=True, slots=True)
class Mesh:
    """A named grid of devices, or one device (`maximal_mesh`, which has no axes)."""

    axes: tuple[tuple[str, int], ...] = ()
    devices: tuple[int, ...] | IotaDevices | None = None
    maximal: int | None = None

    def grid(self) -> Devices:
        """The device at each coordinate."""
        sizes = [size for _, size in self.axes]
        if self.devices is None:
            return np.arange(int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
        listed = self.devices.devices() if isinstance(self.devices, IotaDevices) else np.array(self.devices, np.int64)
        return listed.reshape(sizes)


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis of a mesh, or with `sub_axis` = (pre, size) the `size`-fold piece that `pre` outer ones precede."""

    name: str
    sub_axis: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ReplicaGroups:
    """`{{0,1},{2,3}}`; no groups at all means one group of every device."""

    listed: tuple[tuple[int, ...], ...] = ()

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The device numbers of each group."""
        return self.listed


@dataclass(frozen=True, slots=True)
class IotaReplicaGroups:
    """`[groups,size]<=[dims]T(transpose)`."""

    count: int
    size: int
    iota: IotaDevices

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The device numbers of each group."""
        return _rows(self.iota.devices().reshape(self.count, self.size))


@dataclass(frozen=True, slots=True)
class MeshReplicaGroups:
    """`mesh['a'=2,'b'=4] {'a'}`: devices that differ in the named axes only are in one group."""

    mesh: Mesh
    axes: tuple[AxisRef, ...]

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The device numbers of each group."""
        pieces: list[tuple[AxisRef, int]] = []
        for name, size in self.mesh.axes:
            pieces += _split_axis(name, size, [axis for axis in self.axes if axis.name == name])
        grid = self.mesh.grid().reshape([size for _, size in pieces])
        inner = [next(i for i, (piece, _) in enumerate(pieces) if piece == axis) for axis in self.axes]
        outer = [i for i in range(len(pieces)) if i not in inner]
        width = int(np.prod([pieces[i][1] for i in inner]))
        return _rows(grid.transpose(outer + inner).reshape(-1, width))


def _split_axis(name: str, size: int, used: list[AxisRef]) -> list[tuple[AxisRef, int]]:
    """The pieces of one axis, outermost first, such that every reference to it is one of them."""
    if any(axis.sub_axis is None for axis in used) or not used:
        return [(AxisRef(name), size)]
    pieces: list[tuple[AxisRef, int]] = []
    done = 1
    for axis in sorted(used, key=lambda axis: axis.sub_axis or (1, size)):
        before, width = axis.sub_axis or (1, size)
        if before > done:
            pieces.append((AxisRef(name, (done, before // done)), before // done))
        pieces.append((axis, width))
        done = before * width
    if done < size:
        pieces.append((AxisRef(name, (done, size // done)), size // done))
    return pieces


def _rows(array: Devices) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in array.tolist())


DeviceGroups = ReplicaGroups | IotaReplicaGroups | MeshReplicaGroups
Metadata = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class TileSharding:
    """One array over devices, the form without names.

    Attributes:
        kind: `replicated`, `maximal`, `manual`, `unknown`, `unreduced`, or empty for an array cut into tiles.
        tiles: how many pieces each dimension is cut into; further entries are subgroups.
        devices: the devices in tile order, or the only one of `maximal`.
        subgroups: what the entries of `tiles` after the array's dimensions are for (`replicated`, `manual`, ...).
        replicate_last: written as `last_tile_dim_replicate` in place of subgroups.
        group: (`shard_as` or `shard_like`, number).
        metadata: one entry per operation that asked for it.
    """

    kind: str = ""
    tiles: tuple[int, ...] = ()
    devices: tuple[int, ...] | IotaDevices = ()
    subgroups: tuple[str, ...] = ()
    replicate_last: bool = False
    group: tuple[str, int] | None = None
    metadata: tuple[Metadata, ...] = ()


@dataclass(frozen=True, slots=True)
class DimensionSharding:
    """The axes that one dimension is cut along; an open one may be cut further."""

    axes: tuple[AxisRef, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class MeshSharding:
    """One array over the axes of a mesh; `kind` as in `TileSharding` when no dimension is listed."""

    mesh: Mesh
    kind: str = ""
    dimensions: tuple[DimensionSharding, ...] = ()
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    manual: tuple[AxisRef, ...] = ()
    metadata: tuple[Metadata, ...] = ()


@dataclass(frozen=True, slots=True)
class TupleSharding:
    """One sharding for each leaf of a tuple."""

    elements: tuple[TileSharding | MeshSharding, ...]


Sharding = TileSharding | MeshSharding | TupleSharding
