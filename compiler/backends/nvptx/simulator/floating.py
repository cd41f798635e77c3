"""Floating point arithmetic of PTX, as functions from raw bits to raw bits.

`arithmetic(opcode, form, ...)` gives the function for one instruction; rounding, `.ftz` and `.sat` are wrapped
around a core, so every core is a line.  Approximate instructions (`ex2.approx`, `rcp.approx`, ...) are computed in f64
and rounded once: less than an ulp of error, within every bound that the PTX manual documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.rounding import (
    F32,
    F64,
    FloatFormat,
    Raw,
    Wide,
    add_odd,
    canonical,
    divide_exact,
    flush,
    fma_f64,
    fma_for_f32,
    fma_odd,
    from_wide,
    is_nan_bits,
    rational,
    round_fraction,
    saturate,
    to_native,
    to_wide,
)

RawFunction = Callable[..., Any]

_SINGLE = np.dtype(np.float32)
_NATIVE: Mapping[str, Callable[..., NDArray[Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda a: a.dtype.type(1) / a,
}


def _rsqrt(a: Wide) -> Wide:
    return 1.0 / np.sqrt(a)


_WIDE: Mapping[str, Callable[..., Wide]] = {
    "add": add_odd,
    "sub": lambda a, b: add_odd(a, -b),
    "mul": np.multiply,
    "fma": fma_odd,
    "mad": fma_odd,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda a: 1.0 / a,
    "rsqrt": _rsqrt,
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def arithmetic(opcode: str, form: FloatFormat, mode: str, *, is_approximate: bool = False) -> RawFunction:
    """The function of an arithmetic instruction.

    Args:
        opcode: PTX's word, e.g. `fma`.
        form: The format of operands and result.
        mode: `rn`, `rz`, `rm` or `rp`.
        is_approximate: Whether `.approx` stands there, which changes `div` for huge divisors.
    """
    if opcode == "div" and is_approximate and form is F32:
        return _divide_approximately
    if form is F64:
        return _f64(opcode, mode)
    if form is F32 and mode == "rn" and opcode in _NATIVE:
        native = _NATIVE[opcode]
        return lambda *raws: canonical(native(*[raw.view(_SINGLE) for raw in raws]).view(F32.storage), F32)
    core = fma_for_f32 if (form is F32 and mode == "rn" and opcode in ("fma", "mad")) else _WIDE[opcode]

    def narrow(*raws: Raw) -> Raw:
        wides = [to_wide(raw, form) for raw in raws]
        result = core(*wides)
        if mode == "rm" and opcode in ("add", "sub", "fma", "mad"):
            result = _negative_zero(opcode, result, wides)
        return from_wide(result, form, mode)

    return narrow


def _negative_zero(opcode: str, result: Wide, operands: list[Wide]) -> Wide:
    """Rounding down, an exact zero sum of two numbers is -0 unless both are +0."""
    first = operands[0] * operands[1] if opcode in ("fma", "mad") else operands[0]
    second = -operands[-1] if opcode == "sub" else operands[-1]
    both_plus = ~np.signbit(first) & ~np.signbit(second)
    return np.where((result == 0) & ~both_plus, -0.0, result)


def _divide_approximately(a: Raw, b: Raw) -> Raw:
    """`a * (1 / b)`; past 2**126 the reciprocal is subnormal and lost: 0, or NaN for an infinite dividend."""
    dividend, divisor = to_wide(a, F32), to_wide(b, F32)
    magnitude = np.abs(divisor)
    is_huge = (magnitude > 2.0**126) & (magnitude < np.inf)
    reciprocal = np.where(is_huge, np.copysign(0.0, divisor), 1.0 / divisor)
    return from_wide(dividend * reciprocal, F32)


def _f64(opcode: str, mode: str) -> RawFunction:
    native = {**_WIDE, **_NATIVE, "fma": fma_f64, "mad": fma_f64}[opcode]
    if mode == "rn":
        return lambda *raws: canonical(
            np.ascontiguousarray(native(*(raw.view(np.float64) for raw in raws))).view(np.uint64), F64
        )
    return lambda *raws: canonical(_f64_directed(opcode, mode, raws).view(np.uint64), F64)


_RATIONAL: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "div": divide_exact,
}


def _f64_directed(opcode: str, mode: str, raws: tuple[Raw, ...]) -> Wide:
    """Directed rounding of f64 happens in rational arithmetic: slow, exact and rare."""
    operands = tuple(np.broadcast_arrays(*(raw.view(np.float64) for raw in raws)))
    if opcode == "rcp":
        operands, opcode = (np.ones_like(operands[0]), operands[0]), "div"
    if opcode == "sqrt":
        return _sqrt_directed(operands[0], mode)
    plain = np.array({**_NATIVE, "fma": fma_f64, "mad": fma_f64}[opcode](*operands))
    result = rational(_RATIONAL[opcode], mode, operands, plain, np.arange(plain.size))
    if mode == "rm" and opcode in ("add", "sub", "fma", "mad"):
        result = _negative_zero(opcode, result, list(operands))
    return result


def _sqrt_directed(a: Wide, mode: str) -> Wide:
    result = np.sqrt(a)
    for index in np.flatnonzero(np.isfinite(a) & (a > 0)):
        square, root = Fraction(float(a[index])), Fraction(float(result[index]))
        if root * root != square:
            exact = root + (1 if root * root < square else -1) * root / 2**60
            result[index] = round_fraction(exact, mode)
    return result


def minimum(form: FloatFormat, *, propagates_nan: bool) -> RawFunction:
    """`min`, with -0 below +0; of one NaN the other operand, or NaN with `.NaN`."""
    return lambda a, b: _select(form, a, b, propagates_nan, np.less)


def maximum(form: FloatFormat, *, propagates_nan: bool) -> RawFunction:
    """`max`, with +0 above -0; of one NaN the other operand, or NaN with `.NaN`."""
    return lambda a, b: _select(form, a, b, propagates_nan, np.greater)


def _select(form: FloatFormat, a: Raw, b: Raw, propagates_nan: bool, before: np.ufunc) -> Raw:  # noqa: FBT001
    left, right = to_native(a, form), to_native(b, form)
    is_first_zero = np.signbit(left) if before is np.less else np.signbit(right)
    takes_left = before(left, right) | ((left == right) & is_first_zero) | np.isnan(right)
    result = np.where(takes_left, a, b)
    if propagates_nan:
        result = np.where(np.isnan(left) | np.isnan(right), form.mask(form.nan), result)
    return canonical(result, form)


def negate(form: FloatFormat) -> RawFunction:
    """`neg`: the sign bit flips."""
    return lambda a: a ^ form.mask(form.sign)


def absolute(form: FloatFormat) -> RawFunction:
    """`abs`: the sign bit clears."""
    return lambda a: a & form.mask(form.sign - 1)


def copy_sign(form: FloatFormat) -> RawFunction:
    """`copysign`: the sign of the first operand, the magnitude of the second."""
    sign, rest = form.mask(form.sign), form.mask(form.sign - 1)
    return lambda a, b: (a & sign) | (b & rest)


def compare(relation: str, form: FloatFormat) -> RawFunction:
    """A comparison; those that end in `u` also hold when an operand is NaN."""

    def ordered(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        result: Raw = ~(np.isnan(left) | np.isnan(right))
        return result

    table: dict[str, Callable[..., NDArray[Any]]] = {
        "eq": np.equal,
        "ne": lambda a, b: (a < b) | (a > b),
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "equ": lambda a, b: ~((a < b) | (a > b)),
        "neu": np.not_equal,
        "ltu": lambda a, b: ~(a >= b),
        "leu": lambda a, b: ~(a > b),
        "gtu": lambda a, b: ~(a <= b),
        "geu": lambda a, b: ~(a < b),
        "num": ordered,
        "nan": lambda a, b: ~ordered(a, b),
    }
    relate = table[relation]
    return lambda a, b: relate(to_native(a, form), to_native(b, form))


RELATIONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


PROPERTIES = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def classify(property_: str, form: FloatFormat) -> RawFunction:
    """`testp`: what kind of number the operand is."""
    infinity, magnitude = form.mask(form.infinity), form.mask(form.sign - 1)
    table: dict[str, RawFunction] = {
        "finite": lambda a: (a & infinity) != infinity,
        "infinite": lambda a: (a & magnitude) == infinity,
        "number": lambda a: ~is_nan_bits(a, form),
        "notanumber": lambda a: is_nan_bits(a, form),
        "normal": lambda a: ((a & infinity) != infinity) & ((a & infinity) != 0),
        "subnormal": lambda a: ((a & infinity) == 0) & ((a & magnitude) != 0),
    }
    return table[property_]


def with_flush(function: RawFunction, form: FloatFormat, *, result: bool = True) -> RawFunction:
    """Flush subnormal operands, and the result unless it is a predicate.

    Args:
        function: on raw bits.
        form: the float format.
        result: whether it gives a float, which is flushed too.
    """
    if result:
        return lambda *raws: flush(function(*(flush(raw, form) for raw in raws)), form)
    return lambda *raws: function(*(flush(raw, form) for raw in raws))


def with_saturation(function: RawFunction, form: FloatFormat) -> RawFunction:
    """Clamp the result to [0, 1]."""
    return lambda *raws: saturate(function(*raws), form)


def with_relu(function: RawFunction, form: FloatFormat) -> RawFunction:
    """Clamp a negative result to +0; NaN stays."""

    def clamp(*raws: Raw) -> Raw:
        raw = function(*raws)
        result: Raw = np.where((to_native(raw, form) < 0) | (raw == form.mask(form.sign)), form.mask(0), raw)
        return result

    return clamp


def packed(function: RawFunction) -> RawFunction:
    """A function of 16-bit halves applied to both halves of 32-bit registers."""

    def apply(*raws: Raw) -> Raw:
        halves = [np.ascontiguousarray(raw).view(np.uint16).reshape(-1, 2) for raw in raws]
        result = np.ascontiguousarray(function(*halves), dtype=np.uint16)
        return result.reshape(-1).view(np.uint32)

    return apply
