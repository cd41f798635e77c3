"""Elements at places that are known at run time only.

The kernels on CPUs refuse an index that is out of range.  Compiled code cannot: XLA moves such an index to the nearest
that there is, and so does this.
"""

from __future__ import annotations

from typing import Any

from compiler.expansion.expression import Expression, iota
from compiler.ir.types import S32
from compiler.ops.build import build
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table
from compiler.tf2xla.scattering import depth_of


def _gather(operation: Operation) -> Expression:
    axis = operation.integer("axis")
    params, indices = operation["params"], operation["indices"]
    batch, most = operation.attribute("batch_dims"), len(indices.dims)
    operation.require(-most <= batch <= most, f"batch_dims {batch} is none of {most} dimensions of indices")
    batch += most if batch < 0 else 0
    return gathered(operation, params, indices, operation.axis(axis, len(params.dims)), batch)


def _gather_rows(operation: Operation) -> Expression:
    return gathered(operation, operation["params"], operation["indices"], 0, 0)


def gathered(operation: Operation, params: Expression, indices: Expression, axis: int, batch: int) -> Expression:
    """Slices of `params` along an axis, one for each index; the first `batch` dimensions go along with each other.

    Args:
        operation: the node.
        params: the array.
        indices: integers.
        axis: of `params`, along which the slices are numbered.
        batch: dimensions that both begin with.
    """
    operation.require(batch <= axis, f"batch_dims {batch} is greater than the axis {axis}")
    same = params.dims[:batch] == indices.dims[:batch]
    operation.require(same, lambda: f"the first {batch} sizes of {list(params.dims)} and {list(indices.dims)} differ")
    outer, inner = params.dims[batch:axis], params.dims[axis + 1 :]
    dims = (*params.dims[:batch], *outer, *indices.dims[batch:], *inner)
    if 0 in params.dims or 0 in dims:
        fits = 0 in dims
        operation.require(fits, "it takes elements of an array that has none")
        return operation.full(0, params.type, dims)
    count = len(indices.dims) - batch
    first = batch + len(outer)
    offset = (*range(batch, first), *range(first + count, first + count + len(inner)))
    slices = [1 if number < batch or number == axis else size for number, size in enumerate(params.dims)]
    along: dict[str, Any] = {}
    if batch:
        along = {"operand_batching_dims": tuple(range(batch)), "start_indices_batching_dims": tuple(range(batch))}
    gather = build(
        operation.computation,
        "gather",
        [params.instruction, indices.instruction],
        offset_dims=offset,
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        index_vector_dim=len(indices.dims),
        slice_sizes=tuple(slices),
        **along,
    )
    return Expression(gather)


def _gather_nd(operation: Operation) -> Expression:
    return gathered_deep(operation, operation["params"], operation["indices"])


def gathered_deep(operation: Operation, params: Expression, indices: Expression) -> Expression:
    """Slices of `params`, one for each vector of indices.

    Args:
        operation: the node.
        params: the array.
        indices: of which the last dimension holds vectors.
    """
    depth = depth_of(operation, params.dims, indices)
    dims = (*indices.dims[:-1], *params.dims[depth:])
    if 0 in params.dims or 0 in dims:
        operation.require(0 in dims, "it takes elements of an array that has none")
        return operation.full(0, params.type, dims)
    rank = len(indices.dims) - 1
    gather = build(
        operation.computation,
        "gather",
        [params.instruction, indices.instruction],
        offset_dims=tuple(range(rank, len(dims))),
        collapsed_slice_dims=tuple(range(depth)),
        start_index_map=tuple(range(depth)),
        index_vector_dim=rank,
        slice_sizes=(*(1,) * depth, *params.dims[depth:]),
    )
    return Expression(gather)


def _one_hot(operation: Operation) -> Expression:
    """On where the index is that of the new dimension, off elsewhere: everywhere for an index out of range."""
    indices, on, off = operation["indices"], operation["on_value"], operation["off_value"]
    operation.require(not on.dims and not off.dims, "on_value and off_value must be scalars")
    depths = operation.integers("depth")
    operation.require(
        len(depths) == 1 and depths[0] >= 0, f"its depth must be one number, not negative: {list(depths)}"
    )
    axis = operation.axis(operation.attribute("axis"), len(indices.dims) + 1)
    dims = (*indices.dims[:axis], depths[0], *indices.dims[axis:])
    others = [number for number in range(len(dims)) if number != axis]
    if indices.type.bits < S32.bits:
        indices = indices.to(S32)  # which holds every depth
    positions = iota(operation.computation, indices.type, dims, axis)
    return indices.spread(dims, others).compare("EQ", positions).where(on, off)


RECORDS = table(
    record(
        "GatherV2",
        "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams; Tparams: {any}; "
        "Tindices: {int16 int32 int64}; Taxis: {index}; batch_dims: int = 0",
        _gather,
        "Slices along an axis, by their numbers.",
        constants=("axis",),
    ),
    record(
        "Gather",
        "params: Tparams, indices: Tindices -> output: Tparams; Tparams: {any}; Tindices: {index}; "
        "validate_indices: bool = true",
        _gather_rows,
        "Rows by their numbers, under its older name.",
    ),
    record(
        "GatherNd",
        "params: Tparams, indices: Tindices -> output: Tparams; Tparams: {any}; Tindices: {int16 int32 int64}; "
        "bad_indices_policy: string = ''",
        _gather_nd,
        "Slices by vectors of indices.",
    ),
    record(
        "OneHot",
        "indices: TI, depth: int32, on_value: T, off_value: T -> output: T; T: {any}; "
        "TI: {uint8 int8 int32 int64} = int64; axis: int = -1",
        _one_hot,
        "One number where the index is, another elsewhere.",
        constants=("depth",),
    ),
)
