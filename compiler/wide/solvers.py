"""Wide rules of transforms, triangular systems and batch normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.factorizations import solve_triangular
from compiler.ir.module import Instruction
from compiler.ir.numbers import Array
from compiler.ir.types import ElementType
from compiler.wide.numbers import Wide, limits, rounded, size, times, unknown
from compiler.wide.rule import Context, Rule

_PASSES = 8.0
"""Roundings of a term in each of the log2(n) passes of a transform, those of its twiddle factors included."""


def _fft(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Each result is a sum of all elements of a transform, turned by factors of modulus 1."""
    (operand,) = operands
    value = np.asarray(context.evaluate(instruction, [operand.value]))
    if not np.isfinite(operand.value).all():
        return unknown(value)
    kind, length = instruction.attributes["fft_type"], instruction.attributes["fft_length"]
    axes = tuple(range(-len(length), 0))
    count = math.prod(length)
    scale = (1.0 / max(count, 1) if kind in ("IFFT", "IRFFT") else 1.0) * (2.0 if kind == "IRFFT" else 1.0)
    passed = scale * operand.error.sum(axis=axes, keepdims=True)
    reach = scale * (size(operand.value) + operand.error).sum(axis=axes, keepdims=True)
    own = context.own(instruction)
    roundings = _PASSES * (2 + math.log2(max(count, 1)))
    share, lost = roundings * limits(own).unit, roundings * limits(own).least * count * scale
    strays = reach / scale * max(count, 1) > limits(own).largest  # sums on the way, in whatever order
    return rounded(value, np.broadcast_to(np.where(strays, np.inf, passed + share * reach + lost), value.shape), own)


@dataclass(frozen=True, slots=True)
class Triangle:
    """A triangular system: op(a) x = b or x op(a) = b; `transpose` is N, T or C."""

    lower: bool
    unit: bool
    transpose: str
    left_side: bool

    def solve(self, matrix: Array, right: Array) -> Array:
        """The solution of the triangular system, in f64."""
        return solve_triangular(
            matrix, right, left_side=self.left_side, lower=self.lower, unit=self.unit, transpose=self.transpose
        )

    def times(self, sizes: Array, solution: Array) -> Array:
        """The left side, of sizes in the place of the matrix."""
        matrix = sizes if self.transpose == "N" else np.swapaxes(sizes, -1, -2)
        return np.asarray(matrix @ solution if self.left_side else solution @ matrix)


def _triangular_solve(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    matrix, right = operands
    value = np.asarray(context.evaluate(instruction, [matrix.value, right.value]))
    attributes = instruction.attributes
    triangle = Triangle(
        attributes.get("lower", False),
        attributes.get("unit_diagonal", False),
        attributes.get("transpose_a", "NO_TRANSPOSE")[0],
        attributes.get("left_side", False),
    )
    return triangular(matrix, right, value, context.own(instruction), triangle)


def triangular(matrix: Wide, right: Wide, value: Array, own: ElementType, triangle: Triangle) -> Wide:
    """Componentwise: the residual of any substitution, carried through the comparison matrix (Higham, theorem 8.5).

    Args:
        matrix: [..., n, n].
        right: the right sides.
        value: the solution.
        own: the type that it was to be computed in.
        triangle: which one is read, and how.
    """
    order = matrix.value.shape[-1]
    given = (np.tril if triangle.lower else np.triu)(np.ones((order, order)))
    magnitude, error = size(matrix.value) * given, np.where(given > 0, matrix.error, 0.0)
    diagonal = np.eye(order, dtype=np.bool_)
    if triangle.unit:
        magnitude, error = np.where(diagonal, 1.0, magnitude), np.where(diagonal, 0.0, error)
    share = _PASSES * (order + 1) * limits(own).unit
    comparison = np.where(diagonal, magnitude - error, -(magnitude + error))
    if not np.isfinite(value).all() or not np.all(np.where(diagonal, comparison, 1.0) > 0):
        return unknown(value)
    residual = triangle.times(error + share * (magnitude + error), size(value))
    # A quotient that is too small for its type is off by as much of what it was divided by.
    divisors = np.maximum(np.diagonal(magnitude, axis1=-2, axis2=-1), 1.0)
    divisors = divisors[..., :, None] if triangle.left_side else divisors[..., None, :]
    lost = _PASSES * (order + 1) * limits(own).least * divisors
    spread = np.abs(triangle.solve(comparison, residual + right.error + lost))
    # What overflows on the way, even in a value that is zero's factor only, may make NaN of all that follows.
    reach = np.maximum(triangle.times(magnitude, size(value)), size(value))
    overflows = np.any(reach > limits(own).largest, axis=-2 if triangle.left_side else -1, keepdims=True)
    return rounded(value, np.where(np.isnan(spread) | overflows, np.inf, 2 * spread), own)


class _Arithmetic:
    """Values with errors in one type, for ops that are formulas of several steps."""

    def __init__(self, element_type: ElementType) -> None:
        self.element_type = element_type

    def add(self, left: Wide, right: Wide) -> Wide:
        """A sum."""
        return rounded(left.value + right.value, left.error + right.error, self.element_type)

    def subtract(self, left: Wide, right: Wide) -> Wide:
        """A difference."""
        return rounded(left.value - right.value, left.error + right.error, self.element_type)

    def multiply(self, left: Wide, right: Wide) -> Wide:
        """A product."""
        crossed = times(size(left.value), right.error) + times(size(right.value), left.error)
        return rounded(left.value * right.value, crossed + times(left.error, right.error), self.element_type)

    def mean(self, array: Wide, axes: tuple[int, ...], *, total: bool) -> Wide:
        """A sum along axes, or its share of the number of elements."""
        count = math.prod(array.value.shape[axis] for axis in axes)
        divisor = 1.0 if total else float(count)
        reach = (size(array.value) + array.error).sum(axis=axes)
        bound = limits(self.element_type)
        error = array.error.sum(axis=axes) + count * (bound.unit * reach + bound.least)
        result = rounded(
            array.value.sum(axis=axes) / np.float64(divisor), error / np.float64(divisor), self.element_type
        )
        return result.open_at(reach > bound.largest)

    def inverse_root(self, array: Wide) -> Wide:
        """1 / sqrt."""
        value = 1 / np.sqrt(array.value)
        low = array.value - array.error
        error = np.where(low > 0, 1 / np.sqrt(np.where(low > 0, low, 1.0)) - value, np.inf)
        return rounded(value, np.where(array.error == 0, 0.0, error), self.element_type, roundings=_PASSES)


def _spread(vector: Wide, instruction: Instruction, rank: int) -> Wide:
    shape = [-1 if d == instruction.attributes["feature_index"] else 1 for d in range(rank)]
    return Wide(vector.value.reshape(shape), vector.error.reshape(shape))


def _constant(value: float) -> Wide:
    return Wide(np.asarray(value), np.asarray(0.0))


def _epsilon(instruction: Instruction) -> Wide:
    return _constant(float(np.float32(instruction.attributes["epsilon"])))


def _normalised(
    instruction: Instruction, arithmetic: _Arithmetic, operands: Sequence[Wide], moments: tuple[Wide, Wide]
) -> Wide:
    array, scale, offset = operands
    rank = array.value.ndim
    mean, variance = moments
    inverse = arithmetic.inverse_root(arithmetic.add(variance, _epsilon(instruction)))
    centred = arithmetic.subtract(array, _spread(mean, instruction, rank))
    factor = arithmetic.multiply(inverse, scale)
    scaled = arithmetic.multiply(centred, _spread(factor, instruction, rank))
    # As array * factor + (offset - mean * factor), which is as good, the terms are larger.
    apart = arithmetic.multiply(array, _spread(factor, instruction, rank))
    result = arithmetic.add(scaled, _spread(offset, instruction, rank))
    cancelled = _PASSES * limits(arithmetic.element_type).unit * (size(apart.value) + size(result.value))
    leaves = ~(np.abs(apart.value) <= limits(arithmetic.element_type).largest)
    return rounded(result.value, result.error + cancelled, arithmetic.element_type).open_at(leaves)


def _axes(instruction: Instruction, rank: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d != instruction.attributes["feature_index"])


def _types(instruction: Instruction, context: Context) -> _Arithmetic:
    return _Arithmetic(context.own(instruction.operands[0]))


def _special(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any | None:
    """What no formula tells: nothing is known where operands are not finite or there is nothing to average."""
    if all(o.value.size and np.isfinite(o.value).all() and np.isfinite(o.error).all() for o in operands):
        return None
    values = context.evaluate(instruction, [operand.value for operand in operands])
    return tuple(map(unknown, values)) if isinstance(values, tuple) else unknown(values)


def _training(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    special = _special(instruction, operands, context)
    if special is not None:
        return special
    arithmetic, rank = _types(instruction, context), operands[0].value.ndim
    axes = _axes(instruction, rank)
    array = operands[0]
    mean = arithmetic.mean(array, axes, total=False)
    centred = arithmetic.subtract(array, _spread(mean, instruction, rank))
    variance = arithmetic.mean(arithmetic.multiply(centred, centred), axes, total=False)
    # As the mean of the squares less the square of the mean, which is as good, the terms are larger.
    (squares,) = _settled(arithmetic.mean(arithmetic.multiply(array, array), axes, total=False))
    away = squares.error + 2 * times(size(mean.value), mean.error) + mean.error**2
    mean, variance = _settled(mean, Wide(variance.value, variance.error + away))
    normal = _normalised(instruction, arithmetic, operands, (mean, variance))
    return (*_settled(normal), mean, variance)


def _inference(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    special = _special(instruction, operands, context)
    if special is not None:
        return special
    (normal,) = _settled(
        _normalised(instruction, _types(instruction, context), operands[:3], (operands[3], operands[4]))
    )
    return normal


def _gradient(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Any:
    special = _special(instruction, operands, context)
    if special is not None:
        return special
    array, scale, mean, variance, gradient = operands
    arithmetic, rank = _types(instruction, context), array.value.ndim
    axes = _axes(instruction, rank)
    inverse = arithmetic.inverse_root(arithmetic.add(variance, _epsilon(instruction)))
    centred = arithmetic.subtract(array, _spread(mean, instruction, rank))
    weighted = arithmetic.multiply(gradient, centred)
    product = arithmetic.multiply(arithmetic.mean(weighted, axes, total=False), arithmetic.multiply(inverse, inverse))
    rest = arithmetic.subtract(gradient, _spread(arithmetic.mean(gradient, axes, total=False), instruction, rank))
    rest = arithmetic.subtract(rest, arithmetic.multiply(centred, _spread(product, instruction, rank)))
    factor = _spread(arithmetic.multiply(scale, inverse), instruction, rank)
    total, crossed = (arithmetic.mean(terms, axes, total=True) for terms in (gradient, weighted))
    grad_scale = arithmetic.multiply(crossed, inverse)
    # As the specification has it, with sums, and the factor divided by their number of terms instead: some steps are
    # larger and may leave the range, and the factor may be lost.
    count, bound = math.prod(array.value.shape[axis] for axis in axes), limits(arithmetic.element_type)
    factor = Wide(factor.value, factor.error + count * bound.least)
    turned = size(centred.value * _spread(crossed, instruction, rank).value)
    divided = turned * _spread(inverse, instruction, rank).value ** 2
    terms = count * size(gradient.value) + size(_spread(total, instruction, rank).value) + divided
    leaves = np.maximum(turned, terms) > bound.largest
    grad_operand = _doubled(arithmetic.multiply(factor, rest)).open_at(leaves)
    return _settled(grad_operand, _doubled(grad_scale), total)


def _settled(*results: Wide) -> tuple[Wide, ...]:
    """Finite operands whose steps leave the range of the type: where they do is a matter of the formula."""
    return tuple(Wide(w.value, np.where(np.isfinite(w.value), w.error, np.inf)) for w in results)


def _doubled(wide: Wide) -> Wide:
    """Formulas that are equal on paper round a little differently."""
    widened: Array = 2 * wide.error
    return Wide(wide.value, widened)


RULES: dict[str, Rule] = {
    "fft": _fft,
    "triangular-solve": _triangular_solve,
    "batch-norm-training": _training,
    "batch-norm-inference": _inference,
    "batch-norm-grad": _gradient,
}
