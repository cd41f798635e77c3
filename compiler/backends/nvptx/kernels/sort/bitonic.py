"""Chunks of lines sorted by a block in registers: a bitonic network over words of a key and a position.

Where a comparator orders by a key of no more than 32 bits, an element is one word: its key above, its position in the
chunk below; of a wider key they are two, compared one after the other.  No two words are equal, so any network that
sorts them is stable, and no element moves until it is known where all go.  A thread has some words that lie behind each
other: what the network exchanges between those are registers, between lanes shuffles, and only between warps shared
memory.

A run is merged with the next one read backwards, so that all exchanges put the lesser word first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP
from compiler.backends.nvptx.kernels.sort.words import POSITION_BITS, narrow_word
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer
from compiler.ir.types import U32, U64, ElementType

_MOST_THREADS = 256
"""Threads of a block: as many as sort a chunk otherwise."""
_LEAST_EACH = 4
"""Words of a thread at least, where a warp is busy."""
_WIDEST_KEY = 32
"""Bits of the widest key that has room beside a position."""

Word = tuple[Value, ...]
"""What is moved of an element: one integer of its key and its position, or both."""


def is_wide(key_bits: int) -> bool:
    """Whether keys of so many bits have no room beside a position."""
    return key_bits > _WIDEST_KEY


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
    def types(self) -> tuple[ElementType, ...]:
        """The types of a word."""
        if is_wide(self.key_bits):
            return U64, U32
        return (U32 if 2 * self.key_bits <= _WIDEST_KEY else U64,)

    def word(self, builder: Builder, key: Value, position: Value, exists: Value) -> Word:
        """The word of an element; behind all others where there is none.

        Args:
            builder: where code is emitted.
            key: what the order is decided by, an unsigned integer.
            position: of the element in its line.
            exists: whether there is one, an i1.
        """
        if self.types == (U32,):
            return (narrow_word(builder, key, position, exists),)
        high = builder.select(exists, key, integer(-1, key.type))
        low = builder.cast("trunc", position, I32)
        return (high, low) if is_wide(self.key_bits) else (grid.joined(builder, low, high),)

    def position(self, builder: Builder, number: Value) -> Value:
        """The position of the element that comes to a position, once all are sorted."""
        thread, word = builder.udivrem(number, integer(self.each))
        found = self._get(builder, word, thread)[-1]
        if is_wide(self.key_bits):
            return builder.cast("zext", found, I64)
        mask = (1 << (POSITION_BITS if found.type == I32 else 32)) - 1
        wide = builder.cast("zext", found, I64) if found.type == I32 else found
        return builder.binary("and", wide, integer(mask))

    def sort(self, builder: Builder, words: Sequence[Word], kept: int) -> Bitonic:
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

    def finish(self, builder: Builder, words: Sequence[Word], run: int) -> Bitonic:
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

    def _merged(self, builder: Builder, words: Sequence[Word], size: int) -> list[Word]:
        """Runs of so many words, of two that are in order."""
        return self._cleaned(builder, self._exchange(builder, words, size - 1, size // 2), size // 4)

    def _cleaned(self, builder: Builder, words: Sequence[Word], distance: int) -> list[Word]:
        """Runs twice as long as a distance put in order, whose words rise and fall once."""
        found = list(words)
        while distance:
            found = self._exchange(builder, found, distance, distance)
            distance //= 2
        return found

    def _halved(self, builder: Builder, words: Sequence[Word], run: int) -> Bitonic:
        """Leave every other run in shared memory, for all threads; the network that goes on with them."""
        less = replace(self, size=self.padded // 2, block=self.threads)
        width = run // self.each
        group, within = builder.udivrem(grid.thread(builder), integer(2 * width))
        first = builder.mul(builder.add(builder.mul(group, integer(width)), within), integer(2))
        with builder.when(builder.compare("slt", within, integer(width)), "lesser"):
            for number, word in enumerate(words):
                owner, which = divmod(number, less.each)
                less.store(builder, word, integer(which), builder.add(first, integer(owner)))
        grid.barrier(builder)
        return less

    def _exchange(self, builder: Builder, words: Sequence[Word], mask: int, bit: int) -> list[Word]:
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
            is_less = _is_less(builder, word, other)
            kept.append(_pick(builder, builder.compare("eq", is_less, takes_less), word, other))
        return kept

    @staticmethod
    def _in_thread(builder: Builder, words: Sequence[Word], mask: int) -> list[Word]:
        result = list(words)
        for number, word in enumerate(words):
            other = number ^ mask
            if number < other:
                is_less = _is_less(builder, word, words[other])
                result[number] = _pick(builder, is_less, word, words[other])
                result[other] = _pick(builder, is_less, words[other], word)
        return result

    def _others(self, builder: Builder, words: Sequence[Word], mask: int) -> list[Word]:
        """The words of the thread whose number differs by a mask."""
        if mask < WARP:
            return [tuple(grid.shuffle_across(builder, value, mask) for value in word) for word in words]
        grid.barrier(builder)
        self._put(builder, words)
        grid.barrier(builder)
        other = builder.binary("xor", grid.thread(builder), integer(mask))
        return [self._get(builder, integer(number), other) for number in range(self.each)]

    def _get(self, builder: Builder, word: Value, thread: Value) -> Word:
        return tuple(
            builder.load(f"i{type_.bits}", address, align=type_.size_bytes)
            for type_, address in zip(self.types, self._addresses(builder, word, thread), strict=True)
        )

    def _put(self, builder: Builder, words: Sequence[Word]) -> None:
        for number, word in enumerate(words):
            self.store(builder, word, integer(number), grid.thread(builder))

    def store(self, builder: Builder, word: Word, number: Value, thread: Value) -> None:
        """Store a word of a thread in shared memory.

        Args:
            builder: where code is emitted.
            word: the word.
            number: its number in the thread.
            thread: the number of the thread.
        """
        for type_, value, address in zip(self.types, word, self._addresses(builder, number, thread), strict=True):
            builder.store(value, address, align=type_.size_bytes)

    def _addresses(self, builder: Builder, word: Value, thread: Value) -> list[Value]:
        """Where a word of a thread lies: those of one number side by side, so that no banks conflict."""
        at = builder.add(builder.mul(word, integer(self.threads)), thread)
        found: list[Value] = []
        for type_ in self.types:
            name = f"words.{self.padded}.{self.name}{'.positions' if len(found) else ''}"
            array = grid.shared_array(builder, name, type_, self.padded)
            found.append(builder.gep(f"i{type_.bits}", array, at))
        return found


def _is_less(builder: Builder, one: Word, other: Word) -> Value:
    """Whether a word goes before another one."""
    is_less = builder.compare("ult", one[-1], other[-1])
    for mine, theirs in zip(one[-2::-1], other[-2::-1], strict=True):
        is_equal = builder.compare("eq", mine, theirs)
        is_less = builder.select(is_equal, is_less, builder.compare("ult", mine, theirs))
    return is_less


def _pick(builder: Builder, condition: Value, one: Word, other: Word) -> Word:
    return tuple(builder.select(condition, *pair) for pair in zip(one, other, strict=True))
