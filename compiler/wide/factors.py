"""Wide rules of factorizations, and of custom calls, which are mostly those.

A backward stable routine gives the exact factors of a matrix that is a little off: by the errors of the operand and a
share of the magnitudes of the factors (Higham, "Accuracy and Stability of Numerical Algorithms", theorems 9.3, 10.3).
Carried through the factors' inverses that bounds the factors (Stewart, "On the perturbation of LU, Cholesky, and QR
factorizations", 1993), to first order; where the second could matter nothing is said.  Eigenvalues of Hermitian
matrices and singular values move no farther than the matrix (Weyl).  Vectors, reflections and eigenvalues of general
matrices are fixed up to signs and conditions that no bound here looks at: nothing is known of them here, and the judge
looks at what they satisfy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir import csr, meanings
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow
from compiler.ir.shape import TupleShape, leaves
from compiler.ir.types import ElementType
from compiler.ops.custom_call import TARGET, is_mark, options_of
from compiler.wide.lifting import lift_type
from compiler.wide.numbers import Wide, exact, limits, rounded, size, unknown
from compiler.wide.order import top
from compiler.wide.rule import Context, Rule
from compiler.wide.solvers import Triangle, triangular
from compiler.wide.sums import may_leave

_SHARE = 8.0
"""Roundings of a term in each step of an elimination."""
_FIRST_ORDER = 0.25
"""Up to here the change of the factors is twice its first order at most."""


def _adjoint(matrix: Array) -> Array:
    return np.asarray(np.conj(np.swapaxes(matrix, -1, -2)))


def _off(magnitude: Array, pivots: Array, own: ElementType, order: int) -> Array:
    """How far off the matrix is whose exact factors come out; `magnitude` is the product of those of the factors.

    A quotient that is too small for its type is off by as much of what it was divided by, one of the `pivots`.
    """
    bound = limits(own)
    return (order + 1) * (_SHARE * bound.unit * magnitude + bound.least * np.maximum(np.abs(pivots), 1.0))


def _inverse(matrix: Array) -> Array:
    """The magnitudes of an inverse; infinite where there is none."""
    try:
        return np.abs(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full(matrix.shape, np.inf)


def _is_far(moved: Array) -> Array:
    """For each matrix whether first order is not enough."""
    return np.asarray(~(np.abs(moved).sum(axis=-1).max(axis=-1, initial=0.0) <= _FIRST_ORDER))


def _cholesky_error(factor: Array, error: Array, own: ElementType) -> Array:
    """Of lower factors, and `error` of the matrices: how far the factors lie off; infinite above the diagonal."""
    order = factor.shape[-1]
    steps = np.arange(order)
    pivots = np.diagonal(factor, axis1=-2, axis2=-1)[..., np.minimum.outer(steps, steps)]
    away = error + _off(np.abs(factor) @ np.abs(_adjoint(factor)), pivots, own, order)
    inverse = _inverse(factor)
    moved = inverse @ away @ np.swapaxes(inverse, -1, -2)
    found = 2 * np.abs(factor) @ np.tril(moved)
    spread = np.where(_is_far(moved)[..., None, None] | ~np.isfinite(found), np.inf, found)
    return np.where(np.tri(order, dtype=np.bool_), spread, np.inf)


def _norm(matrix: Array) -> Array:
    """Frobenius norms; squares alone would leave the range that the norm is in."""
    largest = np.abs(matrix).max(axis=(-2, -1), keepdims=True, initial=0.0)
    scaled = np.abs(matrix) / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest[..., 0, 0] * np.sqrt((scaled**2).sum(axis=(-2, -1))))


def _is_never_positive(matrix: Array, error: Array, own: ElementType) -> Array:
    """For each matrix whether it has so negative an eigenvalue that no rounding hides it."""
    if not matrix.size or not np.isfinite(matrix).all():
        return np.zeros(matrix.shape[:-2], np.bool_)
    share = _SHARE * (matrix.shape[-1] + 1)
    away = share * (limits(own).unit * _norm(matrix) + limits(own).least) + _norm(error)
    return np.asarray(np.linalg.eigvalsh(matrix)[..., 0] < -away)


def _symmetric(triangle: Array) -> Array:
    """The matrix of which the lower triangle is given."""
    below = np.tril(triangle, -1)
    diagonal = np.where(np.eye(triangle.shape[-1], dtype=np.bool_), triangle.real, 0.0)
    return np.asarray(below + _adjoint(below) + diagonal)


def _factored(operand: Wide, factor: Array, own: ElementType, *, lower: bool) -> tuple[Wide, Array]:
    """A Cholesky factor with its error, and for each matrix whether all agree on that it has one, or has none."""
    matrix, error = operand.value, operand.error
    if not lower:
        matrix, error, factor = _adjoint(matrix), _adjoint(error), _adjoint(factor)
    matrix, error = _symmetric(matrix), _symmetric(error)
    never = _is_never_positive(matrix, error, own)
    spread = _cholesky_error(np.where(np.isfinite(factor), factor, 0.0), error, own)
    broken = np.asarray(~np.isfinite(factor).all(axis=(-2, -1)))
    result = rounded(factor, np.where(broken[..., None, None], np.inf, spread), own)
    triangle = np.tri(factor.shape[-1], dtype=np.bool_)
    known = never | np.isfinite(np.where(triangle, result.error, 0.0)).all(axis=(-2, -1))
    wide = Wide(result.value, np.where((never & broken)[..., None, None] & triangle, 0.0, result.error))
    return (wide if lower else Wide(_adjoint(wide.value), np.swapaxes(wide.error, -1, -2))), known


def _cholesky(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """What an implementation leaves in the other triangle is open."""
    value = np.asarray(context.evaluate(instruction, [operands[0].value]))
    lower = instruction.attributes.get("lower", False)
    return _factored(operands[0], value, context.own(instruction), lower=lower)[0]


def _sparse_product(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """The errors of the terms, and of their sums in any order, each of as many terms as there are elements."""
    elements, starts, columns, right = operands
    value = np.asarray(context.evaluate(instruction, [operand.value for operand in operands]))
    if not starts.is_exact or not columns.is_exact:
        return unknown(value)
    if value.dtype.kind not in "fc":
        return exact(value) if elements.is_exact and right.is_exact else unknown(value)
    positions = starts.value, columns.value
    left_size, right_size = (np.abs(factor.value) for factor in (elements, right))
    own = context.own(instruction)
    reach = csr.product(left_size, *positions, right_size)
    error = csr.product(left_size + elements.error, *positions, right_size + right.error) - reach
    error = np.where(np.isnan(error), np.inf, error)
    result = rounded(value, error, own, roundings=2.0 * (len(elements.value) + 1), reach=reach)
    return result.open_at(may_leave(value, reach, own))


Results = Sequence[Array]
Bounds = Sequence[Array | None]
"""For each result its bound, or None where nothing is known."""


def _potrf(operands: Sequence[Wide], results: Results, own: ElementType, options: dict[str, str]) -> Bounds:
    """The other triangle is the operand's; info is known where the factor is."""
    lower = options["uplo"] == "L"
    (operand,), (factor, info) = operands, results
    triangle = np.tri(factor.shape[-1], dtype=np.bool_)
    triangle = triangle if lower else triangle.T
    wide, known = _factored(operand, np.where(triangle, factor, 0.0), own, lower=lower)
    # Where the routine gave up it leaves what it had, and says at which column.
    spread = np.where((info != 0)[..., None, None], np.inf, wide.error)
    return np.where(triangle, spread, operand.error), np.where(known & (info == 0), 0.0, np.inf)


def _getrf(operands: Sequence[Wide], results: Results, own: ElementType, _: dict[str, str]) -> Bounds:
    """Known where every pivot is clearly the greatest of its column."""
    (operand,), (packed, pivots, info) = operands, results
    rows, columns = packed.shape[-2:]
    steps = min(rows, columns)
    below, unit = np.tril(packed, -1)[..., :steps], np.eye(rows, columns)[..., :steps]
    left = below + unit
    square = np.broadcast_to(np.eye(rows, dtype=packed.dtype), (*packed.shape[:-2], rows, rows)).copy()
    square[..., :steps] = left
    upper = np.triu(packed)[..., :steps, :]
    other = np.broadcast_to(np.eye(columns, dtype=packed.dtype), (*packed.shape[:-2], columns, columns)).copy()
    other[..., :steps, :] = upper
    divisors = np.diagonal(other, axis1=-2, axis2=-1)[..., None, :]
    away = _swapped(operand.error, pivots) + _off(np.abs(left) @ np.abs(upper), divisors, own, steps)
    moved = _inverse(square) @ away @ _inverse(other)
    below_error = 2 * (np.abs(square) @ np.tril(moved, -1))[..., :steps]
    upper_error = 2 * np.triu(moved)[..., :steps, :] @ np.abs(other)
    spread = np.zeros(packed.shape)
    spread[..., :steps] += np.tril(below_error, -1)
    spread[..., :steps, :] += np.triu(upper_error)
    # The pivot is chosen by |re| + |im|, which is up to a root of 2 more than the modulus.
    reach = np.abs(below) + np.tril(below_error, -1)
    clear = (reach * (2**0.5 if packed.dtype.kind == "c" else 1.0) < 1).all(axis=(-2, -1))
    lost = ~clear | _is_far(moved) | ~np.isfinite(spread).all(axis=(-2, -1)) | (info != 0)
    doubt = np.where(lost, np.inf, 0.0)
    return (
        np.where(lost[..., None, None], np.inf, spread),
        np.broadcast_to(doubt[..., None], pivots.shape),
        doubt,
    )


def _swapped(rows: Array, pivots: Array) -> Array:
    """Rows in the order that exchanges, counted from 1, bring them into."""
    result = np.array(rows)
    for index in np.ndindex(*pivots.shape[:-1]):
        one = result[index]
        for step, pivot in enumerate(pivots[index]):
            one[[step, pivot - 1]] = one[[pivot - 1, step]]
    return result


def _weyl(number: int, count: int) -> Callable[..., Bounds]:
    """Of so many results one holds eigenvalues of Hermitian matrices or singular values; it and info are known."""

    def rule(operands: Sequence[Wide], results: Results, own: ElementType, _: dict[str, str]) -> Bounds:
        (operand,) = operands
        bound = limits(own)
        share = _SHARE * (max(operand.value.shape[-2:]) + 1) ** 1.5
        # A Hermitian matrix is given by one triangle, which stands for both.
        away = 2 * _norm(operand.error) + 2 * share * (bound.unit * _norm(operand.value) + bound.least)
        away = np.where(np.isfinite(away), away, np.inf)
        bounds: list[Array | None] = [None] * count
        bounds[number] = np.broadcast_to(away[..., None], results[number].shape)
        bounds[-1] = np.where(np.isfinite(away) & (results[-1] == 0), 0.0, np.inf)
        return bounds

    return rule


def _trsm(operands: Sequence[Wide], results: Results, own: ElementType, options: dict[str, str]) -> Bounds:
    triangle = Triangle(
        lower=options["uplo"] == "L",
        unit=options["diag"] == "U",
        transpose=options["trans_x"],
        left_side=options["side"] == "L",
    )
    return (triangular(operands[0], operands[1], results[0], own, triangle).error,)


_ROUTINES: dict[str, Callable[..., Bounds]] = {
    "potrf": _potrf,
    "getrf": _getrf,
    "trsm": _trsm,
    "syevd": _weyl(1, 3),
    "heevd": _weyl(1, 3),
    "gesdd": _weyl(1, 5),
    "gesvd": _weyl(1, 5),
}
"""LAPACK's routines of whose results something is known, without the letter of the type."""


def _custom_call(instruction: Instruction, operands: Sequence[Any], context: Context) -> Any:
    target = instruction.attributes["custom_call_target"]
    if is_mark(instruction):
        return tuple(operands) if isinstance(instruction.shape, TupleShape) else operands[0]
    if meanings.given(instruction):
        return _given(instruction, operands, context)
    if target == "TopK":
        return top(instruction, operands, context)
    if csr.is_product(context.originals[instruction]):
        return _sparse_product(instruction, operands, context)
    values = context.evaluate(instruction, [operand.value for operand in operands])
    results = values if isinstance(values, tuple) else (values,)
    found = TARGET.fullmatch(target)
    rule = _ROUTINES.get(found[1]) if found is not None else None
    if rule is None:
        wides = [unknown(value) for value in results]
    else:
        owns = [shape.element_type for shape in leaves(context.originals[instruction].shape)]
        bounds = _of_finite(rule, operands, results, owns[0], options_of(instruction))
        wides = [_bounded(v, b, own) for v, b, own in zip(results, bounds, owns, strict=True)]
    return tuple(wides) if isinstance(values, tuple) else wides[0]


def _given(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    """A function of the caller's: what it makes of exact operands is exact, of others nothing is known."""
    original = context.originals[instruction]
    owns = [operand.array.element_type for operand in original.operands]
    values = [narrow(operand.value, own) for operand, own in zip(operands, owns, strict=True)]
    found = meanings.called(original, values)
    results = [
        r if r.dtype == lift_type(s.element_type).dtype else r.astype(lift_type(s.element_type).dtype)
        for r, s in zip(found if isinstance(found, tuple) else (found,), leaves(original.shape), strict=True)
    ]
    is_exact = all(not operand.error.any() for operand in operands)
    wides = [exact(result) if is_exact else unknown(result) for result in results]
    return tuple(wides) if isinstance(found, tuple) else wides[0]


def _of_finite(
    rule: Callable[..., Bounds], operands: Sequence[Wide], results: Results, own: ElementType, options: dict[str, str]
) -> Bounds:
    """The bounds of the matrices that are finite; of the others nothing is known."""
    each = [np.isfinite(array).all(axis=(-2, -1)) for o in operands for array in (o.value, o.error)]
    finite = np.asarray(np.logical_and.reduce(each))
    if finite.all():
        return rule(operands, results, own, options)
    taken = [Wide(o.value[finite], o.error[finite]) for o in operands]
    found: Bounds = (
        rule(taken, [result[finite] for result in results], own, options) if finite.any() else [None] * len(results)
    )
    bounds: list[Array | None] = []
    for result, bound in zip(results, found, strict=True):
        spread = np.full(result.shape, np.inf)
        if bound is not None:
            spread[finite] = bound
        bounds.append(None if bound is None else spread)
    return bounds


def _bounded(value: Array, bound: Array | None, own: ElementType) -> Wide:
    if bound is None:
        return unknown(value)
    if value.dtype.kind not in "fc":
        return Wide(value, np.asarray(bound, np.float64))
    wide = rounded(value, np.asarray(bound), own)
    # What is passed on as it came is not rounded.
    return Wide(wide.value, np.where(np.asarray(bound) == 0, 0.0, wide.error)) if size(value).size else exact(value)


RULES: dict[str, Rule] = {"cholesky": _cholesky, "custom-call": _custom_call}
