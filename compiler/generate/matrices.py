"""Matrices that factorisations and solvers want: definite ones, and what is far from singular, in batches or alone."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.generate.choices import chance, pick
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType

_FAR = 8.0
"""What is added to a diagonal."""

_BATCHES, _BATCH_PERCENT = ((1,), (2,), (3,), (2, 2), (5,), (3, 3)), 50
"""Dimensions before those of matrices, and how often there are any: so many that threads have some each, of which not
all have the same number."""


def batches(scope: Scope) -> tuple[int, ...]:
    """How many matrices there are: mostly one."""
    return pick(scope.choices, _BATCHES) if chance(scope.choices, _BATCH_PERCENT) else ()


def numbers(scope: Scope, size: int, batch: Sequence[int] = ()) -> list[Instruction]:
    """The number of its row for each element of square matrices, and that of its column.

    Args:
        scope: where instructions are added.
        size: rows, and columns.
        batch: dimensions before these.
    """
    shape, first = ArrayShape(S32, (*batch, size, size)), len(batch)
    return [scope.build("iota", shape=shape, iota_dimension=first + axis) for axis in (0, 1)]


def diagonal(scope: Scope, element_type: ElementType, size: int, batch: Sequence[int] = ()) -> Instruction:
    """A multiple of the identity, as often as a batch has matrices.

    Args:
        scope: where instructions are added.
        element_type: of the elements.
        size: rows, and columns.
        batch: dimensions before these.
    """
    shape = ArrayShape(element_type, (*batch, size, size))
    inside = scope.build("compare", numbers(scope, size, batch), direction="EQ")
    filled = [
        scope.build("broadcast", [scope.constant(value, element_type)], shape=shape, dimensions=())
        for value in (_FAR, 0.0)
    ]
    return scope.build("select", [inside, *filled])


def positive_definite(scope: Scope, element_type: ElementType, size: int, batch: Sequence[int] = ()) -> Instruction:
    """Matrices times their adjoints, plus a multiple of the identity.

    Args:
        scope: where instructions are added.
        element_type: of the elements.
        size: rows, and columns.
        batch: dimensions before these.
    """
    half = conjugate = scope.like(ArrayShape(element_type, (*batch, size, size)))
    if element_type.is_complex:
        real, imaginary = (scope.build(piece, [half]) for piece in ("real", "imag"))
        conjugate = scope.build("complex", [real, scope.build("negate", [imaginary])])
    first, last = tuple(range(len(batch))), (len(batch) + 1,)
    square = scope.build(
        "dot",
        [half, conjugate],
        lhs_contracting_dims=last,
        rhs_contracting_dims=last,
        **({"lhs_batch_dims": first, "rhs_batch_dims": first} if batch else {}),
    )
    return scope.build("add", [square, diagonal(scope, element_type, size, batch)])
