"""The verdict on one engine's results for a program that nobody wrote a tolerance for.

Results that differ in some bit are held against the error bounds of the reference's wide mode
(`xlabench.judging.bounds`).  Where those cannot be had, by the tolerance of each element type
(`xlabench.judging.differ`), and elements beyond it against the spread that rounding errors, put into the reference on
purpose, give the same element (`xlabench.judging.perturb`).  Such an element is wrong only if it lies outside of a
multiple of that spread.  Where the reference itself jumps, in as many places as differ, nothing can be said:
`undecided`.

A program in which nothing rounds has no spread, so its results are held to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xlabench.judging.bounds import basis_of
from xlabench.judging.denormals import flushed
from xlabench.judging.differ import Agreement, Comparison, compare
from xlabench.judging.perturb import perturbed
from xlabench.judging.tolerance import Array, default_tolerance, is_inexact
from xlabench.judging.wrongness import kind_of

_RUNS = 16
_SAFETY = 8.0
_JUMP = 1e3


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and what it rests on; `wrong_results` are the numbers of the results that have wrong elements."""

    verdict: str
    message: str
    comparison: Comparison | None = None
    wrong_results: tuple[int, ...] = ()


def judge(
    module: Any,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    *,
    flushes_denormals: bool = False,
) -> Judgement:
    """Judge an engine's results by the reference's; the engine may take denormal numbers for zeros."""
    judgement = _judge(module, inputs, expected, actual)
    if judgement.verdict != "wrong" or not judgement.wrong_results or not flushes_denormals:
        return judgement
    trials = flushed(module, inputs)
    bounds = judgement.comparison.basis.bounds if judgement.comparison is not None else None
    for n in judgement.wrong_results:
        explained = _near([expected[n], *(trial[n] for trial in trials)], actual[n])
        if not np.all(explained if bounds is None else explained | bounds[n].allows(actual[n])):
            return judgement
    return Judgement("undecided", f"{judgement.message}, as zeros for denormal numbers may explain")


def _judge(module: Any, inputs: Sequence[Array], expected: Sequence[Array], actual: Sequence[Array]) -> Judgement:
    comparison = compare(expected, actual)
    if comparison.agreement is Agreement.BITWISE:
        return Judgement(str(comparison.agreement), comparison.describe(), comparison)
    if comparison.is_open_to_bounds:
        basis = basis_of(module, inputs, expected)
        comparison = compare(expected, actual, basis=basis)
        if basis.bounds is not None:
            return _by_bounds(comparison, expected, actual)
    if comparison.agreement is not Agreement.WRONG:
        return Judgement(str(comparison.agreement), comparison.describe(), comparison)
    if comparison.problem or any(result.problem for result in comparison.results):
        return Judgement("wrong", comparison.describe(), comparison)
    trials = perturbed(module, inputs, runs=_RUNS, seed=0)
    wrong = tuple(
        result.index
        for result in comparison.results
        if result.agreement is Agreement.WRONG
        and _is_wrong(expected[result.index], actual[result.index], [trial[result.index] for trial in trials])
    )
    if wrong:
        return Judgement("wrong", described(comparison, expected, actual), comparison, wrong)
    return Judgement("undecided", f"{comparison.describe()}, as rounding may explain", comparison)


def described(comparison: Comparison, expected: Sequence[Array], actual: Sequence[Array]) -> str:
    """What a comparison says, and of wrong results their kind: of elements beyond their bounds, where there are any."""
    bounds = comparison.basis.bounds
    if comparison.agreement is Agreement.WRONG and bounds is not None:
        beside = zip(bounds, expected, actual, strict=True)
        actual = [np.where(bound.allows(got), want, got) for bound, want, got in beside]
    kind = kind_of(expected, actual) if comparison.agreement is Agreement.WRONG else ""
    return f"{comparison.describe()} ({kind})" if kind else comparison.describe()


def _by_bounds(comparison: Comparison, expected: Sequence[Array], actual: Sequence[Array]) -> Judgement:
    wrong = tuple(result.index for result in comparison.results if result.agreement is Agreement.WRONG)
    return Judgement(str(comparison.agreement), described(comparison, expected, actual), comparison, wrong)


def _is_wrong(expected: Array, actual: Array, trials: Sequence[Array]) -> bool:
    """Whether elements differ that rounding does not explain."""
    if not is_inexact(expected.dtype):
        mismatch = np.asarray(expected != actual)
        jumping = np.any([trial != expected for trial in trials], axis=0)
        return int((mismatch & ~jumping).sum()) > int(jumping.sum())
    parts = [_parts(array) for array in (expected, actual, *trials)]
    tolerance = default_tolerance(expected.dtype)
    with np.errstate(all="ignore"):
        finite = np.isfinite(parts[0])
        sizes = np.where(finite, np.abs(parts[0]), 0.0)  # a NaN or an infinity has no neighbours within a bound
        bound = tolerance.rtol * sizes + tolerance.atol + tolerance.scaled * float(np.max(sizes, initial=0.0))
        spread = np.max([_distance(parts[0], trial) for trial in parts[2:]], axis=0)
        error = _distance(parts[0], parts[1])
        stray = error > bound + _SAFETY * spread
        # A close decision may fall otherwise in the engine than in any trial; then as far as one fell in some trial.
        known = np.isfinite(spread)
        beyond = error > bound + _SAFETY * np.max(spread, where=known, initial=0.0)
        jumping = known & (spread > bound * _JUMP)
    return bool(np.any(stray & beyond)) or int(np.sum(stray)) > int(np.sum(jumping))


def _near(candidates: Sequence[Array], actual: Array) -> NDArray[np.bool_]:
    """Which elements are near that of some candidate."""
    near = np.zeros(actual.shape, bool)
    for candidate in candidates:
        if not is_inexact(actual.dtype):
            near |= candidate == actual
            continue
        tolerance = default_tolerance(actual.dtype)
        with np.errstate(all="ignore"):
            wanted, given = _parts(candidate), _parts(actual)
            bound = tolerance.rtol * np.abs(np.nan_to_num(wanted, posinf=0.0, neginf=0.0)) + tolerance.atol
            close = _distance(wanted, given) <= bound
        near |= close.all(axis=0) if actual.dtype.kind == "c" else close
    return near


def _parts(array: Array) -> NDArray[np.float64]:
    """Real and imaginary parts, or the numbers themselves, in f64."""
    if array.dtype.kind == "c":
        wide = array.astype(np.complex128)
        return np.stack([wide.real, wide.imag])
    with np.errstate(all="ignore"):
        return array.astype(np.float64)


def _distance(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far numbers lie apart: 0 for the same infinity and for two NaNs, infinity where only one is special."""
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    distance = np.abs(left - right)
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
