"""reduce-precision and stochastic-convert: rounding to what no type of its own has."""

from __future__ import annotations

from compiler.codegen import element
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.ir.types import F64, HALF_RANGE, ElementType

_FORMATS = {"float": ("i32", 23, 8), "double": ("i64", 52, 11)}
_F16_EXPONENT, _F16_LEAST = 5, -14  # bits, and the exponent of its smallest normal number


def to_integer_f16(builder: Builder, value: Value, name: str) -> Value:
    """An f16 (as a float) rounded to an integer in the way of LLVM's intrinsic of that name.

    LLVM makes of the intrinsic one of half, which it computes lane by lane.  Adding and taking off 2^23 rounds to even;
    the other ways differ from that by 1 at most.

    Args:
        builder: where code is emitted.
        value: a float, or a vector of them, that holds f16.
        name: of the intrinsic: `round`, `roundeven`, `floor`, `ceil` or `trunc`.
    """
    type_ = value.type
    shift, one = floating(2.0**23, type_), floating(1.0, type_)
    magnitude = builder.overloaded("fabs", [value])
    whole = builder.binary("fsub", builder.binary("fadd", magnitude, shift), shift)
    if name == "round":
        half = builder.compare("oge", builder.binary("fsub", magnitude, whole), floating(0.5, type_))
        whole = builder.select(half, builder.binary("fadd", whole, one), whole)
    whole = builder.overloaded("copysign", [whole, value])
    if name in ("floor", "ceil"):
        beyond = builder.compare("ogt" if name == "floor" else "olt", whole, value)
        stepped = builder.binary("fsub" if name == "floor" else "fadd", whole, one)
        whole = builder.overloaded("copysign", [builder.select(beyond, stepped, whole), value])
    return whole


def reduce_precision(
    builder: Builder, value: Value, source: ElementType, exponent_bits: int, mantissa_bits: int
) -> Value:
    """The nearest (ties to even) of the numbers that a format of so many bits has; denormals of it become zero.

    Those of a format with the exponent of the value's own type stay.

    Args:
        builder: where code is emitted.
        value: a float, or a vector of them.
        source: the value's type.
        exponent_bits: of the format.
        mantissa_bits: of the format, without the implicit one.
    """
    type_, mantissa, exponent = _FORMATS[value.type]
    result = value
    if mantissa_bits < mantissa:
        dropped = mantissa - mantissa_bits
        bits = builder.cast("bitcast", value, type_)
        odd = builder.binary("and", builder.binary("lshr", bits, integer(dropped, type_)), integer(1, type_))
        half = builder.binary("add", odd, integer((1 << (dropped - 1)) - 1, type_))
        kept = builder.binary("and", builder.binary("add", bits, half), integer(-(1 << dropped), type_))
        result = builder.cast("bitcast", kept, value.type)
    if source in HALF_RANGE:
        exponent = _F16_EXPONENT
        result = builder.select(_is_small(builder, value), _at_fixed_digits(builder, value, mantissa_bits), result)
    if exponent_bits < exponent:
        bias = (1 << (exponent_bits - 1)) - 1
        size = builder.overloaded("fabs", [result])
        for predicate, bound, replacement in (
            ("oge", 2.0 ** (bias + 1), float("inf")),
            ("olt", 2.0 ** (1 - bias), 0.0),
        ):
            signed = builder.overloaded("copysign", [floating(replacement, value.type), result])
            beyond = builder.compare(predicate, size, floating(bound, value.type))
            result = builder.select(beyond, signed, result)
    return builder.select(builder.compare("uno", value, value), value, result)


def _is_small(builder: Builder, value: Value) -> Value:
    size = builder.overloaded("fabs", [value])
    return builder.compare("olt", size, floating(2.0**_F16_LEAST, value.type))


def _at_fixed_digits(builder: Builder, value: Value, mantissa_bits: int) -> Value:
    """A denormal of f16, which is a normal number here, with so many of its digits."""
    digits_ = min(mantissa_bits, 10) - _F16_LEAST
    digits = builder.binary("fmul", value, floating(2.0**digits_, value.type))
    whole = builder.overloaded("roundeven", [digits])
    return builder.binary("fmul", whole, floating(2.0**-digits_, value.type))


def stochastic_convert(
    builder: Builder, value: Value, random: Value, source: ElementType, target: ElementType
) -> Value:
    """To an integer: away from zero when the random bits fall below the fraction, in units of the bits' range.

    Args:
        builder: where code is emitted.
        value: a float.
        random: bits, an unsigned integer as wide as the value.
        source: the value's type.
        target: the type wanted.
    """
    if not target.is_integer:
        return element.convert(builder, value, source, target)
    wide = element.convert(builder, value, source, F64)
    size = builder.overloaded("fabs", [wide])
    whole = builder.overloaded("trunc", [size])
    fraction = builder.binary("fsub", size, whole)
    # Bits of 64 are told apart as integers only.  Of infinities and NaN there is no fraction.
    known = builder.select(builder.compare("ord", fraction, fraction), fraction, floating(0.0, "double"))
    scaled = builder.binary("fmul", known, floating(2.0**source.bits, "double"))
    bits = random if random.type == "i64" else builder.cast("zext", random, "i64")
    below = builder.compare("ult", bits, builder.cast("fptoui", scaled, "i64"))
    up = builder.select(below, floating(1.0, "double"), floating(0.0, "double"))
    rounded = builder.overloaded("copysign", [builder.binary("fadd", whole, up), wide])
    return element.convert(builder, rounded, F64, target)
