"""Convolutions of small integers: several input features make a word, which CPUs multiply and add at a time.

As in products of matrices (`gemm.words`), what is written for numbers serves for words: input features are counted in
words, the copy of the input and packed weights consist of them.  Where the copy's bytes were moved by 128, padding is
128 as well, so every sum contains 128 times all weights of its output feature: it starts from minus that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.dot.narrow import Unconverted, unconverted
from compiler.backends.cpu.kernels.gemm.product import VnniOperands
from compiler.backends.cpu.kernels.gemm.vnni import Word, choose
from compiler.backends.cpu.machine import Machine
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, linear
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, I32, Builder, Value, integer, zero
from compiler.codegen.product import accumulation_type
from compiler.codegen.signature import arguments
from compiler.ir.module import Instruction

_MOVED = 128
"""By what signed bytes become unsigned ones: half of their 256 values."""
_WIDEST = 512
"""Bits of the widest vector, AVX-512."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Both factors of a convolution before they are converted, and the words that they are multiplied in."""

    words: VnniOperands
    lhs: Unconverted
    rhs: Unconverted

    @property
    def padding(self) -> Value:
        """Every byte of what lies outside the input."""
        return integer(_MOVED - 256 if self.words.flip else 0, I8)

    def count(self, features: int) -> int:
        """The words that hold so many input features."""
        return -(-features // self.words.group)

    def input(self, kernel: Kernel, b: Builder, at: Sequence[Index], feature: int) -> Value:
        """A word of the input, at the number of a word along its dimension `feature`.

        Args:
            kernel: the convolution's.
            b: where code is emitted.
            at: an index for each dimension of the input; the one along `feature` counts words.
            feature: the dimension along which elements are joined to words.
        """
        word = Word(self.lhs.llvm, self.lhs.type.is_signed, self.words.group, self.words.flip != 0)
        dims = self.lhs.source.array.dims
        leaf = dict(kernel.leaves).get(self.lhs.source)
        plain = word.as_it_is and self.lhs.source.array.element_type is self.lhs.type
        if leaf is None or not plain or feature != len(dims) - 1 or dims[feature] % self.words.group:
            elements = self._elements(kernel, b, self.lhs, at, feature)
            return word.joined(b, [(word.field(b, value, 0), inside) for value, inside in elements], 0)
        first = linear([*at[:-1], at[-1].times(self.words.group)], dims)
        address = b.gep(self.lhs.llvm, arguments(kernel).inputs[leaf], Emission(b).value(first))
        return word.flipped(b, b.load(I32, address, align=self.lhs.type.size_bytes), 0)

    def weight(self, kernel: Kernel, b: Builder, at: Sequence[Index], feature: int) -> tuple[Value, Value]:
        """A word of the weights, and minus what it adds to sums because the input's bytes were moved.

        Args:
            kernel: the convolution.
            b: where code is emitted.
            at: the indices of the word's first element in the weights.
            feature: the dimension of input features, along which a word's elements lie.
        """
        word = Word(self.rhs.llvm, self.rhs.type.is_signed, self.words.group)
        elements = self._elements(kernel, b, self.rhs, at, feature)
        found = word.joined(b, [(word.field(b, value, 0), inside) for value, inside in elements], 0)
        total = zero(I32)
        for value, inside in elements:
            number = b.cast("sext" if word.signed else "zext", value, I32)
            total = b.add(total, number if inside is None else b.select(inside, number, zero(I32)))
        return found, b.mul(total, integer(-_MOVED if word.signed else _MOVED, I32))

    def _elements(
        self, kernel: Kernel, b: Builder, factor: Unconverted, at: Sequence[Index], feature: int
    ) -> list[tuple[Value, Value | None]]:
        """The elements of a word; where one may lie behind the last feature, whether it does not."""
        size, group = factor.source.array.dims[feature], self.words.group
        emission, found = Emission(b), []
        for position in range(group):
            index, inside = at[feature].times(group).plus(position), None
            if size % group and position >= size % group:
                coordinate = emission.value(index)
                inside = b.compare("slt", coordinate, integer(size))
                index = emission.opaque(b.smin(coordinate, integer(size - 1)), size)
            indices = [index if dim == feature else other for dim, other in enumerate(at)]
            found.append((factor.load(kernel, emission, indices), inside))
        return found


def narrowed(kernel: Kernel, convolution: Instruction, machine: Machine) -> Narrowed | None:
    """The words that a convolution of integers multiplies, where the machine has instructions for its factors.

    Args:
        kernel: the convolution's.
        convolution: the instruction.
        machine: what it is computed on.
    """
    total, bits = accumulation_type(convolution), machine.vector_bits
    lhs, rhs = (unconverted(kernel, operand, total) for operand in convolution.operands[:2])
    if lhs is None or rhs is None or total.is_float:
        # For bf16 the instructions do no more in a cycle than multiply-adds of f32 do.
        return None
    if bits == _WIDEST and not machine.has("avx512vl"):
        # Few output features are computed in shorter vectors.
        return None
    kinds = [(factor.llvm, factor.type.is_signed) for factor in (lhs, rhs)]
    words = choose(element.value_type(total), kinds[0], kinds[1], machine)
    return None if words is None else Narrowed(words, lhs, rhs)
