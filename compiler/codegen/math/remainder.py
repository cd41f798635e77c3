"""The floating-point remainder, exact for all operands.

LLVM has `frem`, but on NVPTX that becomes `x - y * trunc(x / y)`, which is wrong as soon as the quotient is rounded,
and on CPUs a call of the C library.  This is long division on the significands, as many bits of the quotient at a time
as fit in 64.  Its results are C's `fmod`: the sign of x, NaN where x is infinite or y is 0.

Where the quotient is below 2^mantissa, it is rounded to an integer that is right or 1 too large, and the difference is
exact: then a division is enough.
"""

from __future__ import annotations

import math

from compiler.codegen.llvm_ir import I1, I64, Builder, Value, floating, integer, mangled
from compiler.codegen.math.term import Format, Term, format_of


def needs_slow_path(builder: Builder, left: Value, right: Value) -> Value:
    """Whether the quotient is too large, or none at all, for `fast_remainder`.

    Args:
        builder: where code is emitted.
        left: what is divided, float or double.
        right: by what.
    """
    x, y = Term(builder, left), Term(builder, right)
    limit = x.literal(2.0**x.format.mantissa).value
    return builder.compare("uge", (x.abs() / y.abs()).value, limit)


def fast_remainder(builder: Builder, left: Value, right: Value) -> Value:
    """The remainder of a quotient that needs no slow path.

    Args:
        builder: where code is emitted.
        left: what is divided, float or double.
        right: by what.
    """
    x, y = Term(builder, left), Term(builder, right)
    size, divisor = x.abs(), y.abs()
    rest = (-(size / divisor).intrinsic("floor")).fma(divisor, size)
    rest = (rest < 0.0).where(rest + divisor, rest)
    return (size < divisor).where(size, rest).copysign(x).value


def remainder(builder: Builder, left: Value, right: Value) -> Value:
    """Call the function for floats or doubles, defining it first if need be.

    Args:
        builder: where code is emitted.
        left: what is divided, float or double.
        right: by what.
    """
    symbol = f"math.remainder.{mangled(left.type)}"
    if not builder.module.has_function(symbol):
        _define(builder, symbol, format_of(left.type))
    return builder.call(f"@{symbol}", left.type, [left, right])


def _define(builder: Builder, symbol: str, format_: Format) -> None:
    parameters = [(format_.type, "x"), (format_.type, "y")]
    function = builder.module.function(
        symbol, format_.type, parameters, linkage="internal", attributes="nounwind willreturn"
    )
    body = Builder(function)
    x, y = function.arguments
    x_bits, y_bits = _magnitude(body, x, format_), _magnitude(body, y, format_)
    infinity = integer((1 << (int(format_.integer[1:]) - 1)) - (1 << format_.mantissa))
    finite, is_number = body.compare("slt", x_bits, infinity), body.compare("sle", y_bits, infinity)
    nonzero = body.compare("ne", y_bits, integer(0))
    defined = body.binary("and", body.binary("and", finite, is_number), nonzero)
    divides = body.binary("and", defined, body.compare("sge", x_bits, y_bits))
    # Where there is nothing to divide, divide by 1, in no steps.
    x_exponent, x_significand = _exponent_and_significand(body, x_bits, format_)
    y_exponent, y_significand = _exponent_and_significand(body, body.select(divides, y_bits, integer(1)), format_)
    rest = _divide(body, (x_exponent, x_significand), (y_exponent, y_significand), divides, 63 - format_.mantissa)
    bits = _assemble(body, rest, y_exponent, format_)
    magnitude = body.cast("bitcast", body.cast("trunc", bits, format_.integer), format_.type)
    result = body.select(divides, body.overloaded("copysign", [magnitude, x]), x)
    body.ret(body.select(defined, result, floating(math.nan, format_.type)))


def _magnitude(body: Builder, value: Value, format_: Format) -> Value:
    """The bits of the absolute value as an i64."""
    bits = body.cast("zext", body.cast("bitcast", value, format_.integer), I64)
    return body.binary("and", bits, integer((1 << (int(format_.integer[1:]) - 1)) - 1))


def _exponent_and_significand(body: Builder, bits: Value, format_: Format) -> tuple[Value, Value]:
    """The biased exponent, at least 1, and the significand with its leading bit."""
    exponent = body.binary("lshr", bits, integer(format_.mantissa))
    stored = body.binary("and", bits, integer((1 << format_.mantissa) - 1))
    is_normal = body.compare("ne", exponent, integer(0))
    leading = body.binary("or", stored, integer(1 << format_.mantissa))
    return body.select(is_normal, exponent, integer(1)), body.select(is_normal, leading, stored)


def _divide(body: Builder, x: tuple[Value, Value], y: tuple[Value, Value], divides: Value, bits: int) -> Value:
    """`x modulo y` in units of y's last place, by steps of that many bits of the quotient."""
    (x_exponent, x_significand), (y_exponent, y_significand) = x, y
    count = body.select(divides, body.sub(x_exponent, y_exponent), integer(0))
    first = body.binary("urem", x_significand, y_significand)
    with body.loop(integer(0), count, step=bits, carried=[first], name="step") as loop:
        left = body.sub(count, loop.index)
        shifted = body.binary("shl", loop.carried[0], body.umin(left, integer(bits)))
        loop.carry(body.binary("urem", shifted, y_significand))
    return loop.results[0]


def _assemble(body: Builder, significand: Value, exponent: Value, format_: Format) -> Value:
    """The bits of a significand at an exponent: moved up as far as the exponent lets it."""
    zeros = body.overloaded("ctlz", [significand, Value(I1, "false")])
    room = body.sub(exponent, integer(1))
    shift = body.umin(body.sub(zeros, integer(63 - format_.mantissa)), room)
    raised = body.sub(room, shift)
    normal = body.binary(
        "add", body.binary("shl", raised, integer(format_.mantissa)), body.binary("shl", significand, shift)
    )
    return body.select(body.compare("eq", significand, integer(0)), integer(0), normal)
