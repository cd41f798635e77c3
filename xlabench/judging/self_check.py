"""The judge as a patient: what it must say of results that are known to be right or wrong.

A bound that is too wide, or swallows a NaN, hides every bug behind it, and no engine ever complains.  So the judge is
asked about the reference's own results with one element changed, where no judgement is needed to know what that is: a
NaN for a number, another sign, a number beyond what the bound itself allows, or one within it.

The bounds are a second computation, and the reference must lie within them.  Of programs without floats they are 0, but
for what a sort leaves open; of single operations on tame numbers no wider than rounding explains, for each kind of
operation (`xlabench.judging.tightness`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from compiler.ops import Trait, having
from xlabench.judging import orders
from xlabench.judging.bounds import Basis, Bounds, basis_of
from xlabench.judging.judge import Here, Standard, judged
from xlabench.judging.perturb import leaves_specials_open, rounds
from xlabench.judging.residuals import Residual, decided_by
from xlabench.judging.tightness import HELD, largest, needlessly_open, too_wide
from xlabench.judging.tolerance import Array, distance, finfo, is_inexact, real_dtype

_UNKNOWN = ("not supported by wide mode", "wide mode takes")
_FINE = frozenset({"bitwise", "within", "undecided"})
_UNDECIDED, _WRONG = frozenset({"undecided"}), frozenset({"wrong"})
_FAR, _BEYOND, _WITHIN, _SURELY = 1e3, 1.01, 0.5, 0.75
_MATRIX = 2  # dimensions
_SYSTEMS = frozenset({"gtsv", "trsm"})
_TRIALS_EVERY = 8  # some fifty runs of the reference
_BY_TOLERANCE = Standard(wide=False)
_OPEN = having(Trait.RANDOM) | {"sort"}
"""Opcodes that leave open what integers they give."""


class JudgeError(Exception):
    """The judge says of results what is known not to be so."""


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a result: the reference's own number, the true one, how far off a right one may be."""

    own: Any
    value: Any
    error: float
    largest: float

    @property
    def is_float(self) -> bool:
        """Whether it is one of the types that round."""
        return is_inexact(self.own.dtype)

    @property
    def is_finite(self) -> bool:
        """Whether it is a number at all."""
        return not self.is_float or bool(np.isfinite(self.own) and np.isfinite(self.value))

    def cast(self, number: Any) -> Any:
        """A number in the element's own type."""
        return np.asarray(number).astype(self.own.dtype)[()]

    def beyond(self, number: Any) -> Any:
        """A number in the element's own type if it surely lies beyond the bound, else None."""
        other = self.cast(number)
        return other if np.isfinite(other) and self._distance(other) > self.error * _BEYOND else None

    def within(self, number: Any) -> Any:
        """A number in the element's own type if it surely lies within the bound and is another one, else None."""
        other = self.cast(number)
        is_inside = np.isfinite(other) and self._distance(other) <= self.error * _SURELY
        return other if is_inside and other != self.own else None

    def _distance(self, other: Any) -> float:
        return distance(other, self.value)


def _not_a_number(element: Element) -> Any:
    if not element.is_float or np.isnan(element.own):
        return None
    other = element.cast(np.nan)
    return other if np.isnan(other) else None


def _infinite(element: Element) -> Any:
    if not element.is_float or not element.is_finite or element.own.dtype.kind == "c":
        return None
    other = element.cast(np.inf)
    return other if np.isinf(other) else None


def _number_for_none(element: Element) -> Any:
    return element.cast(1) if element.is_float and np.isnan(element.own) else None


def _opposite(element: Element) -> Any:
    return element.beyond(-element.own) if element.is_float and element.is_finite else None


def _turned(element: Element) -> Any:
    is_judged = element.is_float and element.own.dtype.kind != "c" and bool(np.signbit(element.error))
    return -element.own if is_judged and element.own == 0 else None


def _just_beyond(element: Element) -> Any:
    if not element.is_float or not element.is_finite:
        return None
    steps = 4 * float(finfo(real_dtype(element.own.dtype)).eps) * distance(element.value, 0)
    return element.beyond(element.value + (2 * element.error + steps))


def _far_off(element: Element) -> Any:
    if element.own.dtype.name not in HELD or not element.is_finite:
        return None
    return element.beyond(element.value + (_FAR * (element.largest + 1) + 2 * element.error))


def _another(element: Element) -> Any:
    if element.is_float:
        return None
    return ~element.own if element.own.dtype.kind == "b" else element.cast(int(element.own) ^ 1)


def _inside(element: Element) -> Any:
    if not element.is_float or not element.is_finite:
        return None
    return element.within(element.value + _WITHIN * element.error)


@dataclass(frozen=True, slots=True)
class Change:
    """Another element, None where there is none of the kind; what must be said of it; whether a tolerance tells."""

    make: Callable[[Element], Any]
    verdicts: frozenset[str] = _WRONG
    by_tolerance: bool = True


CHANGES: Mapping[str, Change] = {
    "NaN": Change(_not_a_number),
    "an infinity": Change(_infinite),
    "a number for NaN": Change(_number_for_none),
    "another integer": Change(_another),
    "a number far off": Change(_far_off),
    "the other sign": Change(_opposite, by_tolerance=False),
    "a zero of the other sign": Change(_turned, by_tolerance=False),
    "a number just beyond its bound": Change(_just_beyond, by_tolerance=False),
    "a number within its bound": Change(_inside, _FINE, by_tolerance=False),
}
"""How one element is changed, in words."""


def check(module: Any, inputs: Sequence[Array], rng: np.random.Generator, *, is_tame: bool = False) -> None:
    """Hold the judge to what is known of a program.

    Args:
        module: the program.
        inputs: of the call.
        rng: what the errors are drawn by that it must find.
        is_tame: whether it is one operation on tame numbers.

    Raises:
        JudgeError: it says something else.
    """
    expected = compiler.interpret(module, *inputs)
    basis = basis_of(module, inputs, expected)
    require_soundness(basis)
    if basis.bounds is not None:
        check_sizes(module, inputs, expected, [bound for bound in basis.bounds if bound], is_tame=is_tame)
    elif not any(words in basis.reason for words in _UNKNOWN):
        raise JudgeError(basis.reason)
    if not any(array.size for array in expected):
        return
    besides = _UNDECIDED if any(map(orders.is_open, module.instructions())) else frozenset()
    patient = _Patient(module, inputs, expected, basis, rng, besides)
    patient.ask("nothing", {}, _FINE, Standard())
    patient.ask_about_changes()
    patient.ask_about_relations(is_tame=is_tame)
    if is_tame and not leaves_specials_open(module) and not rng.integers(_TRIALS_EVERY):
        patient.ask_about_trials()


def require_soundness(basis: Basis) -> None:
    """Refuse a basis that the reference's own results break: the engines that are judged by it have no part in that.

    Raises:
        JudgeError: they do.
    """
    if basis.flaws:
        raise JudgeError("; ".join(basis.flaws.values()))


def check_sizes(
    module: Any, inputs: Sequence[Array], expected: Sequence[Array], bounds: Sequence[Bounds], *, is_tame: bool
) -> None:
    """Hold bounds to what is known of them without any computation.

    Args:
        module: the program.
        inputs: of the call.
        expected: the reference's results.
        bounds: of these.
        is_tame: whether it is one operation on tame numbers.

    Raises:
        JudgeError: some are too wide, or no numbers, within which nothing lies.
    """
    if any(np.isnan(bound.error).any() for bound in bounds):
        raise JudgeError("bounds are no numbers")
    if not any(map(_has_floats, module.instructions())):
        if any(not _is_exact_or_open(module, bound) for bound in bounds):
            raise JudgeError("bounds are not 0 where there are no floats")
        return
    for said in needlessly_open(module, expected, bounds):
        raise JudgeError(said)
    if is_tame:
        for said in too_wide(module, inputs, expected, bounds):
            raise JudgeError(said)


def _is_exact_or_open(module: Any, bound: Bounds) -> bool:
    """Whether what has no floats is known exactly, or not at all, as what goes along with equal keys of a sort."""
    is_open = any(instruction.opcode in _OPEN for instruction in module.instructions())
    return bool(((bound.error == 0) | (is_open & np.isinf(bound.error))).all())


def _has_floats(instruction: Any) -> bool:
    return any(
        is_inexact(leaf.element_type.dtype)
        for leaf in compiler.edit.leaves(instruction.shape)
        if leaf.element_type.bits
    )


def _gave_up(residual: Residual) -> bool:
    """Whether a routine says of a matrix that it found nothing: the rest of what it gives is open then."""
    return any(bool(own.any()) for own in residual.own[-1:] if not is_inexact(own.dtype))


def _is_on_diagonal(array: Array) -> NDArray[np.bool_]:
    """Which elements of matrices are: those that no routine leaves open; of a line all."""
    if array.ndim < _MATRIX:
        return np.ones(array.shape, np.bool_)
    return np.broadcast_to(np.eye(*array.shape[-_MATRIX:], dtype=np.bool_), array.shape)


@dataclass(frozen=True, slots=True)
class _Patient:
    """A program with its results, one element of which is changed.

    By another order of its reductions it may be a right one, which the judge tries: `besides` are verdicts for that.
    """

    module: Any
    inputs: Sequence[Array]
    expected: Sequence[Array]
    basis: Basis
    rng: np.random.Generator
    besides: frozenset[str]

    def ask_about_changes(self) -> None:
        """What is said of each change, by the bounds where they say anything of the element, and by tolerance."""
        number, at = self._element_position()
        own = self.expected[number].reshape(-1)[at]
        greatest, bound = largest(self.expected[number]), self.basis.of(number)
        if bound is not None and np.isfinite(error := float(bound.error.reshape(-1)[at])):
            element = Element(own, bound.value.reshape(-1)[at], error, greatest)
            # What must be satisfied may be less than what the bounds allow.
            is_decided = number in decided_by(self.basis.residuals, self.expected, self.expected)
            for name, change in CHANGES.items():
                if (element.is_float or not error) and not (is_decided and change.verdicts is _FINE):
                    self._ask_about(name, change, element, (number, at), Standard())
        element = Element(own, own if is_inexact(own.dtype) else 0, 0.0, greatest)
        for name, change in CHANGES.items():
            if change.by_tolerance:
                self._ask_about(name, change, element, (number, at), _BY_TOLERANCE)

    def ask_about_relations(self, *, is_tame: bool) -> None:
        """What routines of LAPACK must satisfy nothing does whose diagonal has a NaN, or a number far off.

        An unknown whose terms are lost beside others in every equation may be any number.
        """
        succeeded = [residual for residual in self.basis.residuals if not _gave_up(residual)]
        decided = decided_by(succeeded, self.expected, self.expected)
        known = {
            number: np.flatnonzero(one.right & _is_on_diagonal(one.right))
            for number, one in decided.items()
            if is_inexact(self.expected[number].dtype)
        }
        numbers = [number for number, positions in known.items() if positions.size]
        if numbers:
            number = numbers[int(self.rng.integers(len(numbers)))]
            at = int(known[number][int(self.rng.integers(known[number].size))])
            own = self.expected[number].reshape(-1)[at]
            element = Element(own, own, 0.0, largest(self.expected[number]))
            is_open = any(one.routine in _SYSTEMS and number in dict(one.results) for one in succeeded)
            for name in ("NaN",) if is_open and not is_tame else ("NaN", "a number far off"):
                self._ask_about(name, CHANGES[name], element, (number, at), Standard())

    def ask_about_trials(self) -> None:
        """A NaN that no rounding brings about is excused by no trial either, where there are no bounds."""
        number, at = self._element_position()
        own = self.expected[number].reshape(-1)[at]
        other = _not_a_number(Element(own, own, 0.0, 0.0))
        if other is not None and np.isfinite(own) and rounds(self.module):
            self.ask("NaN, by trials", {(number, at): other}, _WRONG, Standard(), Basis())

    def _element_position(self) -> tuple[int, int]:
        """A result, and an element of it, one that its bounds say something about if there is any."""
        numbers = [number for number, array in enumerate(self.expected) if array.size]
        number = numbers[int(self.rng.integers(len(numbers)))]
        known = np.arange(self.expected[number].size)
        bound = self.basis.of(number)
        if bound is not None and np.isfinite(error := bound.error.reshape(-1)).any():
            known = np.flatnonzero(np.isfinite(error))
        return number, int(known[int(self.rng.integers(len(known)))])

    def _ask_about(
        self, name: str, change: Change, element: Element, position: tuple[int, int], standard: Standard
    ) -> None:
        with np.errstate(all="ignore"):
            other = change.make(element)
        if other is not None:
            self.ask(name, {position: other}, change.verdicts | self.besides, standard)

    def ask(
        self,
        name: str,
        changed: Mapping[tuple[int, int], Any],
        verdicts: frozenset[str],
        standard: Standard,
        basis: Basis | None = None,
    ) -> None:
        """Ask about results with some elements changed; whatever else is said than these verdicts is an error."""
        actual = [np.array(array) for array in self.expected]
        for (number, at), other in changed.items():
            actual[number].reshape(-1)[at] = other
        reference = Here(self.module, self.inputs, basis or self.basis, is_settled=True)
        found = judged(self.expected, actual, standard, reference)
        if found.verdict not in verdicts:
            way = "tolerance" if not standard.wide else "bounds"
            raise JudgeError(f"by {way}, {name} in the reference's own results is {found.verdict}")
