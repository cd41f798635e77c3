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
from dataclasses import dataclass
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
_ELEMENTS_AT_ONCE = 1 << 12
"""Elements of a result that take about as long as what NumPy does for an instruction, however few there are."""


class SpentError(Exception):
    """Runs evaluate more instructions than they may."""


@dataclass(slots=True)
class Allowance:
    """How many instructions may be evaluated; one with a large result counts as several."""

    left: int

    def take(self, instruction: Instruction) -> None:
        """Count an instruction that is about to be evaluated.

        Raises:
            SpentError: it is one too many.
        """
        self.left -= 1 + max(getattr(instruction.shape, "size", 0), 0) // _ELEMENTS_AT_ONCE
        if self.left < 0:
            raise SpentError


def runs(
    module: Any,
    inputs: Sequence[Array],
    liberties: Collection[str],
    count: int,
    allowance: Allowance | None = None,
) -> Iterator[list[Array]]:
    """The results of so many runs of the reference, in each of which other instructions are taken liberties with.

    Args:
        module: the program.
        inputs: of the call.
        liberties: names of what is taken.
        count: runs.
        allowance: what runs may evaluate, if there is a limit.

    Raises:
        SpentError: they have evaluated it.
    """
    interpret = compiler.prepare(module)
    for run in range(count):
        around = _Liberal(liberties, np.random.default_rng(run), 1.0 if run == 0 else _SHARE, allowance)
        yield interpret(*inputs, around=around)


def touches(name: str, module: Any) -> bool:
    """Whether a liberty has to do with anything that a program computes."""
    rng = np.random.default_rng(0)
    return any(_ALL[name](one, _untouched, rng) is not _untouched for one in module.instructions())


def _untouched(operands: Sequence[Any]) -> Any:
    """Stands for the meaning of an instruction, which is not asked."""
    return operands


class _Liberal:
    """Stands in for the meanings of instructions."""

    def __init__(
        self, liberties: Collection[str], rng: np.random.Generator, share: float, allowance: Allowance | None
    ) -> None:
        self._taken = [_ALL[name] for name in sorted(liberties)]
        self._rng, self._share, self._allowance = rng, share, allowance

    def __call__(self, instruction: Instruction, operands: Sequence[Any], evaluate: Evaluate) -> Any:
        if self._allowance is not None:
            self._allowance.take(instruction)
        for take in self._taken:
            if self._rng.random() < self._share:
                evaluate = take(instruction, evaluate, self._rng)
        return evaluate(operands)


def _has(instruction: Instruction, is_meant: Callable[[np.dtype[Any]], bool]) -> bool:
    """Whether an operand or the result of an instruction has elements of a type that is meant."""
    shapes = [instruction.shape, *(operand.shape for operand in instruction.operands)]
    leaves = [leaf.element_type for shape in shapes for leaf in compiler.edit.leaves(shape)]
    return any(kind.bits > 0 and is_meant(kind.dtype) for kind in leaves)


def _without_denormals(instruction: Instruction, evaluate: Evaluate, rng: np.random.Generator) -> Evaluate:
    if not _has(instruction, lambda dtype: dtype.name in _AFFECTED):
        return evaluate

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


def _without_payloads(instruction: Instruction, evaluate: Evaluate, _: np.random.Generator) -> Evaluate:
    if not _has(instruction, is_inexact):
        return evaluate
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
