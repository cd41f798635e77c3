"""Why results that depart from the reference's may be right all the same: no excuse without a trial that shows it.

A trial is a run of the reference that is changed as an engine may legally, or on purpose, depart from it.  An element
is excused only where some trial really departs from the reference *there*, and explains what came: with the trial in
place of the reference it would be right, and it lies no nearer to the reference than to the trial.  Where a trial
gives the reference's own element it says nothing, and neither does what happens to other elements.

| excuse                                                   | whose                          |
|----------------------------------------------------------|--------------------------------|
| zeros for denormal numbers (`liberties`)                 | engines with that liberty      |
| zeros that are not added, so that -0 stays               | engines with that liberty      |
| initial values, taken for identities                      | engines with that liberty      |
| the bits of a NaN that have no meaning                   | engines with that liberty      |
| another order of a reduction (`orders`)                  | all                            |
| several of them                                          | engines with them              |
| rounding (`perturb`)                                     | all, of results without bounds |

Error bounds need no trial: they follow from the program, element by element.

Trials run the program of the results that are wrong, with liberties that have to do with it, and so many instructions
in all: what is excused by none until then stays wrong, and it is said that not all were tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from xlabench.judging import liberties, orders
from xlabench.judging.bounds import Bounds
from xlabench.judging.differ import bitwise_equal, elements_beyond
from xlabench.judging.perturb import leaves_specials_open, perturbed
from xlabench.judging.some_results import slice_of
from xlabench.judging.tolerance import Array, TolerancePolicy, is_inexact

Mask = NDArray[np.bool_]

_FEW, _MANY = 6, 48
"""Runs with liberties: at first, and where all that is left to explain departs in some of them."""
_MOST_WORK = 100_000
"""Instructions that runs with liberties evaluate at most: 25 to 50 microseconds each, so some five seconds."""
_RUNS = 16
_SAFETY = 8
"""How many times as far as rounding errors in a trial may those of an engine be."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a program gave, and what it should have; `bounds`, of all or of one, are None where tolerances decide.

    `rounding` says whether rounding is an excuse of results without bounds, which contain it: nobody gave a tolerance.
    `own` are results that the reference is known to give now; it is asked again where they are not given.
    """

    module: Any
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    policy: TolerancePolicy
    bounds: Sequence[Bounds | None] | None
    liberties: frozenset[str]
    rounding: bool
    own: Sequence[Array] | None = None

    def bound_of(self, number: int) -> Bounds | None:
        """The bounds of a result, if there are any."""
        return None if self.bounds is None else self.bounds[number]

    def wrong(self) -> list[Mask]:
        """Which elements of each result are in want of an excuse."""
        pairs = enumerate(zip(self.expected, self.actual, strict=True))
        return [elements_beyond(*pair, self.policy, self.bound_of(number)) for number, pair in pairs]


@dataclass(frozen=True, slots=True)
class Answer:
    """The excuse for all that is wrong, in words; where there is none, maybe why it could not be looked for."""

    excuse: str = ""
    trouble: str = ""


def answer(question: Question) -> Answer:
    """Look for excuses until every element has one, or trials have taken what they may."""
    question = _of_what_is_wrong(question)
    left, found = question.wrong(), []
    try:
        own = compiler.interpret(question.module, *question.inputs) if question.own is None else question.own
        if any((mask & ~bitwise_equal(*pair)).any() for mask, *pair in zip(left, question.expected, own, strict=True)):
            return Answer(trouble="the reference gives other results now, so its trials say nothing about these")
        if compiler.device_count(question.module) > 1 and _strays(question, left):
            return Answer(trouble="the program that trials run for all devices gives other results than each device's")
        for words, explained in _excuses(question, left):
            if any((mask & new).any() for mask, new in zip(left, explained, strict=True)):
                found.append(words)
                left = [mask & ~new for mask, new in zip(left, explained, strict=True)]
            if not any(mask.any() for mask in left):
                return Answer(" and ".join(found))
    except compiler.UnsupportedError as error:
        return Answer(trouble=str(error))
    except liberties.SpentError:
        return Answer(trouble=f"trials of it come to more than {_MOST_WORK:,} instructions")
    return Answer()


def _of_what_is_wrong(question: Question) -> Question:
    """The question about the results that have wrong elements, of the program of these: no trial runs the rest."""
    numbers = [number for number, mask in enumerate(question.wrong()) if mask.any()]
    some = slice_of(question.module, len(question.expected), numbers)
    if some is None or len(set(some.indices.values())) < len(numbers):
        return question
    order = sorted(numbers, key=some.indices.__getitem__)
    kept: dict[str, Any] = {
        name: [given[number] for number in order]
        for name in ("expected", "actual", "bounds", "own")
        if (given := getattr(question, name)) is not None
    }
    return replace(question, module=some.module, inputs=some.given(question.inputs), **kept)


def _strays(question: Question, wrong: Sequence[Mask]) -> bool:
    """Whether some element that is wrong is far from the reference's in every trial.

    Trials of a program for several devices run the one that the compiler makes of it for all of them: what is wrong
    with that is wrong in each trial alike, and would excuse itself in the engine that is asked about.
    """
    left, asked = list(wrong), (question.module, *question.inputs)
    as_it_is = (compiler.interpret(*asked, around=lambda _, operands, evaluate: evaluate(operands)) for _ in range(1))
    for trial in chain(as_it_is, perturbed(question.module, question.inputs, runs=_RUNS, seed=0)):
        far = [elements_beyond(expected, given, question.policy, None)
               for expected, given in zip(question.expected, trial, strict=True)]  # fmt: skip
        left = [mask & one for mask, one in zip(left, far, strict=True)]
        if not any(mask.any() for mask in left):
            return False
    return True


def _excuses(question: Question, wrong: Sequence[Mask]) -> Iterator[tuple[str, list[Mask]]]:
    """Each excuse in words, with the elements that it explains."""
    is_open = any(map(orders.is_open, question.module.instructions()))
    own = [name for name in question.liberties if liberties.touches(name, question.module)]
    taken = [name for name in _WORDS if name in own or (is_open and name in liberties.OF_ALL)]
    allowance = liberties.Allowance(_MOST_WORK)
    for names in chain.from_iterable(combinations(taken, count) for count in range(1, len(taken) + 1)):
        yield " and ".join(_WORDS[name] for name in names), _by_liberties(question, names, wrong, allowance)
    if question.rounding:
        yield "rounding", _by_rounding(question, wrong)


_WORDS = {
    "added-zeros": "zeros that were not added",
    "denormals": "zeros for denormal numbers",
    "initial-values": "initial values taken for identities",
    "order": "another order of a reduction",
    "payloads": "the bits of a NaN that have no meaning",
}
"""The liberties in words."""


def _by_liberties(
    question: Question, names: Sequence[str], wrong: Sequence[Mask], allowance: liberties.Allowance
) -> list[Mask]:
    """What runs with liberties explain: some, and more where all that is left departs in one of these."""
    explained = [np.zeros_like(mask) for mask in wrong]
    departing = [np.zeros_like(mask) for mask in wrong]
    runs = liberties.runs(question.module, question.inputs, names, _MANY, allowance)
    for batch in (islice(runs, _FEW), runs):
        for trial in batch:
            for number, mask in enumerate(wrong):
                if mask.any():
                    departs, within = _held_against(question, number, trial[number])
                    departing[number] |= departs
                    explained[number] |= departs & within
            if not _any_left(wrong, explained):
                return explained
        is_hopeless = _any_left(wrong, [one | other for one, other in zip(explained, departing, strict=True)])
        if is_hopeless and "order" not in names:  # an element may depart by one tree of many
            break
    return explained


def _any_left(wrong: Sequence[Mask], explained: Sequence[Mask]) -> bool:
    return any((mask & ~found).any() for mask, found in zip(wrong, explained, strict=True))


def _held_against(question: Question, number: int, trial: Array) -> tuple[Mask, Mask]:
    """Where a trial departs from the reference, and where what came is right by the trial and no nearer to the other.

    Right is what lies within the tolerance, no farther off than the trial is from the reference, or within the bound.
    """
    expected, actual = question.expected[number], question.actual[number]
    departs = ~bitwise_equal(expected, trial)
    if not is_inexact(expected.dtype):
        return departs, np.asarray(trial == actual)
    tolerance = question.policy.for_dtype(expected.dtype)
    with np.errstate(all="ignore"):
        reference, wanted, given = (_components(array) for array in (expected, trial, actual))
        distance, shift = _distance(wanted, given), _distance(reference, wanted)
        tolerated = tolerance.rtol * np.abs(np.nan_to_num(wanted, posinf=0.0, neginf=0.0)) + tolerance.atol
        within = distance <= np.minimum(tolerated, np.max(shift, axis=0))
        if bound := question.bound_of(number):
            within |= np.isfinite(bound.error) & (distance <= bound.error)
    return departs, np.asarray(within.all(axis=0))


def _by_rounding(question: Question, wrong: Sequence[Mask]) -> list[Mask]:
    """What runs with rounding errors explain: at first small ones, then such as may be the most of an engine's.

    Bounds contain rounding, so of results that have some nothing is explained.
    """
    wrong = [mask & (question.bound_of(number) is None) for number, mask in enumerate(wrong)]
    explained = [np.zeros_like(mask) for mask in wrong]
    small: list[list[Array]] = []
    large: list[list[Array]] = []
    is_open = leaves_specials_open(question.module)
    for trials, scale in ((small, 1), (large, _SAFETY)):
        runs = perturbed(question.module, question.inputs, runs=_RUNS, seed=scale - 1, scale=scale)
        trials.extend(list(trial) for trial in runs)
        for number, mask in enumerate(wrong):
            if mask.any():
                spread = _Spread([t[number] for t in small], [t[number] for t in large], is_open=is_open)
                explained[number] |= spread.explains(question, number)
        if not _any_left(wrong, explained):
            break
    return explained


@dataclass(frozen=True, slots=True)
class _Spread:
    """How far rounding throws the elements of one result: by trials with small errors, and with large ones.

    `is_open` says that the program leaves to an engine what infinities make of some numbers.
    """

    small: Sequence[Array]
    large: Sequence[Array]
    is_open: bool

    def explains(self, question: Question, number: int) -> Mask:
        """Which elements lie where trials show that they may."""
        expected, actual = question.expected[number], question.actual[number]
        if not is_inexact(expected.dtype):
            every = np.stack([expected, *self.small, *self.large])
            return np.asarray((every.min(axis=0) <= actual) & (actual <= every.max(axis=0)))
        tolerance = question.policy.for_dtype(expected.dtype)
        with np.errstate(all="ignore"):
            reference, given = _components(expected), _components(actual)
            sizes = np.where(np.isfinite(reference), np.abs(reference), 0.0)
            bound = tolerance.bound(sizes, float(np.max(sizes, initial=0.0)))
            within = self._within(reference, given, bound) | self._special(reference, given, bound)
        return np.asarray(within.all(axis=0))

    def _within(self, reference: NDArray[np.float64], given: NDArray[np.float64], bound: NDArray[np.float64]) -> Mask:
        """Numbers as far off as some trial's, or so many times as far as one of small errors."""
        spread = np.zeros_like(reference)
        for factor, trials in ((_SAFETY, self.small), (1, self.large)):
            for trial in trials:
                distance = _distance(reference, _components(trial))
                spread = np.fmax(spread, np.where(np.isfinite(distance), factor * distance, 0.0))
        return np.asarray(_distance(reference, given) <= bound + spread)

    def _special(self, reference: NDArray[np.float64], given: NDArray[np.float64], bound: NDArray[np.float64]) -> Mask:
        """What is not finite, or should not be: as some trial gives it; where that is open, anything if some differ."""
        special = ~(np.isfinite(reference) & np.isfinite(given))
        shown = np.zeros_like(special)
        for trial in (*self.small, *self.large):
            wanted = _components(trial)
            shown |= np.isinf(_distance(reference, wanted)) if self.is_open else _distance(wanted, given) <= bound
        return special & shown


def _components(array: Array) -> NDArray[np.float64]:
    """Real and imaginary parts, or the numbers themselves, in f64, along a first axis."""
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return np.stack([wide.real, wide.imag])
    with np.errstate(all="ignore"):
        return np.asarray(array.astype(np.float64)[np.newaxis])


def _distance(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far numbers lie apart: 0 for the same infinity and for two NaNs, infinity where only one is special."""
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    distance = np.abs(left - right)
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
