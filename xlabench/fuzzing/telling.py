"""Which instructions of a program count: those whose value, were it another, would show in some result.

What a multiplication by zero, a comparison or a slice swallows is dead weight: a bug in it is not found, however often
the program is run.  An instruction's value is changed in half of its elements while the reference runs, and where a
result differs then, on any of a few inputs, it told.  That is one run for each instruction, so few programs are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

import compiler
from compiler.ops import Trait, having
from xlabench.judging.differ import bitwise_equal
from xlabench.judging.tolerance import Array, is_inexact

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Value = Any
Evaluate = Callable[[Sequence[Value]], Value]

MOST_ASKED = 24
"""Instructions of one program."""
_MOST_INPUTS = 2
_SHARE = 0.5
_FLIPPED = 3
"""Bits of an integer that are others: with the lowest alone a second change, as in a loop, may take back the first."""
_LONGER = 4  # times as many steps as without the change: a loop that does not end any more is a difference
_ASIDE = having(Trait.STRUCTURAL | Trait.GENERATES | Trait.TOKENS)
"""What has no work of its own to be wrong in, or none that depends on what it is given."""
_BY_COMPUTATIONS = having(Trait.COMBINES | Trait.ORDERS)
"""What the reference does at once by the one operation of a computation, which it does not run then."""


class _EndlessError(Exception):
    """A run takes many times as long as it did."""


@dataclass(slots=True)
class _Change:
    """Stands in for the meanings of instructions: all as they are, but for one whose value is changed."""

    at: Instruction | None
    rng: np.random.Generator
    most_steps: int = 1 << 62
    steps: int = 0
    reached: bool = False

    def __call__(self, instruction: Instruction, operands: Sequence[Value], evaluate: Evaluate) -> Value:
        self.steps += 1
        if self.steps > self.most_steps:
            raise _EndlessError
        value = evaluate(operands)
        if instruction is not self.at:
            return value
        self.reached = True
        return self._changed(value)

    def _changed(self, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(self._changed(element) for element in value)
        array = np.asarray(value)
        chosen = np.asarray(self.rng.random(array.shape) < _SHARE)  # of a scalar NumPy gives no array to write into
        if array.size:
            chosen.reshape(-1)[int(self.rng.integers(array.size))] = True
        return np.where(chosen, _other(array), array).astype(array.dtype)


def _other(array: Array) -> Array:
    """Another value than each of those that there are."""
    if array.dtype.kind == "b":
        return ~array
    if not is_inexact(array.dtype):
        wide = np.uint64 if array.dtype == np.uint64 else np.int64  # not all narrow types have operations on bits
        return np.asarray(array.astype(wide) ^ wide(_FLIPPED)).astype(array.dtype)
    with np.errstate(all="ignore"):
        moved = np.asarray(array + (np.abs(array) + np.asarray(1).astype(array.dtype))).astype(array.dtype)
        one = np.asarray(1).astype(array.dtype)
        return np.where(np.isfinite(moved) & (moved != array), moved, np.where(array == one, -one, one))


@dataclass(frozen=True, slots=True)
class Told:
    """What was asked about one instruction, and whether it told."""

    opcode: str
    instruction_id: str
    tells: bool


def told(
    module: Any, calls: Sequence[Sequence[Array]], rng: np.random.Generator, first: Set[str] = frozenset()
) -> list[Told]:
    """What at most `MOST_ASKED` instructions of a module tell.

    Programs for several devices are left out: the reference runs them as others that are made of them.

    Args:
        module: a program.
        calls: inputs, of each call.
        rng: what is drawn by.
        first: places of instructions that are asked before others.
    """
    if compiler.device_count(module) > 1:
        return []
    at_once = _done_at_once(module)
    asked = [i for i in module.instructions() if i.opcode not in _ASIDE and i.parent not in at_once]
    order = sorted(
        map(int, rng.permutation(len(asked))), key=lambda number: _instruction_id(asked[number]) not in first
    )
    chosen = [asked[number] for number in sorted(order[:MOST_ASKED])]
    left = chosen
    for inputs in calls[:_MOST_INPUTS]:
        plain = _Change(None, rng)
        expected = compiler.interpret(module, *inputs, around=plain)
        left = [i for i in left if not _tells(module, inputs, expected, _Change(i, rng, _LONGER * plain.steps))]
    return [Told(i.opcode, _instruction_id(i), i not in left) for i in chosen]


def _done_at_once(module: Any) -> set[Any]:
    """Computations of one operation by which others combine or compare elements, and nothing else runs."""
    callers: dict[Any, set[str]] = {}
    for instruction in module.instructions():
        for called in instruction.called_computations():
            callers.setdefault(called, set()).add(instruction.opcode)
    return {
        computation
        for computation, opcodes in callers.items()
        if opcodes <= _BY_COMPUTATIONS and sum(one.opcode not in _ASIDE for one in computation.instructions) == 1
    }


def _instruction_id(instruction: Instruction) -> str:
    """The place of an instruction, as a compilation tells it of its rewrites."""
    return "/".join(compiler.edit.id_of(instruction))


def _tells(module: Any, inputs: Sequence[Array], expected: Sequence[Array], change: _Change) -> bool:
    """Whether results differ with a change; where sizes or loops get out of hand with it, they would too.

    A size that is known before the program runs is no other when it runs: arrays of another one fit nowhere.
    """
    try:
        actual = compiler.interpret(module, *inputs, around=change)
    except (_EndlessError, compiler.CompilerError, IndexError, ValueError):
        return True
    return any(
        one.shape != other.shape or not bitwise_equal(one, other).all()
        for one, other in zip(expected, actual, strict=True)
    )
