"""Maximum and minimum of floats: NaN if either operand is, and -0 less than +0, as IEEE 754-2019 has it.

LLVM's intrinsics mean just that, and where CPUs have such an instruction they are it.  x86 has none: its own chooses
the second operand where the two are equal or one is NaN.  LLVM makes six instructions of that, and halves it leaves in
scalars.
"""

from __future__ import annotations

import math
import re
import struct

from compiler.codegen.llvm_ir import Builder, Value, alike, element_of, floating, integer
from compiler.ir.types import F16, ElementType

_BITS = {"float": ("i32", 1 << 31), "double": ("i64", 1 << 63)}
"""The integers that floats are as bits, and the sign in them."""


def extremum(
    builder: Builder, element_type: ElementType, name: str, operands: tuple[Value, Value], flags: str = ""
) -> Value:
    """The `max` or `min` of two values of a type; with flags it is one that LLVM may reassociate.

    Args:
        builder: where code is emitted.
        element_type: that of the values.
        name: `max` or `min`.
        operands: the values.
        flags: LLVM's fast-math flags.
    """
    left, right = operands
    if element_type is F16 and "f16c" in builder.module.features:
        return _of_halves(builder, name, left, right)
    if not flags and "avx" in builder.module.features and element_of(left.type) in _BITS:
        return _by_order(builder, name, left, right)
    return builder.overloaded(f"{name}imum", operands, flags=flags)


def _by_order(builder: Builder, name: str, left: Value, right: Value) -> Value:
    """As the order decides it, by x86's instruction, then the two cases that the order leaves open.

    Of zeros, a maximum has the sign only where the left operand has it too, and a minimum wherever that has it; this
    holds for all numbers.  NaN on the left has been passed over.  A constant is put there, since of a number that is
    known next to nothing is left of this.
    """
    if left.name.startswith("%") and not right.name.startswith("%"):
        left, right = right, left
    integer_type, sign = _BITS[element_of(left.type)]
    bits = alike(integer_type, left.type)
    order, magnitude, given = ("ogt", sign - 1, "and") if name == "max" else ("olt", 0, "or")
    first = builder.select(builder.compare(order, left, right), left, right)
    known = _number(left)
    if known is not None:
        return _signed(builder, name, first) if (known, math.copysign(1, known)) == _SIGNED_ZERO[name] else first
    chosen = builder.cast("bitcast", first, bits)
    neutral = builder.cast("bitcast", integer(magnitude, bits), left.type)
    # By the intrinsic: of integers LLVM would take the sign of a scalar by way of another register file.
    signs = builder.cast("bitcast", builder.overloaded("copysign", [neutral, left]), bits)
    number = builder.cast("bitcast", builder.binary(given, chosen, signs), left.type)
    return builder.select(builder.compare("uno", left, left), left, number)


def _number(value: Value) -> float | None:
    """The number that a literal is, in every lane if it is a vector; None for NaN and for what is no literal."""
    found = _LITERAL.search(value.name)
    number = math.nan if found is None else struct.unpack(">d", bytes.fromhex(found[1]))[0]
    return None if math.isnan(number) else number


_LITERAL = re.compile(r"^(?:splat \(\w+ )?0x([0-9A-F]{16})\)?$")
_SIGNED_ZERO = {"max": (0.0, 1.0), "min": (0.0, -1.0)}
"""The zero, with its sign, that wins over the other one and so gives its sign to the result: no other number does."""


def _signed(builder: Builder, name: str, value: Value) -> Value:
    """A maximum that is not negative, or a minimum that is not positive, with the sign that zero has there, too."""
    size = builder.overloaded("fabs", [value])
    return size if name == "max" else builder.unary("fneg", size)


def _of_halves(builder: Builder, name: str, left: Value, right: Value) -> Value:
    """By integers in the order of the numbers: LLVM finds out that floats were halves, and may make no vectors then."""
    keys = [_order_key(builder, name, operand) for operand in (left, right)]
    chosen = builder.overloaded(f"s{name}", keys)
    value = builder.cast("bitcast", _reordered(builder, chosen), left.type)
    builder.function.codes[value.name, name] = chosen
    return value


def _order_key(builder: Builder, name: str, value: Value) -> Value:
    """The place of a float in that order; that of NaN is where it is taken before all numbers."""
    known = builder.function.codes.get((value.name, name))
    if known is not None:
        return known
    nan = floating(float("nan" if name == "max" else "-nan"), value.type)
    number = builder.select(builder.compare("uno", value, value), nan, value)
    return _reordered(builder, builder.cast("bitcast", number, alike("i32", value.type)))


def _reordered(builder: Builder, bits: Value) -> Value:
    """The place of a float from its bits, or its bits from its place."""
    type_ = bits.type
    magnitude = builder.binary("and", builder.binary("ashr", bits, integer(31, type_)), integer(0x7FFFFFFF, type_))
    return builder.binary("xor", bits, magnitude)
