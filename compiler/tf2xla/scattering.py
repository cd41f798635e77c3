"""Scatters of TensorFlow: elements put, or combined, at indices known at run time; one out of range changes nothing.

The kernels on CPUs refuse such a place.  Compiled code cannot: XLA leaves it out, and so does this.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import Expression
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType
from compiler.ops.build import build, parameter
from compiler.tf2xla.operation import Operation


def combine_rows(
    operation: Operation, x: Expression, indices: Expression, updates: Expression, opcode: str | None
) -> Expression:
    """Rows of x, by their numbers, combined with others by an opcode, or replaced; a scalar is combined with all.

    Args:
        operation: the node.
        x: the array.
        indices: numbers of rows, of any dimensions.
        updates: a row for each index, or a scalar.
        opcode: HLO's; None for those that replace.
    """
    wanted = (*indices.dims, *x.dims[1:])
    operation.require(x.dims, "it takes rows, not a scalar")
    if not updates.dims and wanted:
        updates = updates.spread(wanted, ())
    operation.require(
        updates.dims == wanted, lambda: f"its updates must have the sizes {list(wanted)}, and have {list(updates.dims)}"
    )
    return scattered(x, indices.reshape(*indices.dims, 1), updates, opcode)


def scattered(x: Expression, indices: Expression, updates: Expression, opcode: str | None) -> Expression:
    """Slices of x combined with updates; the last dimension of the indices is the place of a slice.

    Updates have the sizes of the indices without the last dimension, then those of a slice.

    Args:
        x: the array.
        indices: vectors along the last dimension.
        updates: of the sizes of the indices without the last, then those of a slice.
        opcode: HLO's; None for those that replace.
    """
    computation = x.instruction.computation
    module = computation.module
    assert module is not None
    depth, outer = indices.dims[-1], len(indices.dims) - 1
    if 0 in updates.dims or 0 in x.dims:
        return x
    return Expression(
        build(
            computation,
            "scatter",
            [x.instruction, indices.instruction, updates.instruction],
            update_window_dims=tuple(range(outer, len(updates.dims))),
            inserted_window_dims=tuple(range(depth)),
            scatter_dims_to_operand_dims=tuple(range(depth)),
            index_vector_dim=outer,
            to_apply=_combine(module, opcode, x.type),
        )
    )


def _combine(module: Module, opcode: str | None, element_type: ElementType) -> Computation:
    """What is there and an update to what shall be there."""
    made = Computation(f"{opcode or 'replace'}.{element_type}")
    old, new = [parameter(made, number, ArrayShape(element_type, ())) for number in (0, 1)]
    made.root = new if opcode is None else build(made, opcode, [old, new])
    return module.add_computation(made)


def depth_of(operation: Operation, dims: Sequence[int], indices: Expression) -> int:
    """How many dimensions of an array a vector of indices names.

    Args:
        operation: the node.
        dims: of the array.
        indices: vectors along the last dimension.
    """
    operation.require(indices.dims, "its indices must not be a scalar")
    depth = indices.dims[-1]
    operation.require(depth <= len(dims), lambda: f"{depth} indices are more than {list(dims)} has dimensions")
    return depth
