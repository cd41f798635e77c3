"""SSA values, LLVM's types by their spelling, and literals.

A literal is written to the bit (hexadecimal for floating point), so that a NaN's payload and the sign of a zero reach
LLVM as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple


class Value(NamedTuple):
    """An SSA value, a global or a literal: its LLVM type and its spelling."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    @property
    def literal(self) -> int | None:
        """The value of an integer literal, None for anything else."""
        text = self.name
        return int(text) if text.isdigit() or (text[0] == "-" and text[1:].isdigit()) else None


PTR = "ptr"
I1 = "i1"
I8 = "i8"
I16 = "i16"
I32 = "i32"
I64 = "i64"
FLOAT_TYPES = ("half", "bfloat", "float", "double")


def vector_type(element: str, lanes: int) -> str:
    """The type of `lanes` values of `element`."""
    return f"<{lanes} x {element}>"


def element_of(type_: str) -> str:
    """The element type of a vector type, or the type itself."""
    return type_[type_.index(" x ") + 3 : -1] if type_[0] == "<" else type_


def lanes_of(type_: str) -> int:
    """The number of lanes of a vector type; 0 for any other type."""
    return int(type_[1 : type_.index(" ")]) if type_[0] == "<" else 0


def alike(element: str, type_: str) -> str:
    """The scalar type, or a vector of it with as many lanes as another type has."""
    lanes = lanes_of(type_)
    return vector_type(element, lanes) if lanes else element


def mangled(type_: str) -> str:
    """A type as names of intrinsics spell it: `f32`, `i64`, `v16f32`, `v8p0`."""
    element = _MANGLED.get(element_of(type_), element_of(type_))
    return f"v{lanes_of(type_)}{element}" if type_[0] == "<" else element


_MANGLED = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16", "ptr": "p0"}


def splat(literal: Value, lanes: int) -> Value:
    """A vector literal with the scalar literal in every lane."""
    return Value(vector_type(literal.type, lanes), f"splat ({literal})")


def integer(value: int, type_: str = I64) -> Value:
    """An integer literal; of a vector type, one in every lane."""
    if type_[0] == "<":
        return splat(integer(value, element_of(type_)), lanes_of(type_))
    return Value(type_, str(value))


def floating(value: float, type_: str) -> Value:
    """The floating-point literal that `value` rounds to in `type_`, NaN payload and sign of zero kept; as `integer`."""
    if type_[0] == "<":
        return splat(floating(value, element_of(type_)), lanes_of(type_))
    if type_ == "half":
        return Value(type_, f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}")
    if type_ == "bfloat":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        rounded = bits if value != value else bits + 0x7FFF + (bits >> 16 & 1)
        return Value(type_, f"0xR{rounded >> 16 & 0xFFFF:04X}")
    if type_ == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return Value(type_, f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}")


def zero(type_: str) -> Value:
    """All bits zero, of any type."""
    return Value(type_, "zeroinitializer" if type_[0] in "<[{" else _ZERO.get(type_, "0"))


_ZERO = {"ptr": "null", "float": "0.0", "double": "0.0", "half": "0xH0000", "bfloat": "0xR0000"}


def fold(opcode: str, left: Value, right: Value) -> Value | None:
    """The value of an integer operation where literals decide it, else None; index arithmetic is full of such.

    Args:
        opcode: LLVM's.
        left: an integer.
        right: another of its type.
    """
    b = right.literal
    if b is None:
        return right if opcode == "add" and left.literal == 0 else None
    if (opcode, b) in _NEUTRAL:
        return left
    if (opcode, b) in _ZERO_WITH:
        return Value(left.type, "0")
    a = left.literal
    if a is None or opcode not in _FOLDS:
        return None
    width = int(left.type[1:])
    wrapped = _FOLDS[opcode](a, b) & ((1 << width) - 1)
    return Value(left.type, str(wrapped - (1 << width) if wrapped >> (width - 1) else wrapped))


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "smin": min,
    "smax": max,
}
_ZERO_WITH = {("mul", 0), ("urem", 1)}
_NEUTRAL = {("add", 0), ("sub", 0), ("mul", 1), ("udiv", 1), ("sdiv", 1), ("shl", 0), ("or", 0), ("lshr", 0)}
