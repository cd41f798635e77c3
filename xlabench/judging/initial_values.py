"""Reductions that begin with another initial value than the identity, as XLA:CPU has them.

How often an initial value takes part is the implementation's (StableHLO, `reduce`), so it ought to be the identity, and
XLA takes it for that.  A single element is left as it was.  A long dimension is reduced in windows, and a running
reduction goes along in rows, whose totals are reduced the same way: each window and each row begins with the initial
value, and what a running reduction from the end finds beside the array is the initial value as well.  Behind a size
that is known at run time only lie initial values up to its bound.  So where that is no identity its number shows, and
is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlabench.judging.orders import roots_of
from xlabench.judging.tolerance import Array, is_inexact

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Evaluate = Callable[[Sequence[Any]], Any]
Again = Callable[..., Array]
"""Makes of a result and its initial value what it is with that so many times more."""
Counts = NDArray[np.int64]

_ARRAY_AND_INITIAL = 2
"""Operands of a reduction of one array: XLA reduces several side by side at once, whatever their size."""

_WINDOW, _ROW = 32, 16
"""Elements of a dimension that are reduced at once, and such of a running reduction."""


def for_identities(instruction: Instruction, evaluate: Evaluate, _: np.random.Generator) -> Evaluate:
    """The meaning of an instruction with its initial value as often as XLA:CPU takes it, also not at all.

    Args:
        instruction: a reduction, or any other.
        evaluate: its meaning.
        _: nothing is drawn.
    """
    if instruction.opcode == "reduce" and _is_of_one(instruction):
        return lambda operands: _as_they_were(instruction, operands)
    if instruction.opcode == "reduce" and instruction.operands[0].shape.is_dynamic:
        return lambda operands: evaluate(_filled(instruction, operands))
    again = _again(instruction)
    more = _more(instruction) if any(again) else None
    if more is None:
        return evaluate

    def with_more(operands: Sequence[Any]) -> Any:
        found = evaluate(operands)
        arrays = found if isinstance(found, tuple) else (found,)
        results = tuple(map(partial(_with_initial, more), again, arrays, operands[len(again) :]))
        return results if isinstance(found, tuple) else results[0]

    return with_more


def _with_initial(more: Counts, again: Again | None, value: Any, initial: Any) -> Array:
    """A result with its initial value so many times more."""
    array = np.asarray(value)
    if again is None:
        return array
    with np.errstate(all="ignore"):
        times = more.astype(array.dtype) if is_inexact(array.dtype) else more
        return again(array, np.asarray(initial), times).astype(array.dtype)


def _is_of_one(instruction: Instruction) -> bool:
    """Whether an instruction reduces single elements."""
    dims = instruction.operands[0].shape.dims
    return all(dims[axis] == 1 for axis in instruction.attributes["dimensions"])


def _as_they_were(instruction: Instruction, operands: Sequence[Any]) -> Any:
    arrays = [np.asarray(operand) for operand in operands[: len(operands) // 2]]
    left = tuple(np.squeeze(array, tuple(instruction.attributes["dimensions"])) for array in arrays)
    return left if hasattr(instruction.shape, "elements") else left[0]


def _filled(instruction: Instruction, operands: Sequence[Any]) -> list[Any]:
    """The operands with initial values behind what is reduced, up to the bounds of its sizes."""
    half, bounds = len(operands) // 2, instruction.operands[0].shape.dims
    filled = []
    for operand, initial in zip(operands[:half], operands[half:], strict=True):
        array = np.asarray(operand)
        sizes = [bounds[d] if d in instruction.attributes["dimensions"] else size for d, size in enumerate(array.shape)]
        whole = np.full(sizes, initial, array.dtype)
        whole[tuple(map(slice, array.shape))] = array
        filled.append(whole)
    return [*filled, *operands[half:]]


def _again(instruction: Instruction) -> list[Again | None]:
    """What one more initial value makes of each result, so many times; None where it is not known, or nothing."""
    if instruction.opcode not in ("reduce", "reduce-window"):
        return []
    if instruction.opcode == "reduce" and len(instruction.operands) > _ARRAY_AND_INITIAL:
        return []
    roots = roots_of(instruction.attributes["to_apply"])
    return [_AGAIN.get(root.opcode) if _is_plain(root, n, len(roots)) else None for n, root in enumerate(roots)]


def _is_plain(root: Instruction, number: int, count: int) -> bool:
    """Whether a result is made of the two values of its own array, and of nothing else."""
    numbers = [operand.parameter_number for operand in root.operands if operand.opcode == "parameter"]
    return len(numbers) == len(root.operands) and sorted(numbers) == [number, count + number]


_AGAIN: Mapping[str, Again] = {
    "add": lambda value, initial, times: value + initial * times,
    "multiply": lambda value, initial, times: value * initial**times,
}
"""By reducer; where once is as good as twice it makes no difference."""


def _more(instruction: Instruction) -> Counts | None:
    """How often the initial value is taken beside the first time, for each result; None where it is not."""
    dims = instruction.operands[0].shape.dims
    if instruction.opcode == "reduce":
        axes = instruction.attributes["dimensions"]
        return np.asarray(_windows([dims[axis] for axis in axes]))
    return _of_running(dims, instruction.attributes.get("window", ()))


def _windows(sizes: Sequence[int]) -> int:
    """Windows, and windows of what these come to."""
    found = 0
    while max(sizes) > _WINDOW and min(sizes):
        sizes = [-(-size // min(size, _WINDOW)) for size in sizes]
        found += math.prod(sizes)
    return found


def _of_running(dims: Sequence[int], window: Sequence[Any]) -> Counts | None:
    """Of a running reduction of all elements up to each, or before each."""
    moving = [axis for axis, dimension in enumerate(window) if dimension != type(dimension)()]
    size = dims[moving[0]] if len(moving) == 1 else 0
    if size <= _ROW:
        return None
    dimension = window[moving[0]]
    low, high = dimension.pad_low, dimension.pad_high
    most = max(low, high)
    if min(low, high) or most not in (size - 1, size) or dimension != type(dimension)(size, 1, low, high):
        return None
    before = [1] if most == size else []
    counts = np.concatenate([np.array(before, np.int64), _taken(size, from_the_end=bool(high))])
    along = [-1 if axis == moving[0] else 1 for axis in range(len(dims))]
    return np.asarray((counts[::-1] if high else counts) - 1).reshape(along)


def _taken(size: int, *, from_the_end: bool) -> Counts:
    """How often the initial value is in each result of a running reduction, in the order in which they are made."""
    if size <= _ROW:
        return np.ones(size, np.int64)
    rows = -(-size // _ROW)
    beside = rows * _ROW - size if from_the_end else 0
    before = np.concatenate([[1], _taken(rows, from_the_end=from_the_end)[:-1]]) + np.arange(rows)
    return np.repeat(1 + before + beside, _ROW)[beside : beside + size]
