"""The reference with rounding errors on purpose: which digits of a result hold, and which decisions are close.

Every instruction that rounds gets its result moved by a few units of the last place, up or down at random element by
element; one that sums (a reduction, a product, a factorisation) gets its operands moved, which shows how well the sum
is conditioned.  Run a few times, this gives each element of the results a spread.  Elements that jump lie past a
discontinuity: a comparison, a floor, a sort that rounding decides (Parker, "Monte Carlo arithmetic", 1997).

What only moves data, counts or compares is left alone, so programs of integers, and those parts of others that are
exact, keep being judged to the bit.

What the language leaves open is drawn too: the sign of a NaN (and of the zero that stands for one in types without);
whether infinities among complex numbers, or anywhere in a transform or a factorisation, come out as NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import compiler
from compiler.ops import Trait, having, narrowing
from xlabench.judging.tolerance import Array, finfo, is_inexact, raw_bits, real_dtype

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Value = Any
Evaluate = Callable[[Sequence[Value]], Value]

_ROUNDING = having(Trait.IEEE) | narrowing(Trait.ELEMENTWISE, "remainder convert reduce-precision sign abs")
"""What rounds once; signs and magnitudes do of complex numbers."""
_FUNCTIONS = having(Trait.APPROXIMATE)
_SUMS = having(Trait.ACCUMULATES)
SPREADING = having(Trait.ALGORITHM)
"""Implementations differ in which terms meet, so one infinity may spoil more or fewer of the results."""
_WITHOUT_NAN = frozenset({"float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"})
_EXACT = having(Trait.EXACT)
"""What is exact on floats; what a reduction or a scatter combines by is an instruction of its own."""
_ULPS_OF_ROUNDING = 1
_ULPS_OF_FUNCTION = 4
_ULPS_OF_SUM = 2
_HALF = 0.5


def perturbed(module: Any, inputs: Sequence[Array], *, runs: int, seed: int, scale: int = 1) -> Iterator[list[Array]]:
    """The results of several runs of the reference, each with rounding errors of its own, so many times as large.

    Args:
        module: the program.
        inputs: of the call.
        runs: how many.
        seed: of the errors.
        scale: how many times as large as roundings they are.
    """
    interpret = compiler.prepare(module)
    for run in range(runs):
        yield interpret(*inputs, around=_Perturb(np.random.default_rng([seed, run]), scale))


def rounds(module: Any) -> bool:
    """Whether any instruction of a program may round; those that only move, choose or call do not."""
    return any(_is_of_floats(instruction.shape) and not _is_exact(instruction) for instruction in module.instructions())


def _is_exact(instruction: Instruction) -> bool:
    of_pairs = any(_is_of_floats(o.shape) and o.shape.element_type.dtype.kind == "c" for o in instruction.operands)
    return instruction.opcode in _EXACT and not (of_pairs and instruction.opcode in ("abs", "sign"))


def _is_of_floats(shape: Any) -> bool:
    return hasattr(shape, "dims") and shape.element_type.bits > 0 and is_inexact(shape.element_type.dtype)


def leaves_specials_open(module: Any) -> bool:
    """Whether the language leaves open what infinities and NaN make of other numbers somewhere in a program."""
    return any(
        instruction.opcode in SPREADING or (hasattr(leaf, "dims") and leaf.element_type.name in ("c64", "c128"))
        for instruction in module.instructions()
        for leaf in compiler.edit.leaves(instruction.shape)
    )


class _Perturb:
    """Stands in for the meanings of instructions."""

    def __init__(self, rng: np.random.Generator, scale: int) -> None:
        self.rng, self.scale = rng, scale

    def __call__(self, instruction: Instruction, operands: Sequence[Value], evaluate: Evaluate) -> Value:
        opcode = instruction.opcode
        if opcode in SPREADING and not all(np.isfinite(operand).all() for operand in operands):
            return self._spoilt(evaluate(operands), np.True_)
        value = self._rounded(instruction, operands, evaluate)
        if opcode in _FUNCTIONS | _ROUNDING | _SUMS and not isinstance(value, tuple) and _is_complex(value, operands):
            arrays = [np.asarray(array) for array in (value, *operands)]
            special = [~np.isfinite(array) for array in arrays if array.shape in ((), arrays[0].shape)]
            return self._spoilt(value, np.logical_or.reduce(np.broadcast_arrays(*special)))
        return value

    def _rounded(self, instruction: Instruction, operands: Sequence[Value], evaluate: Evaluate) -> Value:
        opcode = instruction.opcode
        if opcode in _FUNCTIONS:
            return self._moved(evaluate(operands), _ULPS_OF_FUNCTION)
        if opcode in _SUMS and _rounds(instruction):
            return self._moved(evaluate([self._moved(operand, _ULPS_OF_SUM) for operand in operands]), 1)
        if opcode in _ROUNDING:
            return self._moved(evaluate(operands), _ULPS_OF_ROUNDING)
        return evaluate(operands)

    def _spoilt(self, value: Value, where: Any) -> Value:
        """The value with NaN, or a number for a NaN, at some of the places where that may be."""
        array = np.asarray(value)
        chosen = where & (self.rng.random(array.shape) < _HALF)
        nan = complex(np.nan, np.nan) if array.dtype.kind == "c" else np.nan
        other = np.where(np.isnan(array), np.zeros((), array.dtype), np.asarray(nan, array.dtype))
        return np.where(chosen, other, array)

    def _moved(self, value: Value, ulps: int) -> Value:
        if isinstance(value, tuple):
            return tuple(self._moved(element, ulps) for element in value)
        array = np.asarray(value)
        if not is_inexact(array.dtype):
            return value
        if array.dtype.kind == "c":
            components = np.ascontiguousarray(array).reshape(-1).view(real_dtype(array.dtype))
            moved = move(components, self.rng, self._scaled(ulps, components))
            return np.ascontiguousarray(moved).view(array.dtype).reshape(array.shape)
        return move(array, self.rng, self._scaled(ulps, array))

    def _scaled(self, ulps: int, array: Array) -> int:
        """So many times the errors, but by scaling no more than a factor of two, which in narrow types is few units."""
        return max(ulps, min(ulps * self.scale, 1 << int(finfo(array.dtype).nmant)))


def _is_complex(value: Value, operands: Sequence[Value]) -> bool:
    return any(np.asarray(array).dtype.kind == "c" for array in (value, *operands))


def _rounds(instruction: Instruction) -> bool:
    """Whether an instruction that combines elements does so with rounding."""
    called = list(instruction.called_computations())
    return not called or any(i.opcode in _ROUNDING | _FUNCTIONS for c in called for i in c.instructions)


def move(array: Array, rng: np.random.Generator, ulps: int) -> Array:
    """Finite numbers moved by up to so many units of the last place; zeros stay, a NaN gets a random sign.

    Args:
        array: floats.
        rng: what is drawn from.
        ulps: units in the last place at most, either way.
    """
    bits = raw_bits(array)
    width = int(finfo(array.dtype).bits)
    sign = bits.dtype.type(1 << (width - 1))
    magnitude = (bits & ~sign).astype(np.int64)
    largest = int(raw_bits(np.asarray(finfo(array.dtype).max, array.dtype)))
    overflow = largest + 1 if width >= 16 else largest
    steps = rng.integers(-ulps, ulps, array.shape, endpoint=True)
    moving = (magnitude > 0) & (magnitude <= largest)
    moved = np.where(moving, np.clip(magnitude + steps, 0, overflow), magnitude).astype(bits.dtype)
    is_open = magnitude == 0 if array.dtype.name in _WITHOUT_NAN else np.isnan(array)
    signs = np.where(is_open, rng.integers(0, 2, array.shape).astype(bits.dtype) * sign, bits & sign)
    return np.asarray((moved | signs).astype(bits.dtype)).view(array.dtype).reshape(array.shape)
