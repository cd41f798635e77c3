"""Programs of manual regions, as JAX's `shard_map` writes them: whole arrays are cut, worked on by devices, and joined.

A mesh has up to three axes, its devices in any order; a region is manual on all of its axes or on some.  Which axes cut
which dimension is drawn anew for each array that enters and each that leaves, so shards are joined in another way than
they were cut.  What devices have of their own, their numbers and what they exchange, stands in regions on all axes
only: elsewhere devices that are to compute the same would differ.  Now and then a region stands in what is called, in
a loop or in a branch, as where a step of training is one: all devices come to it with the same whole arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from compiler.generate.bodies import elements, unpacked
from compiler.generate.choices import Choices, chance, permutation, pick, subset
from compiler.generate.combining import ORDERED, combiner, combiners
from compiler.generate.exhaustive import COMMON
from compiler.generate.scope import Program, Scope, Space
from compiler.ir.devices import ReplicaGroups, TileSharding
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, TupleShape, leaves
from compiler.ir.types import PRED, S32, ElementType
from compiler.ops import Trait, having

_MESHES = ((2,), (2, 3), (2, 2), (3, 2), (4,), (2, 2, 2), (3,))
"""Devices along each axis: axes of the same size, of others in either order, and one alone."""
_NAMES = ("x", "y", "z")
_SHUFFLED_PERCENT, _SOME_PERCENT, _TILED_PERCENT, _CUT_PERCENT = 50, 30, 30, 75
"""How often devices are not in order, only some axes are manual, tiles say what is cut, and an axis cuts an array."""
_NUMBERED_PERCENT, _EXCHANGED_PERCENT, _AGAIN_PERCENT, _OUTSIDE_PERCENT = 60, 60, 30, 40
"""How often shards are told apart by devices' numbers; how often devices exchange; how often a second region follows;
how often something is done to whole arrays behind one."""
_HELD_PERCENT, _MOST_ITERATIONS = 35, 3
"""How often a region stands in a computation that control flow runs, and how often a loop does that: a mask of bits."""
_SHARD_SIZES, _MOST_RANK, _MOST_STEPS = (1, 2, 3), 3, 3
"""Sizes of dimensions of shards, dimensions at most, and instructions on shards at most beside what is of devices."""
_OPCODES = COMMON - {"while"}
"""What is done to shards and to whole arrays; any other program has the rest."""


class _Cut(NamedTuple):
    """Which axes cut each dimension, the first outermost; or how many devices of an order do, of tiles."""

    axes: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]


class _Mesh(NamedTuple):
    """A mesh of so many devices along each axis, in an order, and the axes of a region."""

    sizes: tuple[int, ...]
    devices: tuple[int, ...]
    manual: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many devices it has."""
        return len(self.devices)

    @property
    def is_whole(self) -> bool:
        """Whether all axes are the region's, so that devices may differ in anything."""
        return len(self.manual) == len(self.sizes)


def around_regions(
    choices: Choices, name: str, element_types: Sequence[str], banned: frozenset[tuple[str, str]], step: _Step
) -> Module | None:
    """A program for several devices with a manual region or two.

    Args:
        choices: which it is.
        name: of the module.
        element_types: those that shards are on.
        banned: opcodes on types that must not be drawn.
        step: draws an instruction into a scope.

    Returns:
        The module; None where shards can be on none of the types.
    """
    kinds = [kind for kind in ORDERED if kind.name in element_types]
    if not kinds or any(("custom-call", kind.name) in banned for kind in kinds):
        return None
    module = Module(name)
    module.entry = module.add_computation(Computation("main"))
    space = Space(
        _OPCODES, frozenset(element_types) | {"pred", "s32"}, banned, most_elements=1 << 10, newest_percent=70
    )
    program = Program(choices, space, module, step)
    mesh = _mesh(choices)
    axes = ", ".join(f'"{axis}"={size}' for axis, size in zip(_NAMES, mesh.sizes, strict=False))
    listed = f", device_ids=[{', '.join(map(str, mesh.devices))}]" if mesh.devices != (*range(mesh.size),) else ""
    module.attributes["num_partitions"] = mesh.size
    module.attributes["frontend_attributes"] = (("xla.sdy.meshes", f"{{mesh = #sdy.mesh<[{axes}]{listed}>}}"),)
    scope = Scope(program, module.entry, depth=0)
    for _ in range(1 + chance(choices, _AGAIN_PERCENT)):
        draw = _held if chance(choices, _HELD_PERCENT) else _region
        draw(scope, mesh, pick(choices, kinds))
    results = _unused(scope)
    module.entry.root = results[0] if len(results) == 1 else scope.build("tuple", results)
    module.sort_computations()
    return module


_Step = Callable[[Scope], None]


def _mesh(choices: Choices) -> _Mesh:
    sizes = pick(choices, _MESHES)
    count = math.prod(sizes)
    devices = permutation(choices, count) if chance(choices, _SHUFFLED_PERCENT) else range(count)
    axes = range(len(sizes))
    some = tuple(subset(choices, axes, 50)) if chance(choices, _SOME_PERCENT) else ()
    return _Mesh(sizes, tuple(devices), some or tuple(axes))


def _region(scope: Scope, mesh: _Mesh, kind: ElementType) -> None:
    """Cut one array or two, work on their shards, and join one shard or two."""
    is_tiled = mesh.is_whole and chance(scope.choices, _TILED_PERCENT)
    shard = tuple(pick(scope.choices, _SHARD_SIZES) for _ in range(scope.choices.integer(1, _MOST_RANK)))
    cuts = [_cut(scope.choices, mesh, len(shard)) for _ in range(scope.choices.integer(1, 2))]
    wholes = [_whole_of(scope, kind, [n * c for n, c in zip(shard, cut.counts, strict=True)]) for cut in cuts]
    inner = Scope(scope.program, scope.computation, depth=1, everyone=False)
    inner.values += _crossed(scope, mesh, wholes, cuts, [ArrayShape(kind, shard)] * len(cuts), is_tiled=is_tiled)
    if mesh.is_whole and chance(scope.choices, _NUMBERED_PERCENT):
        _add_number(inner, inner.values[-1])
    for _ in range(scope.choices.integer(0, _MOST_STEPS)):
        scope.program.step(inner)
    if mesh.is_whole and chance(scope.choices, _EXCHANGED_PERCENT):
        _exchange(inner, mesh)
    able = [value for value in reversed(inner.values) if value.array.rank and value.array.element_type in ORDERED]
    left = able[: scope.choices.integer(1, 2)]
    cuts = [_cut(scope.choices, mesh, value.array.rank) for value in left]
    shapes = [
        value.array.with_dims(tuple(n * c for n, c in zip(value.array.dims, cut.counts, strict=True)))
        for value, cut in zip(left, cuts, strict=True)
    ]
    scope.values = [value for value in scope.values if value in wholes]
    scope.values += _crossed(scope, mesh, left, cuts, shapes, is_tiled=is_tiled, is_leaving=True)
    if chance(scope.choices, _OUTSIDE_PERCENT):
        scope.program.step(scope)


def _unused(scope: Scope) -> list[Instruction]:
    return [value for value in scope.values if not value.users and value.opcode != "parameter"]


def _held(scope: Scope, mesh: _Mesh, kind: ElementType) -> None:
    """A region in a computation of whole arrays that is called, or that a loop or a branch calls."""
    inner = _nested(scope, "held")
    _region(inner, mesh, kind)
    inner.computation.root = inner.build("tuple", _unused(inner))
    given = [_whole_of(scope, p.array.element_type, p.array.dims) for p in inner.computation.parameters]
    done = pick(scope.choices, (_called, _chosen, _repeated))(scope, inner.computation, given)
    scope.values = [value for value in scope.values if value in given]
    elements(scope, done)


def _called(scope: Scope, held: Computation, given: Sequence[Instruction]) -> Instruction:
    return scope.build("call", given, to_apply=held)


def _chosen(scope: Scope, held: Computation, given: Sequence[Instruction]) -> Instruction:
    """What it yields, or that turned around."""
    whole, selector = scope.build("tuple", given), scope.parameter(ArrayShape(PRED, ()))
    one, other = (_nested(scope, "branch") for _ in range(2))
    one.computation.root = _called(one, held, unpacked(one, whole.shape))
    found = elements(other, _called(other, held, unpacked(other, whole.shape)))
    turned = [other.build("reverse", [value], dimensions=tuple(range(value.array.rank))[:1]) for value in found]
    other.computation.root = other.build("tuple", turned)
    branches = {"true_computation": one.computation, "false_computation": other.computation}
    return scope.build("conditional", [selector, whole, whole], **branches)


def _repeated(scope: Scope, held: Computation, given: Sequence[Instruction]) -> Instruction:
    """What it yields in a loop: of what it was given, or of its own results, where these are such."""
    unknown, mask = scope.parameter(ArrayShape(S32, ())), scope.constant(_MOST_ITERATIONS, S32)
    nothing = [
        scope.build("broadcast", [scope.constant(0, leaf.element_type)], shape=leaf, dimensions=())
        for leaf in leaves(held.root.shape)
    ]
    initial = scope.build("tuple", [scope.build("and", [unknown, mask]), *given, *nothing])
    goes_on, body = (_nested(scope, name) for name in ("goes_on", "body"))
    left, *_ = unpacked(goes_on, initial.shape)
    goes_on.computation.root = goes_on.build("compare", [left, goes_on.constant(0, S32)], direction="GT")
    left, *before = unpacked(body, initial.shape)[: 1 + len(given)]
    made = elements(body, _called(body, held, before))
    following = [next((one for one in made if one.shape == old.shape), old) for old in before]
    fewer = body.build("subtract", [left, body.constant(1, S32)])
    body.computation.root = body.build("tuple", [fewer, *following, *made])
    done = scope.build("while", [initial], condition=goes_on.computation, body=body.computation)
    return scope.build("tuple", elements(scope, done, 1 + len(given)))


def _nested(scope: Scope, name: str) -> Scope:
    return Scope(scope.program, scope.program.computation(name), depth=1)


def _whole_of(scope: Scope, kind: ElementType, dims: Sequence[int]) -> Instruction:
    """A whole array: a parameter, or what came out of a region before."""
    shape = ArrayShape(kind, tuple(dims))
    return scope.find(lambda other: other == shape) or scope.parameter(shape)


def _cut(choices: Choices, mesh: _Mesh, rank: int) -> _Cut:
    """Axes of the region for dimensions, each for one or none."""
    axes: list[list[int]] = [[] for _ in range(rank)]
    for position in permutation(choices, len(mesh.manual)):
        if chance(choices, _CUT_PERCENT):
            axes[choices.integer(0, rank - 1)].append(mesh.manual[position])
    counts = tuple(math.prod(mesh.sizes[axis] for axis in own) for own in axes)
    return _Cut(tuple(map(tuple, axes)), counts)


def _crossed(
    scope: Scope,
    mesh: _Mesh,
    values: Sequence[Instruction],
    cuts: Sequence[_Cut],
    shapes: Sequence[ArrayShape],
    **how: bool,
) -> list[Instruction]:
    """What values are beyond a crossing: one for each by tiles, all by one call of Shardy's or by one for each.

    Args:
        scope: of the whole arrays.
        mesh: the devices.
        values: which cross.
        cuts: of the whole arrays.
        shapes: of what comes out.
        how: `is_tiled`, and `is_leaving` where shards are joined.
    """
    is_leaving, crossing = how.get("is_leaving", False), _Crossing(scope, mesh)
    if how["is_tiled"]:
        return [crossing.by_tiles(*one, is_leaving=is_leaving) for one in zip(values, cuts, shapes, strict=True)]
    if chance(scope.choices, 50):
        return crossing.by_mesh(values, cuts, shapes, is_leaving=is_leaving)
    found = []
    for value, cut, shape in zip(values, cuts, shapes, strict=True):
        found += crossing.by_mesh([value], [cut], [shape], is_leaving=is_leaving)
    return found


class _Crossing(NamedTuple):
    """Writes calls between whole arrays and shards."""

    scope: Scope
    mesh: _Mesh

    def by_mesh(
        self, values: Sequence[Instruction], cuts: Sequence[_Cut], shapes: Sequence[ArrayShape], *, is_leaving: bool
    ) -> list[Instruction]:
        """A call of Shardy's.

        Args:
            values: which cross.
            cuts: of the whole arrays.
            shapes: of what comes out.
            is_leaving: whether shards are joined.
        """
        manual = ", ".join(f'"{_NAMES[axis]}"' for axis in self.mesh.manual)
        stated = ", ".join(f"<@mesh, [{', '.join(map(_dimension, cut.axes))}]>" for cut in cuts)
        side, target = ("out", "LocalToGlobalShape") if is_leaving else ("in", "GlobalToLocalShape")
        said = (
            (f"xla.sdy.{side}_shardings", f"#sdy.sharding_per_value<[{stated}]>"),
            ("xla.sdy.manual_axes", f"#sdy<manual_axes{{{manual}}}>"),
        )
        is_one = len(values) == 1
        shape = shapes[0] if is_one else TupleShape(tuple(shapes))
        given: dict[str, Any] = {"custom_call_target": f"xla.sdy.{target}", "frontend_attributes": said}
        call = self.scope.build("custom-call", values, shape=shape, **given)
        return [call] if is_one else [self._element(call, number) for number in range(len(values))]

    def _element(self, call: Instruction, number: int) -> Instruction:
        return self.scope.build("get-tuple-element", [call], index=number)

    def by_tiles(self, value: Instruction, cut: _Cut, shape: ArrayShape, *, is_leaving: bool) -> Instruction:
        """A call by the sharding of the whole array.

        Args:
            value: which crosses.
            cut: of the whole array.
            shape: of what comes out.
            is_leaving: whether shards are joined.
        """
        rest = self.mesh.size // math.prod(cut.counts)
        tiles = TileSharding(tiles=(*cut.counts, rest), devices=self.mesh.devices, replicate_last=True)
        if rest == self.mesh.size:
            tiles = TileSharding(kind="replicated")
        inside, outside = (TileSharding(kind="manual"), tiles) if is_leaving else (tiles, TileSharding(kind="manual"))
        target = "SPMDShardToFullShape" if is_leaving else "SPMDFullToShardShape"
        given = self.scope.build(
            "custom-call", [value], shape=value.array, custom_call_target="Sharding", sharding=inside
        )
        return self.scope.build("custom-call", [given], shape=shape, custom_call_target=target, sharding=outside)


def _dimension(axes: Sequence[int]) -> str:
    return "{{{}}}".format(", ".join(f'"{_NAMES[axis]}"' for axis in axes))


def _add_number(inner: Scope, shard: Instruction) -> None:
    """The shard and the device's number in each element."""
    number = inner.build("partition-id")
    kind = shard.array.element_type
    own = inner.build("convert", [number], shape=ArrayShape(kind, ()))
    spread = inner.build("broadcast", [own], shape=shard.array, dimensions=())
    inner.build("add", [shard, spread])


def _exchange(inner: Scope, mesh: _Mesh) -> None:
    """The newest shard after a collective, among groups in any order."""
    choices = inner.choices
    able = [value for value in reversed(inner.values) if value.array.rank and value.array.element_type in ORDERED]
    value = able[0]
    order = permutation(choices, mesh.size)
    size = pick(choices, [n for n in range(mesh.size, 0, -1) if not mesh.size % n])
    groups = ReplicaGroups(tuple(tuple(order[at : at + size]) for at in range(0, mesh.size, size)))
    channels = sum(one.opcode in having(Trait.COLLECTIVE) for one in inner.program.module.instructions())
    given: dict[str, Any] = {"channel_id": 1 + channels}
    opcode = pick(choices, ("all-reduce", "all-gather", "collective-permute"))
    along = choices.integer(0, value.array.rank - 1)
    dims = list(value.array.dims)
    if opcode == "collective-permute":
        given["source_target_pairs"] = tuple(enumerate(order))
    else:
        given |= {"replica_groups": groups, "use_global_device_ids": True}
    if opcode == "all-gather":
        given["dimensions"], dims[along] = (along,), dims[along] * size
    if opcode == "all-reduce":
        kind = value.array.element_type
        given["to_apply"] = combiner(inner, pick(choices, combiners(kind)), kind)
    if inner.fits(dims):
        inner.build(opcode, [value], shape=replace(value.array, dims=tuple(dims)), **given)
