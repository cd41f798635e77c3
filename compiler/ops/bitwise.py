"""Elementwise ops on the bits of integers and on pred.

A shift by the width or more, or by a negative amount (which is a huge unsigned one), shifts every bit out: 0 remains,
or the sign of what an arithmetic shift moved.
"""

from __future__ import annotations

import numpy as np

from compiler.ir.elementwise import Row, kinds
from compiler.ir.numbers import Array
from compiler.ir.opdef import Op
from compiler.ir.traits import Trait
from compiler.ir.types import ElementType


def _unsigned(element_type: ElementType, value: Array) -> Array:
    """The value's bits, with nothing above the type's width."""
    bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").reshape(value.shape)
    return bits if element_type.bits >= 8 else bits & np.uint8((1 << element_type.bits) - 1)


def _popcount(element_type: ElementType, value: Array) -> Array:
    return np.bitwise_count(_unsigned(element_type, value)).astype(value.dtype)


def _leading_zeros(element_type: ElementType, value: Array) -> Array:
    bits = _unsigned(element_type, value)
    width = bits.dtype.itemsize * 8
    count = np.zeros(bits.shape, np.uint8)
    step = width // 2
    while step:
        clear = (bits >> bits.dtype.type(width - step)) == 0
        count = np.where(clear, count + np.uint8(step), count)
        bits = np.where(clear, bits << bits.dtype.type(step), bits)
        step //= 2
    count = count + (bits >> bits.dtype.type(width - 1) == 0)
    return np.asarray((count - (width - min(width, element_type.bits))).astype(value.dtype))


def _in_range(element_type: ElementType, amount: Array) -> tuple[Array, Array]:
    """Whether an amount is below the width, and an amount that is."""
    valid = _unsigned(element_type, amount) < min(element_type.bits, amount.dtype.itemsize * 8)
    return valid, np.where(valid, amount, 0).astype(amount.dtype)


def _shift_left(element_type: ElementType, value: Array, amount: Array) -> Array:
    valid, amount = _in_range(element_type, amount)
    return np.where(valid, value << amount, 0).astype(value.dtype)


def _shift_right_logical(element_type: ElementType, value: Array, amount: Array) -> Array:
    valid, amount = _in_range(element_type, amount)
    bits = _unsigned(element_type, value)
    return np.asarray(np.where(valid, bits >> amount.astype(bits.dtype), 0)).astype(value.dtype)


def _shift_right_arithmetic(element_type: ElementType, value: Array, amount: Array) -> Array:
    valid, amount = _in_range(element_type, amount)
    bits = _unsigned(element_type, value)
    # The sign bit is the type's top bit, for unsigned types too.
    unused = bits.dtype.itemsize * 8 - min(element_type.bits, bits.dtype.itemsize * 8)
    signed = (bits << bits.dtype.type(unused)).view(f"i{bits.dtype.itemsize}") >> unused
    shifted = np.where(valid, signed >> amount.astype(signed.dtype), np.where(signed < 0, -1, 0))
    return shifted.astype(signed.dtype).astype(value.dtype)


def _high_product(element_type: ElementType, left: Array, right: Array) -> Array:
    if element_type.bits < 64:
        wide = np.int64 if left.dtype.kind == "i" else np.uint64
        return ((left.astype(wide) * right.astype(wide)) >> wide(element_type.bits)).astype(left.dtype)
    high = _high_product_u64(left.view(np.uint64), right.view(np.uint64))
    if left.dtype.kind == "i":
        # For signed factors the unsigned product is too large by the other factor wherever one is negative.
        high = high - np.where(left < 0, right, 0).view(np.uint64) - np.where(right < 0, left, 0).view(np.uint64)
    return high.view(left.dtype)


def _high_product_u64(left: Array, right: Array) -> Array:
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b, c, d = left >> half, left & mask, right >> half, right & mask
    middle = a * d + (b * d >> half)
    return np.asarray(a * c + (middle >> half) + ((b * c + (middle & mask)) >> half))


_COMBINES = Trait.COMMUTATIVE | Trait.ASSOCIATIVE

_ROWS = (
    Row(
        "and",
        2,
        "Bitwise and.",
        kinds(pred=np.logical_and, integer=np.bitwise_and),
        traits=Trait.EXACT | _COMBINES | Trait.IDEMPOTENT,
    ),
    Row(
        "or",
        2,
        "Bitwise or.",
        kinds(pred=np.logical_or, integer=np.bitwise_or),
        traits=Trait.EXACT | _COMBINES | Trait.IDEMPOTENT,
    ),
    Row(
        "xor",
        2,
        "Bitwise exclusive or.",
        kinds(pred=np.logical_xor, integer=np.bitwise_xor),
        traits=Trait.EXACT | _COMBINES,
    ),
    Row("not", 1, "Bitwise complement.", kinds(pred=np.logical_not, integer=np.bitwise_not), traits=Trait.EXACT),
    Row("popcnt", 1, "The number of bits that are set.", kinds(integer=_popcount), typed=True, traits=Trait.EXACT),
    Row(
        "count-leading-zeros",
        1,
        "The number of zeros above the top set bit.",
        kinds(integer=_leading_zeros),
        typed=True,
        traits=Trait.EXACT,
    ),
    Row(
        "shift-left",
        2,
        "Shift towards the top, zeros following.",
        kinds(integer=_shift_left),
        typed=True,
        traits=Trait.EXACT,
    ),
    Row(
        "shift-right-logical",
        2,
        "Shift down, zeros following.",
        kinds(integer=_shift_right_logical),
        typed=True,
        traits=Trait.EXACT,
    ),
    Row(
        "shift-right-arithmetic",
        2,
        "Shift down, the sign following.",
        kinds(integer=_shift_right_arithmetic),
        typed=True,
        traits=Trait.EXACT,
    ),
    Row(
        "mulhi",
        2,
        "The upper half of the double-width product.",
        kinds(integer=_high_product),
        typed=True,
        traits=Trait.EXACT | Trait.COMMUTATIVE,
    ),
)

OPS: dict[str, Op] = {row.opcode: row.op() for row in _ROWS}
