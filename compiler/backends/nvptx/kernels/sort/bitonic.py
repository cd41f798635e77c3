"""Chunks of lines sorted by a block in registers: a bitonic network over words of a key and a position.

Where a comparator orders by a key of no more than 32 bits, an element is one word: its key above, its position in the
chunk below.  No two words are equal, so any network that sorts them is stable, and no element moves until it is known
where all go.  A thread has some words that lie behind each other: what the network exchanges between those are
registers, between lanes shuffles, and only between warps shared memory.

A run is merged with the next one read backwards, so that all exchanges put the lesser word first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP
from compiler.backends.nvptx.kernels.sort.words import POSITION_BITS, narrow_word
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
    """How a block sorts a chunk of elements.

    Attributes:
        name: what its shared memory is called.
        size: elements of the chunk, at most.
        key_bits: of an element's key.
        block: threads of the block; 0 where nothing else says how many.
    """

    name: str
    size: int
    key_bits: int
    block: int = 0

    @property
    def padded(self) -> int:
        """The power of two of words that the network sorts."""
        return max(WARP, 1 << (self.size - 1).bit_length())

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.block or min(_MOST_THREADS, max(WARP, self.padded // _LEAST_EACH))

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
        """The word of an element; behind all others where there is none.

        Args:
            builder: where code is emitted.
            key: what the order is decided by, an unsigned integer.
            position: of the element in its line.
            exists: whether there is one, an i1.
        """
        if self.type == I64:
            high = builder.select(exists, key, integer(-1, I32))
            return grid.joined(builder, builder.cast("trunc", position, I32), high)
        return narrow_word(builder, key, position, exists)

    def position(self, builder: Builder, number: Value) -> Value:
        """The position of the element that comes to a position, once all are sorted."""
        thread, word = builder.udivrem(number, integer(self.each))
        found = self._get(builder, word, thread)
        mask = (1 << (POSITION_BITS if self.type == I32 else 32)) - 1
        wide = builder.cast("zext", found, I64) if self.type == I32 else found
        return builder.binary("and", wide, integer(mask))

    def sort(self, builder: Builder, words: Sequence[Value], kept: int) -> Bitonic:
        """Sort the words of all threads, those of a thread behind each other.

        Args:
            builder: where code is emitted.
            words: of each thread.
            kept: how many of them, the first ones, are asked for: the greater half of two runs that long is dropped.

        Returns:
            The network whose `position` finds them.
        """
        run, words, size = max(self.each, 1 << (kept - 1).bit_length()), list(words), 2
        while size <= min(run, self.padded):
            words = self._merged(builder, words, size)
            size *= 2
        return self.finish(builder, words, run)

    def finish(self, builder: Builder, words: Sequence[Value], run: int) -> Bitonic:
        """Sort words of which runs of so many are in order, as many as are asked for; the network that finds them.

        Args:
            builder: where code is emitted.
            words: of the thread.
            run: words that are in order already, a power of two.
        """
        if self.each > 1 and run < self.padded:
            words = self._exchange(builder, words, 2 * run - 1, run)
            return self._halved(builder, words, run).resume(builder, run)
        found, size = list(words), 2 * run
        while size <= self.padded:
            found = self._merged(builder, found, size)
            size *= 2
        grid.barrier(builder)
        self._put(builder, found)
        grid.barrier(builder)
        return self

    def resume(self, builder: Builder, run: int) -> Bitonic:
        """Finish a sort from words in shared memory, of which runs of so many rise and fall once."""
        mine = grid.thread(builder)
        words = [self._get(builder, integer(number), mine) for number in range(self.each)]
        return self.finish(builder, self._cleaned(builder, words, run // 2), run)

    def _merged(self, builder: Builder, words: Sequence[Value], size: int) -> list[Value]:
        """Runs of so many words, of two that are in order."""
        return self._cleaned(builder, self._exchange(builder, words, size - 1, size // 2), size // 4)

    def _cleaned(self, builder: Builder, words: Sequence[Value], distance: int) -> list[Value]:
        """Runs twice as long as a distance put in order, whose words rise and fall once."""
        found = list(words)
        while distance:
            found = self._exchange(builder, found, distance, distance)
            distance //= 2
        return found

    def _halved(self, builder: Builder, words: Sequence[Value], run: int) -> Bitonic:
        """Leave every other run in shared memory, for all threads; the network that goes on with them."""
        less = replace(self, size=self.padded // 2, block=self.threads)
        width = run // self.each
        group, within = builder.udivrem(grid.thread(builder), integer(2 * width))
        first = builder.mul(builder.add(builder.mul(group, integer(width)), within), integer(2))
        with builder.when(builder.compare("slt", within, integer(width)), "lesser"):
            for number, word in enumerate(words):
                owner, which = divmod(number, less.each)
                address = less.address(builder, integer(which), builder.add(first, integer(owner)))
                builder.store(word, address, align=self._bytes)
        grid.barrier(builder)
        return less

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
        return [self._get(builder, integer(number), other) for number in range(self.each)]

    def _get(self, builder: Builder, word: Value, thread: Value) -> Value:
        return builder.load(self.type, self.address(builder, word, thread), align=self._bytes)

    def _put(self, builder: Builder, words: Sequence[Value]) -> None:
        for number, word in enumerate(words):
            address = self.address(builder, integer(number), grid.thread(builder))
            builder.store(word, address, align=self._bytes)

    def address(self, builder: Builder, word: Value, thread: Value) -> Value:
        """Where a word of a thread lies: those of one number side by side, so that no banks conflict.

        Args:
            builder: where code is emitted.
            word: its number in the thread.
            thread: the number of the thread.
        """
        type_ = U64 if self.type == I64 else U32
        array = grid.shared_array(builder, f"words.{self.padded}.{self.name}", type_, self.padded)
        return builder.gep(self.type, array, builder.add(builder.mul(word, integer(self.threads)), thread))
