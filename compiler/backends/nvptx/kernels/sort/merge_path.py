"""Which element comes to a place when two sorted runs are merged: every place, or every few, is asked by itself.

A place is a diagonal of the grid that the left run spans with the right one; where the path of a merge crosses it tells
how many of the elements before it come from either run.  Of runs that are in order the path crosses where a bisection
by the comparator says.  A comparator may put no order on elements, and then bisections on neighbouring diagonals need
not fit together, so that elements would be lost.  Therefore the path is halved: first where it crosses the middle
diagonal, then, inside the corners that this leaves, the middle one of either half, and so on.  All places that ask for
a crossing ask with the same corners, so that they make one path, whatever the comparator says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.codegen.llvm_ir import I1, Builder, Value, integer

GoesFirst = Callable[[Builder, Value, Value], Value]
"""Emits whether an element of the right run goes before one of the left run, by their places."""
Run = tuple[Value, Value]
"""Where a run starts, and how many elements it has."""


def size_of(builder: Builder, width: Value, start: Value, length: Value) -> Value:
    """The size of a run, cut off where the line ends.

    Args:
        builder: where code is emitted.
        width: of a run that is whole.
        start: where it begins in the line.
        length: of the line.
    """
    return builder.smin(width, builder.smax(builder.sub(length, start), integer(0)))


@dataclass(frozen=True, slots=True)
class MergePath:
    """The merge of two runs of up to 2^`level` elements each; the left one goes first where elements are equal."""

    goes_first: GoesFirst
    left: Run
    right: Run
    level: Value

    def element(self, builder: Builder, number: Value) -> Value:
        """The place of the element of that number in the merged runs, by a comparator that orders them."""
        return self._next(builder, *self._crossed(builder, number))[1]

    def elements(
        self, builder: Builder, number: Value, count: Value, use: Callable[[Builder, Value, Value], None]
    ) -> None:
        """The places of `count` elements from that number on, one after the other, by a comparator that orders them.

        Args:
            builder: where code is emitted.
            number: of the first element in the merged run.
            count: elements.
            use: emits what is done with one, by its number among them and its place.
        """
        from_left, from_right = self._crossed(builder, number)
        with builder.loop(integer(0), count, carried=[from_left, from_right], name="merged") as loop:
            from_left, from_right = loop.carried
            takes_right, position = self._next(builder, from_left, from_right)
            use(builder, loop.index, position)
            loop.carry(
                builder.select(takes_right, from_left, builder.add(from_left, integer(1))),
                builder.select(takes_right, builder.add(from_right, integer(1)), from_right),
            )

    def _crossed(self, builder: Builder, number: Value) -> tuple[Value, Value]:
        """How many elements of either run are among the first `number`."""
        low = builder.smax(builder.sub(number, self.right[1]), integer(0))
        high = builder.smin(number, self.left[1])
        from_left = self._crossing(builder, number, (low, high), builder.add(self.level, integer(1)))
        return from_left, builder.sub(number, from_left)

    def _next(self, builder: Builder, from_left: Value, from_right: Value) -> tuple[Value, Value]:
        """Whether the right run has the next element, and its place, when so many of either have been taken."""
        (left, left_size), (right, right_size) = self.left, self.right
        right_is_left = builder.compare("slt", from_right, right_size)
        left_is_over = builder.compare("sge", from_left, left_size)
        candidates = builder.add(right, from_right), builder.add(left, from_left)
        takes_right = builder.choose(
            builder.binary("or", left_is_over, builder.binary("xor", right_is_left, Value(I1, "true"))),
            lambda: left_is_over,
            lambda: self.goes_first(builder, *candidates),
        )
        return takes_right, builder.select(takes_right, *candidates)

    def element_of_any(self, builder: Builder, number: Value) -> Value:
        """The place of that element by any comparator: each element of the runs has one number."""
        corners = [integer(0), integer(0), self.left[1], self.right[1]]
        levels = builder.add(self.level, integer(1))
        with builder.loop(integer(0), levels, carried=corners, name="half", nonempty=True) as loop:
            left_from, right_from, left_to, right_to = loop.carried
            ends = builder.add(left_from, right_from), builder.add(left_to, right_to)
            middle = builder.binary("lshr", builder.add(*ends), integer(1))
            low = builder.smax(left_from, builder.sub(middle, right_to))
            high = builder.smin(left_to, builder.sub(middle, right_from))
            left = self._crossing(builder, middle, (low, high), builder.sub(levels, loop.index))
            right = builder.sub(middle, left)
            is_behind = builder.compare("sle", middle, number)
            loop.carry(
                builder.select(is_behind, left, left_from),
                builder.select(is_behind, right, right_from),
                builder.select(is_behind, left_to, left),
                builder.select(is_behind, right_to, right),
            )
        left_from, right_from, left_to, _ = loop.results
        candidates = builder.add(self.left[0], left_from), builder.add(self.right[0], right_from)
        return builder.select(builder.compare("slt", left_from, left_to), *candidates)

    def _crossing(self, builder: Builder, number: Value, bounds: tuple[Value, Value], steps: Value) -> Value:
        """How many of the first `number` elements come from the left run, between bounds; in so many bisections."""
        with builder.loop(integer(0), steps, carried=bounds, name="search", nonempty=True) as loop:
            low, high = loop.carried
            middle = builder.binary("lshr", builder.add(low, high), integer(1))
            opposite = builder.sub(builder.sub(number, integer(1)), middle)
            is_open = builder.compare("slt", low, high)

            def is_behind(opposite: Value = opposite, middle: Value = middle) -> Value:
                return self.goes_first(builder, builder.add(self.right[0], opposite), builder.add(self.left[0], middle))

            behind = builder.choose(is_open, is_behind, lambda: Value(I1, "true"))
            loop.carry(
                builder.select(behind, low, builder.add(middle, integer(1))),
                builder.select(builder.binary("and", is_open, behind), middle, high),
            )
        return loop.results[0]
