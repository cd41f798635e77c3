"""Arrays in equal pieces, as the devices of a partitioned program hold them.

A program is for one device here, to which a whole array and its shard are the same; a sharding that says otherwise is
refused.
"""

from __future__ import annotations

import math

from compiler.expansion import matrices
from compiler.expansion.expression import Expression, concatenate
from compiler.ir.attributes import PaddingDimension
from compiler.tf2xla.dimension_numbers import fields_of
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.ops.xla import made
from compiler.tf2xla.record import Record, Trait, record, table


def _grid(operation: Operation, name: str, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """In how many parts each dimension is, and how much is added behind it."""
    counts, padding = operation.attribute(name), operation.attribute("paddings") or (0,) * rank
    fits = len(counts) == len(padding) == rank and min(counts, default=1) > 0 and min(padding, default=0) >= 0
    operation.require(fits, lambda: f"{list(counts)} parts with {list(padding)} more are none of {rank} dimensions")
    return tuple(counts), tuple(padding)


def _split(operation: Operation) -> list[list[Expression]]:
    x = operation.read("resource") if operation.signature.inputs[0].name == "resource" else operation["input"]
    counts, padding = _grid(operation, "num_splits", len(x.dims))
    operation.require(math.prod(counts) == operation.attribute("N"), "it gives another number of parts")
    sizes = [size + more for size, more in zip(x.dims, padding, strict=True)]
    fits = all(size % count == 0 for size, count in zip(sizes, counts, strict=True))
    operation.require(fits, lambda: f"dimensions of {sizes} are not in {list(counts)} equal parts")
    rows = tuple(PaddingDimension(0, more) for more in padding)
    whole = made(operation, "pad", x, x.literal(0), padding=rows)
    pieces = [whole]
    for axis, count in enumerate(counts):
        each = sizes[axis] // count
        pieces = [matrices.cut(one, axis, n * each, (n + 1) * each) for one in pieces for n in range(count)]
    return [pieces]


def _joined(operation: Operation) -> Expression:
    pieces = operation.list("inputs")
    rank = len(pieces[0].dims)
    counts, padding = _grid(operation, "num_concats", rank)
    operation.require(math.prod(counts) == len(pieces), "it takes another number of parts")
    for axis in reversed(range(rank)):
        count = counts[axis]
        pieces = [concatenate(pieces[n : n + count], axis) for n in range(0, len(pieces), count)]
    [whole] = pieces
    return whole.slice(*((0, size - more) for size, more in zip(whole.dims, padding, strict=True)))


def _assign(operation: Operation) -> None:
    operation.write("resource", _joined(operation))


_TILES = 3
"""The field of a sharding (XLA, `OpSharding`) that holds in how many pieces each dimension is."""


def _of_one_device(operation: Operation) -> Expression:
    x = operation["input"]
    tiles = fields_of(operation, "manual_sharding").get(_TILES, [])
    if math.prod(tiles) > 1:
        raise operation.unsupported(f"there are no partitions here, as a sharding in {list(tiles)} pieces asks for")
    if "full_shape" in operation.signature.attributes:
        wanted = operation.attribute("full_shape").static
        operation.require(wanted in (None, x.dims), lambda: f"one device holds {list(x.dims)}, not {list(wanted)}")
    return x


def _sharded(name: str, more: str, doc: str) -> Record:
    text = f"input: T -> output: T; T: {{any}}; manual_sharding: string; {more}dim: int = -1; "
    return record(name, f"{text}unspecified_dims: list(int) = []", _of_one_device, doc)


_SPLIT = "outputs: N*T; T: {any}; N: int; num_splits: list(int); paddings: list(int) = []"
_JOINED = "T: {any}; N: int; num_concats: list(int); paddings: list(int) = []"
RECORDS = table(
    record("XlaSplitND", f"input: T -> {_SPLIT}", _split, "Equal parts along all dimensions."),
    record("XlaConcatND", f"inputs: N*T -> output: T; {_JOINED}", _joined, "Parts put together along all dimensions."),
    record(
        "ReadVariableXlaSplitND",
        f"resource: resource -> {_SPLIT}",
        _split,
        "Equal parts of what it holds.",
        traits=Trait.STATEFUL,
    ),
    record(
        "AssignVariableXlaConcatND",
        f"resource: resource, inputs: N*T -> ; {_JOINED}",
        _assign,
        "Let it hold parts put together.",
        traits=Trait.STATEFUL,
    ),
    _sharded("XlaSpmdFullToShardShape", "", "The part of an array that this device holds."),
    _sharded("XlaSpmdShardToFullShape", "full_shape: shape; ", "The array of which this device holds a part."),
)
