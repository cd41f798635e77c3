"""Floats of 4, 6 and 8 bits: a byte in memory, a `float` as a value, exact conversions between the two.

A byte becomes a float through a table of all 256; a float becomes a byte by rounding its bits to nearest even, as
`ml_dtypes` does, from which the table and the codes of what is too large and of NaN are taken too.  f8e8m0fnu is the
exponent of a float and nothing else: halves go up, and what has no logarithm is NaN.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.ir.types import F8E8M0, TYPES, ElementType

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


def decode(builder: Builder, element_type: ElementType, byte: Value) -> Value:
    """The float that a byte stands for."""
    literals = ", ".join(str(floating(float(value), "float")) for value in _table(element_type))
    definition = f"internal constant [256 x float] [{literals}], align 64"
    table = builder.module.define_global(f"table.{element_type}", definition)
    return builder.load("float", builder.gep("float", table, builder.cast("zext", byte, "i64")))


def encode(builder: Builder, element_type: ElementType, value: Value) -> Value:
    """The byte of the nearest value of the type."""
    bits = builder.cast("bitcast", value, "i32")
    if element_type is F8E8M0:
        return _exponent(builder, bits)
    form = _format(element_type)
    size = builder.binary("and", bits, integer(0x7FFFFFFF, "i32"))
    dropped = 23 - form.mantissa
    odd = builder.binary("and", builder.binary("lshr", size, integer(dropped, "i32")), integer(1, "i32"))
    rounded = builder.binary("add", size, builder.binary("add", odd, integer((1 << (dropped - 1)) - 1, "i32")))
    exponent = int(math.log2(form.smallest_normal)) + 126
    normal = builder.binary("lshr", rounded, integer(dropped, "i32"))
    normal = builder.binary("sub", normal, integer(exponent << form.mantissa, "i32"))
    magnitude = builder.intrinsic("fabs.f32", [value])
    small = builder.compare("olt", magnitude, floating(form.smallest_normal, "float"))
    steps = builder.binary("fmul", magnitude, floating(1 / form.smallest, "float"))
    whole = builder.intrinsic("roundeven.f32", [builder.select(small, steps, floating(0.0, "float"))])
    code = builder.select(small, builder.cast("fptoui", whole, "i32"), normal)
    too_large = builder.compare("ugt", code, integer(form.largest_code, "i32"))
    code = builder.select(too_large, integer(form.overflow_code, "i32"), code)
    sign = builder.binary(
        "shl", builder.binary("lshr", bits, integer(31, "i32")), integer(element_type.bits - 1, "i32")
    )
    if not form.has_negative_zero:
        sign = builder.select(builder.compare("eq", code, integer(0, "i32")), integer(0, "i32"), sign)
    code = builder.binary("or", code, sign)
    is_negative = builder.compare("slt", bits, integer(0, "i32"))
    codes = integer(form.negative_nan_code, "i32"), integer(form.nan_code, "i32")
    nan = builder.select(is_negative, *codes)
    return builder.cast("trunc", builder.select(builder.compare("uno", value, value), nan, code), "i8")


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
