"""Batches of matrices as formulas: what elimination, reflections and rotations are written in.

HLO has no word for a column, a diagonal or an adjoint, only slices, comparisons of indices and transposes.  The words
are here, each once, so that the algorithms read as they stand in books.  A batch of matrices is [batch, rows, columns],
a vector for each [batch, length], a value for each [batch]; steps of loops number rows and columns from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.expansion.expression import Expression, concatenate, iota
from compiler.ir.types import S32
from compiler.ops.build import build

# -- where ------------------------------------------------------------------------------------------------------------


def index_along(array: Expression, dimension: int) -> Expression:
    """The index along a dimension for each element."""
    return iota(array.instruction.computation, S32, array.dims, dimension)


def on_diagonal(matrix: Expression) -> Expression:
    """Whether an element stands on the diagonal."""
    return index_along(matrix, 1).compare("EQ", index_along(matrix, 2))


def along(vector: Expression, matrix: Expression, dimension: int) -> Expression:
    """A vector for each matrix, spread over the matrix along a dimension."""
    return vector.spread(matrix.dims, (0, dimension))


def each(value: Expression, other: Expression) -> Expression:
    """One value for each matrix, spread over an array that starts with the batch."""
    return value.spread(other.dims, (0,))


# -- parts ------------------------------------------------------------------------------------------------------------


def block(array: Expression, starts: Sequence[Expression], sizes: Sequence[int]) -> Expression:
    """The part of an array that begins at numbers known at run time and has these sizes.

    Args:
        array: the array.
        starts: one for each dimension, known at run time.
        sizes: of the part.
    """
    operands = [operand.instruction for operand in (array, *starts)]
    sizes = tuple(sizes)
    return Expression(build(array.instruction.computation, "dynamic-slice", operands, dynamic_slice_sizes=sizes))


def with_block(array: Expression, update: Expression, starts: Sequence[Expression]) -> Expression:
    """An array with another in it, which begins at numbers known at run time.

    Args:
        array: the array.
        update: what is written.
        starts: one for each dimension, known at run time.
    """
    operands = [operand.instruction for operand in (array, update, *starts)]
    return Expression(build(array.instruction.computation, "dynamic-update-slice", operands))


def line(array: Expression, dimension: int, at: Expression) -> Expression:
    """Row (dimension 1) or column (dimension 2) number `at` of each matrix.

    Args:
        array: a batch of matrices.
        dimension: 1 for rows, 2 for columns.
        at: the number of the line.
    """
    taken = block(array, _starts(array, dimension, at), [1 if d == dimension else n for d, n in enumerate(array.dims)])
    return taken.reshape(*(n for d, n in enumerate(array.dims) if d != dimension))


def with_line(array: Expression, dimension: int, value: Expression, at: Expression) -> Expression:
    """Each matrix with its row (dimension 1) or column (dimension 2) number `at` replaced.

    Args:
        array: a batch of matrices.
        dimension: 1 for a row, 2 for a column.
        value: the line.
        at: its number.
    """
    update = value.reshape(*(1 if d == dimension else n for d, n in enumerate(array.dims)))
    return with_block(array, update, _starts(array, dimension, at))


def _starts(array: Expression, dimension: int, at: Expression) -> list[Expression]:
    zero = at.literal(0)
    return [at if d == dimension else zero for d in range(len(array.dims))]


def only(vector: Expression, at: Expression) -> Expression:
    """Element number `at` of each vector."""
    return line(vector, 1, at)


def with_only(vector: Expression, value: Expression, at: Expression) -> Expression:
    """Each vector with its element number `at` replaced.

    Args:
        vector: a batch of vectors.
        value: the element.
        at: its number.
    """
    return with_line(vector, 1, value, at)


def rows_at(matrix: Expression, numbers: Expression) -> Expression:
    """Rows of each matrix by their numbers: one for each matrix, [batch], or several, [batch, count]."""
    batch, rows, columns = matrix.dims
    computation = matrix.instruction.computation
    numbered = iota(computation, S32, numbers.dims) * rows + numbers
    gathered = build(
        computation,
        "gather",
        [matrix.reshape(batch * rows, columns).instruction, numbered.reshape(*numbers.dims, 1).instruction],
        offset_dims=(len(numbers.dims),),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=len(numbers.dims),
        slice_sizes=(1, columns),
    )
    return Expression(gathered)


def column_at(matrix: Expression, numbers: Expression) -> Expression:
    """One column of each matrix, by its number: [batch]."""
    chosen = index_along(matrix, 2).compare("EQ", each(numbers, matrix))
    return by_components(matrix, lambda component: kept(chosen, component, 0).sum(2))


def corner(matrix: Expression, rows: int, columns: int) -> Expression:
    """The first rows and columns.

    Args:
        matrix: a batch of matrices.
        rows: how many are kept.
        columns: how many are kept.
    """
    return matrix.slice((0, matrix.dims[0]), (0, rows), (0, columns))


def padded(matrix: Expression, rows: int, columns: int) -> Expression:
    """With zeros behind the rows and columns, up to as many of them.

    Args:
        matrix: a batch of matrices.
        rows: how many there are then.
        columns: how many there are then.
    """
    for dimension, size in ((1, rows), (2, columns)):
        missing = size - matrix.dims[dimension]
        if missing:
            dims = tuple(missing if d == dimension else n for d, n in enumerate(matrix.dims))
            matrix = concatenate([matrix, matrix.literal(0).spread(dims, ())], dimension)
    return matrix


def turned_round(array: Expression) -> Expression:
    """Rows and columns in the opposite order."""
    return array.apply("reverse", dimensions=tuple(range(1, len(array.dims))))


def next_along(array: Expression, dimension: int) -> Expression:
    """For each element the one behind it along a dimension; 0 at the end."""
    return concatenate([cut(array, dimension, 1, array.dims[dimension]), _zeros(array, dimension)], dimension)


def previous_along(array: Expression, dimension: int) -> Expression:
    """For each element the one in front of it along a dimension; 0 at the start."""
    return concatenate([_zeros(array, dimension), cut(array, dimension, 0, array.dims[dimension] - 1)], dimension)


def cut(array: Expression, dimension: int, start: int, stop: int) -> Expression:
    """A part along a dimension.

    Args:
        array: the array.
        dimension: along which it is cut.
        start: the first element.
        stop: the one beyond the last.
    """
    return array.slice(*((start, stop) if d == dimension else (0, n) for d, n in enumerate(array.dims)))


def _zeros(array: Expression, dimension: int) -> Expression:
    return array.literal(0).spread([1 if d == dimension else n for d, n in enumerate(array.dims)], ())


def diagonal(matrix: Expression) -> Expression:
    """The diagonal of each matrix."""
    here = on_diagonal(matrix)
    return by_components(matrix, lambda component: here.where(component, component.literal(0)).sum(2))


# -- numbers ----------------------------------------------------------------------------------------------------------


def real(value: Expression) -> Expression:
    """The real part."""
    return value.apply("real") if value.type.is_complex else value


def alike(value: Expression, other: Expression) -> Expression:
    """A real array in the type of another, which may be complex."""
    return value.apply("complex", value.literal(0)) if other.type.is_complex else value


def by_components(value: Expression, linear: Callable[[Expression], Expression]) -> Expression:
    """The value of a real-linear function of an array, by way of real and imaginary part."""
    if not value.type.is_complex:
        return linear(value)
    return linear(value.apply("real")).apply("complex", linear(value.apply("imag")))


def conjugate(value: Expression) -> Expression:
    """The complex conjugate."""
    return value.apply("real").apply("complex", -value.apply("imag")) if value.type.is_complex else value


def squares(value: Expression) -> Expression:
    """|x|^2 for each element."""
    size = value.apply("abs")
    return size * size


def nonzero(value: Expression) -> Expression:
    """The value, to be divided by: 1 where it is 0; NaN stays."""
    return value.compare("EQ", 0).where(value.literal(1), value)


def kept(condition: Expression, value: Expression, otherwise: complex) -> Expression:
    """The value where a condition holds, elsewhere a number.

    Args:
        condition: predicates, of the value's shape.
        value: any array.
        otherwise: a number of its type.
    """
    return condition.where(value, value.literal(otherwise))


def is_finite(matrix: Expression) -> Expression:
    """Whether the moduli of all elements of each matrix are finite, so that it can be scaled; [batch]."""
    return matrix.apply("abs").largest(1, 2).compare("LT", np.inf)


def scaled(matrix: Expression) -> tuple[Expression, Expression]:
    """Each matrix divided by its greatest element, and that; 1 instead of 0 and of NaN."""
    largest = matrix.apply("abs").largest(1, 2)
    scale = kept(largest.compare("GT", 0), largest, 1)
    return matrix / each(alike(scale, matrix), matrix), scale


# -- products ---------------------------------------------------------------------------------------------------------


def adjoint(matrix: Expression) -> Expression:
    """The conjugate of the transpose."""
    return conjugate(matrix.transpose(0, 2, 1))


def hermitian(matrix: Expression, *, lower: bool) -> Expression:
    """The matrix of which one triangle is given."""
    given = index_along(matrix, 1).compare("GE" if lower else "LE", index_along(matrix, 2))
    return on_diagonal(matrix).where(alike(real(matrix), matrix), given.where(matrix, adjoint(matrix)))


def identity(matrix: Expression, size: int) -> Expression:
    """For each matrix the identity of a size, in its type."""
    square = matrix.literal(0).spread((matrix.dims[0], size, size), ())
    return on_diagonal(square).to(matrix.type)


def times(matrix: Expression, vector: Expression) -> Expression:
    """Matrix times vector."""
    return dot(matrix, vector, 2, 1)


def transposed_times(matrix: Expression, vector: Expression) -> Expression:
    """Vector times matrix."""
    return dot(matrix, vector, 1, 1)


def dot(left: Expression, right: Expression, left_summed: int, right_summed: int) -> Expression:
    """The products of a dimension of each, summed, in each of the batch.

    Args:
        left: an array whose leading dimensions are the batch's.
        right: another with the same batch.
        left_summed: the dimension that is summed, of the left one.
        right_summed: of the right one.
    """
    return Expression(
        build(
            left.instruction.computation,
            "dot",
            [left.instruction, right.instruction],
            lhs_batch_dims=(0,),
            rhs_batch_dims=(0,),
            lhs_contracting_dims=(left_summed,),
            rhs_contracting_dims=(right_summed,),
        )
    )
