"""Factorisations of batches of matrices written as loops over columns, as LAPACK has them: LU, QR, Cholesky's failure.

Matrices are [batch, rows, columns].  Each step reads one column and one row and changes the rest of the matrix in one
elementwise operation, which back ends do in place; steps are as LAPACK's unblocked routines have them, so pivots and
signs are LAPACK's.  They work in the type they are given.
"""

from __future__ import annotations

from compiler.analysis.counted_loop import counted_loop
from compiler.analysis.expression import Expression, iota, largest_of_row, number
from compiler.ir.module import Computation
from compiler.ir.types import S32
from compiler.ops.build import build


def place(matrix: Expression, dimension: int) -> Expression:
    """The index along a dimension for each element."""
    return iota(matrix.instruction.computation, S32, matrix.dims, dimension)


def line(matrix: Expression, dimension: int, at: Expression) -> Expression:
    """Row (dimension 1) or column (dimension 2) number `at` of each matrix: [batch, length]."""
    zero = at.literal(0).instruction
    starts = [at.instruction if d == dimension else zero for d in range(3)]
    sizes = tuple(1 if d == dimension else n for d, n in enumerate(matrix.dims))
    computation = matrix.instruction.computation
    taken = build(computation, "dynamic-slice", [matrix.instruction, *starts], dynamic_slice_sizes=sizes)
    return Expression(taken).reshape(*(n for d, n in enumerate(matrix.dims) if d != dimension))


def along(vector: Expression, matrix: Expression, dimension: int) -> Expression:
    """A vector for each matrix, [batch, length], spread over the matrix along a dimension."""
    return vector.spread(matrix.dims, (0, dimension))


def each(value: Expression, other: Expression) -> Expression:
    """One value for each matrix, [batch], spread over an array that starts with the batch."""
    return value.spread(other.dims, (0,))


def only(vector: Expression, at: Expression) -> Expression:
    """Element number `at` of each vector: [batch]."""
    computation = vector.instruction.computation
    starts = [at.literal(0).instruction, at.instruction]
    sizes = (vector.dims[0], 1)
    taken = build(computation, "dynamic-slice", [vector.instruction, *starts], dynamic_slice_sizes=sizes)
    return Expression(taken).reshape(vector.dims[0])


def magnitude(value: Expression) -> Expression:
    """|re| + |im|, by which LAPACK chooses pivots."""
    if not value.type.is_complex:
        return value.apply("abs")
    return value.apply("real").apply("abs") + value.apply("imag").apply("abs")


def conjugate(value: Expression) -> Expression:
    """The complex conjugate."""
    return value.apply("real").apply("complex", -value.apply("imag")) if value.type.is_complex else value


def lu(matrix: Expression) -> tuple[Expression, Expression, Expression]:
    """L and U in one matrix, the row (from 1) that each step swapped with, the first step with a zero pivot or 0."""
    computation = matrix.instruction.computation
    batch, rows, columns = matrix.dims
    steps = min(rows, columns)
    pivots = number(computation, 0, S32).spread((batch, steps), ())
    failed = number(computation, 0, S32).spread((batch,), ())

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        work, pivots, failed = state
        column = line(work, 2, k)
        size, row = magnitude(column), iota(k.instruction.computation, S32, column.dims, 1)
        below = row.compare("GE", k)
        greatest, chosen = largest_of_row(below.where(size, size.literal(-1)))
        zero = greatest.compare("EQ", 0)
        chosen = zero.where(k.spread(chosen.dims, ()), chosen)
        pivots = _written(pivots, chosen + 1, k)
        failed = (zero & failed.compare("EQ", 0)).where((k + 1).spread(failed.dims, ()), failed)
        return [_eliminated(work, column, chosen, zero, k), pivots, failed]

    work, pivots, failed = counted_loop("lu", steps, [matrix, pivots, failed], step)
    return work, pivots, failed


def _written(vectors: Expression, values: Expression, at: Expression) -> Expression:
    """Vectors with one element of each written."""
    update = values.reshape(values.dims[0], 1)
    starts = [at.literal(0).instruction, at.instruction]
    computation = vectors.instruction.computation
    operands = [vectors.instruction, update.instruction, *starts]
    return Expression(build(computation, "dynamic-update-slice", operands))


def _eliminated(
    work: Expression, column: Expression, chosen: Expression, zero: Expression, k: Expression
) -> Expression:
    """The matrix after rows k and `chosen` have changed places and column k has been eliminated below row k."""
    upper, other = line(work, 1, k), _rows(work, chosen)
    row = iota(k.instruction.computation, S32, column.dims, 1)
    is_chosen, is_k = row.compare("EQ", each(chosen, row)), row.compare("EQ", k)
    head, pivot = only(column, k), only(other, k)
    swapped = is_k.where(each(pivot, column), is_chosen.where(each(head, column), column))
    safe = zero.where(pivot.literal(1).spread(pivot.dims, ()), pivot)
    active = row.compare("GT", k) & each(zero, row).apply("not")
    factors = active.where(swapped / each(safe, swapped), swapped.literal(0))
    # What is not below row k loses nothing, what is not right of column k neither.
    at = place(work, 2)
    right = at.compare("GT", k)
    entries = along(is_k, work, 1).where(
        along(other, work, 2), along(is_chosen, work, 1).where(along(upper, work, 2), work)
    )
    reduced = entries - along(factors, work, 1) * along(other, work, 2)
    changed = along(active, work, 1)
    result = (changed & right).where(reduced, entries)
    return (changed & at.compare("EQ", k)).where(along(factors, work, 1), result)


def _rows(work: Expression, chosen: Expression) -> Expression:
    """One row of each matrix: [batch, columns]."""
    batch, rows, columns = work.dims
    computation = work.instruction.computation
    first = iota(computation, S32, (batch,)) * rows
    gathered = build(
        computation,
        "gather",
        [work.reshape(batch * rows, columns).instruction, (first + chosen).reshape(batch, 1).instruction],
        offset_dims=(1,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, columns),
    )
    return Expression(gathered)


def first_failure(matrix: Expression, failed: Expression) -> Expression:
    """The column (from 1) at which Cholesky's method fails on a lower triangle, or 0; no work where none `failed`."""
    computation = matrix.instruction.computation
    batch, size, _ = matrix.dims
    found = number(computation, 0, S32).spread((batch,), ())
    factor = matrix.literal(0).spread(matrix.dims, ())
    any_failed = failed.to(S32).sum(0).compare("GT", 0).to(S32)

    def step(k: Expression, state: list[Expression]) -> list[Expression]:
        matrix, factor, found, needed = state
        row = conjugate(line(factor, 1, k))
        known = _times(factor, row)
        rest = line(matrix, 2, k) - known
        pivot = only(rest, k)
        real = pivot.apply("real") if pivot.type.is_complex else pivot
        fails = real.compare("GT", 0).apply("not") & found.compare("EQ", 0)
        found = fails.where((k + 1).spread(found.dims, ()), found)
        root = real.apply("sqrt")
        scale = root.apply("complex", root.literal(0)) if pivot.type.is_complex else root
        index = iota(k.instruction.computation, S32, rest.dims, 1)
        column = index.compare("GE", k).where(rest / each(scale, rest), rest.literal(0))
        here = place(factor, 2).compare("EQ", k)
        return [matrix, here.where(along(column, factor, 1), factor), found, needed]

    def goes_on(_: Expression, state: list[Expression]) -> Expression:
        return state[3].compare("GT", 0)

    return counted_loop("first_failure", size, [matrix, factor, found, any_failed], step, goes_on)[2]


def _times(matrix: Expression, vector: Expression) -> Expression:
    """Matrix times vector, in each of the batch."""
    return _dot(matrix, vector, 2)


def transposed_times(matrix: Expression, vector: Expression) -> Expression:
    """Vector times matrix, in each of the batch."""
    return _dot(matrix, vector, 1)


def _dot(matrix: Expression, vector: Expression, summed: int) -> Expression:
    computation: Computation = matrix.instruction.computation
    return Expression(
        build(
            computation,
            "dot",
            [matrix.instruction, vector.instruction],
            lhs_batch_dims=(0,),
            rhs_batch_dims=(0,),
            lhs_contracting_dims=(summed,),
            rhs_contracting_dims=(1,),
        )
    )
