"""Lines sorted by a block digit by digit: words of a narrow key and a position, as in `bitonic`, and no comparisons.

A thread has some words that lie behind each other.  For each digit of four bits, from the lowest on, threads count
theirs in a column of their own in shared memory; sums over all columns, digit by digit, say where a thread's first word
with a digit goes, and what the counter held before says how many of its own come before; then words go there.  Equal
digits stay in order, so all that is sorted by lower digits stays sorted, and the sort is stable.

A column is one thread's alone: its additions are atomic because that is one instruction, and not since anybody meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP
from compiler.backends.nvptx.kernels.sort.words import POSITION_BITS, narrow_word
from compiler.codegen.llvm_ir import I8, I32, I64, Builder, Value, integer, vector_type
from compiler.ir.types import U32

THREADS = 128
"""Threads of a block: a warp adds up a row of their counters, four by each lane."""
_WARPS = THREADS // WARP
_DIGIT = 4
"""Bits of a digit: of more, rows are as many as words, and adding up takes longer than counting."""
_ROWS = 1 << _DIGIT
"""Counters of a thread: one for each digit."""
_BYTES = 4
"""Of a word, and what a counter counts: offsets need not be scaled."""
_PAD = 4
"""Words behind those of each thread, so that words of 16 bytes of eight lanes lie in different banks."""
_WIDEST_KEY = 16
"""Bits of the widest key that has room beside a position."""
_SHORTEST, _LONGEST = 512, 4096
"""Elements up to which a network takes less (by the model), and for which a thread has registers."""


def fits(length: int, key_bits: int) -> bool:
    """Whether lines of a length are sorted so, by keys of so many bits.

    Args:
        length: of a line.
        key_bits: of a key; 0 where there is none.
    """
    return 0 < key_bits <= _WIDEST_KEY and _SHORTEST < length <= _LONGEST


@dataclass(frozen=True, slots=True)
class Radix:
    """How a block sorts a line.

    Attributes:
        name: what its shared memory is called.
        size: elements of the line, of those that fit.
        key_bits: of an element's key.
    """

    name: str
    size: int
    key_bits: int

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return THREADS

    @property
    def each(self) -> int:
        """Words of a thread, a power of two."""
        return 1 << (-(-self.size // THREADS) - 1).bit_length()

    def word(self, builder: Builder, key: Value, position: Value, exists: Value) -> tuple[Value]:
        """The word of an element; behind all others where there is none.

        Args:
            builder: where code is emitted.
            key: what the order is decided by, an unsigned integer.
            position: of the element in its line.
            exists: whether there is one, an i1.
        """
        return (narrow_word(builder, key, position, exists),)

    def sort(self, builder: Builder, words: Sequence[tuple[Value, ...]], kept: int) -> Radix:
        """Sort the words of all threads, those of a thread behind each other.

        Args:
            builder: where code is emitted.
            words: of each thread.
            kept: how many of them are asked for; all are put in order.

        Returns:
            What finds them, by `position`.
        """
        assert kept <= self.size
        for low in range(0, self.key_bits, _DIGIT):
            self._by_digit(builder, self._words(builder) if low else [word for (word,) in words], POSITION_BITS + low)
        return self

    def position(self, builder: Builder, number: Value) -> Value:
        """The position of the element that comes to a position, once all are sorted."""
        word = self._word(builder, number)
        return builder.cast("zext", builder.binary("and", word, integer((1 << POSITION_BITS) - 1, I32)), I64)

    def key(self, builder: Builder, number: Value) -> Value:
        """The key of the element that comes to a position, of 32 bits."""
        return builder.binary("lshr", self._word(builder, number), integer(POSITION_BITS, I32))

    def _word(self, builder: Builder, number: Value) -> Value:
        """The word that comes to a position."""
        narrow = builder.cast("trunc", number, I32)
        offset = builder.binary("shl", narrow, integer(2, I32))
        return builder.load(I32, builder.gep(I8, self._sorted(builder), self._padded(builder, offset)), align=_BYTES)

    def _by_digit(self, builder: Builder, words: Sequence[Value], low: int) -> None:
        """Put words in order by the digit from bit `low` on."""
        counters = grid.shared_array(builder, f"{self.name}.counters", U32, _ROWS * THREADS)
        thread = builder.cast("trunc", grid.thread(builder), I32)
        column = builder.gep(I32, counters, thread)
        for number in range(_ROWS):
            builder.store(integer(0, I32), builder.gep(I32, column, integer(number * THREADS, I32)), align=_BYTES)
        shift = (THREADS * _BYTES).bit_length() - 1
        rows, before = [], []
        for word in words:
            digit = builder.binary("lshr", word, integer(low - shift, I32))
            row = builder.gep(I8, column, builder.binary("and", digit, integer((_ROWS - 1) << shift, I32)))
            rows.append(row)
            before.append(builder.emit(I32, f"atomicrmw add {row}, i32 {_BYTES} monotonic"))
        grid.barrier(builder)
        self._add_up(builder, counters, thread)
        grid.barrier(builder)
        target = self._sorted(builder)
        for word, counter, count in zip(words, rows, before, strict=True):
            offset = builder.add(builder.load(I32, counter, align=_BYTES), count)
            builder.store(word, builder.gep(I8, target, self._padded(builder, offset)), align=_BYTES)
        grid.barrier(builder)

    def _add_up(self, builder: Builder, counters: Value, thread: Value) -> None:
        """Replace each counter by the sum of those before it: of lower digits, and of its own in earlier columns."""
        of_lane = THREADS // WARP
        type_, align = vector_type(I32, of_lane), of_lane * _BYTES
        lane = builder.binary("and", thread, integer(WARP - 1, I32))
        warp = builder.binary("lshr", thread, integer(WARP.bit_length() - 1, I32))
        rows = _ROWS // _WARPS
        first = builder.add(builder.mul(warp, integer(rows * THREADS, I32)), builder.mul(lane, integer(of_lane, I32)))
        addresses, sums, base = [], [], integer(0, I32)
        for row in range(rows):
            address = builder.gep(I32, counters, builder.add(first, integer(row * THREADS, I32)))
            found = builder.load(type_, address, align=align)
            counts = [builder.extract(found, number) for number in range(of_lane)]
            total = counts[0]
            for count in counts[1:]:
                total = builder.add(total, count)
            through = _over_lanes(builder, total, lane)
            starts = [builder.add(base, builder.sub(through, total))]
            for count in counts[:-1]:
                starts.append(builder.add(starts[-1], count))
            base = builder.add(base, grid.from_lane(builder, through, WARP - 1))
            addresses.append(address)
            sums.append(starts)
        of_warps = _before_warp(builder, self.name, base, warp)
        for address, starts in zip(addresses, sums, strict=True):
            joined = Value(type_, "poison")
            for number, start in enumerate(starts):
                joined = builder.insert(joined, builder.add(start, of_warps), number)
            builder.store(joined, address, align=align)

    def _words(self, builder: Builder) -> list[Value]:
        """The words of a thread, as they lie now."""
        at_once = _PAD
        type_, align = vector_type(I32, at_once), at_once * _BYTES
        own = builder.mul(grid.thread(builder), integer(self.each + _PAD))
        start = builder.gep(I32, self._sorted(builder), own)
        found = [
            builder.load(type_, builder.gep(I32, start, integer(number)), align=align)
            for number in range(0, self.each, at_once)
        ]
        return [builder.extract(vector, number) for vector in found for number in range(at_once)]

    def _sorted(self, builder: Builder) -> Value:
        return grid.shared_array(builder, f"{self.name}.sorted", U32, THREADS * (self.each + _PAD))

    def _padded(self, builder: Builder, offset: Value) -> Value:
        """Where the word lies whose offset would be that one in bytes, without pads."""
        shift = (self.each // _PAD).bit_length() - 1
        thread = builder.binary(
            "and", builder.binary("lshr", offset, integer(shift, I32)), integer(-_PAD * _BYTES, I32)
        )
        return builder.add(offset, thread)


def before_thread(builder: Builder, name: str, value: Value) -> Value:
    """The sum of the values of all threads of the block before, as many as `THREADS`.

    Args:
        builder: where code is emitted.
        name: what shared memory is called.
        value: of the thread, an i32.
    """
    thread = builder.cast("trunc", grid.thread(builder), I32)
    lane = builder.binary("and", thread, integer(WARP - 1, I32))
    warp = builder.binary("lshr", thread, integer(WARP.bit_length() - 1, I32))
    through = _over_lanes(builder, value, lane)
    before = _before_warp(builder, name, grid.from_lane(builder, through, WARP - 1), warp)
    return builder.add(before, builder.sub(through, value))


def _over_lanes(builder: Builder, value: Value, lane: Value) -> Value:
    """The sum of a lane's value and those of all lanes before."""
    distance = 1
    while distance < WARP:
        other = grid.shuffle_up(builder, value, distance)
        has_other = builder.compare("uge", lane, integer(distance, I32))
        value = builder.add(value, builder.select(has_other, other, integer(0, I32)))
        distance *= 2
    return value


def _before_warp(builder: Builder, name: str, total: Value, warp: Value) -> Value:
    """The sum of the totals of the warps before."""
    totals = grid.shared_array(builder, f"{name}.totals", U32, _WARPS)
    builder.store(total, builder.gep(I32, totals, warp), align=_BYTES)
    grid.barrier(builder)
    found = builder.load(vector_type(I32, _WARPS), totals, align=_WARPS * _BYTES)
    result = integer(0, I32)
    for number in range(_WARPS - 1):
        is_before = builder.compare("ugt", warp, integer(number, I32))
        result = builder.add(result, builder.select(is_before, builder.extract(found, number), integer(0, I32)))
    return result
