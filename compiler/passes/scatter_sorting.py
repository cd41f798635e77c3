"""Updates of a scatter are put in the order of the elements that they are for, so that each element finds its own.

scatter(x, i, u)  ->  scatter(x, sorted k, u taken in that order), indices_are_sorted=true

where k numbers the positions that the indices name, out of bounds the number of none.  The sort is stable: an element
gets its updates in the order in which it got them before, to the bit.  On a machine with many threads an element can
then find its first update by bisection; without an order it has to ask all, or all updates wait for each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.analysis.effects import control_predecessors
from compiler.expansion.expression import Expression, element, iota, number, rows_of
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ir.types import PRED, S32, S64
from compiler.ops.build import build, parameter

_MANY = 512
"""Windows from which sorting them takes less time than asking them one after the other."""
_SOME, _MANY_QUESTIONS = 32, 1 << 24
"""Windows from which that is so of large results, each element of which asks: so many questions in all take longer."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in list(module.computations):
        found = [i for i in computation.instructions if i.opcode == "scatter" and _gains(i) and not is_ordered(i)]
        awaited = control_predecessors(computation) if found else set()
        sorted_ = [i for i in found if i not in awaited and fuel.spend("sort updates", i)]
        for scatter in sorted_:
            scatter.replace_uses_with(_sorted(scatter))
        if sorted_:
            computation.remove(sorted_)
            computation.sort()
            changed = True
    if changed:
        module.sort_computations()
    return changed


def _gains(scatter: Instruction) -> bool:
    """Whether there are many updates, each for one position of the dimensions that are scattered, several perhaps."""
    attributes = scatter.attributes
    if len(scatter.operands) != 3 or attributes.get("unique_indices", False):
        return False
    if attributes.get("indices_are_sorted", False) or attributes.get("input_batching_dims", ()):
        return False
    scattered = attributes["scatter_dims_to_operand_dims"]
    positions = math.prod(scatter.array.dims[d] for d in scattered)
    by_element = set(scattered) <= set(attributes.get("inserted_window_dims", ()))
    windows = math.prod(_batch(scatter))
    is_much = windows >= _MANY or (windows >= _SOME and windows * scatter.array.size >= _MANY_QUESTIONS)
    return by_element and 1 < positions < 2**31 and is_much and windows < 2**31


def _batch(scatter: Instruction) -> list[int]:
    """The sizes of the updates' dimensions that number windows."""
    window = scatter.attributes.get("update_window_dims", ())
    return [size for d, size in enumerate(scatter.operands[2].array.dims) if d not in window]


def _sorted(scatter: Instruction) -> Instruction:
    operand, indices, updates = (Expression(one) for one in scatter.operands)
    scattered: Sequence[int] = scatter.attributes["scatter_dims_to_operand_dims"]
    inner = [d for d in range(len(operand.dims)) if d not in scattered]
    sizes = [operand.dims[d] for d in scattered]
    positions, windows = math.prod(sizes), math.prod(_batch(scatter))
    keys = _positions(indices, scatter.attributes["index_vector_dim"], sizes, windows)
    keys, order = _in_order(keys)
    window_dims = scatter.attributes.get("update_window_dims", ())
    batch_dims = [d for d in range(len(updates.dims)) if d not in window_dims]
    rows = updates.transpose(*batch_dims, *window_dims).reshape(windows, *(updates.dims[d] for d in window_dims))
    result = build(
        scatter.computation,
        "scatter",
        [
            operand.transpose(*scattered, *inner).reshape(positions, *(operand.dims[d] for d in inner)).instruction,
            keys.reshape(windows, 1).instruction,
            rows_of(rows, order).instruction,
        ],
        update_window_dims=tuple(range(1, len(inner) + 1)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
        indices_are_sorted=True,
        to_apply=scatter.attributes["to_apply"],
    )
    order_of_dims = [*scattered, *inner]
    back = [order_of_dims.index(d) for d in range(len(order_of_dims))]
    return Expression(result).reshape(*(operand.dims[d] for d in order_of_dims)).transpose(*back).instruction


def _positions(indices: Expression, vector_dim: int, sizes: Sequence[int], windows: int) -> Expression:
    """For each window the number of the position that it is for, or the number of positions if there is none."""
    rank = len(indices.dims)
    if vector_dim < rank:
        indices = indices.transpose(*(d for d in range(rank) if d != vector_dim), vector_dim)
    vectors = indices.to(S64).reshape(windows, len(sizes))
    computation = indices.instruction.computation
    total = number(computation, 0, S64).spread((windows,), ())
    inside = number(computation, 1, PRED).spread((windows,), ())
    for column, size in enumerate(sizes):
        start = vectors.slice((0, windows), (column, column + 1)).reshape(windows)
        inside = inside & start.compare("GE", 0) & start.compare("LT", size)
        total = total * size + start
    return inside.where(total, total.literal(math.prod(sizes)).spread((windows,), ())).to(S32)


def _in_order(keys: Expression) -> tuple[Expression, Expression]:
    """Keys sorted, and where each of them was; equal ones stay in order."""
    computation = keys.instruction.computation
    assert computation.module is not None
    before = Computation("in_order")
    left, right, *_ = [Expression(parameter(before, n, ArrayShape(S32, ()))) for n in range(4)]
    before.root = left.compare("LT", right).instruction
    computation.module.add_computation(before)
    positions = iota(computation, S32, keys.dims)
    operands = [keys.instruction, positions.instruction]
    pair = build(computation, "sort", operands, dimensions=(0,), is_stable=True, to_apply=before)
    return Expression(element(pair, 0)), Expression(element(pair, 1))
