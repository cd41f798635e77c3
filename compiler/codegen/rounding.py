"""reduce-precision and stochastic-convert: rounding to what no type of its own has."""

from __future__ import annotations

from compiler.codegen import element
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.ir.types import F64, ElementType

_FORMATS = {"float": ("i32", 23, 8, "f32"), "double": ("i64", 52, 11, "f64")}


def reduce_precision(builder: Builder, value: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """The nearest (ties to even) of the numbers that a format of so many bits has; denormals of it become zero."""
    type_, mantissa, exponent, suffix = _FORMATS[value.type]
    result = value
    if mantissa_bits < mantissa:
        dropped = mantissa - mantissa_bits
        bits = builder.cast("bitcast", value, type_)
        odd = builder.binary("and", builder.binary("lshr", bits, integer(dropped, type_)), integer(1, type_))
        half = builder.binary("add", odd, integer((1 << (dropped - 1)) - 1, type_))
        kept = builder.binary("and", builder.binary("add", bits, half), integer(-(1 << dropped), type_))
        result = builder.cast("bitcast", kept, value.type)
    if exponent_bits < exponent:
        bias = (1 << (exponent_bits - 1)) - 1
        size = builder.intrinsic(f"fabs.{suffix}", [result])
        for predicate, bound, replacement in (
            ("oge", 2.0 ** (bias + 1), float("inf")),
            ("olt", 2.0 ** (1 - bias), 0.0),
        ):
            signed = builder.intrinsic(f"copysign.{suffix}", [floating(replacement, value.type), result])
            beyond = builder.compare(predicate, size, floating(bound, value.type))
            result = builder.select(beyond, signed, result)
    return builder.select(builder.compare("uno", value, value), value, result)


def stochastic_convert(
    builder: Builder, value: Value, random: Value, source: ElementType, target: ElementType
) -> Value:
    """To an integer: away from zero when the random bits fall below the fraction, in units of the bits' range."""
    if not target.is_integer:
        return element.convert(builder, value, source, target)
    wide = element.convert(builder, value, source, F64)
    size = builder.intrinsic("fabs.f64", [wide])
    whole = builder.intrinsic("trunc.f64", [size])
    fraction = builder.binary("fsub", size, whole)
    threshold = builder.intrinsic("trunc.f64", [builder.binary("fmul", fraction, floating(2.0**source.bits, "double"))])
    below = builder.compare("olt", builder.cast("uitofp", random, "double"), threshold)
    up = builder.select(below, floating(1.0, "double"), floating(0.0, "double"))
    rounded = builder.intrinsic("copysign.f64", [builder.binary("fadd", whole, up), wide])
    return element.convert(builder, rounded, F64, target)
