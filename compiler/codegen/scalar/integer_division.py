"""Quotients and remainders of integers, where the machine traps or divides no vectors.

x / 0 is -1 (all ones), x % 0 is x; the least signed integer divided by -1 is itself, and leaves 0.

CPUs divide vectors of floats, but not of integers, which a loop would take out and divide one by one.  A quotient of
integers of n bits that is no integer itself is further from the next one than 2^-n of its size, so rounding it to more
than n digits leaves it on its side: its integer part is exact, in f32 for 16 bits, in f64 for 32.

Of 64 bits it takes two quotients in f64, either made a little less than it is, so that neither is too large: what the
first leaves is divided again, and what that leaves is less than the divisor or less than twice as much.
"""

from __future__ import annotations

from compiler.codegen.llvm_ir import I1, Builder, Value, alike, element_of, floating, integer, lanes_of

_VECTOR_MACHINES = frozenset({"avx2", "neon"})
_HALF_WORD, _WORD, _LONG_WORD = 16, 32, 64
"""Bits of integers that f32 holds the quotients of, f64, and two of f64."""
_A_LITTLE_LESS = 1.0 - 2.0**-51
"""More than three roundings add to a number, those of a quotient and of what it is of."""


def divide(builder: Builder, left: Value, right: Value, *, signed: bool, many: bool) -> Value:
    """The truncated quotient of integers.

    Args:
        builder: where code is emitted.
        left: the dividend.
        right: the divisor; a quotient by 0 is -1.
        signed: whether they are.
        many: whether it is one of so many that vectors will be divided.
    """
    by_zero = builder.compare("eq", right, integer(0, left.type))
    safe = _safe(builder, left, right, by_zero, signed=signed)
    if _is_float_cheaper(builder, right, many=many):
        quotient = _float_quotient(builder, left, safe, signed=signed)
    else:
        quotient = builder.binary("sdiv" if signed else "udiv", left, safe)
    return builder.select(by_zero, integer(-1, left.type), quotient)


def remainder(builder: Builder, left: Value, right: Value, *, signed: bool, many: bool) -> Value:
    """The remainder of the truncated quotient, with the dividend's sign.

    Args:
        builder: where code is emitted.
        left: the dividend.
        right: the divisor; of 0 the remainder is the dividend.
        signed: whether they are.
        many: whether it is one of so many that vectors will be divided.
    """
    by_zero = builder.compare("eq", right, integer(0, left.type))
    safe = _safe(builder, left, right, by_zero, signed=signed)
    if not _is_float_cheaper(builder, right, many=many):
        return builder.select(by_zero, left, builder.binary("srem" if signed else "urem", left, safe))
    quotient = _float_quotient(builder, left, safe, signed=signed)
    return builder.select(by_zero, left, builder.binary("sub", left, builder.binary("mul", quotient, safe)))


def _float_quotient(builder: Builder, left: Value, right: Value, *, signed: bool) -> Value:
    """The truncated quotient, where there is one."""
    type_, bits = left.type, _bits(left)
    if bits > _WORD:
        return _long_quotient(builder, left, right, signed=signed)
    extend, signed_word = "sext" if signed else "zext", signed or bits < _WORD
    word = alike(f"i{_WORD}", type_)
    if bits < _WORD:
        left, right = builder.cast(extend, left, word), builder.cast(extend, right, word)
    floats = alike("float" if bits <= _HALF_WORD else "double", type_)
    sign = "s" if signed_word else "u"
    dividend, divisor = (builder.cast(f"{sign}itofp", operand, floats) for operand in (left, right))
    quotient = builder.cast(f"fpto{sign}i", builder.binary("fdiv", dividend, divisor), word)
    return builder.cast("trunc", quotient, type_) if bits < _WORD else quotient


def _long_quotient(builder: Builder, left: Value, right: Value, *, signed: bool) -> Value:
    """The truncated quotient of 64-bit integers."""
    type_, sign = left.type, "s" if signed else "u"
    floats = alike("double", type_)
    divisor = builder.cast(f"{sign}itofp", right, floats)
    total, rest = integer(0, type_), left
    for _ in range(2):
        ratio = builder.binary("fdiv", builder.cast(f"{sign}itofp", rest, floats), divisor)
        digit = builder.cast(f"fpto{sign}i", builder.binary("fmul", ratio, floating(_A_LITTLE_LESS, floats)), type_)
        total = builder.binary("add", total, digit)
        rest = builder.binary("sub", rest, builder.binary("mul", digit, right))
    one, size = integer(1, type_), right
    if signed:
        rest, size = (builder.overloaded("abs", [v, Value(I1, "false")]) for v in (rest, right))
        differ = builder.compare("slt", builder.binary("xor", left, right), integer(0, type_))
        one = builder.select(differ, integer(-1, type_), one)
    more = builder.select(builder.compare("uge", rest, size), one, integer(0, type_))
    return builder.binary("add", total, more)


def _is_float_cheaper(builder: Builder, right: Value, *, many: bool) -> bool:
    """Whether to divide floats: LLVM makes a product of a division by a constant, which is cheaper still."""
    vectors = (many or lanes_of(right.type) > 0) and not _VECTOR_MACHINES.isdisjoint(builder.module.features)
    fits = _bits(right) <= _WORD or (_bits(right) == _LONG_WORD and "avx512dq" in builder.module.features)
    return vectors and fits and right.name.startswith("%")


def _safe(builder: Builder, left: Value, right: Value, by_zero: Value, *, signed: bool) -> Value:
    """The divisor, or 1 where there is no quotient: the least integer is itself divided by either."""
    one = integer(1, left.type)
    safe = builder.select(by_zero, one, right)
    if not signed:
        return safe
    least = integer(-(1 << (_bits(left) - 1)), left.type)
    at_least = builder.compare("eq", left, least)
    overflows = builder.binary("and", at_least, builder.compare("eq", right, integer(-1, left.type)))
    return builder.select(overflows, one, safe)


def _bits(value: Value) -> int:
    return int(element_of(value.type)[1:])
