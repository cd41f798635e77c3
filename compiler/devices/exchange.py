"""What the collectives do with the values of the devices of one group.

A function takes the instruction and the operands of each device of a group, in the group's order, and returns each
device's result.  Operands of a variadic collective are exchanged one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from compiler.devices.groups import check_operands, shard_size
from compiler.ir.combiner import accumulator, apply, ufunc
from compiler.ir.manual import Cut, enters
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array, narrow, widen
from compiler.ir.opdef import Evaluator, tuple_or_single_value
from compiler.ir.shape import TupleShape
from compiler.ir.types import ElementType
from compiler.ops.collective import ragged_pieces

Exchange = Callable[[Instruction, Sequence[Sequence[Any]], Evaluator], list[Any]]


def _combine(
    computation: Computation, values: Sequence[Array], element_type: ElementType, evaluator: Evaluator
) -> Array:
    """All values by a computation, in the order of the group; sums and products are rounded once.

    Nothing comes before the first: NumPy begins a product with 1, which makes NaN of complex infinities.
    """
    function = ufunc(computation, element_type)
    if function is None:
        combined = values[0]
        for value in values[1:]:
            (combined,) = apply(computation, [combined], [value], evaluator)
        return combined
    wide = [widen(value, element_type, precise=False) for value in values]
    first, *others = (value.astype(accumulator(function, value)) for value in wide)
    with np.errstate(all="ignore"):
        return narrow(reduce(function, others, first), element_type)


def _combined(instruction: Instruction, operands: Sequence[Sequence[Array]], evaluator: Evaluator) -> list[Array]:
    """Each operand combined over the devices."""
    computation: Computation = instruction.attributes["to_apply"]
    types = [operand.array.element_type for operand in instruction.operands]
    columns = zip(*operands, strict=True)
    return [_combine(computation, column, kind, evaluator) for column, kind in zip(columns, types, strict=True)]


def _all_reduce(instruction: Instruction, operands: Sequence[Sequence[Array]], evaluator: Evaluator) -> list[Any]:
    result = tuple_or_single_value(_combined(instruction, operands, evaluator)) if instruction.operands else ()
    return [result] * len(operands)


def _reduce_scatter(instruction: Instruction, operands: Sequence[Sequence[Array]], evaluator: Evaluator) -> list[Any]:
    along = instruction.attributes["dimensions"][0]
    pieces = [_split(instruction, array, len(operands), along) for array in _combined(instruction, operands, evaluator)]
    return [tuple_or_single_value([piece[number] for piece in pieces]) for number in range(len(operands))]


def _split(instruction: Instruction, array: Array, count: int, along: int) -> list[Array]:
    shard_size(instruction, array.shape, count)
    return np.split(array, count, axis=along)


def _all_gather(instruction: Instruction, operands: Sequence[Sequence[Array]], _: Evaluator) -> list[Any]:
    along = instruction.attributes["dimensions"][0]
    result = tuple_or_single_value([np.concatenate(column, axis=along) for column in zip(*operands, strict=True)])
    return [result] * len(operands)


def _all_to_all(instruction: Instruction, operands: Sequence[Sequence[Array]], _: Evaluator) -> list[Any]:
    """Part j of device i becomes part i of device j; parts are cut from an array, or are the operands themselves."""
    dimensions = instruction.attributes.get("dimensions", ())
    count = len(operands)
    if not dimensions:
        check_operands(instruction, count)
        return [tuple_or_single_value([operands[source][target] for source in range(count)]) for target in range(count)]
    along = dimensions[0]
    pieces = [_split(instruction, arrays[0], count, along) for arrays in operands]
    return [np.concatenate([pieces[s][target] for s in range(count)], axis=along) for target in range(count)]


def _ragged(instruction: Instruction, operands: Sequence[Sequence[Array]], _: Evaluator) -> list[Any]:
    """Rows of each device go to each other one at offsets in the receiver; a device may have several pieces for one."""
    results = [np.array(arrays[1]) for arrays in operands]
    for values in operands:
        for receiver, rows, offset, until in ragged_pieces(instruction, values, len(operands)):
            results[receiver][offset:until] = rows
    return list(results)


def _broadcast(_: Instruction, operands: Sequence[Sequence[Array]], __: Evaluator) -> list[Any]:
    return [tuple_or_single_value(operands[0])] * len(operands)


EXCHANGES: dict[str, Exchange] = {
    "all-reduce": _all_reduce,
    "all-reduce-start": _all_reduce,
    "reduce-scatter": _reduce_scatter,
    "all-gather": _all_gather,
    "all-gather-start": _all_gather,
    "all-to-all": _all_to_all,
    "ragged-all-to-all": _ragged,
    "collective-broadcast": _broadcast,
}
"""The collectives that work in groups."""


def cross(crossing: Instruction, cuts: Sequence[Cut], own: dict[int, list[Any]]) -> dict[int, Any]:
    """What each device has beyond a crossing: its parts of its own wholes, or wholes joined of the parts of others.

    Args:
        crossing: the call that enters or leaves a manual region.
        cuts: for each operand, how it is cut.
        own: by device, its operands.
    """
    entering, results = enters(crossing), {}
    for device in own:
        values = [
            _shard(own[device][number], cut, device) if entering else _joined(cut, device, number, own)
            for number, cut in enumerate(cuts)
        ]
        results[device] = tuple(values) if isinstance(crossing.shape, TupleShape) else values[0]
    return results


def _shard(whole: Array, cut: Cut, device: int) -> Array:
    sizes = [size // count for size, count in zip(whole.shape, cut.counts, strict=True)]
    return np.array(whole[tuple(slice(p * n, p * n + n) for p, n in zip(cut.positions[device], sizes, strict=True))])


def _joined(cut: Cut, device: int, number: int, own: dict[int, list[Any]]) -> Array:
    pieces = [own[holder][number] for holder in cut.holders[device]]
    whole = np.empty([size * count for size, count in zip(pieces[0].shape, cut.counts, strict=True)], pieces[0].dtype)
    for position, piece in zip(np.ndindex(*cut.counts), pieces, strict=True):
        whole[tuple(slice(p * n, p * n + n) for p, n in zip(position, piece.shape, strict=True))] = piece
    return whole
