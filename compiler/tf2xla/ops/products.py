"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.expansion.expression import Expression
from compiler.expansion.matrices import conjugate, real
from compiler.ir.types import wider
from compiler.ops.build import build
from compiler.tf2xla.broadcasting import common_dims, spread
from compiler.tf2xla.operation import Operation
from compiler.tf2xla.record import record, table


def _matmul(operation: Operation) -> Expression:
    a, b = operation["a"], operation["b"]
    _check_ranks(operation, (a, b), most=2)
    first, second = operation.attribute("transpose_a"), operation.attribute("transpose_b")
    return _product(operation, a, b, 0 if first else 1, 1 if second else 0)


def _check_ranks(operation: Operation, given: Sequence[Expression], most: int | None) -> None:
    for one in given:
        if len(one.dims) < 2 or (most is not None and len(one.dims) > most):
            raise operation.invalid(f"it multiplies matrices, not arrays of the sizes {list(one.dims)}")


def _product(
    operation: Operation, a: Expression, b: Expression, of_a: int, of_b: int, batch: Sequence[int] = ()
) -> Expression:
    """The sums of products along one dimension of each, for each index of the batch."""
    fits = a.dims[of_a] == b.dims[of_b]
    operation.require(fits, lambda: f"matrices of the sizes {list(a.dims)} and {list(b.dims)} do not go together")
    batches: dict[str, Any] = {"lhs_batch_dims": tuple(batch), "rhs_batch_dims": tuple(batch)} if batch else {}
    return Expression(
        build(
            operation.computation,
            "dot",
            [a.instruction, b.instruction],
            lhs_contracting_dims=(of_a,),
            rhs_contracting_dims=(of_b,),
            **batches,
        )
    )


def _batch_matmul(operation: Operation) -> Expression:
    return _products(operation, operation["x"], operation["y"])


def _mixed_batch_matmul(operation: Operation) -> Expression:
    """Products are summed in the widest of the three types, as XLA does it, and the sums become the result's."""
    x, y, target = operation["x"], operation["y"], operation.attribute("Tout").element_type
    wide = wider(wider(x.type, y.type), target)
    sums = _products(operation, x.to(wide), y.to(wide))
    return (real(sums) if wide.is_complex and not target.is_complex else sums).to(target)


def _products(operation: Operation, x: Expression, y: Expression) -> Expression:
    _check_ranks(operation, (x, y), most=None)
    batch = common_dims(operation, x.dims[:-2], y.dims[:-2])
    x, y = (spread(one, (*batch, *one.dims[-2:])) for one in (x, y))
    first, second = operation.attribute("adj_x"), operation.attribute("adj_y")
    x, y = (conjugate(one) if turned else one for one, turned in ((x, first), (y, second)))
    rows, columns = len(batch), len(batch) + 1
    of_x, of_y = (rows if first else columns), (columns if second else rows)
    return _product(operation, x, y, of_x, of_y, range(len(batch)))


_TYPES = "floats complexes int32 int64 uint8 uint16 uint32 uint64"
_MIXED = "floats complexes ints uint8"
_TURNS = "adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; grad_y: bool = false"
RECORDS = table(
    record(
        "MatMul",
        f"a: T, b: T -> product: T; T: {{{_TYPES}}}; transpose_a: bool = false; transpose_b: bool = false; "
        "grad_a: bool = false; grad_b: bool = false",
        _matmul,
        "The product of two matrices.",
    ),
    record(
        "BatchMatMul",
        f"x: T, y: T -> output: T; T: {{floats complexes int32 int64}}; {_TURNS}",
        _batch_matmul,
        "Products of matrices, under its older name.",
    ),
    record(
        "BatchMatMulV2",
        f"x: T, y: T -> output: T; T: {{{_TYPES} int16}}; {_TURNS}",
        _batch_matmul,
        "Products of matrices, spread over each other.",
    ),
    record(
        "BatchMatMulV3",
        f"x: Ta, y: Tb -> output: Tout; Ta: {{{_MIXED}}}; Tb: {{{_MIXED}}}; "
        f"Tout: {{floats complexes int16 int32 int64}}; {_TURNS}",
        _mixed_batch_matmul,
        "Products of matrices, spread over each other, summed in a type of their own.",
    ),
)
