"""Long lines sorted digit by digit by many blocks, from the lowest of eight bits on; three launches for each digit.

Blocks count the digits of their chunks of a line; a block for each digit adds up, over chunks, how many elements with
it come before; then blocks put their chunks in order by the digit (`radix`), and every element goes where the elements
with lower digits, those with its own in chunks before, and those in its own chunk end.  Equal digits stay in order, so
all that is sorted by lower digits stays sorted, and the sort is stable.  What an element's number among all is hangs on
no order in which blocks run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.sort import radix
from compiler.backends.nvptx.kernels.sort.radix import Radix
from compiler.backends.nvptx.kernels.sort.sorter import Sorter
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, integer
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import whole_lines
from compiler.ir.types import U32

_BITS = 8
"""Bits of a digit: with fewer there are more launches, with more a chunk has few elements of each to write together."""
_DIGITS = 1 << _BITS
"""Values of a digit, and threads of a block that counts them."""
_SHORTEST, _LONGEST = 512, 4096
"""Elements of a chunk: for which all threads have some, and for which a thread has registers."""
_BUSY_BLOCKS = 132
"""Blocks that keep a GPU busy."""
_LEAST = (1 << 11, 1 << 17, 3 << 16, 1 << 18, 1 << 20)
"""Elements from which on launches for one digit, two and so on take less than merges (by the model); the last for more
digits, too."""
_AHEAD = 8
"""Elements that a thread has on their way together: memory answers after hundreds of cycles."""


class _Own(NamedTuple):
    """A block's chunk: its line's number and first element, its own first one, length (of 32 bits) and number."""

    line: Value
    start: Value
    first: Value
    length: Value
    number: Value


class DigitSorter(Sorter):
    """Emits the functions of a sort by digits."""

    @property
    def digits(self) -> int:
        """Digits of a key."""
        return -(-self._key_bits // _BITS)

    @property
    def pays(self) -> bool:
        """Whether there are enough elements for so many digits."""
        return self.count > _LEAST[min(self.digits, len(_LEAST)) - 1]

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return int(self.count // self.length)

    @property
    def size(self) -> int:
        """Elements of a chunk."""
        wanted = self.count // _BUSY_BLOCKS
        return max(_SHORTEST, min(_LONGEST, 1 << (wanted - 1).bit_length() if wanted else 0))

    @property
    def chunks(self) -> int:
        """Chunks of a line."""
        return int(-(-self.length // self.size))

    @property
    def copies(self) -> int:
        """Copies of all lines in the workspace: digits go from one to the other."""
        return min(2, self.digits - 1)

    @property
    def counter_bytes(self) -> int:
        """Bytes of the counters of each chunk, and of each line."""
        return whole_lines(U32.size_bytes * _DIGITS * self.lines * (self.chunks + 1))

    def by_digits(self) -> list[Launch]:
        """Three launches for each digit."""
        forms: dict[str, Launch] = {}
        launches = []
        for digit in range(self.digits):
            is_first, is_last = digit == 0, digit == self.digits - 1
            source, target = "_first" if is_first else "", "_last" if is_last else ""
            for name, emit in (
                (f"_count{source}", lambda name: self._count(name, is_first=is_first)),  # noqa: B023 - called here
                ("_add_up", self._add_up),
                (f"_move{source}{target}", lambda name: self._move(name, is_first=is_first, is_last=is_last)),  # noqa: B023
            ):
                form = forms[name] = forms.get(name) or emit(name)
                numbers = () if name == "_add_up" else (digit * _BITS, digit % 2)
                launches.append(Launch(form.function, form.blocks, form.threads, numbers))
        return launches

    def _begin(self, name: str, threads: int) -> Builder:
        """A function that is told by how much keys are shifted and the parity of the digit."""
        return grid.begin(self.module, self.kernel, threads, name, numbers=("shift", "parity"), talks=True)

    def _own(self, builder: Builder) -> _Own:
        line, number = builder.udivrem(grid.block(builder), integer(self.chunks))
        first = builder.mul(number, integer(self.size))
        length = builder.smin(builder.sub(integer(self.length), first), integer(self.size))
        start = builder.mul(line, integer(self.length))
        return _Own(line, start, builder.add(start, first), builder.cast("trunc", length, I32), number)

    def _read(self, builder: Builder, own: _Own, number: Value, *, is_first: bool) -> list[Value]:
        """An element of a chunk, by a number of 32 bits, as the digits before have left it."""
        at = builder.add(own.first, builder.cast("zext", number, I64))
        if is_first:
            return self._operands(builder, at)
        half = builder.sub(integer(1), Value(I64, "%parity")) if self.copies == 2 else integer(0)
        return self._elements(builder, self._arrays(builder, half), at)

    def _digit(self, builder: Builder, values: list[Value]) -> Value:
        """An element's digit, of 32 bits."""
        assert self.key is not None
        key = self.key.value(builder, values)
        if int(key.type[1:]) < int(I32[1:]):
            key = builder.cast("zext", key, I32)
        is_wide = key.type == I64
        shift = Value(I64, "%shift") if is_wide else builder.cast("trunc", Value(I64, "%shift"), I32)
        shifted = builder.binary("lshr", key, shift)
        low = builder.cast("trunc", shifted, I32) if is_wide else shifted
        return builder.binary("and", low, integer(_DIGITS - 1, I32))

    def _counters(self, builder: Builder, line: Value, digit: Value) -> Value:
        """The address of the counters of all chunks of a line for a digit."""
        row = builder.add(builder.mul(line, integer(_DIGITS)), digit)
        start = builder.gep("i8", arguments(self.kernel).workspace, integer(self.copies * sum(self.sizes)))
        return builder.gep(I32, start, builder.mul(row, integer(self.chunks)))

    def _totals(self, builder: Builder, line: Value, digit: Value) -> Value:
        """The address of the number of elements of a line with a digit."""
        counters = self._counters(builder, integer(self.lines), integer(0))
        return builder.gep(I32, counters, builder.add(builder.mul(line, integer(_DIGITS)), digit))

    def _count(self, name: str, *, is_first: bool) -> Launch:
        """Each block counts the digits of its chunk."""
        builder = self._begin(name, _DIGITS)
        own, thread = self._own(builder), grid.thread(builder)
        shared = grid.shared_array(builder, f"{self.kernel.name}{name}.counters", U32, _DIGITS)
        mine = builder.gep(I32, shared, thread)
        builder.store(integer(0, I32), mine, align=4)
        grid.barrier(builder)
        for numbers in _batches(builder, self.size, _DIGITS):
            found = [(self._digit(builder, self._clamped(builder, own, n, is_first=is_first)), n) for n in numbers]
            for digit, number in found:
                counts = builder.cast("zext", builder.compare("slt", number, own.length), I32)
                builder.emit(I32, f"atomicrmw add {builder.gep(I32, shared, digit)}, {counts} monotonic")
        grid.barrier(builder)
        target = builder.gep(I32, self._counters(builder, own.line, thread), own.number)
        builder.store(builder.load(I32, mine, align=4), target, align=4)
        builder.ret()
        return Launch(builder.function.name, self.lines * self.chunks, _DIGITS)

    def _clamped(self, builder: Builder, own: _Own, number: Value, *, is_first: bool) -> list[Value]:
        """An element of a chunk, or the last one."""
        last = builder.sub(own.length, integer(1, I32))
        return self._read(builder, own, builder.smin(number, last), is_first=is_first)

    def _add_up(self, name: str) -> Launch:
        """A block for each digit of a line replaces the counters of chunks by the sums of those before."""
        builder = grid.begin(self.module, self.kernel, radix.THREADS, name, talks=True)
        line, digit = builder.udivrem(grid.block(builder), integer(_DIGITS))
        counters, thread = self._counters(builder, line, digit), grid.thread(builder)
        each = -(-self.chunks // radix.THREADS)
        first = builder.mul(thread, integer(each))

        def each_one(start: Value, use: Callable[[Value, Value, Value], None]) -> Value:
            """Goes over the thread's counters."""
            with builder.loop(integer(0), integer(each), carried=[start], name="chunk", nonempty=True) as loop:
                number = builder.add(first, loop.index)
                exists = builder.compare("slt", number, integer(self.chunks))
                address = builder.gep(I32, counters, number)
                count = builder.choose(exists, partial(builder.load, I32, address, align=4), lambda: integer(0, I32))
                use(exists, address, loop.carried[0])
                loop.carry(builder.add(loop.carried[0], count))
            return loop.results[0]

        def keep(exists: Value, address: Value, total: Value) -> None:
            with builder.when(exists, "exists"):
                builder.store(total, address, align=4)

        own = each_one(integer(0, I32), lambda *_: None)
        before = radix.before_thread(builder, f"{self.kernel.name}{name}.chunks", own)
        end = each_one(before, keep)
        with builder.when(builder.compare("eq", thread, integer(radix.THREADS - 1)), "last"):
            builder.store(end, self._totals(builder, line, digit), align=4)
        builder.ret()
        return Launch(builder.function.name, self.lines * _DIGITS, radix.THREADS)

    def _move(self, name: str, *, is_first: bool, is_last: bool) -> Launch:
        """Each block puts its chunk in order by the digit, and its elements where they belong."""
        builder = self._begin(name, radix.THREADS)
        own = self._own(builder)
        network = Radix(f"{self.kernel.name}{name}.chunk", self.size, _BITS)
        begin, words = builder.mul(_thread(builder), integer(network.each, I32)), []
        for word in range(network.each):
            number = builder.add(begin, integer(word, I32))
            digit = self._digit(builder, self._clamped(builder, own, number, is_first=is_first))
            words.append(network.word(builder, digit, number, builder.compare("slt", number, own.length)))
        network.sort(builder, words, self.size)
        offsets = self._offsets(builder, own, network, name)
        for numbers in _batches(builder, self.size, radix.THREADS):
            found = []
            for number in numbers:
                at = builder.smin(number, builder.sub(own.length, integer(1, I32)))
                offset = builder.load(I32, builder.gep(I32, offsets, network.key(builder, at)), align=4)
                position = builder.cast("trunc", network.position(builder, at), I32)
                values = self._read(builder, own, position, is_first=is_first)
                goes_to = builder.cast("zext", builder.add(offset, number), I64)
                found.append((builder.compare("slt", number, own.length), goes_to, values))
            for exists, goes_to, values in found:
                with builder.when(exists, "exists"):
                    self._deliver(builder, own, goes_to, values, is_last=is_last)
        builder.ret()
        return Launch(builder.function.name, self.lines * self.chunks, radix.THREADS)

    def _deliver(self, builder: Builder, own: _Own, goes_to: Value, values: list[Value], *, is_last: bool) -> None:
        target = builder.add(own.start, goes_to)
        if not is_last:
            half = Value(I64, "%parity") if self.copies == 2 else integer(0)
            self._put(builder, self._arrays(builder, half), target, values)
            return
        with builder.when(builder.compare("slt", goes_to, integer(self.results.stored)), "stored"):
            self._store(builder, target, values)

    def _offsets(self, builder: Builder, own: _Own, network: Radix, name: str) -> Value:
        """By how much elements of each digit go further than they lie in the sorted chunk."""
        offsets = grid.shared_array(builder, f"{self.kernel.name}{name}.offsets", U32, _DIGITS)
        each = _DIGITS // radix.THREADS
        first = builder.mul(grid.thread(builder), integer(each))
        digits = [builder.add(first, integer(number)) for number in range(each)]
        totals = [builder.load(I32, self._totals(builder, own.line, digit), align=4) for digit in digits]
        chunks = [builder.gep(I32, self._counters(builder, own.line, digit), own.number) for digit in digits]
        counts = [builder.load(I32, address, align=4) for address in chunks]
        sum_ = totals[0]
        for total in totals[1:]:
            sum_ = builder.add(sum_, total)
        before = radix.before_thread(builder, f"{self.kernel.name}{name}.digits", sum_)
        for digit, total, count in zip(digits, totals, counts, strict=True):
            builder.store(builder.add(before, count), builder.gep(I32, offsets, digit), align=4)
            before = builder.add(before, total)
        grid.barrier(builder)
        with builder.loop(_thread(builder), own.length, step=radix.THREADS, name="head") as loop:
            number = loop.index
            digit = network.key(builder, number)
            other = network.key(builder, builder.smax(builder.sub(number, integer(1, I32)), integer(0, I32)))
            is_first = builder.compare("eq", number, integer(0, I32))
            with builder.when(builder.binary("or", is_first, builder.compare("ne", digit, other)), "head"):
                address = builder.gep(I32, offsets, digit)
                offset = builder.sub(builder.load(I32, address, align=4), number)
                builder.store(offset, address, align=4)
        grid.barrier(builder)
        return offsets


def _thread(builder: Builder) -> Value:
    """The number of the thread in its block, of 32 bits."""
    return builder.cast("trunc", grid.thread(builder), I32)


def _batches(builder: Builder, count: int, threads: int) -> Iterator[list[Value]]:
    """The numbers below `count`, of 32 bits, that a thread has, some at a time."""
    each = count // threads
    together = min(each, _AHEAD)
    batches = integer(each // together, I32)
    with builder.loop(integer(0, I32), batches, name="batch", nonempty=True) as loop:
        first = builder.add(builder.mul(loop.index, integer(together * threads, I32)), _thread(builder))
        yield [builder.add(first, integer(number * threads, I32)) for number in range(together)]
