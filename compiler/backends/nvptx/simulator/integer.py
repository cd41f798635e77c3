"""Integer and bit instructions of PTX, as functions on unsigned NumPy arrays.

NumPy's unsigned arithmetic wraps as the hardware's does; a signed operation views the bits as signed.  What PTX leaves
to the machine is done as NVIDIA's GPUs do it: a quotient by zero is all ones, a remainder by zero the dividend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[..., Any]


def signed(a: Array) -> Array:
    """The bits as two's complement numbers."""
    return a.view(f"i{a.dtype.itemsize}")


def unsigned(a: Array) -> Array:
    """The bits as unsigned numbers."""
    return a.view(f"u{a.dtype.itemsize}")


def _bits(a: Array) -> int:
    return a.dtype.itemsize * 8


def _high_unsigned(a: Array, b: Array) -> Array:
    bits = _bits(a)
    if bits < 64:
        double = np.dtype(f"u{bits // 4}")
        narrow: Array = ((a.astype(double) * b.astype(double)) >> double.type(bits)).astype(a.dtype)
        return narrow
    half, mask = np.uint64(32), np.uint64(0xFFFF_FFFF)
    a_low, a_high, b_low, b_high = a & mask, a >> half, b & mask, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    other = a_low * b_high + (middle & mask)
    result: Array = a_high * b_high + (middle >> half) + (other >> half)
    return result


def _high_signed(a: Array, b: Array) -> Array:
    high = _high_unsigned(a, b)
    zero = a.dtype.type(0)
    return high - np.where(signed(a) < 0, b, zero) - np.where(signed(b) < 0, a, zero)


def multiply_high(*, is_signed: bool) -> Function:
    """The upper half of the product."""
    return _high_signed if is_signed else _high_unsigned


def multiply_wide(*, is_signed: bool) -> Function:
    """The whole product, twice as wide as its factors."""

    def apply(a: Array, b: Array) -> Array:
        kind = "i" if is_signed else "u"
        double = f"{kind}{a.dtype.itemsize * 2}"
        narrow = f"{kind}{a.dtype.itemsize}"
        return unsigned(a.view(narrow).astype(double) * b.view(narrow).astype(double))

    return apply


def multiply_24(*, is_signed: bool, high: bool) -> Function:
    """The product of the lower 24 bits: its lower 32 bits, or bits 16 to 47."""

    def apply(a: Array, b: Array) -> Array:
        left, right = ((x << np.uint32(8)) for x in (a, b))
        kind = np.int32 if is_signed else np.uint32
        wide = (left.view(kind) >> kind(8)).astype(np.int64) * (right.view(kind) >> kind(8)).astype(np.int64)
        return (wide >> 16 if high else wide).astype(np.uint64).astype(np.uint32)

    return apply


def _divide_unsigned(a: Array, b: Array) -> Array:
    return np.where(b == 0, ~a.dtype.type(0), a // np.where(b == 0, b.dtype.type(1), b))


def _remainder_unsigned(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a % np.where(b == 0, b.dtype.type(1), b))


def _magnitude(a: Array) -> Array:
    return np.where(signed(a) < 0, ~a + a.dtype.type(1), a)


def _divide_signed(a: Array, b: Array) -> Array:
    quotient = _divide_unsigned(_magnitude(a), _magnitude(b))
    differs = (signed(a) < 0) != (signed(b) < 0)
    return np.where(differs & (b != 0), ~quotient + a.dtype.type(1), quotient)


def _remainder_signed(a: Array, b: Array) -> Array:
    rest = _remainder_unsigned(_magnitude(a), _magnitude(b))
    return np.where(signed(a) < 0, ~rest + a.dtype.type(1), rest)


def divide(*, is_signed: bool) -> Function:
    """The quotient, rounded toward zero."""
    return _divide_signed if is_signed else _divide_unsigned


def remainder(*, is_signed: bool) -> Function:
    """The remainder, with the dividend's sign."""
    return _remainder_signed if is_signed else _remainder_unsigned


def as_signed(function: Callable[..., Array]) -> Function:
    """A function of signed numbers as one of bits."""
    return lambda *operands: unsigned(function(*(signed(a) for a in operands)))


def with_relu(function: Function) -> Function:
    """`min.relu.s32` and the like: 0 in the place of what is below it."""
    positive = as_signed(lambda value: np.maximum(value, 0))
    return lambda *operands: positive(function(*operands))


def saturating(opcode: str) -> Function:
    """`add.sat.s32` and `sub.sat.s32`."""
    function = {"add": np.add, "sub": np.subtract}[opcode]

    def apply(a: Array, b: Array) -> Array:
        wide = function(signed(a).astype(np.int64), signed(b).astype(np.int64))
        return unsigned(np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32))

    return apply


def _amount(a: Array, b: Array) -> Array:
    """The shift amount in the operand's type; past the width NumPy shifts all out, which is PTX's rule too."""
    return np.minimum(b, np.uint32(0x7F)).astype(a.dtype)


def shift_left(a: Array, b: Array) -> Array:
    """`shl`: amounts past the width give 0."""
    result: Array = a << _amount(a, b)
    return result


def shift_right(*, is_signed: bool) -> Function:
    """`shr`: amounts past the width give 0 or the sign."""
    if is_signed:
        return lambda a, b: unsigned(signed(a) >> signed(_amount(a, b)))
    return lambda a, b: a >> _amount(a, b)


def funnel(*, left: bool, wraps: bool) -> Function:
    """`shf`: shift the 64 bits `b:a` and keep the upper (left) or lower (right) half."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        amount = c & np.uint32(31) if wraps else np.minimum(c, np.uint32(32))
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        if left:
            return ((both << amount.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)
        return (both >> amount.astype(np.uint64)).astype(np.uint32)

    return apply


def _field(b: Array, c: Array, bits: int) -> tuple[Array, Array]:
    """Position and length of a bit field, each the lower 8 bits of its operand."""
    return (b & np.uint32(0xFF)).astype(np.int64), np.minimum((c & np.uint32(0xFF)).astype(np.int64), bits)


def extract_field(*, is_signed: bool) -> Function:
    """`bfe`."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        bits = _bits(a)
        position, length = _field(b, c, bits)
        wide = np.where(position < 64, a.astype(np.uint64) >> np.minimum(position, 63).astype(np.uint64), 0)
        mask = _mask(length)
        value = wide.astype(np.uint64) & mask
        if is_signed:
            top = np.clip(np.minimum(position + length - 1, bits - 1), 0, 63).astype(np.uint64)
            is_negative = ((a.astype(np.uint64) >> top) & np.uint64(1)).astype(bool) & (length > 0)
            taken = np.clip(bits - position, 0, length)
            value = np.where(is_negative, value | ~_mask(taken), value)
        return value.astype(a.dtype)

    return apply


def _mask(length: Array) -> Array:
    """That many one bits, 0 to 64."""
    ones = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    return np.where(length > 0, ones >> np.clip(64 - length, 0, 63).astype(np.uint64), np.uint64(0))


def insert_field(a: Array, b: Array, c: Array, d: Array) -> Array:
    """`bfi`: the lower bits of `a` put into `b`.

    Args:
        a: what is inserted.
        b: what it is inserted into.
        c: the position of the lowest bit.
        d: how many bits.
    """
    position, length = _field(c, d, _bits(a))
    start = np.minimum(position, 63).astype(np.uint64)
    mask = np.where(position < 64, _mask(length) << start, np.uint64(0))
    moved = np.where(position < 64, a.astype(np.uint64) << start, np.uint64(0))
    return ((b.astype(np.uint64) & ~mask) | (moved & mask)).astype(a.dtype)


def reverse_bits(a: Array) -> Array:
    """`brev`."""
    octets = np.unpackbits(np.ascontiguousarray(a).view(np.uint8), bitorder="little").reshape(-1, _bits(a))
    return np.packbits(octets[:, ::-1], bitorder="little").view(a.dtype)


def count_ones(a: Array) -> Array:
    """`popc`."""
    return np.bitwise_count(a).astype(np.uint32)


def _leading_one(a: Array) -> Array:
    """The place of the highest one bit, -1 for 0; exact, where log2 of a float would not be."""
    position = np.full(a.shape, -1, np.int64)
    rest = a.copy()
    width = _bits(a) // 2
    position[rest != 0] = 0
    while width:
        is_high = rest >= a.dtype.type(1) << a.dtype.type(width)
        position[is_high] += width
        rest = np.where(is_high, rest >> a.dtype.type(width), rest)
        width //= 2
    return position


def count_leading_zeros(a: Array) -> Array:
    """`clz`."""
    return (_bits(a) - 1 - _leading_one(a)).astype(np.uint32)


def find_leading(*, is_signed: bool, as_shift: bool) -> Function:
    """`bfind`: the place of the highest bit that differs from the sign, all ones if there is none."""

    def apply(a: Array) -> Array:
        value = np.where(signed(a) < 0, ~a, a) if is_signed else a
        position = _leading_one(value)
        if as_shift:
            position = np.where(position < 0, position, _bits(a) - 1 - position)
        return position.astype(np.uint32)

    return apply


def permute_bytes(a: Array, b: Array, c: Array) -> Array:
    """`prmt`: each nibble of `c` picks a byte of `b:a`, or its sign."""
    both = (b.astype(np.uint64) << np.uint64(32)) | a
    result = np.zeros(both.shape, np.uint64)
    for number in range(4):
        selector = (c >> np.uint32(4 * number)).astype(np.uint64)
        byte = (both >> ((selector & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
        is_sign = (selector & np.uint64(8)) != 0
        byte = np.where(is_sign, (byte >> np.uint64(7)) * np.uint64(0xFF), byte)
        result |= byte << np.uint64(8 * number)
    return result.astype(np.uint32)


def logic_of_three(table: int) -> Function:
    """`lop3`: any function of three bits, given by its truth table."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for row in range(8):
            if table >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return apply


def sum_of_differences(*, is_signed: bool) -> Function:
    """`sad`: `|a - b| + c`."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        before = signed(a) < signed(b) if is_signed else a < b
        return c + np.where(before, b - a, a - b)

    return apply


def dot_of_bytes(*, a_signed: bool, b_signed: bool) -> Function:
    """`dp4a`: the dot product of four bytes, added to `c`."""

    def apply(a: Array, b: Array, c: Array) -> Array:
        left = np.ascontiguousarray(a).view(np.int8 if a_signed else np.uint8).reshape(-1, 4)
        right = np.ascontiguousarray(b).view(np.int8 if b_signed else np.uint8).reshape(-1, 4)
        result: Array = c + (left.astype(np.int32) * right.astype(np.int32)).sum(axis=1, dtype=np.int32).view(np.uint32)
        return result

    return apply


def negate(a: Array) -> Array:
    """`neg`."""
    result: Array = ~a + a.dtype.type(1)
    return result


def logical_not(a: Array) -> Array:
    """`cnot`: 1 for 0, else 0."""
    result: Array = (a == 0).astype(a.dtype)
    return result


def compare(relation: str, *, is_signed: bool) -> Function:
    """A comparison; `lo ls hi hs` are the unsigned forms of `lt le gt ge`."""
    relate = RELATIONS[relation]
    if is_signed and relation not in ("lo", "ls", "hi", "hs"):
        return lambda a, b: relate(signed(a), signed(b))
    return lambda a, b: relate(a, b)


RELATIONS: Mapping[str, Callable[..., Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
