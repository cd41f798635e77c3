"""Accumulators inside a loop over vectors, where they are kept as something else than the values that they stand for.

The language's maximum and minimum of floats propagate NaN and put -0 below +0, for which CPUs have no instruction:
done as such, each step of the chain is six.  Of the bits of an IEEE number taken as an integer, though, two extrema say
everything at the end.  For a maximum, the one is the greatest as signed integers: non-negative numbers are ordered as
such, with NaN above infinity.  The other is the least as unsigned integers, counted from the first NaN with a sign on:
such NaN come first, and where there are negative numbers only, the greatest of them is first.  A minimum mirrors that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.cpu.machine import Machine
from compiler.codegen import element
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.ir.combiner import binary_opcode
from compiler.ir.module import Instruction
from compiler.ir.types import S32, S64, ElementType

_INTEGER = {"float": "i32", "double": "i64"}
_INFINITY = {"i32": 0x7F800000, "i64": 0x7FF0000000000000}
_MANTISSA = {"i32": 23, "i64": 52}
_GREATEST = {"maximum": "smax", "minimum": "umax"}
"""The intrinsic for the first of the two that are kept."""
_KEPT = 2
"""Integers that are kept for an extremum of floats: the least and the greatest as integers, so that NaN shows at either
end."""
_EXTREMA = _GREATEST.keys()


@dataclass(frozen=True, slots=True)
class Extremum:
    """The integers kept for a maximum or a minimum of floats: the greatest, and the least counted from `_first_nan`."""

    opcode: str
    type: str
    """LLVM's type of the float."""

    @property
    def kept_type(self) -> ElementType:
        """The type of each integer."""
        return S32 if self.type == "float" else S64

    @property
    def _integer(self) -> str:
        return _INTEGER[self.type]

    @property
    def _sign(self) -> int:
        """The sign bit of what is looked for among numbers of the other sign, as an integer."""
        return -1 << (int(self._integer[1:]) - 1) if self.opcode == "maximum" else 0

    @property
    def _first_nan(self) -> Value:
        """The bits of the first NaN of that sign: one more than those of its infinity."""
        return integer(self._sign + _INFINITY[self._integer] + 1, self._integer)

    def identities(self) -> list[Value]:
        """The integers kept before any number is joined to them."""
        return [integer(self._sign, self._integer), integer(-1, self._integer)]

    def join(self, builder: Builder, kept: Sequence[Value], value: Value) -> list[Value]:
        """Take one more number, or a vector of them, in.

        Args:
            builder: where code is emitted.
            kept: the integers that are kept.
            value: the number, or a vector of them.
        """
        bits = builder.cast("bitcast", value, self._integer)
        return self.merge(builder, kept, [bits, builder.binary("sub", bits, self._first_nan)])

    def merge(self, builder: Builder, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The integers kept for all numbers of two.

        Args:
            builder: where code is emitted.
            left: the integers kept for some numbers.
            right: those kept for others.
        """
        names = _GREATEST[self.opcode], "umin"
        pairs = (builder.alike([a, b]) for a, b in zip(left, right, strict=True))
        return [builder.overloaded(name, pair) for name, pair in zip(names, pairs, strict=True)]

    def value(self, builder: Builder, kept: Sequence[Value]) -> Value:
        """The number that they stand for."""
        type_, (greatest, least) = self._integer, kept
        infinity, other_sign = _INFINITY[type_], 0 if self._sign else -1 << (int(type_[1:]) - 1)
        above = "sgt" if self.opcode == "maximum" else "ugt"
        is_nan = builder.binary(
            "or",
            builder.compare(above, greatest, integer(other_sign + infinity, type_)),
            builder.compare("ult", least, integer((1 << _MANTISSA[type_]) - 1, type_)),
        )
        absent = builder.compare("slt" if self.opcode == "maximum" else "sge", greatest, integer(0, type_))
        bits = builder.select(absent, builder.binary("add", least, self._first_nan), greatest)
        return builder.select(is_nan, floating(math.nan, self.type), builder.cast("bitcast", bits, self.type))


def _extremum_of(reduce: Instruction, machine: Machine) -> Extremum | None:
    """How a reduction of one array is kept, None as what it is; 64-bit integers have extrema in AVX-512 only."""
    opcode = binary_opcode(reduce.attributes["to_apply"])
    element_type = reduce.operands[0].array.element_type
    if opcode not in _EXTREMA or not element_type.is_float or element_type.is_complex:
        return None
    if element_type.bits == 64 and not machine.has("avx512f"):
        return None
    return Extremum(opcode, element.value_type(element_type))


Combine = Callable[[Emission, Sequence[Value], Sequence[Value]], list[Value]]


@dataclass(frozen=True, slots=True)
class Accumulators:
    """The accumulators of reductions: extrema of floats as integers, others as they are."""

    combine: Combine
    """The reducers, on all values."""
    append: Combine
    """The reducers, on accumulators and on an element behind all of theirs."""
    extrema: Sequence[Extremum | None]

    @staticmethod
    def of(
        reduces: Sequence[Instruction], machine: Machine, combine: Combine, append: Combine | None = None
    ) -> Accumulators:
        """The accumulators that a machine keeps for the values of reductions.

        Args:
            reduces: the reductions, which may have several operands.
            machine: whose instructions are asked for.
            combine: what combines two values of each.
            append: the same for an element behind all that were combined so far.
        """
        extrema = [
            _extremum_of(reduce, machine) if len(reduce.operands) == 2 else None
            for reduce in reduces
            for _ in reduce.operands[: len(reduce.operands) // 2]
        ]
        return Accumulators(combine, append or combine, extrema)

    def types(self, plain: Sequence[ElementType]) -> list[ElementType]:
        """The types of what is kept for values of these."""
        pairs = zip(plain, self.extrema, strict=True)
        return [kept for t, e in pairs for kept in ([e.kept_type] * _KEPT if e else [t])]

    def open(self, plain: Sequence[Value]) -> list[Value]:
        """The accumulators before anything is joined to them: of other values than extrema, those given."""
        pairs = zip(plain, self.extrema, strict=True)
        return [kept for value, extremum in pairs for kept in (extremum.identities() if extremum else [value])]

    def join(
        self, emission: Emission, kept: Sequence[Value], values: Sequence[Value], *, is_next: bool = False
    ) -> list[Value]:
        """Take one more value of each in.

        Args:
            emission: where code is emitted, with what is known there.
            kept: what is kept for all reductions, one behind the other.
            values: one for each operand of a reduction.
            is_next: whether they are elements behind all that were taken in.
        """
        groups, builder = self._groups(kept), emission.builder
        left = [v if extremum else k[0] for k, v, extremum in zip(groups, values, self.extrema, strict=True)]
        if not all(self.extrema):
            left = (self.append if is_next else self.combine)(emission, left, values)
        groups_ = zip(groups, values, left, self.extrema, strict=True)
        return [v for k, new, plain, e in groups_ for v in (e.join(builder, k, new) if e else [plain])]

    def merge(self, emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """The accumulators for all values of two.

        Args:
            emission: where code is emitted, with what is known there.
            left: what is kept for some values.
            right: what is kept for others.
        """
        a, b, builder = self._groups(left), self._groups(right), emission.builder
        joined = self._plain(a)
        if not all(self.extrema):
            joined = self.combine(emission, joined, self._plain(b))
        groups_ = zip(a, b, joined, self.extrema, strict=True)
        return [v for x, y, plain, e in groups_ for v in (e.merge(builder, x, y) if e else [plain])]

    def values(self, emission: Emission, kept: Sequence[Value]) -> list[Value]:
        """The values that are kept."""
        pairs = zip(self._groups(kept), self.extrema, strict=True)
        return [extremum.value(emission.builder, k) if extremum else k[0] for k, extremum in pairs]

    def _plain(self, groups: Sequence[Sequence[Value]]) -> list[Value]:
        """Operands for the reducers, of which what becomes of the extrema does not matter."""
        pairs = zip(groups, self.extrema, strict=True)
        return [floating(0.0, extremum.type) if extremum else kept[0] for kept, extremum in pairs]

    def _groups(self, kept: Sequence[Value]) -> list[list[Value]]:
        queue = iter(kept)
        return [[next(queue) for _ in range(_KEPT if extremum else 1)] for extremum in self.extrema]
