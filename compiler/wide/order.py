"""Wide rules of sort and topk: sorted keys move no farther than their errors, what goes along may change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.interpreter import Interpreter, Observe
from compiler.ir.combiner import comparison
from compiler.ir.graph import reachable
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array
from compiler.ir.types import ONE_NAN
from compiler.wide.numbers import Wide, exact, unknown
from compiler.wide.rule import Context, Rule

_ORDERS = frozenset({"LT", "GT", "LE", "GE"})


def _sort(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    along = instruction.attributes["dimensions"][0]
    comparator: Computation = instruction.attributes["to_apply"]
    positions = np.broadcast_to(
        np.arange(operands[0].value.shape[along]).reshape(
            [-1 if d == along else 1 for d in range(operands[0].value.ndim)]
        ),
        operands[0].value.shape,
    )
    # A further operand goes along without the comparator seeing it.
    *values, order = context.evaluate(instruction, [*(operand.value for operand in operands), positions])
    found = comparison(comparator)
    stable = bool(instruction.attributes.get("is_stable", False))
    rows = [np.moveaxis(np.asarray(value), along, -1) for value in values]
    equal, is_open = _neighbours(comparator, rows, context)
    if all(operand.is_exact for operand in operands):
        open_ = [np.zeros(row.shape, np.bool_) if stable else _exchanged(row, equal) for row in rows]
        results = [exact(v).open_at(np.moveaxis(o, -1, along)) for v, o in zip(values, open_, strict=True)]
    elif found is not None and found.direction in ("LT", "GT"):
        results = _by_key(operands, found.key, np.asarray(order), along, stable=stable)
    else:
        results = [unknown(value) for value in values]
    is_open = np.moveaxis(is_open, -1, along)
    for key in _keys_in_total_order(comparator):
        of_open_sign = _of_open_sign(context.originals[instruction].operands[key], operands[key])
        is_open = is_open | np.any(of_open_sign, axis=along, keepdims=True)
        zeros = np.moveaxis(_zeros_of_open_sign(instruction, key, rows[key], context), -1, along)
        results = [one if number == key else one.open_at(zeros) for number, one in enumerate(results)]
    results = [result.open_at(is_open) for result in results]
    return tuple(results) if len(results) > 1 else results[0]


def _neighbours(comparator: Computation, rows: Sequence[Array], context: Context) -> tuple[Array, Array]:
    """Of sorted rows, which neighbours are equal; and which rows the comparator gives no order that is the only one.

    The language asks for a strict weak order.  `<` is none among floats with a NaN, which is before and behind nothing,
    so equal to all; nor is `<=` among equals, each of which goes before the other.
    """
    former, latter = [row[..., :-1] for row in rows], [row[..., 1:] for row in rows]
    ahead, behind = _before(comparator, former, latter), _before(comparator, latter, former)
    equal = ~(ahead | behind)
    nan, unsigned = _meets_nan(comparator, rows, context)
    no_order = (ahead & behind) | (equal & (nan[..., :-1] != nan[..., 1:]))
    is_open = np.any(no_order, axis=-1, keepdims=True) | np.any(unsigned, axis=-1, keepdims=True)
    unsorted = np.any(behind, axis=-1, keepdims=True) | _goes_in_circles(comparator, rows, equal)
    return equal, is_open | (unsorted & _is_no_order(comparator, rows, unsorted, nan))


def _is_no_order(comparator: Computation, rows: Sequence[Array], asked: Array, nan: Array) -> Array:
    """Which of the rows that are asked for have elements that no order explains, however the reference sorted them.

    In a strict weak order one element is before another where fewer elements are before it.

    Args:
        comparator: of the sort.
        rows: of its operands, along the last dimension.
        asked: by row, whether it is of interest.
        nan: which elements are ordered by a NaN, which is before and behind nothing.
    """
    found = asked & np.any(nan, axis=-1, keepdims=True) & ~np.all(nan, axis=-1, keepdims=True)
    length = rows[0].shape[-1]
    some = np.unique(np.linspace(0, length - 1, min(length, _MOST_COMPARED)).astype(np.int64))
    for index in map(tuple, np.argwhere((asked & ~found)[..., 0])):
        elements = [row[index][some] for row in rows]
        square = (some.size, some.size)
        left = [np.broadcast_to(one[:, np.newaxis], square) for one in elements]
        before = _before(comparator, left, [np.broadcast_to(one, square) for one in elements])
        ahead = np.count_nonzero(before, axis=0)
        found[index] = np.any(before != (ahead[:, np.newaxis] < ahead))
    return np.asarray(found)


def _goes_in_circles(comparator: Computation, rows: Sequence[Array], equal: Array) -> Array:
    """Which sorted rows a comparator orders otherwise farther apart than between neighbours: it is no order then.

    One of keys alone is.  In long rows it is asked about some distances only.
    """
    length, found = rows[0].shape[-1], np.zeros((*rows[0].shape[:-1], 1), np.bool_)
    if comparison(comparator) is not None or not rows[0].size:
        return found
    ranks = np.cumsum(np.concatenate([np.zeros_like(found), ~equal], axis=-1), axis=-1)
    distances = range(2, length) if length <= _ALL_PAIRS else [1 << power for power in range(1, length.bit_length())]
    for distance in distances:
        former, latter = [row[..., :-distance] for row in rows], [row[..., distance:] for row in rows]
        ahead, behind = _before(comparator, former, latter), _before(comparator, latter, former)
        right = (ranks[..., :-distance] < ranks[..., distance:]) == ahead
        found |= np.any(~right | behind, axis=-1, keepdims=True)
    return found


_ALL_PAIRS = 64
"""Elements of a row of which all pairs are looked at."""
_MOST_COMPARED = 512
"""Elements of a row that is not sorted that are compared with each other: a quarter of a million pairs, some ms."""


def _before(
    comparator: Computation, left: Sequence[Array], right: Sequence[Array], trace: Observe | None = None
) -> Array:
    sides = [side for pair in zip(left, right, strict=True) for side in pair]
    return np.broadcast_to(np.asarray(Interpreter(trace).map(comparator, sides)), left[0].shape)


def _meets_nan(comparator: Computation, rows: Sequence[Array], context: Context) -> tuple[Array, Array]:
    """Which elements the comparator orders by a NaN: where that is unordered, and where its type has no sign for it.

    A comparator that only asks whether there is a NaN knows what to do with it.
    """
    known: dict[Instruction, Any] = {}
    unordered, unsigned = np.zeros((2, *rows[0].shape), np.bool_)

    def watch(step: Instruction, value: Any) -> None:
        nonlocal unordered, unsigned
        known[step] = value
        if step.opcode != "compare" or step.attributes["direction"] not in _ORDERS:
            return
        own = context.originals[step].operands[0].array.element_type
        if not own.is_float:
            return
        met = np.isnan(known[step.operands[0]]) | np.isnan(known[step.operands[1]])
        if step.attributes.get("type") != "TOTALORDER":
            unordered = unordered | met
        elif own in ONE_NAN:
            unsigned = unsigned | met

    _before(comparator, rows, rows, watch)
    return unordered, unsigned


def _exchanged(row: Array, equal: Array) -> Array:
    """Which elements of sorted rows stand among equal ones that differ here, so that any of them may stand there."""
    left, right = row[..., :-1], row[..., 1:]
    differ = equal & (left != right) & ((left == left) | (right == right))
    first = np.concatenate([np.ones((*row.shape[:-1], 1), np.bool_), ~equal], axis=-1)[..., : row.shape[-1]]
    run = np.cumsum(first.reshape(-1)).reshape(row.shape)
    count = np.bincount(run[..., 1:][differ], minlength=row.size + 1)
    return np.asarray(count[run] > 0)


def _keys_in_total_order(comparator: Computation) -> list[int]:
    """The operands of a sort whose elements a comparator has compared in total order, or something made of them."""
    compared = (one for one in comparator.instructions if one.attributes.get("type") == "TOTALORDER")
    sources = reachable(compared, lambda node: node.operands)
    return sorted({one.parameter_number // 2 for one in sources if one.opcode == "parameter"})


def _of_open_sign(source: Instruction, key: Wide) -> Array:
    """Which keys are NaN that something computed: they may have either sign, and so either end of the total order."""
    home = source.parent
    is_given = home is not None and home.module is not None and home is home.module.entry
    if is_given and source.opcode in ("parameter", "constant"):
        return np.zeros(key.value.shape, np.bool_)
    return np.isnan(key.value)


def _zeros_of_open_sign(instruction: Instruction, key: int, rows: Array, context: Context) -> Array:
    """Which keys are among several zeros that something may have made of either sign: total order tells those apart.

    Args:
        instruction: what puts elements in order.
        key: the number of the operand by whose elements it does.
        rows: these, each row along the last dimension.
        context: knows of which instructions the signs are known.
    """
    if context.originals[instruction].operands[key] in context.signed:
        return np.zeros(rows.shape, np.bool_)
    zeros = rows == 0
    return np.asarray(zeros & (np.count_nonzero(zeros, axis=-1, keepdims=True) > 1))


def _by_key(operands: Sequence[Wide], number: int, order: Array, along: int, *, stable: bool) -> list[Wide]:
    sorted_ = [
        Wide(np.take_along_axis(o.value, order, axis=along), np.take_along_axis(o.error, order, axis=along))
        for o in operands
    ]
    key = sorted_[number]
    close = _close(np.moveaxis(key.value, along, -1), np.moveaxis(key.error, along, -1), stable=stable)
    close = np.moveaxis(close, -1, along)
    results = [one.open_at(close) for one in sorted_]
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


def near_others(operand: Wide) -> Array:
    """Which elements of each row may be equal to another of it, by the error of either.

    What may be NaN of either sign is near to everything.
    """
    order = np.argsort(operand.value, axis=-1, kind="stable")
    keys = np.take_along_axis(operand.value, order, axis=-1).astype(np.float64)
    errors = np.take_along_axis(operand.error, order, axis=-1)
    low, high = (np.where(np.isnan(keys + way * errors), way * np.inf, keys + way * errors) for way in (-1, 1))
    unsure = errors > 0
    near = np.zeros(keys.shape, np.bool_)
    # Neighbours that are both known are told apart, so those that are known are held against the others only.
    for is_held, is_met in ((unsure, np.ones_like(unsure)), (~unsure, unsure)):
        before = np.maximum.accumulate(np.where(is_met, high, -np.inf), axis=-1)[..., :-1]
        some_before = np.logical_or.accumulate(is_met, axis=-1)[..., :-1]
        after = np.flip(np.minimum.accumulate(np.flip(np.where(is_met, low, np.inf), -1), axis=-1), -1)[..., 1:]
        some_after = np.flip(np.logical_or.accumulate(np.flip(is_met, -1), axis=-1), -1)[..., 1:]
        near[..., 1:] |= is_held[..., 1:] & some_before & (before >= low[..., 1:])
        near[..., :-1] |= is_held[..., :-1] & some_after & (after <= high[..., :-1])
    found = np.zeros(near.shape, np.bool_)
    np.put_along_axis(found, order, near, axis=-1)
    return found


def top(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """The greatest or least of each row: the values move by an error at most, their places where they are close.

    Args:
        instruction: the top-k.
        operands: the rows, with their bounds.
        context: the reference's own values.
    """
    (operand,) = operands
    values, indices = context.evaluate(instruction, [operand.value])
    source = context.originals[instruction].operands[0]
    is_open = np.any(_of_open_sign(source, operand), axis=-1, keepdims=True)
    zeros = (values == 0) & np.any(_zeros_of_open_sign(instruction, 0, operand.value, context), axis=-1, keepdims=True)
    if operand.is_exact:
        return exact(values).open_at(is_open), exact(indices).open_at(is_open | zeros)
    close = np.take_along_axis(near_others(operand), indices.astype(np.int64), axis=-1)
    farthest = np.max(operand.error, axis=-1, keepdims=True, initial=0.0)
    return (
        Wide(values, np.where(is_open, np.inf, np.broadcast_to(farthest, values.shape))),
        Wide(indices, np.where(is_open | close | zeros, np.inf, 0.0)),
    )


RULES: dict[str, Rule] = {"sort": _sort, "topk": top}
