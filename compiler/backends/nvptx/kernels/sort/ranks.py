"""Several sorted runs merged at once: an element finds how many of each other run go before it.

Merges of pairs make each element wait for one bisection a level, and each level is a launch.  Where elements are few,
launches and waiting are all that they take; then it is better to look through some runs side by side.  All bisections
of an element are under way together, and nothing is compared but keys.  Elements that are equal go by their runs, so
that the merge is stable.

Where shared memory holds the keys of all those runs, a block brings them there first: what a bisection waits for in
each step is then a tenth of the way, and what lies behind the end of the line are keys that nothing comes after.  Of
longer runs it brings the last key of each segment, so that only the steps within a segment wait for memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.codegen.llvm_ir import I32, Builder, Loop, Value, integer, vector_type
from compiler.ir.types import ElementType

_FAN_LEVELS, _FAN_OF_FEW, _FEW = 3, 4, 1 << 15
"""Levels of pairs that one launch does at most, since bisections that an element has under way double with each, and so
do their registers; and of up to so many elements, which leave units idle (by the model)."""
_SHARED_BYTES = 1 << 15
"""Bytes of the keys of some runs that shared memory holds."""
PIVOTS = 1 << 10
"""Segments of all runs that are merged, where their keys stay in memory: a block loads four keys by each thread."""
_WORD_BYTES = 16
"""Bytes of the keys that a thread brings there at once."""
_AHEAD = 8
"""Words that a thread has on their way together: memory answers after hundreds of cycles."""
MOST_ELEMENTS = 1 << 18
"""Elements up to which launches cost more than bisections do (by the model)."""


def shared_keys(type_: ElementType) -> int:
    """Keys of a type that shared memory holds."""
    return _SHARED_BYTES // type_.size_bytes


def fans(levels: int, elements: int) -> list[int]:
    """How many levels each of the launches does that merge runs of so many elements over so many levels."""
    launches = 1 if levels <= _FAN_OF_FEW and elements <= _FEW else -(-levels // _FAN_LEVELS)
    return [levels // launches + (number < levels % launches) for number in range(launches)]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Runs of 2^`level` elements of a line, of which 2^`fan` in a row are merged.

    Attributes:
        builder: where code is emitted.
        type: of the keys, an unsigned integer.
        keys: where they lie.
        start: the position in the line of the first of them, of 32 bits.
        length: of the line.
        level: of the runs.
        fan: of the runs that are merged.
        is_padded: whether all runs are there as a whole, whatever the length.
        pivots: where the last keys of segments lie, of all runs that are merged; None where there are none.
    """

    builder: Builder
    type: ElementType
    keys: Value
    start: Value
    length: int
    level: int
    fan: int
    is_padded: bool = False
    pivots: Value | None = None

    @property
    def stored(self) -> str:
        """The LLVM type of a key."""
        return f"i{self.type.bits}"

    @property
    def width(self) -> int:
        """Elements of a run."""
        return 1 << self.level

    @property
    def group(self) -> int:
        """Elements of all runs that are merged."""
        return self.width << self.fan

    def position(self, position: Value) -> Value:
        """Where the element at a position of the line comes to."""
        builder = self.builder
        group = builder.binary("and", position, integer(-self.group, I32))
        own = builder.binary("lshr", builder.sub(position, group), integer(self.level, I32))
        offset = builder.binary("and", position, integer(self.width - 1, I32))
        key = self._key(self._at(position), integer(0, I32))
        runs = list(self._others(group, own))
        bounds = [self._bound(key, run.is_before) for run in runs]
        found = self._search(runs, bounds)
        result = builder.add(group, offset)
        for run, count in zip(runs, found, strict=True):
            # Nothing is greater than the greatest key: of a run before, all that is no less goes first, too.
            takes_all = builder.binary("and", run.is_before, builder.compare("eq", key, integer(-1, self.stored)))
            inside = builder.select(takes_all, run.length, builder.umin(count, run.length))
            result = builder.add(result, builder.select(run.exists, inside, integer(0, I32)))
        return result

    def _at(self, position: Value) -> Value:
        """The address of the key at a position of the line."""
        return self._address(self.keys, self.builder.sub(position, self.start))

    def _key(self, keys: Value, number: Value) -> Value:
        return self.builder.load(self.stored, self._address(keys, number), align=self.type.size_bytes)

    def _others(self, group: Value, own: Value) -> Iterator[_Run]:
        """The other runs of an element's group; the line may end before or within them."""
        builder, length, most = self.builder, integer(self.length, I32), (1 << self.fan) - 1
        for step in range(1, 1 << self.fan):
            number = builder.binary("and", builder.add(own, integer(step, I32)), integer(most, I32))
            start = builder.add(group, builder.binary("shl", number, integer(self.level, I32)))
            exists = builder.compare("slt", start, length)
            is_before = builder.compare("slt", number, own)
            if not self.is_padded:
                # The element's own run stands for one that is not there.
                mine = builder.add(group, builder.binary("shl", own, integer(self.level, I32)))
                start = builder.select(exists, start, mine)
                number = builder.select(exists, number, own)
            size = integer(self.width, I32)
            if self.length % self.width:
                size = builder.smin(builder.sub(length, start), size)
            yield _Run(self._at(start), size, exists, is_before, number)

    def _bound(self, key: Value, is_before: Value) -> Value:
        """What keys of a run must be less than, to go before the element."""
        builder = self.builder
        following = builder.overloaded("umax", [builder.add(key, integer(1, self.stored)), key])
        return builder.select(is_before, following, key)

    def _search(self, runs: list[_Run], bounds: list[Value]) -> list[Value]:
        """How many keys of each run are less than its bound, or more than there are where all are.

        Of a run that ends early the last one stands for those behind it: if that is less, all are.  Runs that do not
        are searched by addresses: an addition a step, and no index to be scaled.
        """
        builder = self.builder
        lows, width, more = [integer(0, I32)] * len(runs), self.width, 1
        if self.pivots is not None:
            count = PIVOTS >> self.fan
            width = self.width // count
            firsts = [self._address(self.pivots, builder.mul(run.number, integer(count, I32))) for run in runs]
            segments = self._bisect(firsts, bounds, count, 0)
            lows = [builder.mul(segment, integer(width, I32)) for segment in segments]
        if self.is_whole:
            starts = [self._address(run.keys, low) for run, low in zip(runs, lows, strict=True)]
            rests = self._bisect(starts, bounds, width, more)
            return [builder.add(low, rest) for low, rest in zip(lows, rests, strict=True)]
        one = integer(1, I32)
        with self._halves(lows, width, more) as (loop, half):
            following = []
            for run, bound, low in zip(runs, bounds, loop.carried, strict=True):
                middle = builder.add(low, half)
                last = builder.sub(builder.umin(middle, run.length), one)
                is_less = builder.compare("ult", self._key(run.keys, last), bound)
                following.append(builder.select(is_less, middle, low))
            loop.carry(*following)
        return loop.results

    @property
    def is_whole(self) -> bool:
        """Whether no run ends early."""
        return self.is_padded or self.length % self.width == 0

    def _address(self, keys: Value, number: Value) -> Value:
        return self.builder.gep(self.stored, keys, number)

    def _bisect(self, starts: Sequence[Value], bounds: Sequence[Value], width: int, more: int) -> list[Value]:
        """How many keys from each start on are less than its bound: of `width`, or with no step more of one less."""
        builder = self.builder
        with self._halves(starts, width, more) as (loop, half):
            following = []
            for bound, low in zip(bounds, loop.carried, strict=True):
                middle = self._address(low, half)
                is_less = builder.compare("ult", self._key(middle, integer(-1, I32)), bound)
                following.append(builder.select(is_less, middle, low))
            loop.carry(*following)
        pairs = [
            [builder.cast("ptrtoint", address, I32) for address in pair]
            for pair in zip(loop.results, starts, strict=True)
        ]
        shift = integer(self.type.size_bytes.bit_length() - 1, I32)
        return [builder.binary("lshr", builder.sub(*pair), shift) for pair in pairs]

    @contextmanager
    def _halves(self, starts: Sequence[Value], width: int, more: int) -> Iterator[tuple[Loop, Value]]:
        """A bisection's loop, which carries something of each run, and by how much each step goes on."""
        builder, steps = self.builder, integer(width.bit_length() - 1 + more, I32)
        with builder.loop(integer(0, I32), steps, carried=starts, name="search", nonempty=True) as loop:
            # 4, 2, 1 and 1 of 8: all of them, and never one behind.
            half = builder.binary("lshr", integer(width // 2, I32), loop.index)
            yield loop, builder.overloaded("umax", [half, integer(1, I32)])


@dataclass(frozen=True, slots=True)
class _Run:
    """Another run: where its keys begin, its length, whether there is one, whether it goes first, and its number."""

    keys: Value
    length: Value
    exists: Value
    is_before: Value
    number: Value


def bring_pivots(builder: Builder, keys: Value, first: Value, shared: Value, form: Bring) -> None:
    """Bring the last key of each of `PIVOTS` segments of some runs to shared memory.

    Args:
        builder: where code is emitted.
        keys: where those of the line lie.
        first: the position of the first run.
        shared: where they come to.
        form: how many keys the runs have; segments that the line ends in or before have the greatest key, so that no
            bisection goes beyond them.
    """
    segment, last, align = form.count // PIVOTS, integer(form.length - 1), form.type.size_bytes
    found = []
    for number in range(0, PIVOTS, form.threads):
        index = builder.add(grid.thread(builder), integer(number))
        end = builder.add(builder.mul(index, integer(segment)), integer(segment - 1))
        position = builder.add(first, end)
        address = builder.gep(form.stored, keys, builder.smin(position, last))
        key, exists = builder.load(form.stored, address, align=align), builder.compare("sle", position, last)
        found.append((index, builder.select(exists, key, integer(-1, form.stored))))
    for index, key in found:
        builder.store(key, builder.gep(form.stored, shared, index), align=align)
    grid.barrier(builder)


def bring_keys(builder: Builder, keys: Value, first: Value, shared: Value, form: Bring) -> None:
    """Bring the keys of a line from a position on to shared memory, and the greatest key for what is behind its end.

    Args:
        builder: where code is emitted.
        keys: where those of the line lie.
        first: the position, a multiple of a word's.
        shared: where they come to.
        form: how many there are.
    """
    word = _WORD_BYTES // form.type.size_bytes
    if form.length % word:
        word = 1
    type_, align = vector_type(form.stored, word) if word > 1 else form.stored, word * form.type.size_bytes
    greatest = integer(-1, form.stored)
    if word > 1:
        greatest = builder.broadcast(greatest, word)
    step = form.threads * word
    together = max(1, min(_AHEAD, form.count // step))
    mine = builder.mul(grid.thread(builder), integer(word))
    with builder.loop(integer(0), integer(form.count), step=step * together, name="keys", nonempty=True) as loop:
        indices = [builder.add(builder.add(loop.index, mine), integer(number * step)) for number in range(together)]
        found = []
        for index in indices:
            position = builder.add(first, index)
            inside = builder.compare("slt", position, integer(form.length))
            # Behind the end the first key is read, and not used: loads without branches are on their way together.
            address = builder.gep(form.stored, keys, builder.select(inside, position, integer(0)))
            found.append(builder.select(inside, builder.load(type_, address, align=align), greatest))
        for index, value in zip(indices, found, strict=True):
            builder.store(value, builder.gep(form.stored, shared, index), align=align)
    grid.barrier(builder)


@dataclass(frozen=True, slots=True)
class Bring:
    """Keys that a block brings to shared memory.

    Attributes:
        type: of a key, an unsigned integer.
        count: how many there are.
        length: of the line that they are of.
        threads: that bring them.
    """

    type: ElementType
    count: int
    length: int
    threads: int

    @property
    def stored(self) -> str:
        """The LLVM type of a key."""
        return f"i{self.type.bits}"
