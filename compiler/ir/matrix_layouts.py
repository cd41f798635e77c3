"""How matrices lie in memory that LAPACK's routines are called with: by columns.

XLA hands a routine memory as the call states it, `operand_layout_constraints` and the layouts of results, and by rows
where nothing is stated: then the routine reads each matrix as another one.  Here a call means matrices, and what is
not stated is what the routine takes; so it is written out before XLA is given the program.  A call that states anything
else is of another matrix than is written, and has no meaning here.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, Layout, Shape, TupleShape, leaves

_CONSTRAINTS = "operand_layout_constraints"
_OF_MATRIX = 2
"""Dimensions of a matrix; with fewer there is nothing to store by columns."""


def by_columns(shape: ArrayShape, rank: int) -> ArrayShape:
    """The shape with a layout in which each matrix is stored by columns, of so many dimensions with its batch."""
    if shape.rank < rank or rank < _OF_MATRIX:
        return shape
    outer = range(shape.rank - 3, -1, -1)
    return shape.with_layout(Layout((shape.rank - 2, shape.rank - 1, *outer)))


def state_columns(call: Instruction) -> None:
    """Write the layouts of a routine's operands and results where none are written.

    Args:
        call: of a routine of LAPACK's, which is changed.
    """
    rank = _rank(call)
    constraints = call.attributes.get(_CONSTRAINTS, [operand.shape for operand in call.operands])
    call.attributes[_CONSTRAINTS] = tuple(
        _stated(shape if _CONSTRAINTS in call.attributes else _bare(shape), rank) for shape in constraints
    )
    call.shape = _stated(call.shape, rank)


def _bare(shape: Shape) -> Shape:
    return shape.with_layout(None) if isinstance(shape, ArrayShape) else shape


def _stated(shape: Shape, rank: int) -> Shape:
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(_stated(element, rank) for element in shape.elements))
    return by_columns(shape, rank) if isinstance(shape, ArrayShape) and shape.layout is None else shape


def is_by_columns(call: Instruction) -> bool:
    """Whether a call of a routine states no layout by which a matrix would not be stored by columns."""
    rank = _rank(call)
    return all(shape.layout is None or _order(shape) == _order(by_columns(shape, rank)) for shape in _written(call))


def _rank(call: Instruction) -> int:
    """The dimensions of a matrix with its batch: those of the largest operand, since each routine takes one."""
    return max((shape.rank for operand in call.operands for shape in leaves(operand.shape)), default=0)


def _written(call: Instruction) -> Iterator[ArrayShape]:
    for shape in (*call.attributes.get(_CONSTRAINTS, ()), call.shape):
        yield from leaves(shape)


def _order(shape: ArrayShape) -> tuple[int, ...]:
    """The dimensions that have several elements, from the fastest varying to the slowest."""
    order = range(shape.rank - 1, -1, -1) if shape.layout is None else shape.layout.minor_to_major
    return tuple(axis for axis in order if shape.dims[axis] != 1)
