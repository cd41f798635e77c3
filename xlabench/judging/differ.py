"""Compare what two engines returned, element by element, and say where and how they differ.

An element is *bitwise* equal (any NaN equals any NaN: HLO gives their payloads no meaning), *within* its tolerance, or
*wrong*.  A result whose only wrong elements are integers that come out of rounded numbers, and no more of them than
the policy grants, is *undecided*.  Wrong elements are sorted into kinds, since a NaN that should be a number is another
bug than a last digit:

- `nan`: one side is NaN, the other is not;
- `inf`: one side is infinite, the other is not, or both with different signs;
- `sign`: the signs differ and neither side is zero;
- `value`: any other difference beyond the tolerance.

With error bounds (`xlabench.judging.bounds`) an element is wrong beyond its own bound instead, and *undecided* where
the bound says nothing and the tolerance does not hold.

Numbers are subtracted in float64 (complex128), which holds every narrower float exactly; 64-bit integers are compared
as they are and subtracted as Python integers, only where they are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from xlabench.judging.bounds import Basis, Bounds
from xlabench.judging.residuals import Decided, decided_by
from xlabench.judging.tolerance import (
    NO_DISTANCE,
    Array,
    Tolerance,
    TolerancePolicy,
    is_inexact,
    raw_bits,
    real_dtype,
    ulp_distance,
)

Mask = NDArray[np.bool_]
KINDS = ("nan", "inf", "sign", "value")


class Agreement(StrEnum):
    """How well two results agree, best first."""

    BITWISE = "bitwise"
    WITHIN = "within"
    UNDECIDED = "undecided"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Element:
    """One element that is wrong; values are texts that hold every digit, `ulps` is None for exact types."""

    index: tuple[int, ...]
    expected: str
    actual: str
    kind: str
    error: float
    ulps: int | None


@dataclass(frozen=True, slots=True)
class ResultDiff:
    """One result of two engines; `problem` is set where type or shape differ and nothing could be compared."""

    index: int
    shape: tuple[int, ...]
    dtype: str
    agreement: Agreement
    size: int = 0
    differing: int = 0
    mismatches: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulps: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)
    worst: tuple[Element, ...] = ()
    problem: str = ""

    @property
    def share(self) -> float:
        """The wrong elements as a share of all."""
        return self.mismatches / self.size if self.size else 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """All results of two engines; `problem` is set where they returned different numbers of results.

    `basis` says what differences were judged by: error bounds, or tolerances and the reasons why not bounds.
    """

    results: tuple[ResultDiff, ...]
    problem: str = ""
    basis: Basis = field(default_factory=Basis)

    @property
    def agreement(self) -> Agreement:
        """The worst of the results'."""
        if self.problem:
            return Agreement.WRONG
        order = list(Agreement)
        return max((result.agreement for result in self.results), key=order.index, default=Agreement.BITWISE)

    @property
    def elements(self) -> int:
        """The number of elements that were expected."""
        return sum(result.size for result in self.results)

    @property
    def mismatches(self) -> int:
        """The number of wrong elements."""
        return sum(result.mismatches for result in self.results)

    @property
    def max_ulps(self) -> int | None:
        """The largest distance in units of the last place; integers and NaNs have none."""
        return max((r.max_ulps for r in self.results if r.max_ulps is not None), default=None)

    def describe(self) -> str:
        """The verdict in one sentence, with the reasons where there are no error bounds to judge by."""
        if not self.problem and self.agreement is Agreement.BITWISE:
            return self._sentence()
        said = [f"judged by tolerance, since {self.basis.reason}"] if self.basis.reason else []
        said += [f"result {number} is judged by tolerance, since {flaw}" for number, flaw in self.basis.flaws.items()]
        return "; ".join([self._sentence(), *said])

    def _sentence(self) -> str:
        if self.problem:
            return self.problem
        for result in self.results:
            if result.problem:
                return f"result {result.index}: {result.problem}"
        if self.agreement is Agreement.BITWISE:
            return "all results are equal to the bit"
        if self.agreement is Agreement.WITHIN:
            bounds = "their error bounds or tolerance" if self.basis.flaws else "their error bounds"
            return f"all results are within {'tolerance' if self.basis.bounds is None else bounds}"
        if self.agreement is Agreement.UNDECIDED:
            return f"{self.mismatches:,} of {self.elements:,} elements differ, as rounding before them may explain"
        return f"{self.mismatches:,} of {self.elements:,} elements are wrong"


def compare(
    expected: Sequence[Array],
    actual: Sequence[Array],
    *,
    policy: TolerancePolicy | None = None,
    basis: Basis | None = None,
    worst: int = 5,
) -> Comparison:
    """Judge `actual` by `expected`; for each result at most `worst` wrong elements are shown, the worst first.

    What differs is judged by the bounds of `basis` if it has any, else by the policy.
    """
    policy, basis = policy or TolerancePolicy(), basis or Basis()
    bounds = basis.bounds or (None,) * len(expected)
    count = len(expected)
    problem = "" if len(actual) == count else f"{len(actual)} results, expected {count}"
    decided = decided_by(basis.residuals, expected, actual)
    triples = zip(expected, actual, bounds, strict=False)
    with np.errstate(all="ignore"):  # a NaN that is to be signalled is one like others here
        results = [
            _compare_result(index, np.asarray(e), np.asarray(a), _Rule(policy, b, decided.get(index)), worst)
            for index, (e, a, b) in enumerate(triples)
        ]
    return Comparison(tuple(results), problem, basis)


def is_open_to_bounds(expected: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether error bounds could say more of results than that: all can be compared, and some differ."""
    pairs = [(np.asarray(e), np.asarray(a)) for e, a in zip(expected, actual, strict=False)]
    whole = len(expected) == len(actual) and all((e.shape, e.dtype) == (a.shape, a.dtype) for e, a in pairs)
    with np.errstate(all="ignore"):
        return whole and not all(bitwise_equal(e, a).all() for e, a in pairs)


def tolerated(expected: Array, policy: TolerancePolicy) -> Bounds:
    """A tolerance as the bounds of each element; what is not finite must come as it is, NaN in whatever part."""
    if not is_inexact(expected.dtype):
        return Bounds(expected, np.zeros(expected.shape))
    with np.errstate(all="ignore"):
        value = _widen(expected)
        error = policy.for_dtype(expected.dtype).bound(np.abs(value), _magnitude(expected))
    return Bounds(value, np.where(np.isfinite(error), error, 0.0))


def elements_beyond(expected: Array, actual: Array, policy: TolerancePolicy, bounds: Bounds | None) -> Mask:
    """Which elements of `actual` are wrong: by `bounds`, or without, as `expected` by a `policy`; none is granted."""
    with np.errstate(all="ignore"):
        if bounds is not None:
            return ~bounds.allows(actual) & ~bitwise_equal(expected, actual)
        flat = _Differing(expected.reshape(-1), actual.reshape(-1))
        wrong = flat.wrong(policy.for_dtype(expected.dtype), _magnitude(expected)).reshape(expected.shape)
        return np.asarray(wrong & ~bitwise_equal(expected, actual))


@dataclass(frozen=True, slots=True)
class _Rule:
    """What the elements of one result are judged by."""

    policy: TolerancePolicy
    bounds: Bounds | None
    decided: Decided | None = None


def _compare_result(index: int, expected: Array, actual: Array, rule: _Rule, worst: int) -> ResultDiff:
    shape, dtype = expected.shape, expected.dtype
    if (shape, dtype) != (actual.shape, actual.dtype):
        problem = f"{_describe(actual)}, expected {_describe(expected)}"
        return ResultDiff(
            index, shape, dtype.name, Agreement.WRONG, expected.size, mismatches=expected.size, problem=problem
        )
    equal = bitwise_equal(expected, actual)
    positions = np.flatnonzero(~equal)
    if not positions.size:
        return ResultDiff(index, shape, dtype.name, Agreement.BITWISE, expected.size, max_ulps=_no_ulps(expected))
    differing = _Differing(expected.reshape(-1)[positions], actual.reshape(-1)[positions])
    wrong = differing.wrong(rule.policy.for_dtype(dtype), _magnitude(expected))
    agreement = _agreement(wrong, expected, rule.policy)
    if rule.bounds is not None:
        wrong, agreement = _by_bounds(rule, actual, positions, wrong)
    return ResultDiff(
        index,
        shape,
        dtype.name,
        agreement,
        expected.size,
        differing=positions.size,
        mismatches=int(wrong.sum()),
        max_abs=_largest(differing.error),
        max_rel=_largest(differing.relative()),
        max_ulps=differing.max_ulps(),
        kinds=_count_kinds(differing.kinds[wrong]),
        worst=_worst(differing, wrong, positions, shape, worst),
    )


def _agreement(wrong: Mask, expected: Array, policy: TolerancePolicy) -> Agreement:
    if not wrong.any():
        return Agreement.WITHIN
    granted = 0.0 if is_inexact(expected.dtype) else policy.discrete_share * expected.size
    return Agreement.UNDECIDED if wrong.sum() <= granted else Agreement.WRONG


def _by_bounds(rule: _Rule, actual: Array, positions: NDArray[np.intp], beyond: Mask) -> tuple[Mask, Agreement]:
    """What is wrong by the bounds; what nothing decides is undecided where it is beyond the tolerance."""
    assert rule.bounds is not None
    wrong = ~rule.bounds.allows(actual).reshape(-1)[positions]
    if rule.decided is not None:
        wrong |= rule.decided.wrong.reshape(-1)[positions]
    if wrong.any():
        return wrong, Agreement.WRONG
    open_ = beyond & rule.bounds.undecided.reshape(-1)[positions]
    if rule.decided is not None:
        open_ &= ~rule.decided.right.reshape(-1)[positions]
    return open_, Agreement.UNDECIDED if open_.any() else Agreement.WITHIN


class _Differing:
    """The elements that are not equal to the bit, flattened, with what is known about each."""

    def __init__(self, expected: Array, actual: Array) -> None:
        self.expected, self.actual = expected, actual
        self.wide_expected, self.wide_actual = _widen(expected), _widen(actual)
        self.error = np.abs(self.wide_actual - self.wide_expected).astype(np.float64)
        self.ulps = _ulps(expected, actual) if is_inexact(expected.dtype) else None

    def wrong(self, tolerance: Tolerance, magnitude: float) -> Mask:
        """Which elements are beyond the tolerance; whatever is not finite must match in kind and sign."""
        if not is_inexact(self.expected.dtype):
            return np.ones(self.expected.shape, np.bool_)
        bound = tolerance.bound(np.abs(self.wide_expected), magnitude)
        within = np.isfinite(self.error) & (self.error <= bound)
        return np.asarray(~(within | _specials_match(self.wide_expected, self.wide_actual, bound)))

    def relative(self) -> NDArray[np.float64]:
        """The errors as a share of the expected magnitude."""
        return np.asarray(self.error / np.abs(self.wide_expected).astype(np.float64))

    def max_ulps(self) -> int | None:
        """The largest distance; None where there is none, as from a NaN to a number."""
        known = np.zeros(0, np.uint64) if self.ulps is None else self.ulps[self.ulps < NO_DISTANCE]
        return int(known.max()) if known.size else None

    @cached_property
    def kinds(self) -> NDArray[np.intp]:
        """The position in `KINDS` of each element's kind of error, as if it were wrong."""
        expected, actual = self.wide_expected, self.wide_actual
        if not is_inexact(self.expected.dtype):
            return np.full(expected.shape, KINDS.index("value"))
        nan = np.isnan(expected) != np.isnan(actual)
        infinite = np.isinf(expected) | np.isinf(actual)
        sign = np.zeros(expected.shape, np.bool_) if np.iscomplexobj(expected) else expected * actual < 0
        return np.select([nan, infinite, sign], [0, 1, 2], default=3)

    def element(self, position: int, index: tuple[int, ...], kind: str) -> Element:
        """The record of one element."""
        exact = self.ulps is None
        expected, actual = self.expected[position], self.actual[position]
        error = float(abs(int(actual) - int(expected))) if exact else float(self.error[position])
        ulps = None if self.ulps is None else int(self.ulps[position])
        return Element(index, str(expected), str(actual), kind, error, ulps)


def bitwise_equal(expected: Array, actual: Array) -> Mask:
    """Which elements are the same bits, or NaN both."""
    equal = raw_bits(expected) == raw_bits(actual)
    if expected.dtype.itemsize == 16:
        equal = equal.all(axis=-1)
    if is_inexact(expected.dtype) and not equal.all():
        equal = equal | _nan_alike(expected, actual)
    return np.asarray(equal)


def _nan_alike(expected: Array, actual: Array) -> Mask:
    """Both NaN, whatever the payload; a complex number is NaN part by part."""
    if expected.dtype.kind != "c":
        return np.asarray(np.isnan(expected) & np.isnan(actual))
    alike = []
    for left, right in ((expected.real, actual.real), (expected.imag, actual.imag)):
        alike.append((left == right) | (np.isnan(left) & np.isnan(right)))
    return np.asarray(np.isnan(expected) & alike[0] & alike[1])


def _specials_match(expected: Array, actual: Array, bound: Array) -> Mask:
    """Whether both are NaN or the same infinity, and in a complex number the other part is near."""
    if not np.iscomplexobj(expected):
        return np.asarray((np.isnan(expected) & np.isnan(actual)) | (np.isinf(expected) & (expected == actual)))
    matches = np.ones(expected.shape, np.bool_)
    special = ~np.isfinite(expected)
    for left, right in ((expected.real, actual.real), (expected.imag, actual.imag)):
        within = np.abs(left - right) <= np.where(np.isfinite(bound), bound, 0)
        matches &= (left == right) | (np.isnan(left) & np.isnan(right)) | within
    return special & matches


def _widen(array: Array) -> Array:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


def _ulps(expected: Array, actual: Array) -> NDArray[np.uint64]:
    if expected.dtype.kind != "c":
        return ulp_distance(expected, actual)
    component_type = real_dtype(expected.dtype)
    left, right = (np.ascontiguousarray(array).view(component_type) for array in (expected, actual))
    return np.asarray(ulp_distance(left, right).reshape(-1, 2).max(axis=1))


def _no_ulps(expected: Array) -> int | None:
    return 0 if is_inexact(expected.dtype) else None


def _magnitude(expected: Array) -> float:
    """The largest finite magnitude of an array of floats."""
    if not is_inexact(expected.dtype):
        return 0.0
    magnitudes = np.abs(_widen(expected))
    finite = magnitudes[np.isfinite(magnitudes)]
    return float(finite.max()) if finite.size else 0.0


def _largest(values: NDArray[np.float64]) -> float:
    """The maximum, NaN if any is NaN (a difference that has no size)."""
    return float(values.max()) if not np.isnan(values).any() else math.nan


def _count_kinds(kinds: NDArray[np.intp]) -> dict[str, int]:
    counts = np.bincount(kinds, minlength=len(KINDS))
    return {kind: int(count) for kind, count in zip(KINDS, counts, strict=True) if count}


def _worst(
    differing: _Differing, wrong: Mask, positions: NDArray[np.intp], shape: tuple[int, ...], count: int
) -> tuple[Element, ...]:
    """The wrong elements of the largest error, those without a size first, then in the order of the index."""
    candidates = np.flatnonzero(wrong)
    error = np.nan_to_num(differing.error[candidates], nan=np.inf, posinf=np.inf)
    chosen = candidates[np.argsort(-error, kind="stable")[:count]]
    kinds = differing.kinds
    return tuple(
        differing.element(int(c), tuple(int(i) for i in np.unravel_index(positions[c], shape)), KINDS[int(kinds[c])])
        for c in chosen
    )


def _describe(array: Array) -> str:
    return f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
