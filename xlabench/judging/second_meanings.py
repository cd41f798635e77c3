"""The bounds of operations on many elements, held to the same operations written out with more digits.

Rules of sums, orders, solvers and movement say how errors go from many elements to many.  No engine comes near the end
of a bound, so what such a rule forgets hides bugs without a sign.  Each is tried on operands that are not known exactly
(`xlabench.judging.second_computation`): whatever the operation makes of numbers within their bounds, computed with
more digits and rounded once, must lie within its own.  No bound of a sum may be several times as wide as what the
errors of its terms, and their roundings, come to.  What only moves elements must move their bounds with them, and what
is put in order is known where no two intervals meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath
import numpy as np

import compiler
from compiler.generate import PAIRS
from xlabench.judging.second_computation import KINDS, SLACK, blurred, limits
from xlabench.judging.self_check import JudgeError
from xlabench.judging.tightness import MOST
from xlabench.judging.tolerance import Array
from xlabench.judging.written_out import CHOSEN, FORMS, MOVED, ORDERED, SUMMED, Numbers
from xlabench.survival import about

_DIGITS = 160
"""Bits that are computed with: three times as many as f64 has."""
_CORNERS = 4
"""How many choices of numbers within the bounds of all operands are tried, beside the values themselves."""
_WIDER = 4.0
"""How many times as wide as what comes of its operands, and its roundings, a bound is at most, in the median."""
_OF_ONE = 16
"""Roundings of what `tightness` says none of."""


@cache
def rows() -> Sequence[tuple[str, str]]:
    """All forms on all types that they are tried on, those on one type after the other."""
    known = [(name, kind) for kind in KINDS for name, form in FORMS.items() if kind in form.kinds]
    return [(name, kind) for name, kind in known if (FORMS[name].opcode, kind) in PAIRS]


def check(row: tuple[str, str], rng: np.random.Generator) -> None:
    """Hold the bounds of an operation to what it makes of numbers within its operands' bounds.

    Args:
        row: one of `rows()`.
        rng: what operands are drawn by.

    Raises:
        JudgeError: they are too tight or too wide.
    """
    name, kind = row
    form = FORMS[name]
    inputs = [
        array.reshape(dims)
        for dims in form.dims
        for array in blurred(kind, form.ends, int(np.prod(dims, dtype=int)), rng)
    ]
    with np.errstate(all="ignore"), mpmath.workprec(_DIGITS):
        found = _prepared(row)(*inputs)
        operands, results = found[: len(form.dims)], found[len(form.dims) :]
        tried = _Tried(name, kind, operands, results)
        if all(np.isfinite(operand.bound).all() for operand in operands):
            for said in tried.faults(rng):
                raise JudgeError(about(form.opcode, f"{name} of {kind}: {said}"))


@cache
def _prepared(row: tuple[str, str]) -> Callable[..., list[Any]]:
    """Wide mode of a row's program, which has its turn again and again."""
    name, kind = row
    prepared: Callable[..., list[Any]] = compiler.prepare(FORMS[name].module(kind), wide=True)
    return prepared


@dataclass(frozen=True, slots=True)
class _Tried:
    """A form on a type with its operands and results."""

    name: str
    kind: str
    operands: Sequence[Any]
    results: Sequence[Any]

    def faults(self, rng: np.random.Generator) -> Iterator[str]:
        """What is wrong."""
        if self.name in MOVED:
            yield from self._moved()
            return
        for number in range(1 + _CORNERS):
            yield from self._too_tight(self._within(number, rng))
        if self.name in SUMMED:
            yield from self._too_wide()
        elif self.name in ORDERED:
            yield from self._open()

    def _moved(self) -> Iterator[str]:
        """Each element with its bound."""
        for field in ("value", "bound"):
            given = [np.asarray(getattr(operand, field)).astype(object) for operand in self.operands]
            if not np.array_equal(FORMS[self.name].meaning(*given), getattr(self.results[0], field).astype(object)):
                yield f"the {field} of an element is not where the element is"

    def _within(self, number: int, rng: np.random.Generator) -> list[Numbers]:
        """The operands' values, or numbers as far from them as their bounds allow, all up, all down or each its way."""
        found = []
        for operand in self.operands:
            ways = rng.choice([-1.0, 1.0], operand.value.shape) if number > 2 else np.full(
                operand.value.shape, (0.0, 1.0, -1.0)[number]
            )  # fmt: skip
            moved = ways * np.abs(operand.bound)
            if self.name in {*ORDERED, *CHOSEN}:  # nothing is rounded, so that only numbers of the type come of such
                moved = self._own(operand, moved) - operand.value
            found.append(_numbers(operand.value) + _numbers(moved))
        return found

    def _own(self, operand: Any, moved: Array) -> Array:
        """Numbers of the type that lie as far away, or a little less; the values themselves where there are none."""
        inside = moved - np.sign(moved) * float(limits(self.kind).eps) * np.abs(operand.value)
        own = (operand.value + inside).astype(KINDS[self.kind]).astype(np.float64)
        nearer: Array = np.where(np.abs(own - operand.value) <= np.abs(moved), own, operand.value)
        return nearer

    def _too_tight(self, given: Sequence[Numbers]) -> Iterator[str]:
        """What the bounds do not hold of what comes of some numbers."""
        made = FORMS[self.name].meaning(*given)
        for number, result in zip(made if isinstance(made, tuple) else (made,), self.results, strict=True):
            own = np.dtype(result.value.dtype if result.element_type == "s32" else KINDS[result.element_type])
            many = np.complex128 if own.kind == "c" else np.float64
            rounded = number.astype(many).astype(own).astype(many)
            off = np.abs(rounded - result.value.astype(many))
            legal = (off <= np.abs(result.bound) * SLACK) | np.isinf(result.bound)
            if not legal.all():
                at = tuple(map(int, np.argwhere(~legal)[0]))
                bound, value = result.bound[at], result.value[at]
                yield f"{rounded[at]} is right, and the bound {bound:.3g} about {value} is too tight"

    def _too_wide(self) -> Iterator[str]:
        """Bounds several times as wide as what errors and roundings of the magnitudes of all terms come to."""
        form = FORMS[self.name]
        near, far = (
            form.meaning(*[_numbers(np.abs(o.value) + share * np.abs(o.bound)) for o in self.operands])
            for share in (0, 1)
        )
        terms = form.meaning(*[np.full(operand.value.shape, 1) for operand in self.operands])
        most = MOST.get(form.opcode)
        roundings = _OF_ONE if most is None else most.complex if self.kind.startswith("c") else most.real
        count = np.maximum(1.0, np.abs(terms.astype(np.complex128))).astype(float)
        reach = np.abs(far.astype(np.complex128))
        spread = np.abs((far - near).astype(np.complex128))
        whole = spread + roundings * float(limits(self.kind).eps) * count * reach
        if self.name == "fft":  # turns have magnitude 1, and cancel
            sums = [np.abs(o.bound).sum() + roundings * float(limits(self.kind).eps) * np.abs(o.value).sum()
                    for o in self.operands]  # fmt: skip
            whole = np.full(whole.shape, sum(sums))
        width = float(np.median(np.abs(self.results[0].bound) / whole))
        if width > _WIDER:
            yield f"bounds are {width:.3g} times as wide as what comes of operands"

    def _open(self) -> Iterator[str]:
        """What is unknown where intervals do not meet, or moves farther than any of them is wide."""
        values, errors = self.operands[0].value, np.abs(self.operands[0].bound)
        order = np.argsort(values, axis=1, kind="stable")
        low, high = (np.take_along_axis(values + way * errors, order, axis=1) for way in (-1, 1))
        is_apart = (np.maximum.accumulate(high, axis=1)[:, :-1] < low[:, 1:]).all(axis=1)
        farthest = errors.max(axis=1) * SLACK + 2.0**-50 * np.abs(values).max(axis=1)
        for number, result in enumerate(self.results):
            widest = np.abs(result.bound).reshape(len(values), -1).max(axis=1)
            allowed = farthest if number == 0 else np.zeros(len(values))
            if (is_apart & (widest > allowed)).any() or (number == 0 and (widest > farthest).any()):
                yield f"result {number} is not known where the order is"


def _numbers(array: Array) -> Numbers:
    many = mpmath.mpc if array.dtype.kind == "c" else mpmath.mpf
    made = np.empty(array.shape, object)
    for at in np.ndindex(array.shape):
        made[at] = many(complex(array[at]) if array.dtype.kind == "c" else float(array[at]))
    return made


__all__ = ["check", "rows"]
