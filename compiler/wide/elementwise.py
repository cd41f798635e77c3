"""Wide rules of elementwise ops: how far a result moves with its operands, and what its own rounding adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from compiler.ir.module import Instruction
from compiler.ir.numbers import Array, narrow
from compiler.ops import Trait, having
from compiler.wide.complex_functions import COMPLEX, complex_angle, complex_function
from compiler.wide.contraction import infinite_product
from compiler.wide.conversions import convert
from compiler.wide.lifting import lift_type
from compiler.wide.numbers import (
    Wide,
    around,
    distance,
    held,
    hull,
    limits,
    rounded,
    settle,
    size,
    tainted,
    times,
)
from compiler.wide.rule import Context, Rule

_FUNCTION = 8.0
"""Units that a library function may be off by: four in the last place."""
_COMPLEX_ROUNDINGS = {"add": 1.0, "subtract": 1.0, "multiply": 4.0, "divide": 12.0}
"""Units of complex arithmetic, by modulus: the parts of a sum round alone, a product is off by gamma(2) sqrt(2) and
Smith's quotient by gamma(7) sqrt(2) (Higham, lemma 3.5 and section 27.8), with room for a rounding on the way."""
_LOST_TERMS = 2.0
"""Terms of a complex quotient, by modulus, that may be taken for zero (Smith's algorithm)."""


def _is_rounded(value: Array) -> bool:
    return value.dtype.kind in "fc"


def _discrete(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Integers and predicates: exact, or not known at all."""
    return tainted(context.evaluate(instruction, [o.value for o in operands]), operands)


Spread = Callable[[Array, Sequence[Wide]], Array]


def _arithmetic(spread: Spread, instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Ops that round correctly: nothing where the own type holds the result of exact operands."""
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    value = np.asarray(context.evaluate(instruction, [o.value for o in operands]))
    own = context.own(instruction)
    is_complex = value.dtype.kind == "c"
    result = rounded(
        value, spread(value, operands), own, roundings=_COMPLEX_ROUNDINGS[instruction.opcode] if is_complex else 1.0
    )
    if is_complex:
        return result
    known = held(value, own)
    for operand in operands:
        known = known & (operand.error == 0) & held(operand.value, own)
    return Wide(result.value, np.where(known, 0.0, result.error))


def _sum(_: Array, operands: Sequence[Wide]) -> Array:
    return operands[0].error + operands[1].error


def _added(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Sums and differences; of products before they are rounded, it may be."""
    result = _arithmetic(_sum, instruction, operands, context)
    for value, found in zip(instruction.operands, operands, strict=True):
        result = result.open_at(infinite_product(value, found, context))
    return result


def _product(_: Array, operands: Sequence[Wide]) -> Array:
    left, right = operands
    crossed = times(size(left.value), right.error) + times(size(right.value), left.error)
    return crossed + times(left.error, right.error)


def _multiplied(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """An infinity may be NaN, or of either sign, by what may be zero.

    Of a complex product each part is a sum of two, either of which may leave the range without it.
    """
    result = _arithmetic(_product, instruction, operands, context)
    if result.value.dtype.kind == "f":
        left, right = operands
        may_be_lost = (np.isinf(left.value) & right.may_be_zero) | (np.isinf(right.value) & left.may_be_zero)
        return result.open_at(may_be_lost)
    if result.value.dtype.kind != "c":
        return result
    (a, b), (c, d) = ((np.abs(o.value.real) + o.error, np.abs(o.value.imag) + o.error) for o in operands)
    return result.open_at(np.maximum(a * c + b * d, a * d + b * c) > limits(context.own(instruction)).largest)


def _quotient(value: Array, operands: Sequence[Wide]) -> Array:
    dividend, divisor = operands
    above = dividend.error + times(size(value), divisor.error)
    below = np.abs(divisor.value) - divisor.error
    reached = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.inf)
    return np.where(above == 0, np.where((divisor.error > 0) & ~(below > 0), np.inf, 0.0), reached)


def _divided(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """What is lost on the way to a complex quotient, before it is divided, counts the more the smaller the divisor."""
    result = _arithmetic(_quotient, instruction, operands, context)
    if result.value.dtype.kind != "c":
        return result
    own, divisor = context.own(instruction), operands[1]
    below = np.abs(divisor.value) - divisor.error
    lost = np.where(below > 0, _LOST_TERMS * limits(own).least / below, np.inf)
    return settle(result.value, result.error + lost, own).open_at(~np.isfinite(divisor.value))


def _monotone(roundings: float, instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Functions that are monotone between the ends of their operands' intervals, or farthest away at an end."""
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    if any(operand.value.dtype.kind == "c" for operand in operands):
        return complex_function(instruction, operands, context)
    value, error = around(lambda arrays: context.evaluate(instruction, arrays), operands)
    if not _is_rounded(value):
        return Wide(value, error)
    own = context.own(instruction)
    if not roundings:
        return settle(value, error, own)
    return rounded(value, error, own, roundings=roundings)


def _of_sines(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Functions of -1 to 1: an interval may hold all of that while its middle and both of its ends lie outside."""
    result, [operand] = _monotone(_FUNCTION, instruction, operands, context), operands
    if operand.value.dtype.kind == "c":
        return result
    return result.open_at(np.isnan(result.value) & (np.abs(operand.value) - operand.error <= 1))


def _fewer_digits(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Of a number of the own type: the digits of its denormals have fixed places, which those of f64 have not."""
    original = context.originals[instruction]
    own = original.array.element_type

    def evaluate(arrays: Sequence[Array]) -> Array:
        kept = np.asarray(context.evaluate(original, [narrow(array, own) for array in arrays]))
        return kept.astype(lift_type(own).dtype)

    return settle(*around(evaluate, operands), own)


def _any_function(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Of which no more is known than its values: where operands are uncertain, nothing is."""
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    value = tainted(context.evaluate(instruction, [operand.value for operand in operands]), operands)
    if not _is_rounded(value.value):
        return value
    return rounded(value.value, value.error, context.own(instruction), roundings=_FUNCTION)


def _square_root(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Rounds correctly, so squares of what the type holds are exact."""
    result = _monotone(2.0, instruction, operands, context)
    if result.value.dtype.kind == "c":
        return result
    own = context.own(instruction)
    known = (operands[0].error == 0) & held(result.value, own) & held(operands[0].value, own)
    return Wide(result.value, np.where(known, 0.0, result.error))


def _cube_root(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    result = _monotone(_FUNCTION, instruction, operands, context)
    if result.value.dtype.kind != "c":
        return result
    # XLA takes a complex root by the exponential of a third of the logarithm, whose rounding counts by its magnitude.
    logarithm = np.abs(np.log(np.where(operands[0].value == 0, 1, operands[0].value)))
    more = _FUNCTION * limits(context.own(instruction)).unit * times(size(result.value), logarithm)
    return settle(result.value, result.error + more, context.own(instruction))


def _abs(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    value = np.asarray(context.evaluate(instruction, [operands[0].value]))
    if operands[0].value.dtype.kind == "c":
        return rounded(value, operands[0].error, context.own(instruction), roundings=_FUNCTION)
    return Wide(value, operands[0].error)


def _same_error(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Ops that change no digit."""
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    value = np.asarray(context.evaluate(instruction, [o.value for o in operands]))
    error = operands[0].error
    for operand in operands[1:]:
        error = np.hypot(error, operand.error)
    return settle(value, np.broadcast_to(error, value.shape), context.own(instruction))


def _wave(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Sine and cosine move by no more than their argument, and never by more than 2."""
    (operand,) = operands
    if operand.value.dtype.kind == "c":
        return complex_function(instruction, operands, context)
    value = np.asarray(context.evaluate(instruction, [operand.value]))
    error = np.where(np.isfinite(operand.error), np.minimum(operand.error, 2.0), np.inf)
    return rounded(value, error, context.own(instruction), roundings=_FUNCTION)


def _tangent(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Monotone between poles; the distance to the next pole is at least the cosine."""
    result = _monotone(_FUNCTION, instruction, operands, context)
    if operands[0].value.dtype.kind == "c":
        return result
    poles = operands[0].error >= np.abs(np.cos(operands[0].value))
    return result.open_at(poles & (operands[0].error > 0))


def _power(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Monotone in base and exponent while the base keeps its sign, and with an exact exponent past that."""
    result = _monotone(2 * _FUNCTION, instruction, operands, context)
    base, exponent = operands
    if base.value.dtype.kind == "c":
        # As the exponential of a product with a logarithm, whose rounding counts by its magnitude.
        logarithm = size(exponent.value) * np.abs(np.log(np.where(base.value == 0, 1, base.value)))
        bound = limits(context.own(instruction))
        more = COMPLEX * bound.unit * times(size(result.value), logarithm)
        # A product that leaves the range is an infinity in both parts, and so is the logarithm of zero, times any part.
        leaves = (logarithm > bound.largest) | ((base.value == 0) & (exponent.value.imag != 0))
        return settle(result.value, result.error + more, context.own(instruction)).open_at(leaves)
    if base.value.dtype.kind != "f":
        return result
    open_ = (exponent.error > 0) & (base.value - base.error <= 0) & ((base.error > 0) | (base.value < 0))
    pole = (base.error >= np.abs(base.value)) & (base.error > 0) & (exponent.value - exponent.error < 0)
    # 1 to the power of NaN is 1, and so is NaN to the power of 0.
    may_be_one = (base.error > 0) & (np.abs(base.value - 1) <= base.error) & np.isnan(exponent.value)
    may_be_zero = (exponent.error > 0) & exponent.may_be_zero & np.isnan(base.value)
    return result.open_at(open_ | pole | may_be_one | may_be_zero)


def _angle(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    y, x = operands
    if y.value.dtype.kind == "c":
        return complex_angle(instruction, operands, context)
    value = np.asarray(context.evaluate(instruction, [y.value, x.value]))
    step = np.hypot(y.error, x.error)
    radius = np.hypot(y.value, x.value)
    error = np.where(step == 0, 0.0, np.pi / 2 * step / np.where(radius > 0, radius, 1.0))
    cut = y.may_be_zero & (x.value - x.error <= 0)
    error = np.where((step > 0) & ((step >= radius) | cut), 2 * np.pi, error)
    error = np.where(np.isinf(step), np.inf, error)
    return rounded(value, error, context.own(instruction), roundings=_FUNCTION)


def _remainder(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    if not _is_rounded(operands[0].value):
        return _discrete(instruction, operands, context)
    dividend, divisor = operands
    value = np.asarray(context.evaluate(instruction, [dividend.value, divisor.value]))
    quotient = np.trunc(dividend.value / divisor.value)
    _, moved = around(lambda arrays: np.trunc(arrays[0] / arrays[1]), operands)
    reach = np.abs(divisor.value) + divisor.error
    error = np.where(moved == 0, dividend.error + times(size(quotient), divisor.error), 2 * reach)
    error = np.where(np.isinf(moved) | np.isnan(moved) | divisor.may_be_zero, np.inf, error)
    return settle(value, error, context.own(instruction))


def _compare(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """Close where the operands' intervals meet, and where a NaN, whose sign is left open, has a place in the order."""
    left, right = operands
    value = np.asarray(context.evaluate(instruction, [left.value, right.value]))
    error = left.error + right.error
    close = (error > 0) & ((distance(left.value, right.value) <= error) | np.isinf(error))
    if instruction.attributes.get("type") == "TOTALORDER":
        close |= np.isnan(left.value) | np.isnan(right.value)
    return Wide(value, np.where(close, np.inf, 0.0))


def _select(_: Instruction, operands: Sequence[Wide], __: Context) -> Wide:
    """Past a close decision the result is one of two, so what is known of both is known of it."""
    return choose(*operands)


def choose(predicate: Wide, on_true: Wide, on_false: Wide) -> Wide:
    """`on_true` or `on_false` as `predicate` says, with the hull of both where that is not known."""
    holds = predicate.value.astype(np.bool_)
    value = np.where(holds, on_true.value, on_false.value)
    error = np.where(holds, on_true.error, on_false.error)
    if predicate.is_exact:
        return Wide(value, error)
    other = Wide(np.where(holds, on_false.value, on_true.value), np.where(holds, on_false.error, on_true.error))
    reach = hull(Wide(value, error), other)
    return Wide(value, np.where(predicate.error > 0, reach.error, error))


def _logical(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    """And, or: monotone, so a predicate that is not known matters only where the other does not decide."""
    if any(operand.value.dtype != np.bool_ for operand in operands):
        return _discrete(instruction, operands, context)
    return monotone_predicate(lambda arrays: context.evaluate(instruction, arrays), operands)


def monotone_predicate(function: Callable[[Sequence[Array]], Array], operands: Sequence[Wide]) -> Wide:
    """A monotone function of predicates: known where it is the same for all that is not known false, and true."""
    low = np.asarray(function([operand.value & (operand.error == 0) for operand in operands]))
    high = np.asarray(function([operand.value | (operand.error > 0) for operand in operands]))
    value = np.asarray(function([operand.value for operand in operands]))
    return Wide(value, np.where(low == high, 0.0, np.inf))


def _is_finite(instruction: Instruction, operands: Sequence[Wide], context: Context) -> Wide:
    (operand,) = operands
    value = np.asarray(context.evaluate(instruction, [operand.value]))
    return Wide(value, np.where(np.isinf(operand.error), np.inf, 0.0))


def _functions(roundings: float, *opcodes: str) -> dict[str, Rule]:
    return {opcode: partial(_monotone, roundings) for opcode in opcodes}


RULES: dict[str, Rule] = {
    **dict.fromkeys(having(Trait.ELEMENTWISE) - {"copy"}, _any_function),
    "add": _added,
    "subtract": _added,
    "multiply": _multiplied,
    "divide": _divided,
    "sqrt": _square_root,
    "abs": _abs,
    **dict.fromkeys(("negate", "real", "imag", "complex"), _same_error),
    **_functions(0.0, "maximum", "minimum", "clamp", "floor", "ceil", "sign", "round-nearest-afz"),
    **_functions(0.0, "round-nearest-even"),
    "reduce-precision": _fewer_digits,
    **_functions(_FUNCTION, "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "rsqrt"),
    "cbrt": _cube_root,
    **dict.fromkeys(("asin", "acos", "atanh"), _of_sines),
    **_functions(_FUNCTION, "sinh", "cosh", "tanh", "asinh", "acosh", "erf"),
    "sine": _wave,
    "cosine": _wave,
    "tan": _tangent,
    "power": _power,
    "atan2": _angle,
    "remainder": _remainder,
    "compare": _compare,
    "select": _select,
    "is-finite": _is_finite,
    "convert": convert,
    "and": _logical,
    "or": _logical,
    **dict.fromkeys(("xor", "not", "shift-left", "shift-right-arithmetic", "shift-right-logical", "popcnt"), _discrete),
    **dict.fromkeys(("count-leading-zeros", "mulhi"), _discrete),
}
