"""Wide rules of sort and topk: sorted keys move no farther than their errors, what goes along may change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir.combiner import comparison
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.types import ONE_NAN
from compiler.wide.numbers import Wide, exact, unknown
from compiler.wide.rule import Context, Rule


def _sort(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    along = instruction.attributes["dimensions"][0]
    positions = np.broadcast_to(
        np.arange(operands[0].value.shape[along]).reshape(
            [-1 if d == along else 1 for d in range(operands[0].value.ndim)]
        ),
        operands[0].value.shape,
    )
    # A further operand goes along without the comparator seeing it.
    *values, order = context.evaluate(instruction, [*(operand.value for operand in operands), positions])
    found = comparison(instruction.attributes["to_apply"])
    stable = bool(instruction.attributes.get("is_stable", False))
    if found is not None and found[1] in ("LT", "GT"):
        results = _by_key(operands, found[0], np.asarray(order), along, stable=stable)
    elif stable and all(operand.is_exact for operand in operands):
        results = [exact(value) for value in values]
    else:
        results = [unknown(value) for value in values]
    if found is not None and found[2] == "TOTALORDER":
        key = _of_open_sign(context.originals[instruction].operands[found[0]], operands[found[0]])
        is_open = np.any(key, axis=along, keepdims=True)
        results = [Wide(result.value, np.where(is_open, np.inf, result.error)) for result in results]
    return tuple(results) if len(results) > 1 else results[0]


def _of_open_sign(source: Instruction, key: Wide) -> Array:
    """Which keys are NaN that something computed: they may have either sign, and so either end of the total order."""
    home = source.parent
    is_given = home is not None and home.module is not None and home is home.module.entry
    if source.array.element_type in ONE_NAN or (is_given and source.opcode in ("parameter", "constant")):
        return np.zeros(key.value.shape, np.bool_)
    return np.isnan(key.value)


def _by_key(operands: Sequence[Wide], number: int, order: Array, along: int, *, stable: bool) -> list[Wide]:
    sorted_ = [
        Wide(np.take_along_axis(o.value, order, axis=along), np.take_along_axis(o.error, order, axis=along))
        for o in operands
    ]
    key = sorted_[number]
    close = _close(np.moveaxis(key.value, along, -1), np.moveaxis(key.error, along, -1), stable=stable)
    close = np.moveaxis(close, -1, along)
    results = [Wide(one.value, np.where(close, np.inf, one.error)) for one in sorted_]
    # The k-th of numbers that each move by at most an error moves by at most the greatest of the errors.
    farthest = np.max(key.error, axis=along, keepdims=True, initial=0.0)
    results[number] = Wide(key.value, np.broadcast_to(farthest, key.value.shape))
    return results


def _close(keys: Array, errors: Array, *, stable: bool) -> Array:
    """Which of sorted keys may change places with another: their intervals overlap."""
    numbers = keys.astype(np.float64)
    finite = np.where(np.isfinite(errors), errors, np.inf)
    rising = numbers if numbers.shape[-1] < 2 or not np.any(numbers[..., 0] > numbers[..., -1]) else -numbers
    if not stable or errors.any():
        return _overlaps(rising, finite, ties=not stable)
    return np.zeros(keys.shape, np.bool_)


def _overlaps(keys: Array, errors: Array, *, ties: bool) -> Array:
    low, high = keys - errors, keys + errors
    before = np.maximum.accumulate(high, axis=-1)[..., :-1]
    after = np.flip(np.minimum.accumulate(np.flip(low, -1), axis=-1), -1)[..., 1:]
    close = np.zeros(keys.shape, np.bool_)
    uncertain = errors > 0
    some_before = np.logical_or.accumulate(uncertain, axis=-1)[..., :-1] | uncertain[..., 1:]
    some_after = np.flip(np.logical_or.accumulate(np.flip(uncertain, -1), axis=-1), -1)[..., 1:] | uncertain[..., :-1]
    close[..., 1:] |= ~(before < low[..., 1:]) & (some_before | ties)
    close[..., :-1] |= ~(after > high[..., :-1]) & (some_after | ties)
    return close


def top(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """The greatest or least of each row: the values move by an error at most, their places where they are close."""
    (operand,) = operands
    values, places = context.evaluate(instruction, [operand.value])
    if operand.is_exact:
        return (exact(values), exact(places))
    errors = np.take_along_axis(operand.error, places.astype(np.int64), axis=-1)
    apart = np.abs(operand.value[..., None, :] - values[..., :, None])
    reach = operand.error[..., None, :] + errors[..., :, None]
    itself = np.arange(operand.value.shape[-1]) == places[..., :, None]
    # What may be NaN of either sign is near to everything.
    close = (~(apart > reach) & (reach > 0) & ~itself).any(axis=-1)
    farthest = np.max(operand.error, axis=-1, keepdims=True, initial=0.0)
    return (
        Wide(values, np.broadcast_to(farthest, values.shape)),
        Wide(places, np.where(close, np.inf, 0.0)),
    )


RULES: dict[str, Rule] = {"sort": _sort, "topk": top}
