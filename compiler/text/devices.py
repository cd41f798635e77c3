"""Shardings, meshes and device groups: how each is read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compiler.ir.devices import (
    AxisRef,
    DeviceGroups,
    DimensionSharding,
    IotaDevices,
    IotaReplicaGroups,
    Mesh,
    MeshReplicaGroups,
    MeshSharding,
    Metadata,
    ReplicaGroups,
    Sharding,
    TileSharding,
    TupleSharding,
)
from compiler.text.lexer import Scanner, quoted
from compiler.text.notes import read_metadata, write_metadata
from compiler.text.plain import write_integers

_KINDS = ("replicated", "maximal", "manual", "unknown", "unreduced")
_SUBGROUPS = ("replicated", "maximal", "manual", "unreduced")
_GROUPS = ("shard_as", "shard_like")


def read_device_groups(scanner: Scanner) -> DeviceGroups:
    """`{{0,1},{2,3}}`, `[2,2]<=[4]` or `mesh['a'=2,'b'=2] {'a'}`."""
    if scanner.at("{"):
        return ReplicaGroups(scanner.items("{", "}", scanner.integers))
    if scanner.at("mesh"):
        mesh = _read_mesh(scanner)
        if mesh.devices is None:
            scanner.accept(",")  # XLA takes it for that before device_ids
        return MeshReplicaGroups(mesh, scanner.items("{", "}", lambda: _read_axis(scanner, mesh)))
    start = scanner.skip()
    dims = scanner.integers("[", "]")
    scanner.expect("<=", "and the iota that the groups are made of")
    iota = _read_iota(scanner)
    if len(dims) != 2:
        scanner.fail("expected the number of groups and their size", start, scanner.pos)
    _check_sizes(scanner, start, (*dims, *iota.dims))
    return IotaReplicaGroups(dims[0], dims[1], iota)


def write_device_groups(value: DeviceGroups) -> str:
    """The groups in the form they were given in."""
    if isinstance(value, ReplicaGroups):
        return write_integers(value.listed)
    if isinstance(value, IotaReplicaGroups):
        return f"[{value.count},{value.size}]<={_write_iota(value.iota)}"
    return f"{_write_mesh(value.mesh)} {{{','.join(map(_write_axis, value.axes))}}}"


def _product(numbers: Sequence[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product


def _check_sizes(scanner: Scanner, start: int, sizes: Sequence[int]) -> None:
    """Whether both sides of '<=' hold as many devices is not asked: XLA reads, and prints, what does not fit."""
    if any(size < 1 for size in sizes):
        scanner.fail("the sizes on both sides of '<=' must be above zero", start, scanner.pos)


def _read_iota(scanner: Scanner) -> IotaDevices:
    start = scanner.skip()
    dims = scanner.integers("[", "]")
    transpose: tuple[int, ...] = ()
    if len(dims) != 1:
        if not scanner.accept_word("T"):
            scanner.expected("T(...), the order of the iota's dimensions")
        transpose = scanner.integers("(", ")")
    if not dims or (len(dims) > 1 and sorted(transpose) != list(range(len(dims)))):
        scanner.fail("T(...) must order all dimensions of the iota", start, scanner.pos)
    return IotaDevices(dims, transpose)


def _write_iota(value: IotaDevices) -> str:
    dims = f"[{','.join(map(str, value.dims))}]"
    return dims + (f"T({','.join(map(str, value.transpose))})" if value.transpose else "")


def _read_mesh(scanner: Scanner) -> Mesh:
    if scanner.accept_word("maximal_mesh"):
        scanner.expect("[")
        if scanner.key("device_id") != "device_id":
            scanner.expected("device_id")
        device = scanner.integer()
        scanner.expect("]")
        return Mesh(maximal=device)
    start = scanner.skip()
    if not scanner.accept_word("mesh"):
        scanner.expected("mesh[...]")
    axes = scanner.items("[", "]", lambda: _read_mesh_axis(scanner))
    if len({name for name, _ in axes}) != len(axes) or any(size < 1 for _, size in axes):
        scanner.fail("the axes of a mesh need different names and sizes above zero", start, scanner.pos)
    before = scanner.pos
    if not (scanner.accept(",") and scanner.accept_word("device_ids")):
        scanner.pos = before
        return Mesh(axes)
    scanner.expect("=")
    return Mesh(axes, _read_mesh_devices(scanner, axes))


def _read_mesh_devices(scanner: Scanner, axes: Sequence[tuple[str, int]]) -> tuple[int, ...] | IotaDevices:
    start = scanner.skip()
    sizes = [size for _, size in axes]
    scanner.expect("(")
    if scanner.at("["):
        iota = _read_iota(scanner)
        _check_sizes(scanner, start, (*sizes, *iota.dims))
        scanner.expect(")")
        return iota
    scanner.pos = start
    listed = scanner.integers("(", ")")
    if len(listed) != _product(sizes):
        scanner.fail(f"the mesh has {_product(sizes)} devices, not {len(listed)}", start, scanner.pos)
    return listed


def _read_mesh_axis(scanner: Scanner) -> tuple[str, int]:
    name = scanner.string("the name of an axis in quotes")
    scanner.expect("=", "and the size of the axis")
    return name, scanner.integer()


def _write_mesh(value: Mesh) -> str:
    if value.maximal is not None:
        return f"maximal_mesh[device_id={value.maximal}]"
    text = "mesh[" + ",".join(f"{_axis_name(name)}={size}" for name, size in value.axes) + "]"
    if isinstance(value.devices, IotaDevices):
        return f"{text}, device_ids=({_write_iota(value.devices)})"
    return text if value.devices is None else f"{text}, device_ids=({','.join(map(str, value.devices))})"


def _axis_name(name: str) -> str:
    return "'" + quoted(name)[1:-1] + "'"


def _read_axis(scanner: Scanner, mesh: Mesh) -> AxisRef:
    start = scanner.skip()
    name = scanner.string("the name of an axis in quotes")
    size = dict(mesh.axes).get(name)
    if size is None:
        scanner.unknown("axis of this mesh", name, [axis for axis, _ in mesh.axes], start + 1)
    if not scanner.accept(":"):
        return AxisRef(name)
    scanner.expect("(")
    before = scanner.integer()
    scanner.expect(")")
    width = scanner.integer()
    if before < 1 or width < 1 or size % (before * width):
        scanner.fail(f"({before}){width} does not divide the axis of size {size}", start, scanner.pos)
    return AxisRef(name, (before, width))


def _write_axis(value: AxisRef) -> str:
    return _axis_name(value.name) + (f":({value.sub_axis[0]}){value.sub_axis[1]}" if value.sub_axis else "")


def read_sharding(scanner: Scanner) -> Sharding:
    """`{replicated}`, `{devices=[2,1]<=[2]}`, `{mesh['a'=2], [{'a'}]}`, or a tuple of those in braces."""
    scanner.expect("{", "that begins a sharding")
    if not (scanner.at("{") or scanner.at("}")):
        return _read_one(scanner)
    elements: list[TileSharding | MeshSharding] = []
    while scanner.accept("{"):
        elements.append(_read_one(scanner))
        if not scanner.accept(","):
            break
    scanner.expect("}", "that ends the sharding of a tuple")
    return TupleSharding(tuple(elements))


def _read_one(scanner: Scanner) -> TileSharding | MeshSharding:
    """One sharding, behind its opening brace."""
    if scanner.at("mesh") or scanner.at("maximal_mesh"):
        return _read_mesh_sharding(scanner)
    start = scanner.skip()
    fields: dict[str, Any] = {}
    while not scanner.accept("}"):
        word = scanner.word("a property of a sharding or '}'")
        if word in _KINDS:
            fields["kind"] = word
        elif word == "last_tile_dim_replicate":
            fields["replicate_last"] = True
        elif word in _GROUPS:
            fields["group"] = (word, scanner.integer())
        elif word in _FIELDS:
            scanner.expect("=")
            fields |= _FIELDS[word](scanner)
        else:
            scanner.unknown("property of a sharding", word, (*_KINDS, *_GROUPS, *_FIELDS, "last_tile_dim_replicate"))
    _check_sharding(scanner, start, fields)
    return TileSharding(**fields)


def _check_sharding(scanner: Scanner, start: int, fields: dict[str, Any]) -> None:
    kind = fields.get("kind", "")
    devices = fields.get("devices", ())
    if kind == "maximal" and (isinstance(devices, IotaDevices) or len(devices) != 1):
        scanner.fail("a maximal sharding needs one device", start, scanner.pos)
    elif kind and kind != "maximal" and devices:
        scanner.fail(f"a sharding that is {kind} has no devices", start, scanner.pos)
    elif not kind and not fields.get("tiles"):
        scanner.fail("a sharding needs devices=[...] or one of " + ", ".join(_KINDS), start, scanner.pos)


def _read_tiles(scanner: Scanner) -> dict[str, Any]:
    start = scanner.skip()
    dims = scanner.integers("[", "]")
    if scanner.accept("<="):
        iota = _read_iota(scanner)
        _check_sizes(scanner, start, (*dims, *iota.dims))
        return {"tiles": dims, "devices": iota}
    devices = [scanner.integer()]
    while scanner.accept(","):
        devices.append(scanner.integer())
    if any(size < 1 for size in dims) or len(devices) != _product(dims):
        scanner.fail(f"{len(devices)} devices do not fill the tiles", start, scanner.pos)
    return {"tiles": dims, "devices": tuple(devices)}


def _read_subgroup(scanner: Scanner) -> str:
    word = scanner.word("the use of a subgroup")
    if word not in _SUBGROUPS:
        scanner.unknown("use of a subgroup", word, _SUBGROUPS)
    return word


def _read_metadata(scanner: Scanner) -> tuple[Metadata, ...]:
    start = scanner.skip()
    scanner.expect("{")
    if scanner.at("{"):
        scanner.pos = start
        return scanner.items("{", "}", lambda: read_metadata(scanner))
    scanner.pos = start
    return (read_metadata(scanner),)


_FIELDS: dict[str, Callable[[Scanner], dict[str, Any]]] = {
    "device": lambda scanner: {"devices": (scanner.integer(),)},
    "devices": _read_tiles,
    "last_tile_dims": lambda scanner: {"subgroups": scanner.items("{", "}", lambda: _read_subgroup(scanner))},
    "metadata": lambda scanner: {"metadata": _read_metadata(scanner)},
}


def _read_mesh_sharding(scanner: Scanner) -> MeshSharding:
    mesh = _read_mesh(scanner)
    fields: dict[str, Any] = {}
    scanner.accept(",")
    for kind in ("replicated", "unreduced", "manual"):
        if scanner.accept_word(kind):
            fields["kind"] = kind
    if scanner.at("["):
        fields["dimensions"] = scanner.items("[", "]", lambda: _read_dimension(scanner, mesh))
    while not scanner.accept("}"):
        scanner.accept(",")
        key = scanner.key("a property of a sharding")
        if key in ("replicated", "unreduced", "manual"):
            fields[key] = scanner.items("{", "}", lambda: _read_axis(scanner, mesh))
        elif key == "metadata":
            fields[key] = _read_metadata(scanner)
        else:
            known = ("replicated", "unreduced", "manual", "metadata")
            scanner.unknown("property of a sharding", key, known, scanner.pos - len(key) - 1)
    return MeshSharding(mesh, **fields)


def _read_dimension(scanner: Scanner, mesh: Mesh) -> DimensionSharding:
    entries = scanner.items("{", "}", lambda: None if scanner.accept("?") else _read_axis(scanner, mesh))
    if None in entries[:-1]:
        scanner.fail("'?' must be the last entry of a dimension", scanner.pos - 1)
    return DimensionSharding(tuple(axis for axis in entries if axis is not None), None in entries)


def write_sharding(value: Sharding) -> str:
    """A sharding in the form it was given in."""
    if isinstance(value, TupleSharding):
        return "{" + ", ".join(map(write_sharding, value.elements)) + "}"
    if isinstance(value, MeshSharding):
        return "{" + ", ".join(_mesh_words(value)) + "}"
    return "{" + " ".join(_tile_words(value)) + "}"


def _tile_words(value: TileSharding) -> Iterator[str]:
    if value.kind:
        yield value.kind
    if value.tiles:
        tiles = f"devices=[{','.join(map(str, value.tiles))}]"
        if isinstance(value.devices, IotaDevices):
            yield f"{tiles}<={_write_iota(value.devices)}"
        else:
            yield tiles + ",".join(map(str, value.devices))
    elif value.devices and not isinstance(value.devices, IotaDevices):
        yield f"device={value.devices[0]}"
    if value.replicate_last:
        yield "last_tile_dim_replicate"
    if value.subgroups:
        yield f"last_tile_dims={{{','.join(value.subgroups)}}}"
    if value.group:
        yield f"{value.group[0]} {value.group[1]}"
    if value.metadata:
        yield f"metadata={_write_metadata(value.metadata)}"


def _mesh_words(value: MeshSharding) -> Iterator[str]:
    yield _write_mesh(value.mesh)
    if value.kind:
        yield value.kind
    elif value.mesh.maximal is None:
        yield "[" + ", ".join(map(_write_dimension, value.dimensions)) + "]"
    for key in ("replicated", "unreduced", "manual"):
        axes: tuple[AxisRef, ...] = getattr(value, key)
        if axes:
            yield f"{key}={{{','.join(map(_write_axis, axes))}}}"
    if value.metadata:
        yield f"metadata={_write_metadata(value.metadata)}"


def _write_dimension(value: DimensionSharding) -> str:
    return "{" + ", ".join([*map(_write_axis, value.axes), *(["?"] if value.is_open else [])]) + "}"


def _write_metadata(entries: Sequence[Metadata]) -> str:
    if len(entries) == 1:
        return write_metadata(entries[0])
    return "{" + ", ".join(map(write_metadata, entries)) + "}"
