"""The reference as engines compute that take liberties: on purpose, whatever a program says, or as all of them may.

- `added-zeros`: XLA takes x + 0 and x - 0 for x, also where x is a zero of the other sign.
- `denormals`: XLA:CPU sets a processor's mode by which denormal numbers, operands as well as results, are zeros.
  Those who solve systems divide by them, and which other elements infinities spoil is open.
- `initial-values`: XLA takes those of reductions for identities (`xlabench.judging.initial_values`).
- `order`: every engine may combine the elements of a reduction in other pairs (`xlabench.judging.orders`).
- `payloads`: XLA:CPU computes types of 16 bits and less in f32, and conversions keep of a NaN that it is one, and its
  sign.  The language gives its other bits no meaning, but a total order looks at them.

None acts on everything: a mode on arithmetic and not on what is moved or folded beforehand, a simplification where
it sees one.  So of several runs of the reference one takes a liberty with all instructions, and the others with some
that are drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import compiler
from xlabench.judging.initial_values import for_identities
from xlabench.judging.orders import in_another_order
from xlabench.judging.perturb import SPREADING
from xlabench.judging.tolerance import Array, finfo, is_inexact, raw_bits, real_dtype

Instruction = Any  # the compiler's; the harness sees its data by attribute only
Evaluate = Callable[[Sequence[Any]], Any]

_AFFECTED = frozenset({"bfloat16", "float32", "float64", "complex64", "complex128"})
"""Narrower types are computed on in f32, where their denormal numbers are none."""
_SHARE = 0.5


def runs(module: Any, inputs: Sequence[Array], liberties: Collection[str], count: int) -> Iterator[list[Array]]:
    """The results of so many runs of the reference, in each of which other instructions are taken liberties with.

    Args:
        module: the program.
        inputs: of the call.
        liberties: names of what is taken.
        count: runs.
    """
    interpret = compiler.prepare(module)
    for run in range(count):
        around = _Liberal(liberties, np.random.default_rng(run), 1.0 if run == 0 else _SHARE)
        yield interpret(*inputs, around=around)


class _Liberal:
    """Stands in for the meanings of instructions."""

    def __init__(self, liberties: Collection[str], rng: np.random.Generator, share: float) -> None:
        self._taken = [_ALL[name] for name in sorted(liberties)]
        self._rng, self._share = rng, share

    def __call__(self, instruction: Instruction, operands: Sequence[Any], evaluate: Evaluate) -> Any:
        for take in self._taken:
            if self._rng.random() < self._share:
                evaluate = take(instruction, evaluate, self._rng)
        return evaluate(operands)


def _without_denormals(instruction: Instruction, evaluate: Evaluate, rng: np.random.Generator) -> Evaluate:
    def flushed(operands: Sequence[Any]) -> Any:
        value = without_denormals(evaluate([without_denormals(operand) for operand in operands]))
        return _spread(value, rng) if instruction.opcode in SPREADING else value

    return flushed


def _spread(value: Array, rng: np.random.Generator) -> Array:
    """A result in which something is not finite, with NaN for some elements: which of them it spoils is open."""
    if np.isfinite(value).all():
        return value
    return np.where(rng.random(value.shape) < _SHARE, value.dtype.type(np.nan), value)


def without_denormals(value: Any) -> Any:
    """An array, or each of a tuple, with zeros of the same sign for denormal numbers."""
    if isinstance(value, tuple):
        return tuple(without_denormals(element) for element in value)
    array = np.asarray(value)
    if array.dtype.name not in _AFFECTED:
        return value
    components = np.ascontiguousarray(array).reshape(-1).view(real_dtype(array.dtype))
    with np.errstate(all="ignore"):
        small = np.abs(components) < finfo(components.dtype).tiny
        kept = np.where(small, np.copysign(np.zeros((), components.dtype), components), components)
    return kept.astype(components.dtype).view(array.dtype).reshape(array.shape)


def _without_added_zeros(instruction: Instruction, evaluate: Evaluate, rng: np.random.Generator) -> Evaluate:
    if instruction.opcode not in ("add", "subtract"):
        return evaluate
    # Of two zeros it is drawn which one is left out.
    is_first = instruction.opcode == "add" and rng.random() < _SHARE

    def kept(operands: Sequence[Any]) -> Any:
        value = np.asarray(evaluate(operands))
        if not is_inexact(value.dtype):
            return value
        left, right = operands[::-1] if is_first else operands
        return np.where(np.asarray(right) == 0, left, value).astype(value.dtype)

    return kept


def _without_payloads(_: Instruction, evaluate: Evaluate, __: np.random.Generator) -> Evaluate:
    return lambda operands: evaluate([without_payloads(operand) for operand in operands])


def without_payloads(value: Any) -> Any:
    """An array, or each of a tuple, with one NaN of the same sign for all of a kind."""
    if isinstance(value, tuple):
        return tuple(without_payloads(element) for element in value)
    array = np.asarray(value)
    if not is_inexact(array.dtype):
        return value
    components = np.ascontiguousarray(array).reshape(-1).view(real_dtype(array.dtype))
    bits, only = raw_bits(components), raw_bits(np.asarray(np.nan, components.dtype))
    sign = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    kept = np.where(np.isnan(components), (only & ~sign) | (bits & sign), bits)
    return kept.astype(bits.dtype).view(array.dtype).reshape(array.shape)


Take = Callable[[Instruction, Evaluate, np.random.Generator], Evaluate]
"""Makes of the meaning of an instruction the one with a liberty, which may draw."""

LIBERTIES: Mapping[str, Take] = {
    "added-zeros": _without_added_zeros,
    "denormals": _without_denormals,
    "initial-values": for_identities,
    "payloads": _without_payloads,
}
"""Those that some engines take, by name."""

OF_ALL: Mapping[str, Take] = {"order": in_another_order}
"""Those that the language leaves to every engine."""

_ALL = {**LIBERTIES, **OF_ALL}
