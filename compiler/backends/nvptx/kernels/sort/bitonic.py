"""Chunks of lines sorted by a block in registers: a bitonic network over words of a key and a position.

Where a comparator orders by a key of no more than 32 bits, an element is one word: its key above, its position in the
chunk below.  No two words are equal, so any network that sorts them is stable, and none of the elements moves until
all places are known.  A thread has some words that lie behind each other: what the network exchanges between those are
registers, between lanes shuffles, and only between warps shared memory.

A run is merged with the next one read backwards, so that all exchanges put the lesser word first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer
from compiler.ir.types import U32, U64

_MOST_THREADS = 256
"""Threads of a block: as many as sort a chunk otherwise."""
_LEAST_EACH = 4
"""Words of a thread at least, where a warp is busy."""
_WIDEST_KEY = 32
"""Bits of the widest key that has room beside a position."""


def fits(key_bits: int) -> bool:
    """Whether keys of so many bits are sorted so."""
    return key_bits <= _WIDEST_KEY


@dataclass(frozen=True, slots=True)
class Bitonic:
    """How a block sorts a chunk of up to `size` elements by keys of `key_bits` bits; `name` is of its shared memory."""

    name: str
    size: int
    key_bits: int

    @property
    def padded(self) -> int:
        """The power of two of words that the network sorts."""
        return max(WARP, 1 << (self.size - 1).bit_length())

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return min(_MOST_THREADS, max(WARP, self.padded // _LEAST_EACH))

    @property
    def each(self) -> int:
        """Words of a thread."""
        return self.padded // self.threads

    @property
    def type(self) -> str:
        """The type of a word."""
        return I32 if 2 * self.key_bits <= _WIDEST_KEY else I64

    @property
    def _bytes(self) -> int:
        return 8 if self.type == I64 else 4

    def word(self, builder: Builder, key: Value, position: Value, exists: Value) -> Value:
        """The word of an element; behind all others where there is none."""
        bits = 16 if self.type == I32 else 32
        wide = key if key.type == self.type else builder.cast("zext", key, self.type)
        high = builder.binary("shl", builder.select(exists, wide, integer(-1, self.type)), integer(bits, self.type))
        low = builder.cast("trunc", position, self.type) if self.type == I32 else position
        return builder.binary("or", high, low)

    def position(self, builder: Builder, number: Value) -> Value:
        """The position of the element that comes to a place, once all are sorted."""
        thread, word = builder.udivrem(number, integer(self.each))
        found = builder.load(self.type, self._address(builder, word, thread), align=self._bytes)
        mask = (1 << (16 if self.type == I32 else 32)) - 1
        wide = builder.cast("zext", found, I64) if self.type == I32 else found
        return builder.binary("and", wide, integer(mask))

    def sort(self, builder: Builder, words: Sequence[Value]) -> None:
        """Sort the words of all threads, those of a thread behind each other, to where `position` finds them."""
        words, size = list(words), 2
        while size <= self.padded:
            words = self._exchange(builder, words, size - 1, size // 2)
            distance = size // 4
            while distance:
                words = self._exchange(builder, words, distance, distance)
                distance //= 2
            size *= 2
        grid.barrier(builder)
        self._put(builder, words)
        grid.barrier(builder)

    def _exchange(self, builder: Builder, words: Sequence[Value], mask: int, bit: int) -> list[Value]:
        """Words put in order with those whose number differs by a mask; where `bit` is not set the lesser stays."""
        within, across = mask % self.each, mask // self.each
        if not across:
            return self._in_thread(builder, words, within)
        others = self._others(builder, words, across)
        if within:
            others = others[::-1]
        mine = builder.binary("and", grid.thread(builder), integer(bit // self.each))
        takes_less = builder.compare("eq", mine, integer(0))
        kept = []
        for word, other in zip(words, others, strict=True):
            is_less = builder.compare("ult", word, other)
            kept.append(builder.select(builder.compare("eq", is_less, takes_less), word, other))
        return kept

    @staticmethod
    def _in_thread(builder: Builder, words: Sequence[Value], mask: int) -> list[Value]:
        result = list(words)
        for number, word in enumerate(words):
            other = number ^ mask
            if number < other:
                is_less = builder.compare("ult", word, words[other])
                result[number] = builder.select(is_less, word, words[other])
                result[other] = builder.select(is_less, words[other], word)
        return result

    def _others(self, builder: Builder, words: Sequence[Value], mask: int) -> list[Value]:
        """The words of the thread whose number differs by a mask."""
        if mask < WARP:
            return [grid.shuffle_across(builder, word, mask) for word in words]
        grid.barrier(builder)
        self._put(builder, words)
        grid.barrier(builder)
        other = builder.binary("xor", grid.thread(builder), integer(mask))
        return [
            builder.load(self.type, self._address(builder, integer(number), other), align=self._bytes)
            for number in range(self.each)
        ]

    def _put(self, builder: Builder, words: Sequence[Value]) -> None:
        for number, word in enumerate(words):
            address = self._address(builder, integer(number), grid.thread(builder))
            builder.store(word, address, align=self._bytes)

    def _address(self, builder: Builder, word: Value, thread: Value) -> Value:
        """Where a word of a thread lies: those of one number side by side, so that no banks conflict."""
        type_ = U64 if self.type == I64 else U32
        array = grid.shared_array(builder, f"words.{self.name}", type_, self.padded)
        return builder.gep(self.type, array, builder.add(builder.mul(word, integer(self.threads)), thread))
