"""Elements in other places: reshaped, turned, cut, joined, repeated; sizes and places must be known."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.expansion.expression import Expression, concatenate, with_size
from compiler.expansion.matrices import cut
from compiler.ir.attributes import PaddingDimension
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import common_dims, spread
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.sizes import element_of
from compiler.tf2xla.slices import strided_slice


def _reshape(operation: Operation) -> Expression:
    x, dims = operation["tensor"], list(operation.integers("shape"))
    size = math.prod(x.dims)
    left = [number for number, one in enumerate(dims) if one == -1]
    operation.require(len(left) <= 1 and min(dims, default=0) >= -1, f"{dims} are no sizes: one of them may be -1")
    if left:
        others = math.prod(one for one in dims if one != -1)
        fits = others and size % others == 0
        operation.require(fits, lambda: f"{size} elements do not fill the sizes {dims}")
        dims[left[0]] = size // others
    operation.require(math.prod(dims) == size, lambda: f"{size} elements do not fill the sizes {dims}")
    return x.reshape(*dims)


def _transpose(operation: Operation) -> Expression:
    x, order = operation["x"], operation.integers("perm")
    rank = len(x.dims)
    turned = [axis + rank if axis < 0 else axis for axis in order]
    operation.require(sorted(turned) == list(range(rank)), f"{list(order)} is no order of {rank} dimensions")
    return x.transpose(*turned)


def _expand_dims(operation: Operation) -> Expression:
    x = operation["input"]
    axis = operation.integer("dim")
    at = operation.axis(axis, len(x.dims) + 1)
    return x.reshape(*x.dims[:at], 1, *x.dims[at:])


def _squeeze(operation: Operation) -> Expression:
    x = operation["input"]
    rank = len(x.dims)
    named = {operation.axis(axis, rank) for axis in operation.attribute("squeeze_dims")}
    for axis in named:
        if x.dims[axis] != 1:
            raise operation.invalid(f"dimension {axis} has {x.dims[axis]} elements, not one")
    gone = named or {axis for axis in range(rank) if x.dims[axis] == 1}
    return x.reshape(*(size for axis, size in enumerate(x.dims) if axis not in gone))


def _joined(operation: Operation, pieces: Sequence[Expression], axis: int) -> Expression:
    """Arrays one after the other along an axis."""
    rank = len(pieces[0].dims)
    at = operation.axis(axis, rank)
    for piece in pieces:
        same = len(piece.dims) == rank and all(
            a == b for number, (a, b) in enumerate(zip(piece.dims, pieces[0].dims, strict=True)) if number != at
        )
        if not same:
            raise operation.invalid(f"{list(piece.dims)} does not join {list(pieces[0].dims)} along axis {at}")
    return pieces[0] if len(pieces) == 1 else concatenate(pieces, at)


def _concat(operation: Operation) -> Expression:
    axis = operation.integer("axis")
    return _joined(operation, operation.list("values"), axis)


def _concat_first(operation: Operation) -> Expression:
    axis = operation.integer("concat_dim")
    return _joined(operation, operation.list("values"), axis)


def _pack(operation: Operation) -> Expression:
    values = operation.list("values")
    dims = values[0].dims
    same = all(value.dims == dims for value in values)
    operation.require(same, lambda: f"its inputs have different sizes: {', '.join(str(list(v.dims)) for v in values)}")
    at = operation.axis(operation.attribute("axis"), len(dims) + 1)
    return _joined(operation, [value.reshape(*dims[:at], 1, *dims[at:]) for value in values], at)


def _unpack(operation: Operation) -> list[list[Expression]]:
    value, count = operation["value"], operation.attribute("num")
    at = operation.axis(operation.attribute("axis"), len(value.dims))
    operation.require(value.dims[at] == count, lambda: f"dimension {at} has {value.dims[at]} elements, not {count}")
    dims = value.dims[:at] + value.dims[at + 1 :]
    return [[piece.reshape(*dims) for piece in _pieces(value, at, [1] * count)]]


def _pieces(value: Expression, axis: int, sizes: Sequence[int]) -> list[Expression]:
    """An array cut along an axis into pieces of these sizes."""
    pieces, start = [], 0
    for size in sizes:
        whole = [(0, one) for one in value.dims]
        whole[axis] = (start, start + size)
        pieces.append(value.slice(*whole))
        start += size
    return pieces


def _split(operation: Operation) -> list[list[Expression]]:
    value, count = operation["value"], operation.attribute("num_split")
    axis = operation.integer("split_dim")
    at = operation.axis(axis, len(value.dims))
    fits = count > 0 and value.dims[at] % count == 0
    operation.require(fits, lambda: f"dimension {at} of {value.dims[at]} elements is not cut into {count} equal pieces")
    return [_pieces(value, at, [value.dims[at] // count] * count)]


def _split_v(operation: Operation) -> list[list[Expression]]:
    value, sizes = operation["value"], list(operation.integers("size_splits"))
    axis = operation.integer("split_dim")
    at = operation.axis(axis, len(value.dims))
    left = [number for number, size in enumerate(sizes) if size == -1]
    operation.require(len(left) <= 1 and min(sizes, default=0) >= -1, f"{sizes} are no sizes: one of them may be -1")
    if left:
        sizes[left[0]] = value.dims[at] - sum(size for size in sizes if size != -1)
    fits = sum(sizes) == value.dims[at] and min(sizes, default=0) >= 0
    operation.require(fits, lambda: f"dimension {at} of {value.dims[at]} elements is not cut into {sizes}")
    operation.require(len(sizes) == operation.attribute("num_split"), "its sizes are not as many as its results")
    return [_pieces(value, at, sizes)]


def _slice(operation: Operation) -> Expression:
    """A part of known size; if its beginning is not known, it is moved so that the part lies inside, as by XLA."""
    x = operation["input"]
    if operation.library.is_bounded and _is_open(operation):
        return _bounded_slice(operation, x)
    sizes = list(operation.integers("size"))
    rank = len(x.dims)
    operation.require(len(sizes) == rank, lambda: f"{sizes} are not the sizes of a part of {list(x.dims)}")
    begin = operation.library.value(operation["begin"])
    if begin is None and -1 in sizes:
        raise operation.not_constant("begin")
    if begin is None:
        for size, own in zip(sizes, x.dims, strict=True):
            operation.require(0 <= size <= own, lambda: f"a part of the sizes {sizes} does not lie in {list(x.dims)}")
        operands = [x.instruction, operation["begin"].instruction]
        return Expression(build(operation.computation, "dynamic-slice", operands, dynamic_slice_sizes=tuple(sizes)))
    starts = operation.integers("begin")
    operation.require(len(starts) == rank, lambda: f"{list(starts)} is not the beginning of a part of {list(x.dims)}")
    kept = []
    for start, size, own in zip(starts, sizes, x.dims, strict=True):
        length = own - start if size == -1 else size
        inside = 0 <= start <= own and length >= 0 and start + length <= own
        operation.require(inside, lambda: f"from {list(starts)} on {sizes} does not lie in {list(x.dims)}")
        kept.append((start, start + length))
    return x.slice(*kept)


def _is_open(operation: Operation) -> bool:
    """Whether the sizes of a slice follow from values that are not known."""
    size = operation.library.value(operation["size"])
    return size is None or (bool((size == -1).any()) and operation.library.value(operation["begin"]) is None)


def _bounded_slice(operation: Operation, x: Expression) -> Expression:
    """A part whose sizes values decide, at most those of the array, as XLA has it: behind the end stand zeros."""
    rank = len(x.dims)
    begin, size = operation["begin"], operation["size"]
    fits = begin.dims == size.dims == (rank,)
    operation.require(fits, lambda: f"its begin and size must be {rank} numbers, for {list(x.dims)}")
    padding = tuple(PaddingDimension(0, own) for own in x.dims)
    padded = Expression(build(operation.computation, "pad", [x.instruction, x.literal(0).instruction], padding=padding))
    starts = [element_of(begin, axis) for axis in range(rank)]
    operands = [one.instruction for one in (padded, *starts)]
    found = Expression(build(operation.computation, "dynamic-slice", operands, dynamic_slice_sizes=x.dims))
    for axis, (start, own) in enumerate(zip(starts, x.dims, strict=True)):
        wanted = element_of(size, axis)
        wanted = wanted.compare("EQ", -1).where(-start + own, wanted)
        known = operation.library.value(wanted)
        if known is None:
            found = with_size(found, axis, wanted)
            continue
        operation.require(0 <= int(known) <= own, lambda: f"a part of the size {known} does not lie in {list(x.dims)}")  # noqa: B023
        found = cut(found, axis, 0, int(known))
    return found


def paddings(operation: Operation, rank: int) -> list[tuple[int, int]]:
    """How much is put before and behind along each axis."""
    value = operation.value("paddings")
    operation.require(value.shape == (rank, 2), lambda: f"its paddings must have the sizes {[rank, 2]}")
    rows = [(int(low), int(high)) for low, high in value]
    operation.require(all(min(row) >= 0 for row in rows), f"paddings must not be negative: {rows}")
    return rows


def _pad(operation: Operation) -> Expression:
    x = operation["input"]
    if any(port.name == "constant_values" for port in operation.signature.inputs):
        value = operation["constant_values"]
        operation.require(not value.dims, "the value to pad with must be a scalar")
    else:
        value = x.literal(0)
    padding = tuple(PaddingDimension(low, high) for low, high in paddings(operation, len(x.dims)))
    return Expression(build(operation.computation, "pad", [x.instruction, value.instruction], padding=padding))


def _mirror_pad(operation: Operation) -> Expression:
    """Continued by its mirror image, whose first element is the edge (SYMMETRIC) or the one behind it (REFLECT)."""
    x, mode = operation["input"], operation.attribute("mode")
    operation.require(mode in (b"REFLECT", b"SYMMETRIC"), f"its mode must be REFLECT or SYMMETRIC, not {mode!r}")
    skipped = 1 if mode == b"REFLECT" else 0
    for axis, (low, high) in enumerate(paddings(operation, len(x.dims))):
        own = x.dims[axis]
        if not low and not high:
            continue
        if max(low, high) > own - skipped:
            raise operation.invalid(f"{low} and {high} are more than a mirror of {own} elements has")
        mirrored = Expression(build(operation.computation, "reverse", [x.instruction], dimensions=(axis,)))
        before = cut(mirrored, axis, own - skipped - low, own - skipped)
        after = cut(mirrored, axis, skipped, skipped + high)
        x = concatenate([before, x, after], axis)
    return x


def _tile(operation: Operation) -> Expression:
    x, times = operation["input"], operation.integers("multiples")
    operation.require(
        len(times) == len(x.dims), lambda: f"{list(times)} does not say how often {list(x.dims)} is repeated"
    )
    operation.require(min(times, default=0) >= 0, f"nothing is repeated {min(times, default=0)} times")
    pairs = [one for pair in zip(times, x.dims, strict=True) for one in pair]
    spread_out = x.spread(pairs, range(1, 2 * len(x.dims), 2))
    return spread_out.reshape(*(a * b for a, b in zip(times, x.dims, strict=True)))


def _broadcast_to(operation: Operation) -> Expression:
    x, dims = operation["input"], operation.integers("shape")
    fits = len(dims) >= len(x.dims) and common_dims(operation, x.dims, dims) == dims
    operation.require(fits, lambda: f"{list(x.dims)} is not spread to {list(dims)}")
    return spread(x, dims)


def _reverse(operation: Operation) -> Expression:
    x = operation["tensor"]
    axes = [operation.axis(axis, len(x.dims)) for axis in operation.integers("axis")]
    operation.require(len(set(axes)) == len(axes), f"an axis is named twice: {axes}")
    return Expression(build(operation.computation, "reverse", [x.instruction], dimensions=tuple(axes))) if axes else x


_STRIDED = (
    "input: T, begin: Index, end: Index, strides: Index -> output: T; T: {any}; Index: {int16 int32 int64}; "
    "begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0"
)
RECORDS = table(
    record(
        "Reshape",
        "tensor: T, shape: Tshape -> output: T; T: {any}; Tshape: {index} = int32",
        _reshape,
        "The same elements in other sizes, of which one may be -1.",
        constants=("shape",),
    ),
    record(
        "Transpose",
        "x: T, perm: Tperm -> y: T; T: {any}; Tperm: {index} = int32",
        _transpose,
        "Dimensions in another order.",
        constants=("perm",),
    ),
    record(
        "ExpandDims",
        "input: T, dim: Tdim -> output: T; T: {any}; Tdim: {index} = int32",
        _expand_dims,
        "One more dimension, of one element.",
        constants=("dim",),
    ),
    record(
        "Squeeze",
        "input: T -> output: T; T: {any}; squeeze_dims: list(int) = []",
        _squeeze,
        "Without dimensions of one element, all or those that are named.",
    ),
    record(
        "ConcatV2",
        "values: N*T, axis: Tidx -> output: T; N: int; T: {any}; Tidx: {index} = int32",
        _concat,
        "Arrays one after the other along an axis.",
        constants=("axis",),
    ),
    record(
        "Concat",
        "concat_dim: int32, values: N*T -> output: T; N: int; T: {any}",
        _concat_first,
        "Arrays one after the other, under its older name.",
        constants=("concat_dim",),
    ),
    record("Pack", "values: N*T -> output: T; N: int; T: {any}; axis: int = 0", _pack, "Arrays along a new dimension."),
    record(
        "Unpack", "value: T -> output: num*T; num: int; T: {any}; axis: int = 0", _unpack, "An array cut into its rows."
    ),
    record(
        "Split",
        "split_dim: int32, value: T -> output: num_split*T; num_split: int; T: {any}",
        _split,
        "Equal pieces.",
        constants=("split_dim",),
    ),
    record(
        "SplitV",
        "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T; num_split: int; T: {any}; "
        "Tlen: {int8 int32 int64} = int64",
        _split_v,
        "Pieces of stated sizes.",
        constants=("size_splits", "split_dim"),
    ),
    record(
        "Slice",
        "input: T, begin: Index, size: Index -> output: T; T: {any}; Index: {index}",
        _slice,
        "A part of stated size.",
        constants=("size",),
    ),
    record("StridedSlice", _STRIDED, strided_slice, "A part as Python's indexing says.", ("begin", "end", "strides")),
    record(
        "Pad",
        "input: T, paddings: Tpaddings -> output: T; T: {any}; Tpaddings: {index} = int32",
        _pad,
        "Zeros around it.",
        constants=("paddings",),
    ),
    record(
        "PadV2",
        "input: T, paddings: Tpaddings, constant_values: T -> output: T; T: {any}; Tpaddings: {index} = int32",
        _pad,
        "A number around it.",
        constants=("paddings",),
    ),
    record(
        "MirrorPad",
        "input: T, paddings: Tpaddings -> output: T; T: {any}; Tpaddings: {index} = int32; mode: string",
        _mirror_pad,
        "Its mirror image around it.",
        constants=("paddings",),
    ),
    record(
        "Tile",
        "input: T, multiples: Tmultiples -> output: T; T: {any}; Tmultiples: {index} = int32",
        _tile,
        "Repeated along each dimension.",
        constants=("multiples",),
    ),
    record(
        "BroadcastTo",
        "input: T, shape: Tidx -> output: T; T: {any}; Tidx: {index} = int32",
        _broadcast_to,
        "Spread to stated sizes.",
        constants=("shape",),
    ),
    record(
        "ReverseV2",
        "tensor: T, axis: Tidx -> output: T; T: {numbers bool string}; Tidx: {index} = int32",
        _reverse,
        "Backwards along axes.",
        constants=("axis",),
    ),
)
