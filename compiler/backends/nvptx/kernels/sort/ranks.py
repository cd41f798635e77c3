"""Several sorted runs merged at once: an element finds how many of each other run go before it.

Merges of pairs make each element wait for one bisection a level, and each level is a launch.  Where elements are few,
launches and waiting are all that they take; then it is better to look through some runs side by side.  All bisections
of an element are under way together, and nothing is compared but keys.  Elements that are equal go by their runs, so
that the merge is stable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.codegen.llvm_ir import I32, Builder, Value, integer

_FAN_LEVELS = 3
"""Levels of pairs that one launch does at most: bisections that an element has under way, and their registers, double
with each."""
MOST_ELEMENTS = 1 << 18
"""Elements up to which launches cost more than bisections do (by the model)."""


def fans(levels: int) -> list[int]:
    """How many levels each of the launches does that merge runs over so many."""
    launches = -(-levels // _FAN_LEVELS)
    return [levels // launches + (number < levels % launches) for number in range(launches)]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Runs of 2^`level` elements of a line, of which 2^`fan` in a row are merged.

    Attributes:
        builder: where code is emitted.
        keys: where the keys lie, unsigned integers of 32 bits.
        line: where the line begins among them, of 32 bits.
        length: of the line.
        level: of the runs, of 32 bits.
        fan: of the runs that are merged.
    """

    builder: Builder
    keys: Value
    line: Value
    length: int
    level: Value
    fan: int

    def position(self, position: Value) -> Value:
        """Where the element at a position of the line comes to."""
        builder, one = self.builder, integer(1, I32)
        width = builder.binary("shl", one, self.level)
        group = builder.binary("and", position, builder.sub(integer(0, I32), self._shifted(width, self.fan)))
        own = builder.binary("lshr", builder.sub(position, group), self.level)
        offset = builder.binary("and", position, builder.sub(width, one))
        key = self._key(self._at(position), integer(0, I32))
        runs = list(self._others(group, own, width))
        bounds = [self._bound(key, run.is_before) for run in runs]
        found = self._search(runs, bounds, width)
        result = builder.add(group, offset)
        for run, count in zip(runs, found, strict=True):
            # Nothing is greater than the greatest key: of a run before, all that is no less goes first, too.
            takes_all = builder.binary("and", run.is_before, builder.compare("eq", key, integer(-1, I32)))
            inside = builder.select(takes_all, run.length, builder.umin(count, run.length))
            result = builder.add(result, builder.select(run.exists, inside, integer(0, I32)))
        return result

    def _shifted(self, value: Value, by: int) -> Value:
        return self.builder.binary("shl", value, integer(by, I32))

    def _at(self, position: Value) -> Value:
        """The address of the key at a position of the line."""
        return self.builder.gep(I32, self.keys, self.builder.add(self.line, position))

    def _key(self, keys: Value, number: Value) -> Value:
        return self.builder.load(I32, self.builder.gep(I32, keys, number), align=4)

    def _others(self, group: Value, own: Value, width: Value) -> Iterator[_Run]:
        """The other runs of an element's group; the line may end before or within them."""
        builder, length = self.builder, integer(self.length, I32)
        for step in range(1, 1 << self.fan):
            number = builder.binary("and", builder.add(own, integer(step, I32)), integer((1 << self.fan) - 1, I32))
            start = builder.add(group, builder.binary("shl", number, self.level))
            exists = builder.compare("slt", start, length)
            # The element's own run stands for one that is not there.
            start = builder.select(exists, start, builder.add(group, builder.binary("shl", own, self.level)))
            size = builder.smin(builder.sub(length, start), width)
            yield _Run(self._at(start), size, exists, builder.compare("slt", number, own))

    def _bound(self, key: Value, is_before: Value) -> Value:
        """What keys of a run must be less than, to go before the element."""
        builder = self.builder
        following = builder.intrinsic("umax.i32", [builder.add(key, integer(1, I32)), key])
        return builder.select(is_before, following, key)

    def _search(self, runs: list[_Run], bounds: list[Value], width: Value) -> list[Value]:
        """How many keys of each run are less than its bound, or more than there are where all are.

        The last one stands for those behind it: if that is less, all are.
        """
        builder, one = self.builder, integer(1, I32)
        starts = [integer(0, I32)] * len(runs)
        steps = builder.add(self.level, one)
        with builder.loop(integer(0, I32), steps, carried=starts, name="search", nonempty=True) as loop:
            half = builder.binary("lshr", width, loop.index)
            following = []
            for run, bound, low in zip(runs, bounds, loop.carried, strict=True):
                middle = builder.add(low, half)
                last = builder.umin(middle, run.length)
                is_less = builder.compare("ult", self._key(run.keys, builder.sub(last, one)), bound)
                following.append(builder.select(is_less, middle, low))
            loop.carry(*following)
        return loop.results


@dataclass(frozen=True, slots=True)
class _Run:
    """Another run: where its keys begin, its length, whether there is one and whether it goes first."""

    keys: Value
    length: Value
    exists: Value
    is_before: Value
