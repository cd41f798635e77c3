"""The verdict on one engine's results, by all commands: what is wrong for one of them is wrong for the others.

Results that differ in some bit are held against the error bounds of the reference's wide mode
(`xlabench.judging.bounds`).  Where those cannot be had, or somebody gave tolerances, by the tolerance of each element
type (`xlabench.judging.differ`); a program in which nothing rounds is held to the bit then, unless somebody gave one.
For elements beyond either an excuse is looked for (`xlabench.judging.excuses`).  Where all have one, nothing can be
said: `undecided`.  So is a share of integers that somebody granted, for which rounding has to be an excuse.

How bounds and excuses are come by is a matter of who asks: here, or in a process that is watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from xlabench.judging import excuses
from xlabench.judging.bounds import Basis, basis_of
from xlabench.judging.differ import Agreement, Comparison, compare, elements_beyond, is_open_to_bounds
from xlabench.judging.excuses import Answer, Question
from xlabench.judging.residuals import decided_by, left_to_denormals
from xlabench.judging.tolerance import EXACTLY, Array, TolerancePolicy
from xlabench.judging.wrongness import kind_of


@dataclass(frozen=True, slots=True)
class Standard:
    """What results are held to.

    Attributes:
        policy: the tolerance that somebody gave, or the default.
        wide: whether error bounds may be asked for, where nobody gave a tolerance.
        is_ours: whether it is our reference whose results are believed, so that it can be asked for more.
        liberties: those that the engine takes (`xlabench.judging.liberties`).
    """

    policy: TolerancePolicy = TolerancePolicy()  # noqa: RUF009 - frozen
    wide: bool = True
    is_ours: bool = True
    liberties: frozenset[str] = frozenset()

    @property
    def by_bounds(self) -> bool:
        """Whether results that differ are judged by error bounds, if there are any."""
        return self.wide and self.is_ours and self.policy == TolerancePolicy()


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and what it rests on; `wrong_results` are the numbers of the results that have wrong elements."""

    verdict: str
    message: str
    comparison: Comparison
    wrong_results: tuple[int, ...] = ()


class Reference(Protocol):
    """The reference, to be asked about a program beyond its results."""

    def basis(self, expected: Sequence[Array]) -> Basis:
        """The error bounds of the results."""
        ...

    def excuse(self, expected: Sequence[Array], actual: Sequence[Array], basis: Basis, standard: Standard) -> Answer:
        """The excuse for what is wrong with results.

        Args:
            expected: the reference's results.
            actual: the engine's.
            basis: the bounds, and whence they come.
            standard: tolerances and liberties.
        """
        ...


@dataclass
class Here:
    """The reference in this process; `basis_known` if bounds are, `is_settled` if it gave what is expected just now."""

    module: Any
    inputs: Sequence[Array]
    basis_known: Basis | None = None
    is_settled: bool = False

    def basis(self, expected: Sequence[Array]) -> Basis:
        """By wide mode, unless they are known."""
        return basis_of(self.module, self.inputs, expected) if self.basis_known is None else self.basis_known

    def excuse(self, expected: Sequence[Array], actual: Sequence[Array], basis: Basis, standard: Standard) -> Answer:
        """Whether other legal runs of the reference differ as much, by trials in this process.

        Args:
            expected: the reference's results.
            actual: the engine's.
            basis: the bounds, and whence they come.
            standard: tolerances and liberties.
        """
        is_bounded = basis.bounds is not None and not basis.flaws
        rounding = not is_bounded and (standard.by_bounds or standard.policy.discrete_share > 0)
        return excuses.answer(
            Question(
                self.module,
                self.inputs,
                expected,
                actual,
                policy=_policy(basis, standard),
                bounds=basis.bounds,
                liberties=standard.liberties,
                rounding=rounding,
                own=expected if self.is_settled else None,
            )
        )


def judge(
    module: Any,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    actual: Sequence[Array],
    standard: Standard | None = None,
    *,
    basis: Basis | None = None,
) -> Judgement:
    """Judge an engine's results by the reference's, in this process.

    Args:
        module: the program.
        inputs: what it was run on.
        expected: the reference's results.
        actual: the engine's.
        standard: tolerances and liberties; the usual ones by default.
        basis: the bounds; they are computed where they are needed by default.
    """
    return judged(expected, actual, standard or Standard(), Here(module, inputs, basis))


def judged(expected: Sequence[Array], actual: Sequence[Array], standard: Standard, reference: Reference) -> Judgement:
    """Judge an engine's results by the reference's, and by what that says where it is asked for more.

    Args:
        expected: the reference's results.
        actual: the engine's.
        standard: what they are held to.
        reference: is asked for bounds, and for other runs.
    """
    if standard.by_bounds and is_open_to_bounds(expected, actual):
        basis = _under(standard.liberties, reference.basis(expected))
        comparison = compare(expected, actual, policy=_policy(basis, standard), basis=basis)
    else:
        comparison = compare(expected, actual, policy=standard.policy)
    wrong = tuple(result.index for result in comparison.results if result.agreement is Agreement.WRONG)
    verdict, message = str(comparison.agreement), described(comparison, expected, actual)
    if not standard.is_ours or not _is_in_want(comparison):
        return Judgement(verdict, message, comparison, wrong)
    if comparison.basis.residuals and _is_left_to_denormals(comparison.basis, standard, expected, actual):
        return Judgement("undecided", f"{message}, as zeros for denormal numbers that a routine meets may explain",
                         comparison)  # fmt: skip
    found = reference.excuse(expected, actual, comparison.basis, standard)
    if found.excuse:
        said = "" if message.endswith(" may explain") else f", as {found.excuse} may explain"
        return Judgement("undecided", message + said, comparison)
    if found.trouble:
        return Judgement(verdict, f"{message}; not every excuse was looked for: {found.trouble}", comparison, wrong)
    if not wrong:
        return Judgement("wrong", f"{message}, and no trial shows that it does", comparison, _granted(comparison))
    return Judgement("wrong", message, comparison, wrong)


def _under(liberties: frozenset[str], basis: Basis) -> Basis:
    """What an engine with liberties is judged by."""
    if "denormals" not in liberties:
        return basis
    return replace(basis, residuals=tuple(replace(residual, is_flushed=True) for residual in basis.residuals))


def _is_left_to_denormals(basis: Basis, standard: Standard, expected: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether all that is wrong is of routines that may meet denormal numbers, which the engine takes for zeros."""
    left = left_to_denormals(basis.residuals, expected)
    decided = decided_by(basis.residuals, expected, actual)
    bounds = basis.bounds or (None,) * len(expected)
    policy = _policy(basis, standard)
    for number, (wanted, given, bound) in enumerate(zip(expected, map(np.asarray, actual), bounds, strict=False)):
        if (wanted.shape, wanted.dtype) != (given.shape, given.dtype):
            return False
        wrong = elements_beyond(wanted, given, policy, bound)
        if number in decided:
            wrong = (wrong & ~decided[number].right) | decided[number].wrong
        if (wrong & ~left.get(number, np.zeros(wanted.shape, np.bool_))).any():
            return False
    return bool(left)


def _policy(basis: Basis, standard: Standard) -> TolerancePolicy:
    """What decides where there are no bounds: what somebody gave, else every bit if nothing rounds."""
    return EXACTLY if standard.by_bounds and not basis.rounds else standard.policy


def _is_in_want(comparison: Comparison) -> bool:
    """Whether an excuse could change the verdict: of elements that are wrong, or were granted."""
    if comparison.problem or any(result.problem for result in comparison.results):
        return False
    return comparison.agreement is Agreement.WRONG or bool(_granted(comparison))


def _granted(comparison: Comparison) -> tuple[int, ...]:
    """The numbers of the results with elements that are not right, but somebody granted a share of such."""
    return tuple(
        result.index
        for result in comparison.results
        if result.agreement is Agreement.UNDECIDED and comparison.basis.of(result.index) is None
    )


def described(comparison: Comparison, expected: Sequence[Array], actual: Sequence[Array]) -> str:
    """What a comparison says, and of wrong results their kind: of elements beyond their bounds, where there are any.

    Args:
        comparison: of all results.
        expected: the reference's results.
        actual: the engine's.
    """
    bounds = comparison.basis.bounds
    if comparison.agreement is Agreement.WRONG and bounds is not None:
        beside = zip(bounds, expected, actual, strict=True)
        actual = [np.where(bound.allows(got), want, got) if bound else got for bound, want, got in beside]
    kind = kind_of(expected, actual) if comparison.agreement is Agreement.WRONG else ""
    return f"{comparison.describe()} ({kind})" if kind else comparison.describe()
