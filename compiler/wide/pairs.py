"""Ops with a computation of their own, whatever it is: the op's meaning runs on pairs of a value and its error.

The meanings that fold, scatter and merge only move elements and hand them to a computation.  On arrays whose elements
are pairs they do the same, and the computation, called here, sees values with errors.  So the order in which errors add
up is that of the reference; where it combines in a tree, errors are raised to what a chain as long could give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import Array
from compiler.ops import OPS
from compiler.wide.numbers import Wide, exact
from compiler.wide.rule import Context

_CHAIN = 128
"""Up to so many elements the reference folds one after another, which is the longest chain of roundings there is."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The evaluator that an op's meaning is given along with pairs."""

    context: Context

    def call(self, computation: Computation, arguments: Sequence[Any]) -> Any:
        """A computation on pairs."""
        return _packed(self.context.call(computation, [_unpacked(argument) for argument in arguments]))

    def map(self, computation: Computation, arguments: Sequence[Array]) -> Any:
        """A computation of scalars on all elements; on plain arrays, which carry no error, as it stands."""
        if all(argument.dtype.names is None for argument in arguments):
            return self.context.plain.map(computation, arguments)
        if self.context.loop.is_mappable(computation):
            return self.call(computation, arguments)
        arrays = np.broadcast_arrays(*arguments)
        results = [self.call(computation, [np.asarray(a[i]) for a in arrays]) for i in np.ndindex(arrays[0].shape)]
        return _stacked(results, arrays[0].shape, computation)


def _stacked(results: Sequence[Any], dims: tuple[int, ...], computation: Computation) -> Any:
    if not results:
        parameters = computation.parameters[: len(computation.parameters) // 2]
        empty = [_packed(exact(np.zeros(dims, p.array.element_type.dtype))) for p in parameters]
        return tuple(empty) if len(empty) > 1 else empty[0]
    if isinstance(results[0], tuple):
        return tuple(_stacked(column, dims, computation) for column in zip(*results, strict=True))
    return np.stack(results).reshape(dims)


def _packed(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_packed, value))
    pairs = np.empty(value.value.shape, [("value", value.value.dtype), ("error", np.float64)])
    pairs["value"], pairs["error"] = value.value, value.error
    return pairs


def _unpacked(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_unpacked, value))
    if value.dtype.names is None:
        return exact(value)
    return Wide(value["value"], value["error"])


def paired(instruction: Instruction, operands: Sequence[Wide], numbers: Sequence[int], context: Context) -> Any:
    """An instruction whose operands at some places are combined by its computation; the others carry no error.

    Args:
        instruction: a reduction, a scatter, or the like.
        operands: with their errors.
        numbers: of the operands that are combined.
        context: what is known of the program.
    """
    given = [_packed(o) if number in numbers else o.value for number, o in enumerate(operands)]
    meaning = OPS[instruction.opcode].evaluate
    assert meaning is not None, f"{instruction.opcode} has a meaning"
    result = _unpacked(meaning(instruction, given, _Pairs(context)))
    return _raised(result, longest(instruction, operands))


def longest(instruction: Instruction, operands: Sequence[Wide]) -> int:
    """The most elements that a reduction folds into one."""
    dims = operands[0].value.shape
    if instruction.opcode == "reduce":
        return math.prod(dims[axis] for axis in instruction.attributes["dimensions"])
    if instruction.opcode == "reduce-window":
        return math.prod(dimension.size for dimension in instruction.attributes.get("window", ()))
    return 1


def _raised(value: Any, length: int) -> Any:
    if length <= _CHAIN:
        return value
    if isinstance(value, tuple):
        return tuple(_raised(one, length) for one in value)
    factor = length / math.log2(length)
    return Wide(value.value, value.error * factor)


__all__ = ["longest", "paired"]
