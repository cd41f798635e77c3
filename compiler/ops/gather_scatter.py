"""Ops that read or write at indices known at run time.

Slices and gathers clamp their starts so that every window lies inside; a scatter drops a window of updates that does
not lie inside as a whole (see README.md).  All is index arithmetic on whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ir.combiner import scatter_flat
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.shape import UNBOUNDED, ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import (
    dims_agree,
    distinct_dimensions,
    operand,
    operands,
    pick_dynamic,
    require,
    signature,
    trace_dynamic,
    tuple_or_single,
)
from compiler.ir.traits import Trait


def _indices(value: Array) -> Array:
    """Indices as s64; an unsigned one beyond that stays beyond every array."""
    if value.dtype == np.uint64:
        value = np.minimum(value, np.uint64(1 << 62))
    return value.astype(np.int64)


def _check_starts(instruction: Instruction, first: int, source: ArrayShape) -> None:
    starts = [operand(instruction, index) for index in range(first, len(instruction.operands))]
    if len(starts) == 1 and len(starts[0].dims) == 1:
        fits = starts[0].dims[0] == source.rank
        require(fits, f"the starts {starts[0]} must be as many as the dimensions of {source}")
    else:
        require(len(starts) == source.rank, f"{source} takes {source.rank} start indices, not {len(starts)}")
        for index, start in enumerate(starts, first):
            require(not start.dims, f"start index {index} of {instruction.opcode} must be a scalar, not {start}")
    for index, start in enumerate(starts, first):
        integer = start.element_type.is_integer
        require(integer, f"start index {index} of {instruction.opcode} must be an integer, not {start}")


def _check_room(sizes: Sequence[int], dims: Sequence[int]) -> None:
    """Refuse a part that is larger than the array, as it may be where that has a size known at run time only."""
    if any(size > n for size, n in zip(sizes, dims, strict=True)):
        raise ValueError(f"a part of {list(sizes)} is taken of {list(dims)}")


def _starts(values: Sequence[Array], sizes: Sequence[int], dims: Sequence[int]) -> list[int]:
    _check_room(sizes, dims)
    one = len(values) == 1 and values[0].ndim == 1
    given = [values[0][k] for k in range(len(dims))] if one else values
    return [min(max(int(start), 0), n - size) for start, size, n in zip(given, sizes, dims, strict=True)]


def _infer_dynamic_slice(instruction: Instruction) -> Shape:
    source = operand(instruction, 0)
    sizes = instruction.attributes["dynamic_slice_sizes"]
    require(len(sizes) == source.rank, f"dynamic_slice_sizes={list(sizes)} must name a size for each of {source}")
    for index, (size, n) in enumerate(zip(sizes, source.dims, strict=True)):
        fits = size >= 0 and (n == UNBOUNDED or size <= n)
        require(fits, f"slice size {size} does not fit dimension {index} of {source}")
    _check_starts(instruction, 1, source)
    return ArrayShape(source.element_type, tuple(sizes))


def _dynamic_slice(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    value, *starts = values
    sizes = instruction.attributes["dynamic_slice_sizes"]
    begin = _starts(starts, sizes, value.shape)
    return value[tuple(slice(b, b + n) for b, n in zip(begin, sizes, strict=True))]


def _infer_dynamic_update_slice(instruction: Instruction) -> Shape:
    source, update = operand(instruction, 0), operand(instruction, 1)
    same = source.element_type is update.element_type and source.rank == update.rank
    require(same, f"the update {update} must have the type and rank of {source}")
    for index, (size, n) in enumerate(zip(update.dims, source.dims, strict=True)):
        require(size <= n or n == UNBOUNDED, f"the update {update} does not fit dimension {index} of {source}")
    _check_starts(instruction, 2, source)
    return ArrayShape(source.element_type, source.dims, source.dynamic)


def _dynamic_update_slice(_: Instruction, values: Sequence[Array], __: Evaluator) -> Array:
    value, update, *starts = values
    begin = _starts(starts, update.shape, value.shape)
    result = np.array(value)
    result[tuple(slice(b, b + n) for b, n in zip(begin, update.shape, strict=True))] = update
    return result


@dataclass(frozen=True, slots=True)
class Indexing:
    """The dimension numbers that gather and scatter have in common, under one set of names.

    Those of windows, and those left out, ascend, as XLA has it: a window keeps the indexed array's dimensions in order.

    Attributes:
        window: dimensions of the gathered (or the updates') array that run within a window.
        collapsed: dimensions of the indexed array that a window does not keep.
        index_map: the dimension of the indexed array that each component of an index vector is for.
        vector: the dimension of the indices that holds index vectors.
        batching: dimensions of the indexed array that go along with those of the indices in `index_batching`; a
            gather does not hear an index for one of them, as XLA has it.
    """

    window: tuple[int, ...]
    collapsed: tuple[int, ...]
    index_map: tuple[int, ...]
    vector: int
    batching: tuple[int, ...]
    index_batching: tuple[int, ...]

    def kept(self, rank: int) -> list[int]:
        """Dimensions of the indexed array that a window keeps."""
        return [d for d in range(rank) if d not in self.collapsed and d not in self.batching]

    def starts(self, indices: Array, rank: int, sizes: Sequence[int]) -> list[Array]:
        """Start indices for each dimension of the indexed array, shaped to broadcast as batch dims, window dims.

        Args:
            indices: the operand that holds start indices.
            rank: of the indexed array.
            sizes: of a window, along each of its dimensions.
        """
        if self.vector == indices.ndim:
            indices = indices[..., None]
        vectors = np.moveaxis(_indices(indices), self.vector, -1)
        batch = vectors.shape[:-1]
        starts: list[Array] = [np.zeros((1,) * len(batch), np.int64)] * rank
        for component, d in enumerate(self.index_map):
            starts[d] = vectors[..., component]
        for d, along in zip(self.batching, self.index_batching, strict=True):
            along -= along > self.vector
            counting = np.arange(batch[along], dtype=np.int64)
            starts[d] = counting.reshape([-1 if k == along else 1 for k in range(len(batch))])
        return [start.reshape((*start.shape, *(1,) * len(sizes))) for start in starts]

    def check(self, indices: ArrayShape, source: ArrayShape, names: Sequence[str]) -> list[int]:
        """Check the numbers against the shapes; returns the batch dimensions of the indices.

        Args:
            indices: the shape of the indices.
            source: that of the array into which they point.
            names: of the attributes, for messages.
        """
        window, collapsed, index_map, batching, index_batching = names
        require(indices.element_type.is_integer, f"indices must be integers, not {indices}")
        require(0 <= self.vector <= indices.rank, f"index_vector_dim={self.vector} is no dimension of {indices}")
        distinct_dimensions(self.collapsed + self.batching, source.rank, f"{collapsed} and {batching}")
        distinct_dimensions(self.index_map, source.rank, index_map)
        distinct_dimensions(self.index_batching, indices.rank, index_batching)
        require(
            len(self.batching) == len(self.index_batching),
            f"{batching}={list(self.batching)} and {index_batching}={list(self.index_batching)} differ in length",
        )
        require(self.vector not in self.index_batching, f"{index_batching} names index_vector_dim={self.vector}")
        for ours, theirs in zip(self.batching, self.index_batching, strict=True):
            fits = source.dims[ours] == indices.dims[theirs] or UNBOUNDED in (source.dims[ours], indices.dims[theirs])
            require(fits, f"dimension {ours} of {source} does not go along with dimension {theirs} of {indices}")
        components = indices.dims[self.vector] if self.vector < indices.rank else 1
        fits = len(self.index_map) == components
        require(fits, f"{index_map}={list(self.index_map)} must name a dimension for each of {components} components")
        require(
            len(self.window) == source.rank - len(self.collapsed) - len(self.batching),
            f"{window}={list(self.window)}, {collapsed}={list(self.collapsed)} and {batching}={list(self.batching)} "
            f"must together be as many as the dimensions of {source}",
        )
        for name, numbers in ((window, self.window), (collapsed, self.collapsed), (batching, self.batching)):
            require(list(numbers) == sorted(numbers), f"{name}={list(numbers)} must be in ascending order")
        return [d for d in range(indices.rank) if d != self.vector]


def _gathering(instruction: Instruction) -> Indexing:
    attributes = instruction.attributes
    return Indexing(
        attributes["offset_dims"],
        attributes["collapsed_slice_dims"],
        attributes["start_index_map"],
        attributes["index_vector_dim"],
        attributes.get("operand_batching_dims", ()),
        attributes.get("start_indices_batching_dims", ()),
    )


def _infer_gather(instruction: Instruction) -> Shape:
    source, indices = operand(instruction, 0), operand(instruction, 1)
    indexing, sizes = _gathering(instruction), instruction.attributes["slice_sizes"]
    names = (
        "offset_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "operand_batching_dims",
        "start_indices_batching_dims",
    )
    batch = indexing.check(indices, source, names)
    require(len(sizes) == source.rank, f"slice_sizes={list(sizes)} must name a size for each dimension of {source}")
    for d, (size, n) in enumerate(zip(sizes, source.dims, strict=True)):
        require(
            size >= 0 and (n == UNBOUNDED or size <= n), f"slice size {size} does not fit dimension {d} of {source}"
        )
    for d in indexing.collapsed + indexing.batching:
        require(sizes[d] <= 1, f"slice size {sizes[d]} of dimension {d}, which is left out, must be at most 1")
    rank = len(batch) + len(indexing.window)
    distinct_dimensions(indexing.window, rank, "offset_dims")
    # A window is as long as a dynamic dimension where it takes all of it.
    whole = [d if size == n else -1 for d, (size, n) in enumerate(zip(sizes, source.dims, strict=True))]
    window = ArrayShape(source.element_type, tuple(sizes), pick_dynamic(source, whole))
    inner, outer = iter(indexing.kept(source.rank)), iter(batch)
    origins = [(window, next(inner)) if d in indexing.window else (indices, next(outer)) for d in range(rank)]
    return ArrayShape(source.element_type, tuple(shape.dims[d] for shape, d in origins), trace_dynamic(origins))


def _gather(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Array:
    source, indices = values
    indexing, shape = _gathering(instruction), instruction.operands[0].array
    # All of a dimension is all that there is of it.
    bounds = zip(instruction.attributes["slice_sizes"], source.shape, shape.dims, strict=True)
    sizes = [n if size == bound else size for size, n, bound in bounds]
    _check_room(sizes, source.shape)
    kept = indexing.kept(source.ndim)
    starts = indexing.starts(indices, source.ndim, kept)
    at = [np.clip(start, 0, n - size) for start, n, size in zip(starts, source.shape, sizes, strict=True)]
    for position, d in enumerate(kept):
        at[d] = at[d] + np.arange(sizes[d]).reshape([-1 if k == position else 1 for k in range(len(kept))])
    batch = [n for d, n in enumerate(indices.shape) if d != indexing.vector]
    dims = (*batch, *(sizes[d] for d in kept))
    if 0 in dims or 0 in source.shape or 0 in sizes:  # there is nothing to take: XLA gives zeros, too
        gathered = np.zeros(dims, source.dtype)
    else:
        gathered = np.broadcast_to(source[tuple(at)], dims)
    return np.moveaxis(gathered, range(len(batch), len(dims)), indexing.window)


def _scattering(instruction: Instruction) -> Indexing:
    attributes = instruction.attributes
    return Indexing(
        attributes["update_window_dims"],
        attributes["inserted_window_dims"],
        attributes["scatter_dims_to_operand_dims"],
        attributes["index_vector_dim"],
        attributes.get("input_batching_dims", ()),
        attributes.get("scatter_indices_batching_dims", ()),
    )


def _infer_scatter(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    count = len(shapes) // 2
    require(
        len(shapes) % 2 == 1 and count, f"scatter takes arrays, indices and as many updates, not {len(shapes)} operands"
    )
    sources, indices, updates = shapes[:count], shapes[count], shapes[count + 1 :]
    for index, (source, update) in enumerate(zip(sources, updates, strict=True)):
        require(dims_agree(sources[0], source), f"operands 0 and {index} of scatter differ: {sources[0]} and {source}")
        require(dims_agree(updates[0], update), f"updates 0 and {index} of scatter differ: {updates[0]} and {update}")
    _check_updates(_scattering(instruction), sources[0], indices, updates[0])
    scalars = [ArrayShape(shape.element_type, ()) for shape in (*sources, *updates)]
    root = signature(instruction, instruction.attributes["to_apply"], scalars)
    results = root.elements if isinstance(root, TupleShape) else (root,)
    require(len(results) == count, f"to_apply yields {root} but {count} arrays are scattered into")
    return tuple_or_single([ArrayShape(source.element_type, source.dims, source.dynamic) for source in sources])


def _check_updates(indexing: Indexing, source: ArrayShape, indices: ArrayShape, update: ArrayShape) -> None:
    names = (
        "update_window_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
    )
    batch = [indices.dims[d] for d in indexing.check(indices, source, names)]
    distinct_dimensions(indexing.index_map + indexing.batching, source.rank, f"{names[2]} and {names[3]}")
    distinct_dimensions(indexing.window, update.rank, "update_window_dims")
    outer = [n for d, n in enumerate(update.dims) if d not in indexing.window]
    same = len(outer) == len(batch) and all(a == b or UNBOUNDED in (a, b) for a, b in zip(outer, batch, strict=True))
    require(same, f"outside of its windows the update {update} must have the dimensions {batch} of the indices")
    for d, dim in zip(indexing.kept(source.rank), indexing.window, strict=True):
        fits = update.dims[dim] <= source.dims[d] or source.dims[d] == UNBOUNDED
        require(fits, f"dimension {dim} of the update {update} does not fit dimension {d} of {source}")


def _scatter(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    count = len(values) // 2
    sources, indices, updates = values[:count], values[count], values[count + 1 :]
    indexing, rank = _scattering(instruction), sources[0].ndim
    outer = [d for d in range(updates[0].ndim) if d not in indexing.window]
    order = (*outer, *indexing.window)
    moved = [update.transpose(order) for update in updates]
    kept, sizes = indexing.kept(rank), moved[0].shape[len(outer) :]
    flat = np.zeros((1,) * len(order), np.int64)
    inside = np.ones(flat.shape, np.bool_)
    starts = indexing.starts(indices, rank, kept)
    for d, (start, n) in enumerate(zip(starts, sources[0].shape, strict=True)):
        size = sizes[kept.index(d)] if d in kept else 1
        inside = inside & (start >= 0) & (start <= n - size)
        position = start + np.arange(size).reshape([-1 if k == d else 1 for k in kept]) if d in kept else start
        flat = flat * n + position
    chosen = np.broadcast_to(inside, moved[0].shape)
    positions = np.broadcast_to(flat, moved[0].shape)[chosen]
    results = scatter_flat(
        instruction.attributes["to_apply"],
        [source.reshape(-1) for source in sources],
        positions,
        [update[chosen] for update in moved],
        [o.array.element_type for o in instruction.operands[:count]],
        evaluator,
    )
    shaped = tuple(result.reshape(sources[0].shape) for result in results)
    return shaped if count > 1 else shaped[0]


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "dynamic-slice",
            (1, None),
            _infer_dynamic_slice,
            _dynamic_slice,
            "A part of fixed size from starts known at run time.",
            required=("dynamic_slice_sizes",),
            traits=Trait.MOVES | Trait.PARTIAL | Trait.INDEXED | Trait.EXACT,
        ),
        Op(
            "dynamic-update-slice",
            (2, None),
            _infer_dynamic_update_slice,
            _dynamic_update_slice,
            "Replace a part from starts known at run time.",
            traits=Trait.SELECTS | Trait.INDEXED | Trait.EXACT | Trait.EXPENSIVE,
        ),
        Op(
            "gather",
            (2, 2),
            _infer_gather,
            _gather,
            "Windows of an array at given indices.",
            required=("offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim", "slice_sizes"),
            optional=("indices_are_sorted", "operand_batching_dims", "start_indices_batching_dims"),
            traits=Trait.SELECTS | Trait.PARTIAL | Trait.INDEXED | Trait.EXACT | Trait.EXPENSIVE,
        ),
        Op(
            "scatter",
            (3, None),
            _infer_scatter,
            _scatter,
            "Combine updates into an array at given indices.",
            required=(
                "update_window_dims",
                "inserted_window_dims",
                "scatter_dims_to_operand_dims",
                "index_vector_dim",
                "to_apply",
            ),
            optional=(
                "indices_are_sorted",
                "unique_indices",
                "input_batching_dims",
                "scatter_indices_batching_dims",
            ),
            traits=Trait.INDEXED | Trait.ACCUMULATES | Trait.COMBINES | Trait.EXACT,
        ),
    )
}
