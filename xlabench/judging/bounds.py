"""How far a right result may lie from the true one, element by element: the default by which engines are judged.

The reference's wide mode evaluates a program in f64 and carries error bounds along.  It is asked only where results
differ from the reference's in some bit, and only about programs that are small enough; otherwise there are no bounds
but a reason, and the tolerance of each element type decides.

The reference itself must lie within the bounds.  Where it does not, they are not to be trusted, and that is the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

    Beside bounds there may be `residuals`, by which results are decided that bounds say nothing of.
    """

    bounds: tuple[Bounds, ...] | None = None
    reason: str = ""
    rounds: bool = True
    residuals: tuple[Residual, ...] = ()


def basis_of(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
    """The bounds of a program's results, which the reference gave as `expected`.

    Args:
        module: the program.
        inputs: of the call.
        expected: the reference's results.
    """
    basis = _basis(module, inputs, expected)
    return basis if basis.bounds is not None else Basis(None, basis.reason, rounds(module))


def _basis(module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
    elements = sum(_size(instruction.shape) for instruction in module.instructions())
    if elements > MOST_ELEMENTS:
        return Basis(reason=f"its values have {elements:,} elements, wide mode takes {MOST_ELEMENTS:,} at most")
    try:
        results = compiler.interpret(module, *inputs, wide=True)
    except compiler.UnsupportedError as error:
        return Basis(reason=str(error))
    return with_residuals(
        checked([Bounds(result.value, result.bound) for result in results], expected), module, inputs, expected
    )


def checked(bounds: Sequence[Bounds], expected: Sequence[Array]) -> Basis:
    """The bounds, if the reference keeps them."""
    shapes = [bound.value.shape for bound in bounds]
    if shapes != [array.shape for array in expected]:
        return Basis(reason="wide mode gives results of other shapes than the reference")
    for index, (bound, array) in enumerate(zip(bounds, expected, strict=True)):
        if not bound.allows(array).all():
            return Basis(reason=f"the reference's own result {index} lies outside of its bounds")
    return Basis(tuple(bounds))


def with_residuals(basis: Basis, module: Any, inputs: Sequence[Array], expected: Sequence[Array]) -> Basis:
    """The basis with what else decides results; none where the reference's own do not satisfy it.

    Args:
        basis: bounds of the results.
        module: the program.
        inputs: of the call.
        expected: the reference's results.
    """
    if basis.bounds is None:
        return basis
    residuals = residuals_of(module, inputs, expected)
    for residual in residuals:
        for number, decided in found(residual, expected).items():
            if decided.wrong.any():
                return Basis(reason=f"the reference's own result {number} is not what {residual.routine} gives")
    return replace(basis, residuals=residuals)


def _size(shape: Any) -> int:
    elements = getattr(shape, "elements", None)
    if elements is not None:
        return sum(_size(element) for element in elements)
    return max(int(getattr(shape, "size", 0)), 0)
