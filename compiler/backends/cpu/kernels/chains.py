"""What accumulators are kept as inside a loop over vectors, where that differs from the values that they stand for.

The language's maximum and minimum of floats propagate NaN and put -0 below +0, for which CPUs have no instruction:
done as such, each step of the chain is six.  Of the bits of an IEEE number taken as an integer, though, three extrema
say everything at the end, each of which is one instruction: non-negative numbers are ordered as signed integers, with
NaN above infinity; negative ones as unsigned integers in reverse, with NaN beyond infinity again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen import element
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Value, element_of, floating, integer, mangled
from compiler.ir.combiner import binary_opcode
from compiler.ir.module import Instruction

_INTEGER = {"float": "i32", "double": "i64"}
_INFINITY = {"i32": 0x7F800000, "i64": 0x7FF0000000000000}
_INTRINSICS = ("smax", "umax", "umin")
_EXTREMA = frozenset({"maximum", "minimum"})


@dataclass(frozen=True, slots=True)
class Extremum:
    """The integers kept for a maximum or a minimum of floats: the greatest as signed, as unsigned, and the least."""

    opcode: str
    type: str
    """LLVM's type of the float."""

    def identities(self) -> list[Value]:
        """What no number has been joined to."""
        type_ = _INTEGER[self.type]
        least = -1 << (int(type_[1:]) - 1)
        return [integer(least, type_), integer(0, type_), integer(-1, type_)]

    def join(self, builder: LaneBuilder, kept: Sequence[Value], value: Value) -> list[Value]:
        """Take one more number, or a vector of them, in."""
        bits = builder.cast("bitcast", value, _INTEGER[element_of(value.type)])
        return self.merge(builder, kept, [bits] * len(_INTRINSICS))

    def merge(self, builder: LaneBuilder, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The integers kept for all numbers of two."""
        pairs = (builder.alike([a, b]) for a, b in zip(left, right, strict=True))
        return [
            builder.intrinsic(f"{name}.{mangled(pair[0].type)}", pair)
            for name, pair in zip(_INTRINSICS, pairs, strict=True)
        ]

    def value(self, builder: LaneBuilder, kept: Sequence[Value]) -> Value:
        """The number that they stand for."""
        type_ = _INTEGER[self.type]
        signed, unsigned, least = kept
        zero, infinity = integer(0, type_), _INFINITY[type_]
        sign = 1 << (int(type_[1:]) - 1)
        if self.opcode == "maximum":
            bits = builder.select(builder.compare("slt", signed, zero), least, signed)
        else:
            bits = builder.select(builder.compare("slt", unsigned, zero), unsigned, least)
        positive_nan = builder.compare("sgt", signed, integer(infinity, type_))
        negative_nan = builder.compare("ugt", unsigned, integer(infinity - sign, type_))
        is_nan = builder.binary("or", positive_nan, negative_nan)
        return builder.select(is_nan, floating(math.nan, self.type), builder.cast("bitcast", bits, self.type))


def extremum_of(reduce: Instruction, target: Target) -> Extremum | None:
    """How a reduction of one array is kept, None as what it is; 64-bit integers have extrema in AVX-512 only."""
    opcode = binary_opcode(reduce.attributes["to_apply"])
    element_type = reduce.operands[0].array.element_type
    if opcode not in _EXTREMA or not element_type.is_float or element_type.is_complex:
        return None
    if element_type.bits == 64 and not target.has("avx512f"):
        return None
    return Extremum(opcode, element.value_type(element_type))
