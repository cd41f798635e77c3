"""A sparse matrix by its rows times a dense one, which JAX calls by name on the CPU, becomes a gather and a scatter.

The row of an element is how many rows start at its place or before, less one: ones scattered to the starts, summed from
the left.  Padding has the number of no row, and a scatter drops what falls outside.
"""

from __future__ import annotations

from compiler.expansion.expression import Expression, adder, number, rows_of
from compiler.expansion.replacement import expand
from compiler.ir import csr
from compiler.ir.attributes import WindowDimension
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.types import S32
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, {"custom-call": _product})


def _product(call: Instruction) -> Instruction | None:
    if not csr.is_product(call):
        return None
    elements, starts, columns, right = (Expression(operand) for operand in call.operands)
    zeros = elements.literal(0).spread(call.array.dims, ())
    if not right.dims[0] or not elements.dims[0]:
        return zeros.instruction
    read = rows_of(right, columns)
    terms = elements.spread(read.dims, (0,)) * read
    return _added(zeros, _rows(starts, elements.dims[0]), terms).instruction


def _rows(starts: Expression, count: int) -> Expression:
    """The number of each element's row."""
    computation = starts.instruction.computation
    assert computation.module is not None
    none, one = number(computation, 0, S32), number(computation, 1, S32)
    begun = _added(none.spread((count,), ()), starts, one.spread(starts.dims, ()))
    window = (WindowDimension(count, pad_low=count - 1),)
    operands, add = [begun.instruction, none.instruction], adder(computation.module, S32)
    return Expression(build(computation, "reduce-window", operands, window=window, to_apply=add)) - 1


def _added(target: Expression, rows: Expression, terms: Expression) -> Expression:
    """Each term added to the row of its number, if there is one."""
    computation = target.instruction.computation
    assert computation.module is not None
    return Expression(
        build(
            computation,
            "scatter",
            [target.instruction, rows.instruction, terms.instruction],
            update_window_dims=tuple(range(1, len(target.dims))),
            inserted_window_dims=(0,),
            scatter_dims_to_operand_dims=(0,),
            index_vector_dim=1,
            to_apply=adder(computation.module, target.type),
        )
    )
