"""What a device has after a collective-permute: what it was sent, zeros, or slices of that in an array of its own.

A device alone may send to itself, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.opdef import tuple_or_single_value, zeros_like


def moves_slice(instruction: Instruction) -> bool:
    """Whether slices of operand 0 go into operand 1, from where operand 2 says to where operand 3 says."""
    return len(instruction.operands) == 4 and "slice_sizes" in instruction.attributes


def sends_to_itself(instruction: Instruction) -> bool:
    """Whether a device that is alone is sent anything."""
    pairs = instruction.attributes.get("source_target_pairs")
    return pairs is None or (0, 0) in pairs


def permuted(instruction: Instruction, source: Sequence[Any] | None, target: Sequence[Any]) -> Any:
    """What a device has after a collective-permute: what it was sent, or zeros.

    The form of four operands puts a part of the sender's array into one of the receiver's, at starts of either.

    Args:
        instruction: the collective-permute.
        source: the sender's operands, None where there is no sender.
        target: the device's own operands.

    Raises:
        UnsupportedError: a slice that is sent is not inside of its array.
    """
    if "slice_sizes" not in instruction.attributes:
        if source is None:
            return tuple_or_single_value([zeros_like(operand) for operand in target])
        return tuple_or_single_value(source)
    results = [np.array(array) for array in _listed(target[1])]
    if source is not None:
        arrays = _listed(source[0])
        for number, size, begin, end in _slices(instruction, source, target):
            result, array = results[number], arrays[number]
            if not (_holds(array, begin, size) and _holds(result, end, size)):
                reason = f"a slice of {list(size)} from {begin} to {end} is not inside of {list(array.shape)}"
                raise instruction.unsupported(reason, by="the interpreter")
            result[_region(end, size)] = array[_region(begin, size)]
    return tuple(results) if isinstance(target[1], tuple) else results[0]


def _listed(value: Any) -> Sequence[Any]:
    """The arrays of a tuple, or the one array."""
    return value if isinstance(value, tuple) else (value,)


def _holds(array: Array, starts: Sequence[int], sizes: Sequence[int]) -> bool:
    if not len(starts) == len(sizes) == array.ndim:
        return False
    bounds = zip(starts, sizes, array.shape, strict=True)
    return all(start >= 0 and start + size <= bound for start, size, bound in bounds)


class _Slice(NamedTuple):
    """A slice that is moved: the number of its arrays, its sizes, where it starts at the sender and the receiver."""

    array: int
    sizes: Sequence[int]
    begin: Sequence[int]
    end: Sequence[int]


def _slices(instruction: Instruction, source: Sequence[Any], target: Sequence[Any]) -> Iterator[_Slice]:
    """What is moved.

    Of several arrays each has one slice; of one array there may be several.
    """
    stated = instruction.attributes["slice_sizes"]
    sizes = stated if stated and isinstance(stated[0], Sequence) else [stated]
    begins, ends = _starts(source[2]), _starts(target[3])
    count, several = len(_listed(target[1])), isinstance(target[1], tuple)
    if not len(sizes) == len(begins) == len(ends) or (several and len(sizes) != count):
        counts = f"{len(sizes)} slices at {len(begins)} and {len(ends)} starts in {count} arrays"
        raise instruction.unsupported(counts, by="the interpreter")
    numbers = range(count) if several else [0] * len(sizes)
    return map(_Slice, numbers, sizes, begins, ends)


def _starts(value: Any) -> list[list[int]]:
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return [[int(start) for start in starts] for starts in value]
    return [[int(start) for start in value]] if isinstance(value, tuple) else [[int(s) for s in np.atleast_1d(value)]]


def _region(starts: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
