"""How far a right result may lie from the true one, element by element: the default by which engines are judged.

The reference's wide mode evaluates a program in f64 and carries error bounds along.  It is asked only where results
differ from the reference's in some bit, and only about programs that are small enough; otherwise there are no bounds
but a reason, and the tolerance of each element type decides.

The reference itself must lie within the bounds, and satisfy what residuals hold its results to.  Of a result that does
not, neither is to be trusted: the tolerance decides of that one alone (`Basis.flaws`).  It is a finding about us,
the reference or what judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import compiler
from xlabench.judging.perturb import rounds
from xlabench.judging.residuals import Residual, found, residuals_of
from xlabench.judging.tolerance import Array, is_inexact

MOST_ELEMENTS = 1 << 25
"""The elements of all values of a program, each counted once, that wide mode is asked about at most."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """One result: f64 (c128, or its own exact type), and how far off a right one may be; infinite where undecided."""

    value: Array
    error: NDArray[np.float64]

    def allows(self, actual: Array) -> NDArray[np.bool_]:
        """Which elements are right, or may be."""
        return np.asarray(
            compiler.WideResult(self.value, self.error, np.isinf(self.error), actual.dtype.name).allows(actual)
        )

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Which elements the bounds say nothing about: unbounded, or as far as the largest element of the array."""
        if not is_inexact(self.value.dtype):
            return np.asarray(self.error > 0)
        finite = np.abs(self.value[np.isfinite(self.value)])
        return np.asarray(self.error > np.max(finite, initial=0.0))


@dataclass(frozen=True, slots=True)
class Basis:
    """What results are judged by: bounds for each of them, or none and the reason, and whether anything `rounds`.

    Beside bounds there may be `residuals`, by which results are decided that bounds say nothing of.  `flaws` are the
    results, by number, of which the reference's own break either; they have no bounds, and no residual decides of them.
    """

    bounds: tuple[Bounds | None, ...] | None = None
    reason: str = ""
    rounds: bool = True
    residuals: tuple[Residual, ...] = ()
    flaws: Mapping[int, str] = field(default_factory=dict)

    def of(self, number: int) -> Bounds | None:
        """The bounds of a result, if there are any."""
        return None if self.bounds is None else self.bounds[number]

    def flawed(self, flaws: Mapping[int, str]) -> Basis:
        """The basis without the bounds of some results, of which the reference's own break a relation."""
        if self.bounds is None or not flaws:
            return self
        kept = tuple(None if number in flaws else one for number, one in enumerate(self.bounds))
        return replace(self, bounds=kept, flaws={**flaws, **self.flaws})


def basis_of(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
    """The bounds of a program's results, which the reference gave as `expected`.

    Args:
        module: the program.
        inputs: of the call.
        expected: the reference's results.
    """
    return Bounding(module).basis(inputs, expected)


class Bounding:
    """A program whose bounds are asked for in several calls: what wide mode looks at before each is looked at once.

    The module must stay as it is.
    """

    def __init__(self, module: Any) -> None:
        self.module = module

    @cached_property
    def _run(self) -> Callable[..., Sequence[Any]]:
        run: Callable[..., Sequence[Any]] = compiler.prepare(self.module, wide=True)
        return run

    @cached_property
    def _elements(self) -> int:
        return sum(_size(instruction.shape) for instruction in self.module.instructions())

    def basis(self, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
        """The bounds of the results of a call, which the reference gave as `expected`.

        Args:
            inputs: of the call.
            expected: the reference's results.
        """
        basis = self._basis(inputs, expected)
        is_by_bounds = basis.bounds is not None and not basis.flaws
        return basis if is_by_bounds else replace(basis, rounds=rounds(self.module))

    def _basis(self, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
        if self._elements > MOST_ELEMENTS:
            said = f"its values have {self._elements:,} elements, wide mode takes {MOST_ELEMENTS:,} at most"
            return Basis(reason=said)
        try:
            results = self._run(*inputs)
        except compiler.UnsupportedError as error:
            return Basis(reason=str(error))
        bounds = [Bounds(result.value, result.bound) for result in results]
        return with_residuals(checked(bounds, expected), self.module, inputs, expected)


def checked(bounds: Sequence[Bounds], expected: Sequence[Array]) -> Basis:
    """The bounds of results, of those that the reference itself keeps."""
    if len(bounds) != len(expected):
        return Basis(reason=f"wide mode gives {len(bounds)} results, the reference {len(expected)}")
    flaws = {}
    for number, (bound, array) in enumerate(zip(bounds, expected, strict=True)):
        if bound.value.shape != array.shape:
            flaws[number] = f"the reference's own result {number} has another shape than its bounds"
        elif not bound.allows(array).all():
            flaws[number] = f"the reference's own result {number} lies outside of its bounds"
    return Basis(tuple(bounds)).flawed(flaws)


def with_residuals(basis: Basis, module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
    """The basis with what else decides results, of which nothing does where the reference's own do not satisfy it.

    Args:
        basis: bounds of the results.
        module: the program.
        inputs: of the call.
        expected: the reference's results.
    """
    if basis.bounds is None:
        return basis
    residuals = residuals_of(module, inputs, expected)
    flaws = {
        number: f"the reference's own result {number} is not what {residual.routine} gives"
        for residual in residuals
        for number, decided in found(residual, expected).items()
        if decided.wrong.any()
    }
    return replace(basis.flawed(flaws), residuals=residuals)


def packed(bounds: Sequence[Bounds | None]) -> tuple[list[bool], list[Array]]:
    """Bounds as JSON, which says of which results there are any, and arrays, to be sent to another process."""
    return [one is not None for one in bounds], [array for one in bounds if one for array in (one.value, one.error)]


def unpacked(held: Sequence[bool], arrays: Sequence[Array]) -> tuple[Bounds | None, ...]:
    """The bounds of which `packed` made data and arrays."""
    left = iter(arrays)
    return tuple(Bounds(next(left), next(left)) if is_held else None for is_held in held)


def _size(shape: Any) -> int:
    elements = getattr(shape, "elements", None)
    if elements is not None:
        return sum(_size(element) for element in elements)
    return max(int(getattr(shape, "size", 0)), 0)
