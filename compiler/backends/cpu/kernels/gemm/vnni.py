"""Narrow factors as words: bf16, 8-bit and 16-bit integers that the CPU multiplies several at a time in vectors.

The instructions take vectors of 32-bit words, each of two or four elements that follow one another along k, multiply
element by element and add the products to a sum per word.  Written as a product of matrices of words, that is a product
like any other: the same plan, packing and register tile, with k counted in words.

Bytes are multiplied unsigned by signed only.  Where both factors are signed, or both unsigned, the left one's bytes are
moved by 128 as they are packed; the right one's column sums, times 128, are taken off before the sums start.  Integers
wrap, so the result is exact.  As the instruction is defined, bf16 denormals, and sums that small, count as zero; that
is so for tile registers as well, and for XLA's products of bf16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.product import Array, Gemm, Narrow, Operand, Source, VectorLoad, VnniOperands
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm_ir import I16, I32, Builder, Value, integer, vector_type, zero

WORD_BITS = 32
"""Bits of what VNNI's and AVX512-BF16's instructions add up (Intel's instruction set reference)."""
_BITS = {"bfloat": 16, "i8": 8, "i16": 16}
FLIP = integer(0x80808080 - (1 << WORD_BITS), I32)
"""What is added, or as well taken, to make bytes unsigned that are signed, or the other way round."""
_SMALLEST_DEPTH = 2
"""Words of a row from which on packing pays: of a single one there is no sum."""


@dataclass(frozen=True, slots=True)
class Word:
    """A VNNI word: `group` elements of LLVM's `type`, signed or not; `flip` moves every byte of it by 128."""

    type: str
    signed: bool
    group: int
    flip: bool = False

    @property
    def width(self) -> int:
        """The bits that an element has in a word."""
        return WORD_BITS // self.group

    @property
    def form(self) -> str:
        """What names it: words of one name are made of elements in the same way."""
        return f".{self.type}{'' if self.signed else 'u'}x{self.group}{'.flipped' * self.flip}"

    @property
    def as_it_is(self) -> bool:
        """Whether elements have as many bits in memory, so that neighbours there are words."""
        return _BITS[self.type] == self.width

    def field(self, b: Builder, element: Value, lanes: int) -> Value:
        """An element's bits as a number of 32 bits, or a vector of them.

        Args:
            b: where code is emitted.
            element: of the factor's type, or a vector of such.
            lanes: of the vector, 0 for a scalar.
        """

        def of(type_: str) -> str:
            return vector_type(type_, lanes) if lanes else type_

        bits = b.cast("bitcast", element, of(f"i{_BITS[self.type]}"))
        signed = self.signed and not self.as_it_is
        bits = b.cast("sext" if signed else "zext", bits, of(f"i{self.width}"))
        return b.cast("zext", bits, of(I32))

    def joined(self, b: Builder, fields: list[tuple[Value, Value | None]], lanes: int) -> Value:
        """The word whose elements are given, each zero where what is said beside it is false.

        Args:
            b: where code is emitted.
            fields: bits of an element as `field` gives them, and an i1, or None of an element that is always there.
            lanes: of the vectors, 0 for scalars.
        """
        total: Value | None = None
        for position, (field, inside) in enumerate(fields):
            shift = integer(position * self.width, I32)
            shifted = b.binary("shl", field, b.broadcast(shift, lanes) if lanes else shift) if position else field
            if inside is not None:
                shifted = b.select(inside, shifted, zero(shifted.type))
            total = shifted if total is None else b.binary("or", total, shifted)
        if total is None:
            raise AssertionError("a word has elements")
        return self.flipped(b, total, lanes)

    def flipped(self, b: Builder, words: Value, lanes: int) -> Value:
        """Words of elements as they are multiplied.

        Args:
            b: where code is emitted.
            words: words of elements as they lie in memory.
            lanes: how many words.
        """
        if not self.flip:
            return words
        return b.binary("xor", words, b.broadcast(FLIP, lanes) if lanes else FLIP)


class WordPosition(NamedTuple):
    """A word of a factor: its batch, its row or column (whichever is not along k), and its number along k."""

    batch: Value
    line: Value
    step: Value


@dataclass(frozen=True, slots=True)
class WordFactor:
    """A factor of `k` elements along k as a matrix of words; `down` says that k is its first index.

    With `checks`, elements of the last word that lie behind `k` are zero; without, they must not be asked for.
    """

    narrow: Narrow
    group: int
    k: int
    down: bool
    flip: bool = False
    checks: bool = False

    @property
    def _word(self) -> Word:
        return Word(self.narrow.type, self.narrow.signed, self.group, self.flip)

    def word(self, b: Builder, where: WordPosition, count: int) -> Value:
        """The word at a position, of which the first elements are taken.

        Args:
            b: where code is emitted.
            where: which word.
            count: of its elements; the others are zero.
        """
        batch, index, step = where
        fields = []
        for position in range(count):
            k, inside = self._step(b, step, position)
            element = self.narrow.load(b, batch, *((k, index) if self.down else (index, k)))
            fields.append((self._word.field(b, element, 0), inside))
        return self._word.joined(b, fields, 0)

    def across(self, b: Builder, batch: Value, index: Value, step: Value, lanes: int) -> Value:
        """The words at a step and at indices that are neighbours in memory.

        Args:
            b: where code is emitted.
            batch: an i64.
            index: the first of as many rows, or columns, as there are lanes.
            step: the number of the word along k.
            lanes: words that are made.
        """
        fields = []
        for position in range(self.group):
            k, inside = self._step(b, step, position)
            fields.append((self._word.field(b, self._elements(b, batch, index, k, lanes), lanes), inside))
        return self._word.joined(b, fields, lanes)

    def along(self, b: Builder, batch: Value, index: Value, step: Value, lanes: int) -> Value:
        """The words at an index and at steps whose elements are neighbours in memory; never behind k.

        Args:
            b: where code is emitted.
            batch: an i64.
            index: the row, or the column.
            step: the number of the first word along k.
            lanes: words that are made.
        """
        count = lanes * self.group
        elements = self._elements(b, batch, index, b.mul(step, integer(self.group)), count)
        if not self._word.as_it_is:
            elements = b.cast("sext" if self.narrow.signed else "zext", elements, vector_type(I16, count))
        return self._word.flipped(b, b.cast("bitcast", elements, vector_type(I32, lanes)), lanes)

    def _elements(self, b: Builder, batch: Value, index: Value, k: Value, count: int) -> Value:
        array = self.narrow.array
        if array is None:
            raise AssertionError("only plain arrays are read in vectors")
        offset = array.offset(b, *((k, index) if self.down else (index, k)))
        address = b.gep(self.narrow.type, array.base(b, batch), offset)
        return b.load(vector_type(self.narrow.type, count), address, align=_BITS[self.narrow.type] // 8)

    def _step(self, b: Builder, step: Value, position: int) -> tuple[Value, Value | None]:
        """The element's place along k; where it may lie behind the end, another one's and whether it does not."""
        k = b.add(b.mul(step, integer(self.group)), integer(position))
        if not self.checks or position < self.k % self.group or self.k % self.group == 0:
            return k, None
        last = integer(self.k - 1)
        return b.smin(k, last), b.compare("sle", k, last)

    def operand(self, *, row_major: bool) -> Operand:
        """The words as a factor like any other, `row_major` as that of its elements."""
        k_runs = row_major != self.down  # neighbours in memory follow each other along k, so they make words

        def load(b: Builder, batch: Value, row: Value, column: Value) -> Value:
            index, step = (column, row) if self.down else (row, column)
            return self.word(b, WordPosition(batch, index, step), self.group)

        def vector(b: Builder, batch: Value, row: Value, column: Value, lanes: int) -> Value:
            index, step = (column, row) if self.down else (row, column)
            return (self.along if k_runs else self.across)(b, batch, index, step, lanes)

        array = self.narrow.array
        vectors: VectorLoad | None = vector
        # Vectors are loaded of neighbours in memory only, and along k of whole words.
        if array is None or (array.column if row_major else array.row) != 1 or (k_runs and self.k % self.group):
            vectors = None
        plain = self._array() if vectors and k_runs else None
        if vectors is None or plain or array is None or self.k % self.group:
            return Operand(load, row_major, plain, None, None if plain else vectors)

        def made(other: Array) -> Operand:
            return replace(self, narrow=replace(self.narrow, array=other)).operand(row_major=row_major)

        return Operand(
            load,
            row_major,
            None,
            None,
            vectors,
            0,
            Source(array, row_major, made, f"{self._word.form}{'.along' * k_runs}"),
        )

    def _array(self) -> Array | None:
        """The factor's memory as an array of words, where it is one."""
        array = self.narrow.array
        if array is None or self.flip or not self._word.as_it_is or max(array.row, array.column) % self.group:
            return None
        if self.down:
            return Array(array.base, 1, array.column // self.group)
        return Array(array.base, array.row // self.group, 1)


def narrowed(gemm: Gemm, machine: Machine) -> Gemm:
    """The product in words where the machine has instructions for its factors."""
    left, right = gemm.lhs.narrow, gemm.rhs.narrow
    if left is None or right is None:
        return gemm
    words = choose(gemm.type, (left.type, left.signed), (right.type, right.signed), machine)
    if words is None or gemm.k < _SMALLEST_DEPTH * words.group:
        return gemm
    lhs = WordFactor(left, words.group, gemm.k, down=False, flip=words.flip != 0, checks=True)
    rhs = WordFactor(right, words.group, gemm.k, down=True, checks=True)
    return replace(
        gemm,
        k=-(-gemm.k // words.group),
        lhs=lhs.operand(row_major=gemm.lhs.row_major),
        rhs=rhs.operand(row_major=gemm.rhs.row_major),
        words=words,
    )


def choose(total: str, left: tuple[str, bool], right: tuple[str, bool], machine: Machine) -> VnniOperands | None:
    """The words that the machine multiplies and adds up; None where it cannot.

    Args:
        total: LLVM's type in which products are summed.
        left: LLVM's type of the left factor, and whether it is signed.
        right: the same of the right one.
        machine: whose instructions are asked for.
    """
    types = {left[0], right[0]}
    if types == {"bfloat"}:
        return (
            VnniOperands("bf16", 2)
            if total == "float" and machine.vector_bits == 512 and machine.has("avx512bf16")
            else None
        )
    if total != I32 or "bfloat" in types or not machine.is_x86:
        return None
    if types == {"i8"} and machine.has({512: "avx512vnni", 256: "avxvnni"}.get(machine.vector_bits, "none")):
        return VnniOperands("u8s8", 4, not right[1], FLIP.literal or 0 if left[1] == right[1] else 0)
    exact = all(signed or type_ == "i8" for type_, signed in (left, right))
    return VnniOperands("s16", 2) if exact and (machine.vector_bits < 512 or machine.has("avx512bw")) else None


def multiply_add_words(b: Builder, words: VnniOperands, left: Value, right: Value, total: Value) -> Value:
    """`total` plus the products of the elements of vectors of words, as many sums as words.

    Args:
        b: where code is emitted.
        words: the instruction and how elements lie in a word.
        left: a vector of words.
        right: one as long.
        total: a vector of as many sums.
    """
    lanes = int(total.type[1:].split(" ")[0])
    bits = lanes * WORD_BITS
    if words.instruction == "bf16":
        type_ = vector_type("bfloat", 2 * lanes)
        factors = [b.cast("bitcast", factor, type_) for factor in (left, right)]
        return b.intrinsic(f"x86.avx512bf16.dpbf16ps.{bits}", [total, *factors])
    if words.instruction == "u8s8":
        unsigned, signed = (right, left) if words.unsigned_right else (left, right)
        type_ = vector_type("i8", 4 * lanes)
        factors = [b.cast("bitcast", factor, type_) for factor in (unsigned, signed)]
        return b.intrinsic(f"x86.avx512.vpdpbusd.{bits}", [total, *factors])
    name = {512: "avx512.pmaddw.d.512", 256: "avx2.pmadd.wd", 128: "sse2.pmadd.wd"}[bits]
    factors = [b.cast("bitcast", factor, vector_type(I16, 2 * lanes)) for factor in (left, right)]
    return b.binary("add", total, b.intrinsic(f"x86.{name}", factors, result=total.type))
