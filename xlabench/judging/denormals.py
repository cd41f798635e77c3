"""The reference as machines compute that are told to take denormal numbers for zeros, operands as well as results.

XLA:CPU sets a processor's mode to that effect while a program runs.  The mode acts on arithmetic and not on what is
moved or folded beforehand, and nothing says which of it an instruction ends up as.  So of several runs one flushes all
values and the others those of instructions drawn at random: an element that one of them changes is nothing to report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import compiler
from xlabench.judging.tolerance import Array, finfo, real_dtype

_AFFECTED = frozenset({"bfloat16", "float32", "float64", "complex64", "complex128"})
"""Narrower types are computed on in f32, where their denormal numbers are none."""
_RUNS = 6


def flushed(module: Any, inputs: Sequence[Array]) -> list[list[Array]]:
    """The results of several runs of the reference, in each of which other denormal numbers are zeros."""
    shares = (1.0, *[0.5] * (_RUNS - 1))
    return [
        compiler.interpret(module, *inputs, around=_Flush(np.random.default_rng(run), share))
        for run, share in enumerate(shares)
    ]


class _Flush:
    """Stands in for the meanings of instructions."""

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        self._rng, self._share = rng, share

    def __call__(self, _: Any, operands: Sequence[Any], evaluate: Callable[[Sequence[Any]], Any]) -> Any:
        if self._rng.random() >= self._share:
            return evaluate(operands)
        return without_denormals(evaluate([without_denormals(operand) for operand in operands]))


def without_denormals(value: Any) -> Any:
    """An array, or each of a tuple, with zeros of the same sign for denormal numbers."""
    if isinstance(value, tuple):
        return tuple(without_denormals(element) for element in value)
    array = np.asarray(value)
    if array.dtype.name not in _AFFECTED:
        return value
    parts = np.ascontiguousarray(array).reshape(-1).view(real_dtype(array.dtype))
    with np.errstate(all="ignore"):
        small = np.abs(parts) < finfo(parts.dtype).tiny
        kept = np.where(small, np.copysign(np.zeros((), parts.dtype), parts), parts)
    return kept.astype(parts.dtype).view(array.dtype).reshape(array.shape)
