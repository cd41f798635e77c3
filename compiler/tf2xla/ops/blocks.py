"""Blocks of places moved into batches or channels and back, patches of images, and sequences turned around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.matrices import conjugate
from compiler.ir.attributes import PaddingDimension
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.indexing import gathered
from compiler.tf2xla.record import record, table

Pairs = Sequence[tuple[int, int]]


def _edges(operation: Operation, name: str, count: int) -> Pairs:
    """A matrix of two numbers for each place."""
    value = operation.value(name)
    fits = value.shape == (count, 2) and (value >= 0).all()
    operation.require(fits, lambda: f"its {name} must be {count} pairs of numbers from 0 on, not {value.tolist()}")
    return [(int(low), int(high)) for low, high in value]


def _padded(x: Expression, edges: Pairs) -> Expression:
    padding = tuple(PaddingDimension(low, high) for low, high in edges)
    return Expression(
        build(x.instruction.computation, "pad", [x.instruction, x.literal(0).instruction], padding=padding)
    )


def _to_batches(operation: Operation, sides: Sequence[int], edges: Pairs) -> Expression:
    x, count = operation["input"], len(sides)
    operation.require(len(x.dims) > count, lambda: f"{count} blocks are too many for the sizes {list(x.dims)}")
    operation.require(min(sides, default=1) > 0, lambda: f"its blocks {list(sides)} must be positive")
    rest = x.dims[1 + count :]
    x = _padded(x, [(0, 0), *edges, *[(0, 0)] * len(rest)])
    batch, sides_ = x.dims[0], x.dims[1 : 1 + count]
    fits = all(size % side == 0 for size, side in zip(sides_, sides, strict=True))
    operation.require(fits, lambda: f"blocks of {list(sides)} do not fill {list(sides_)}")
    sizes = [n for size, side in zip(sides_, sides, strict=True) for n in (size // side, side)]
    inside, outside = range(2, 2 * count + 2, 2), range(1, 2 * count + 1, 2)
    order = [*inside, 0, *outside, *range(2 * count + 1, 2 * count + 1 + len(rest))]
    turned = x.reshape(batch, *sizes, *rest).transpose(*order)
    for side in sides:
        batch *= side
    return turned.reshape(batch, *sizes[::2], *rest)


def _from_batches(operation: Operation, sides: Sequence[int], edges: Pairs) -> Expression:
    x, count = operation["input"], len(sides)
    operation.require(len(x.dims) > count, lambda: f"{count} blocks are too many for the sizes {list(x.dims)}")
    operation.require(min(sides, default=1) > 0, lambda: f"its blocks {list(sides)} must be positive")
    whole = 1
    for side in sides:
        whole *= side
    operation.require(x.dims[0] % whole == 0, lambda: f"a batch of {x.dims[0]} is no multiple of {whole}")
    batch, sides_, rest = x.dims[0] // whole, x.dims[1 : 1 + count], x.dims[1 + count :]
    pairs = [axis for number in range(count) for axis in (count + 1 + number, number)]
    order = [count, *pairs, *range(2 * count + 1, 2 * count + 1 + len(rest))]
    turned = x.reshape(*sides, batch, *sides_, *rest).transpose(*order)
    joined = turned.reshape(batch, *(size * side for size, side in zip(sides_, sides, strict=True)), *rest)
    kept = [(low, size - high) for size, (low, high) in zip(joined.dims[1:], edges, strict=False)]
    operation.require(all(low <= high for low, high in kept), "more is cropped than there is")
    return joined.slice((0, batch), *kept, *((0, size) for size in rest))


def _space_to_batch_nd(operation: Operation) -> Expression:
    sides = operation.integers("block_shape")
    return _to_batches(operation, sides, _edges(operation, "paddings", len(sides)))


def _batch_to_space_nd(operation: Operation) -> Expression:
    sides = operation.integers("block_shape")
    return _from_batches(operation, sides, _edges(operation, "crops", len(sides)))


def _space_to_batch(operation: Operation) -> Expression:
    return _to_batches(operation, [operation.attribute("block_size")] * 2, _edges(operation, "paddings", 2))


def _batch_to_space(operation: Operation) -> Expression:
    return _from_batches(operation, [operation.attribute("block_size")] * 2, _edges(operation, "crops", 2))


def _with_channels_last(operation: Operation) -> tuple[Expression, bool]:
    x, layout = operation["input"], operation.attribute("data_format")
    operation.require(len(x.dims) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(x.dims)}")
    if layout not in (b"NHWC", b"NCHW"):
        raise operation.unsupported(f"no lowering has the data format {layout.decode(errors='replace')}")
    return (x, False) if layout == b"NHWC" else (x.transpose(0, 2, 3, 1), True)


def _space_to_depth(operation: Operation) -> Expression:
    x, is_turned = _with_channels_last(operation)
    side = operation.attribute("block_size")
    batch, height, width, depth = x.dims
    fits = side > 1 and height % side == 0 and width % side == 0
    operation.require(fits, lambda: f"blocks of {side} do not fill {height} x {width}")
    blocks = x.reshape(batch, height // side, side, width // side, side, depth).transpose(0, 1, 3, 2, 4, 5)
    made = blocks.reshape(batch, height // side, width // side, side * side * depth)
    return made.transpose(0, 3, 1, 2) if is_turned else made


def _depth_to_space(operation: Operation) -> Expression:
    x, is_turned = _with_channels_last(operation)
    side = operation.attribute("block_size")
    batch, height, width, depth = x.dims
    fits = side > 1 and depth % (side * side) == 0
    operation.require(fits, lambda: f"{depth} channels are no blocks of {side} x {side}")
    blocks = x.reshape(batch, height, width, side, side, depth // (side * side)).transpose(0, 1, 3, 2, 4, 5)
    made = blocks.reshape(batch, height * side, width * side, depth // (side * side))
    return made.transpose(0, 3, 1, 2) if is_turned else made


class _Steps(NamedTuple):
    """Patches along one dimension: elements of each, how far apart both are, how many, and the edges."""

    side: int
    stride: int
    rate: int
    patches: int
    padding: tuple[int, int]

    def cut(self, number: int) -> tuple[int, int, int]:
        """Where the elements of that number of all patches are: first, beyond the last, step."""
        first = number * self.rate
        return (first, first + (self.patches - 1) * self.stride + 1, self.stride) if self.patches else (0, 0, 1)


def _patches(operation: Operation) -> Expression:
    """Every patch's elements along the channels, by rows, columns, and channels of the image."""
    x = operation["images"]
    operation.require(len(x.dims) == 4, lambda: f"it takes images of 4 dimensions, not the sizes {list(x.dims)}")
    plans = []
    for number, size in enumerate(x.dims[1:3]):
        side, stride, rate = (operation.attribute(name)[1 + number] for name in ("ksizes", "strides", "rates"))
        reach = (side - 1) * rate + 1
        is_same = operation.attribute("padding") == b"SAME"
        count = -(-size // stride) if is_same else max(0, (size - reach) // stride + 1)
        total = max(0, (count - 1) * stride + reach - size) if is_same else 0
        plans.append(_Steps(side, stride, rate, count, (total // 2, total - total // 2)))
    rows, columns = plans
    x = _padded(x, [(0, 0), rows.padding, columns.padding, (0, 0)])
    pieces = [
        x.slice((0, x.dims[0]), rows.cut(row), columns.cut(column), (0, x.dims[3]))
        for row in range(rows.side)
        for column in range(columns.side)
    ]
    return concatenate(pieces, 3)


def _reversed(operation: Operation) -> Expression:
    x, chosen = operation["tensor"], operation.value("dims")
    fits = chosen.shape == (len(x.dims),)
    operation.require(fits, lambda: f"its dims must be {len(x.dims)} truth values, not {chosen.tolist()}")
    axes = tuple(axis for axis, one in enumerate(chosen) if one)
    return Expression(build(operation.computation, "reverse", [x.instruction], dimensions=axes)) if axes else x


def _sequences_reversed(operation: Operation) -> Expression:
    """Of each of a batch the first elements, as many as said, in the other order."""
    x, lengths = operation["input"], operation["seq_lengths"]
    rank = len(x.dims)
    along = operation.axis(operation.attribute("seq_dim"), rank, "seq_dim")
    batch = operation.axis(operation.attribute("batch_dim"), rank, "batch_dim")
    operation.require(along != batch, "its seq_dim and batch_dim are the same")
    fits = lengths.dims == (x.dims[batch],)
    operation.require(fits, lambda: f"{list(lengths.dims)} lengths are not one for each of a batch of {x.dims[batch]}")
    order = [batch, along, *(axis for axis in range(rank) if axis not in (batch, along))]
    turned = x.transpose(*order)
    sizes = turned.dims[:2]
    position = iota(operation.computation, S32, sizes, 1)
    count = lengths.to(S32).spread(sizes, [0])
    indices = position.compare("LT", count).where(count - position - 1, position)
    found = gathered(operation, turned, indices, 1, 1)
    return found.transpose(*(order.index(axis) for axis in range(rank)))


def _conjugate_transpose(operation: Operation) -> Expression:
    x, order = operation["x"], operation.integers("perm")
    rank = len(x.dims)
    turned = [axis + rank if axis < 0 else axis for axis in order]
    operation.require(sorted(turned) == list(range(rank)), f"{list(order)} is no order of {rank} dimensions")
    return conjugate(x.transpose(*turned))


_BLOCKS = "block_shape: Tblock_shape"
_BLOCK_TYPE = "T: {any}; Tblock_shape: {index} = int32"
_FORMAT = "T: {any}; block_size: int; data_format: string = 'NHWC'"
RECORDS = table(
    record(
        "SpaceToBatchND",
        f"input: T, {_BLOCKS}, paddings: Tpaddings -> output: T; {_BLOCK_TYPE}; Tpaddings: {{index}} = int32",
        _space_to_batch_nd,
        "Blocks of places as batches.",
        constants=("block_shape", "paddings"),
    ),
    record(
        "BatchToSpaceND",
        f"input: T, {_BLOCKS}, crops: Tcrops -> output: T; {_BLOCK_TYPE}; Tcrops: {{index}} = int32",
        _batch_to_space_nd,
        "Batches as blocks of places.",
        constants=("block_shape", "crops"),
    ),
    record(
        "SpaceToBatch",
        "input: T, paddings: Tpaddings -> output: T; T: {any}; Tpaddings: {index} = int32; block_size: int",
        _space_to_batch,
        "Blocks of places as batches.",
        constants=("paddings",),
    ),
    record(
        "BatchToSpace",
        "input: T, crops: Tidx -> output: T; T: {any}; block_size: int; Tidx: {index} = int32",
        _batch_to_space,
        "Batches as blocks of places.",
        constants=("crops",),
    ),
    record("SpaceToDepth", f"input: T -> output: T; {_FORMAT}", _space_to_depth, "Blocks of places as channels."),
    record("DepthToSpace", f"input: T -> output: T; {_FORMAT}", _depth_to_space, "Channels as blocks of places."),
    record(
        "ExtractImagePatches",
        "images: T -> patches: T; ksizes: list(int); strides: list(int); rates: list(int); T: {numbers bool}; "
        "padding: string",
        _patches,
        "Patches as channels.",
    ),
    record(
        "Reverse",
        "tensor: T, dims: bool -> output: T; T: {numbers bool string}",
        _reversed,
        "Elements in the other order along chosen dimensions.",
        constants=("dims",),
    ),
    record(
        "ReverseSequence",
        "input: T, seq_lengths: Tlen -> output: T; seq_dim: int; batch_dim: int = 0; T: {any}; Tlen: {index} = int64",
        _sequences_reversed,
        "Sequences of different lengths in the other order.",
    ),
    record(
        "ConjugateTranspose",
        "x: T, perm: Tperm -> y: T; T: {any}; Tperm: {index} = int32",
        _conjugate_transpose,
        "The conjugates, with dimensions in another order.",
        constants=("perm",),
    ),
)
