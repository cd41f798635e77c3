"""Replace cholesky of complex matrices by a loop, and triangular-solve of them by that of real ones twice the size.

The number a + bi is the 2 by 2 matrix [[a, -b], [b, a]]: sums and products of complex numbers are sums and products of
such matrices.  With a block for each element, a triangular matrix stays triangular where its diagonal is real, so that
systems are first divided by theirs.  Cholesky's factor of a matrix of blocks is one of blocks as well, but not when
rounded: behind a small pivot the columns of a block are different numbers, and neither is of a factor of the complex
matrix.  All in f64, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from compiler.expansion.elimination import cholesky
from compiler.expansion.expression import Expression, concatenate, iota
from compiler.expansion.replacement import expand
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.types import C128, S32
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(
        module, fuel, {"cholesky": _of_complex(_cholesky), "triangular-solve": _of_complex(_triangular_solve)}
    )


def _of_complex(rule: Callable[[Instruction], Expression]) -> Callable[[Instruction], Instruction | None]:
    def expansion(instruction: Instruction) -> Instruction | None:
        element_type = instruction.array.element_type
        return rule(instruction).to(element_type).instruction if element_type.is_complex else None

    return expansion


def _components(z: Expression) -> tuple[Expression, Expression]:
    return z.apply("real"), z.apply("imag")


def _on_diagonal(matrix: Expression) -> Expression:
    computation, rank = matrix.instruction.computation, len(matrix.dims)
    row, column = (iota(computation, S32, matrix.dims, rank + d) for d in (-2, -1))
    return row.compare("EQ", column)


def _diagonal(matrix: Expression) -> Expression:
    """The elements of the diagonal, one for each row."""
    chosen, zero = _on_diagonal(matrix), matrix.apply("real").literal(0)
    real, imaginary = (chosen.where(component, zero).sum(len(matrix.dims) - 1) for component in _components(matrix))
    return real.apply("complex", imaginary)


def _blocks(matrix: Expression) -> Expression:
    """The matrix of blocks; the diagonal is taken to be real."""
    *batch, rows, columns = matrix.dims
    real, imaginary = _components(matrix)
    imaginary = _on_diagonal(matrix).where(imaginary.literal(0), imaginary)
    lines = []
    for left, right in ((real, -imaginary), (imaginary, real)):
        pair = [component.reshape(*batch, rows, 1, columns, 1) for component in (left, right)]
        lines.append(concatenate(pair, len(batch) + 3))
    return concatenate(lines, len(batch) + 1).reshape(*batch, 2 * rows, 2 * columns)


def _adjoint(matrix: Expression, *, conjugate: bool = True) -> Expression:
    """The transpose, conjugated or not."""
    rank = len(matrix.dims)
    turned = matrix.transpose(*range(rank - 2), rank - 1, rank - 2)
    if not conjugate:
        return turned
    real, imaginary = _components(turned)
    return real.apply("complex", -imaginary)


def _cholesky(instruction: Instruction) -> Expression:
    matrix = Expression(instruction.operands[0]).to(C128)
    if 0 in matrix.dims:
        return matrix
    lower = instruction.attributes.get("lower", False)
    if not lower:
        matrix = _adjoint(matrix)
    factor = cholesky(matrix.reshape(prod(matrix.dims[:-2]), *matrix.dims[-2:])).reshape(*matrix.dims)
    return factor if lower else _adjoint(factor)


def _triangular_solve(instruction: Instruction) -> Expression:
    attributes = instruction.attributes
    matrix, right = (Expression(operand).to(C128) for operand in instruction.operands)
    lower, left_side = attributes.get("lower", False), attributes.get("left_side", False)
    transpose = attributes.get("transpose_a", "NO_TRANSPOSE")
    if transpose != "NO_TRANSPOSE":
        matrix, lower = _adjoint(matrix, conjugate=transpose == "ADJOINT"), not lower
    if not left_side:
        # x a = b is a' x' = b'.
        matrix, right, lower = _adjoint(matrix, conjugate=False), _adjoint(right, conjugate=False), not lower
    if not attributes.get("unit_diagonal", False):
        diagonal, rows = _diagonal(matrix), range(len(matrix.dims) - 1)
        matrix, right = (array / diagonal.spread(array.dims, rows) for array in (matrix, right))
    solution = _solve(matrix, right, lower=lower)
    return solution if left_side else _adjoint(solution, conjugate=False)


def _solve(matrix: Expression, right: Expression, *, lower: bool) -> Expression:
    """The solution of a triangular system with ones on the diagonal."""
    *batch, rows, columns = right.dims
    sides = concatenate(
        [component.reshape(*batch, rows, 1, columns) for component in _components(right)], len(batch) + 1
    )
    operands = [_blocks(matrix), sides.reshape(*batch, 2 * rows, columns)]
    solution = Expression(
        build(
            right.instruction.computation,
            "triangular-solve",
            [operand.instruction for operand in operands],
            left_side=True,
            lower=lower,
            unit_diagonal=True,
            transpose_a="NO_TRANSPOSE",
        )
    ).reshape(*batch, rows, 2, columns)
    whole = [(0, n) for n in (*batch, rows)]
    real, imaginary = (
        solution.slice(*whole, (component, component + 1), (0, columns)).reshape(*right.dims) for component in (0, 1)
    )
    return real.apply("complex", imaginary)
