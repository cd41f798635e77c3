"""sort and topk.

A comparator that orders by a key is an argsort; any other is a merge sort whose merges run over all rows and runs
at once: each element of a left run finds its place in the right run by bisection, log2(n) whole-array comparisons.
Every sort is stable, asked or not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, ranking, total_order_key, widen
from compiler.ir.opdef import Evaluator, Op, Value
from compiler.ir.ordering import Ordering, ordering
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.shape_rules import dimension, dims_agree, operand, operands, require, signature, tuple_or_single
from compiler.ir.traits import Trait
from compiler.ir.types import PRED, S32


def _infer_sort(instruction: Instruction) -> Shape:
    shapes = operands(instruction)
    require(shapes, "sort takes at least one operand")
    for index, shape in enumerate(shapes):
        require(dims_agree(shapes[0], shape), f"operands 0 and {index} of sort differ: {shapes[0]} and {shape}")
    dimensions = instruction.attributes["dimensions"]
    require(len(dimensions) == 1, f"sort takes one dimension, not {list(dimensions)}")
    dimension(dimensions[0], shapes[0].rank, "dimensions")
    pairs = [ArrayShape(shape.element_type, ()) for shape in shapes for _ in range(2)]
    signature(instruction, instruction.attributes["to_apply"], pairs, ArrayShape(PRED, ()))
    return tuple_or_single([ArrayShape(shape.element_type, shape.dims, shape.dynamic) for shape in shapes])


def _sort(instruction: Instruction, values: Sequence[Array], evaluator: Evaluator) -> Value:
    along = instruction.attributes["dimensions"][0]
    computation: Computation = instruction.attributes["to_apply"]
    rows = [np.moveaxis(value, along, -1) for value in values]
    order = _argsort(computation, rows, evaluator)
    if order is None:
        order = _merge_sort(computation, rows, evaluator)
    sorted_rows = [np.moveaxis(np.take_along_axis(row, order, axis=-1), -1, along) for row in rows]
    return tuple(sorted_rows) if len(sorted_rows) > 1 else sorted_rows[0]


def _argsort(computation: Computation, rows: Sequence[Array], evaluator: Evaluator) -> Array | None:
    """The order, where the comparator orders by a key; else None."""
    found = ordering(computation)
    if found is None:
        return None
    both = [row for row in rows for _ in range(2)]
    value = np.broadcast_to(np.asarray(evaluator.map(found.as_computation(), both)), rows[0].shape)
    return np.argsort(_sort_key(value, found), axis=-1, kind="stable")


def _sort_key(value: Array, by: Ordering) -> Array:
    """Integers or booleans that order as the values do; the greatest where NaN is last."""
    element_type = by.element_type
    if not element_type.is_float:
        key = widen(value, element_type, precise=False)
        return ~key if by.descending else key
    wide = widen(value, element_type, precise=False)
    zeros_alike = np.where(wide == 0, 0, value).astype(value.dtype) if by.partial else value
    key = total_order_key(zeros_alike, element_type)
    key = ~key if by.descending else key
    return np.where(np.isnan(wide), np.iinfo(key.dtype).max, key) if by.partial else key


def _merge_sort(computation: Computation, rows: Sequence[Array], evaluator: Evaluator) -> Array:
    """The stable order by an arbitrary comparator along the last axis."""
    length = rows[0].shape[-1]
    order = np.broadcast_to(np.arange(length), rows[0].shape)
    width = 1
    while width < length and order.size:
        current = [np.take_along_axis(row, order, axis=-1) for row in rows]
        rank = _merge_ranks(computation, current, width, evaluator)
        order = np.take_along_axis(order, np.argsort(rank, axis=-1, kind="stable"), axis=-1)
        width *= 2
    return order


def _merge_ranks(computation: Computation, rows: Sequence[Array], width: int, evaluator: Evaluator) -> Array:
    """Numbers whose stable order merges each pair of sorted runs of a width.

    The k-th of a right run gets 2k + 1; one of a left run gets twice the number of right ones that go before it.
    """
    length = rows[0].shape[-1]
    position = np.arange(length)
    block = position // (2 * width)
    right = position % (2 * width) >= width
    low = np.broadcast_to(np.minimum(2 * width * block + width, length), rows[0].shape).copy()
    begin, high = low.copy(), np.broadcast_to(np.minimum(2 * width * (block + 1), length), rows[0].shape).copy()
    while (searching := (low < high) & ~right).any():
        middle = np.where(searching, (low + high) // 2, 0)
        pairs = [side for row in rows for side in (np.take_along_axis(row, middle, axis=-1), row)]
        goes_before = np.broadcast_to(np.asarray(evaluator.map(computation, pairs)), low.shape)
        low = np.where(searching & goes_before, middle + 1, low)
        high = np.where(searching & ~goes_before, middle, high)
    base = block * (4 * width + 2)
    left_rank = np.maximum.accumulate(np.where(right, 0, base + 2 * (low - begin)), axis=-1)
    return np.where(right, base + 2 * (position % (2 * width) - width) + 1, left_rank)


def _infer_topk(instruction: Instruction) -> Shape:
    shape, k = operand(instruction, 0), instruction.attributes["k"]
    require(shape.rank >= 1, f"topk takes at least one dimension, not {shape}")
    require(0 <= k <= shape.dims[-1], f"k={k} must be between 0 and the last dimension of {shape}")
    dims = (*shape.dims[:-1], k)
    return TupleShape((ArrayShape(shape.element_type, dims), ArrayShape(S32, dims)))


def check_order(topk: Instruction) -> None:
    """Refuse to choose from numbers that have no order."""
    if topk.operands[0].array.element_type.is_complex:
        raise topk.unsupported("complex numbers have no order")


def _topk(instruction: Instruction, values: Sequence[Array], _: Evaluator) -> Value:
    (value,) = values
    check_order(instruction)
    element_type = instruction.operands[0].array.element_type
    largest = instruction.attributes.get("largest", True)
    order = ranking(value, element_type, descending=largest)[..., : instruction.attributes["k"]]
    return (np.take_along_axis(value, order, axis=-1), order.astype(np.int32))


OPS: dict[str, Op] = {
    op.opcode: op
    for op in (
        Op(
            "sort",
            (1, None),
            _infer_sort,
            _sort,
            "Sort along a dimension by a comparator, other operands going along.",
            required=("dimensions", "to_apply"),
            optional=("is_stable",),
            traits=Trait.EXACT | Trait.ORDERS,
        ),
        Op(
            "topk",
            (1, 1),
            _infer_topk,
            _topk,
            "The k greatest or least of each row with their indices.",
            required=("k",),
            optional=("largest", "is_stable"),
            traits=Trait.EXACT | Trait.ORDERS,
        ),
    )
}
