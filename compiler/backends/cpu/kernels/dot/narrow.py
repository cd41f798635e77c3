"""Factors of products before they are converted to the type that they are summed in.

CPUs have instructions that multiply bf16 and small integers as they are, several at a time.  What is multiplied so is
the operand without the conversions, all of them exact, that are fused before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen import element
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Value
from compiler.codegen.signature import elemental_of
from compiler.ir.module import Instruction
from compiler.ir.types import BF16, F16, F32, S8, S32, TYPES, U8, U32, ElementType

_POWERS, _S16 = TYPES["f8e8m0fnu"], TYPES["s16"]
_LLVM = {BF16: "bfloat", S8: "i8", U8: "i8", _S16: "i16"}


@dataclass(frozen=True, slots=True)
class Unconverted:
    """An operand as `source`, whose elements are multiplied as elements of `type`: bf16, s8, u8 or s16."""

    source: Instruction
    type: ElementType

    @property
    def llvm(self) -> str:
        """LLVM's name of the type, without its sign."""
        return _LLVM[self.type]

    def load(self, kernel: Kernel, emission: Emission, indices: Sequence[Index]) -> Value:
        """Load an element before it is converted.

        Args:
            kernel: the product.
            emission: where code is emitted, with what is known there.
            indices: one for each dimension.
        """
        b = emission.builder
        value = elemental_of(kernel, emission).value(self.source, tuple(indices))
        value = element.convert(b, value, self.source.array.element_type, self.type)
        return b.cast("bitcast", element.stored(b, self.type, value), self.llvm)


def unconverted(kernel: Kernel, operand: Instruction, total: ElementType) -> Unconverted | None:
    """The operand before it is converted to `total`, where the CPU may multiply that directly.

    Args:
        kernel: the one that multiplies.
        operand: of the product, as it is written.
        total: the type in which products are summed.
    """
    source = operand
    while source.opcode == "convert" and source not in dict(kernel.leaves):
        (converted,) = source.operands
        if not _keeps_values(converted.array.element_type, source.array.element_type):
            break
        source = converted
    type_ = _type(source.array.element_type, total)
    return None if type_ is None else Unconverted(source, type_)


def _type(source: ElementType, total: ElementType) -> ElementType | None:
    """A type that CPUs may have instructions for, to be summed up in `total`, that has all values of `source`."""
    if total is F32 and source.is_float and source.bits <= BF16.bits and source not in (F16, _POWERS):
        return BF16
    if total in (S32, U32) and source.is_integer and source.bits <= _S16.bits:
        narrow = (S8 if source.is_signed else U8) if source.bits <= S8.bits else _S16
        return narrow if narrow is not _S16 or source.is_signed else None
    return None


def _keeps_values(source: ElementType, target: ElementType) -> bool:
    """Whether every value of a type that is multiplied narrow is one of another type, to which it is converted."""
    if source.is_float:
        return target.is_float and (target.bits >= F32.bits or (target is BF16 and source not in (F16, _POWERS)))
    wider = target.bits > source.bits or source.kind is target.kind
    return target.is_integer and target.bits >= source.bits and wider and (target.is_signed or not source.is_signed)
