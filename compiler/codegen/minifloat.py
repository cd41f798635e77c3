"""Floats of 4, 6 and 8 bits: a byte in memory, a `float` as a value, exact conversions between the two.

A byte becomes a float by way of a half, of which CPUs convert many at a time, or through a table of all 256 where there
is a number that no half is, or the machine has no halves.  A float becomes a byte by rounding its bits to nearest even,
as `ml_dtypes` does, from which the table and the codes of what is too large and of NaN are taken too.  f8e8m0fnu is the
exponent of a float and nothing else: halves go up, and what has no logarithm is NaN.

A float that was made from a byte goes back to that byte without being rounded again.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.ir.types import F8E8M0, TYPES, ElementType

_CONVERTING_HALVES = frozenset({"f16c", "neon"})
_HALF_BITS, _HALF_MANTISSA, _HALF_INFINITY, _HALF_NAN = 16, 10, 0x7C00, 0x7E00
"""Of f16 (IEEE 754): its bits, those of its mantissa, infinity and a NaN."""
_BYTE, _FLOAT_BITS, _FLOAT_MANTISSA = 8, 32, 23
"""Bits of a byte; of f32, and of its mantissa (IEEE 754)."""
MINIFLOATS = frozenset(t for t in TYPES.values() if t.is_float and t.bits <= 8)


@dataclass(frozen=True, slots=True)
class _Format:
    """What encoding must know of a type: bits of the significand, and codes."""

    mantissa: int
    smallest_normal: float
    smallest: float
    largest_code: int
    overflow_code: int
    nan_code: int
    negative_nan_code: int
    has_negative_zero: bool


@functools.cache
def _format(element_type: ElementType) -> _Format:
    def code(value: float) -> int:
        with np.errstate(all="ignore"):
            return int(np.float32(value).astype(element_type.dtype).view(np.uint8))

    values = _table(element_type)[: 1 << (element_type.bits - 1)].astype(np.float64)
    finite = np.flatnonzero(np.isfinite(values))
    smallest = float(values[1])
    # Below the smallest normal number codes are evenly spaced; the first step that doubles ends that.
    steps = np.diff(values[finite])
    normal = int(np.argmax(steps > smallest))
    return _Format(
        mantissa=int(math.log2(normal)) - 1,
        smallest_normal=float(values[normal // 2]),
        smallest=smallest,
        largest_code=int(finite[-1]),
        overflow_code=code(1e30),
        nan_code=code(math.nan),
        negative_nan_code=code(-math.nan),
        has_negative_zero="fnuz" not in element_type.name,
    )


def _table(element_type: ElementType) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    codes = np.arange(256, dtype=np.uint8) & np.uint8((1 << element_type.bits) - 1)
    with np.errstate(all="ignore"):
        return codes.view(element_type.dtype).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _AsHalf:
    """How bytes become halves: magnitudes are shifted `left`, and a half times `scale` is the number.

    From `endless` on they are infinite or NaN, and the code `nan` is.
    """

    left: int
    scale: float
    endless: int | None
    nan: int | None


@functools.cache
def _as_half(element_type: ElementType) -> _AsHalf | None:
    """None where there is a number that no half is."""
    if element_type is F8E8M0:
        return None
    form, values = _format(element_type), _table(element_type)
    left, sign = _HALF_MANTISSA - form.mantissa, 1 << (element_type.bits - 1)
    bits = np.arange(sign, dtype=np.uint16) << np.uint16(left)
    halves = bits.view(np.float16).astype(np.float32)
    scale = float(values[1] / halves[1])
    is_finite = np.isfinite(values[:sign])
    with np.errstate(invalid="ignore"):
        is_same = halves * np.float32(scale) == values[:sign]
    if not is_same[is_finite].all():
        return None
    special = np.flatnonzero(~is_finite)
    if not form.has_negative_zero:
        return _AsHalf(left, scale, None, sign)
    if len(special) == 1:
        return _AsHalf(left, scale, None, int(special[0]))
    is_half_too = len(special) == 0 or bits[special[0]] == _HALF_INFINITY
    return _AsHalf(left, scale, None if is_half_too else int(special[0]), None)


def decode(builder: Builder, element_type: ElementType, byte: Value) -> Value:
    """The float that a byte stands for.

    Args:
        builder: where code is emitted.
        element_type: of the byte.
        byte: the bits.
    """
    form = _as_half(element_type)
    if form is not None and not _CONVERTING_HALVES.isdisjoint(builder.module.features):
        value = _by_half(builder, element_type, form, byte)
    else:
        value = _looked_up(builder, element_type, byte)
    if element_type.bits < _BYTE:
        byte = builder.binary("and", byte, integer((1 << element_type.bits) - 1, "i8"))
    builder.function.codes[value.name, element_type.name] = byte
    return value


def _by_half(builder: Builder, element_type: ElementType, form: _AsHalf, byte: Value) -> Value:
    sign = 1 << (element_type.bits - 1)
    wide = builder.cast("zext", byte, "i16")
    size = builder.binary("and", wide, integer(sign - 1, "i16"))
    half = builder.binary("shl", size, integer(form.left, "i16"))
    if form.endless is not None:
        endless = builder.binary("or", half, integer(_HALF_INFINITY, "i16"))
        half = builder.select(builder.compare("uge", size, integer(form.endless, "i16")), endless, half)
    if form.nan is not None:
        is_nan = builder.compare("eq", wide if form.nan == sign else size, integer(form.nan, "i16"))
        half = builder.select(is_nan, integer(_HALF_NAN, "i16"), half)
    below = builder.binary("and", wide, integer(sign, "i16"))
    half = builder.binary("or", half, builder.binary("shl", below, integer(_HALF_BITS - element_type.bits, "i16")))
    value = builder.cast("fpext", builder.cast("bitcast", half, "half"), "float")
    return value if form.scale == 1.0 else builder.binary("fmul", value, floating(form.scale, "float"))


def _looked_up(builder: Builder, element_type: ElementType, byte: Value) -> Value:
    literals = ", ".join(str(floating(float(value), "float")) for value in _table(element_type))
    definition = f"internal constant [256 x float] [{literals}], align 64"
    table = builder.module.define_global(f"table.{element_type}", definition)
    return builder.load("float", builder.gep("float", table, builder.cast("zext", byte, "i64")))


def encode(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """The byte of the nearest value of the type.

    Args:
        builder: where code is emitted.
        element_type: of the byte.
        value: a float.
    """
    known = builder.function.codes.get((value.name, element_type.name))
    if known is not None:
        return known
    bits = builder.cast("bitcast", value, "i32")
    if element_type is F8E8M0:
        return _exponent(builder, bits)
    form = _format(element_type)
    size = builder.binary("and", bits, integer(0x7FFFFFFF, "i32"))
    magnitude = builder.cast("bitcast", size, "float")
    small = builder.compare("olt", magnitude, floating(form.smallest_normal, "float"))
    code = builder.select(small, _steps(builder, form, magnitude), _normal(builder, form, size))
    if form.overflow_code == form.largest_code + 1:
        code = builder.umin(code, integer(form.overflow_code, "i32"))
    else:
        too_large = builder.compare("ugt", code, integer(form.largest_code, "i32"))
        code = builder.select(too_large, integer(form.overflow_code, "i32"), code)
    below = 1 << (element_type.bits - 1)
    moved = builder.binary("lshr", bits, integer(_FLOAT_BITS - element_type.bits, "i32"))
    sign = builder.binary("and", moved, integer(below, "i32"))
    if not form.has_negative_zero:
        sign = builder.select(builder.compare("eq", code, integer(0, "i32")), integer(0, "i32"), sign)
    code = builder.binary("or", code, sign)
    if (form.nan_code, form.negative_nan_code) != (form.overflow_code, form.overflow_code | below):
        is_negative = builder.compare("slt", bits, integer(0, "i32"))
        codes = integer(form.negative_nan_code, "i32"), integer(form.nan_code, "i32")
        nan = builder.select(is_negative, *codes)
        code = builder.select(builder.compare("uno", value, value), nan, code)
    return builder.cast("trunc", code, "i8")


def rounded(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """The nearest value of the type, as a float.

    Args:
        builder: where code is emitted.
        element_type: whose values there are.
        value: a float.
    """
    if (value.name, element_type.name) in builder.function.codes:
        return value
    return decode(builder, element_type, encode(builder, element_type, value))


def _normal(builder: Builder, form: _Format, size: Value) -> Value:
    """The code of a normal number from the bits of its size; past the largest one it only has to be larger."""
    dropped = _FLOAT_MANTISSA - form.mantissa
    odd = builder.binary("and", builder.binary("lshr", size, integer(dropped, "i32")), integer(1, "i32"))
    rounded = builder.binary("add", size, builder.binary("add", odd, integer((1 << (dropped - 1)) - 1, "i32")))
    exponent = int(math.log2(form.smallest_normal)) + 126
    code = builder.binary("lshr", rounded, integer(dropped, "i32"))
    return builder.binary("sub", code, integer(exponent << form.mantissa, "i32"))


def _steps(builder: Builder, form: _Format, magnitude: Value) -> Value:
    """The code of a number below the normal ones, where they are evenly spaced: a sum rounds it to whole steps."""
    base = np.float32(form.smallest * 2.0**_FLOAT_MANTISSA)
    total = builder.binary("fadd", magnitude, floating(float(base), "float"))
    return builder.binary("sub", builder.cast("bitcast", total, "i32"), integer(int(base.view(np.int32)), "i32"))


def _exponent(builder: Builder, bits: Value) -> Value:
    """The exponent of a float with the nearest power of two; of denormals, the upper half is nearer to a normal one."""
    rounded = builder.binary("lshr", builder.binary("add", bits, integer(1 << 22, "i32")), integer(23, "i32"))
    is_denormal = builder.compare("ult", bits, integer(1 << 23, "i32"))
    upper = builder.cast("zext", builder.compare("ugt", bits, integer(1 << 22, "i32")), "i32")
    code = builder.select(is_denormal, upper, rounded)
    # Zeros and, as unsigned bits, infinity, NaN and everything negative.
    beyond = builder.compare("uge", builder.binary("sub", bits, integer(1, "i32")), integer(0x7F7FFFFF, "i32"))
    nan = integer(255, "i32")
    return builder.cast("trunc", builder.select(beyond, nan, code), "i8")
