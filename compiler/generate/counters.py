"""What loops count by: up or down, by one or more, in any integers, to a bound that is compared in any way.

Half a dozen passes find out how often a loop iterates, from where it starts, what it adds and what it compares.  What
they take for granted shows in loops that do not count from 0 by one in s32, above all in those that end where their
type does.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.generate.choices import chance, pick
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.numbers import integer_bounds
from compiler.ir.shape import ArrayShape
from compiler.ir.types import S32, ElementType, Kind
from compiler.ops.build import build

_MOST_TRIPS, _LEAST_UNKNOWN = 4, 2
"""Iterations of a loop, since each costs the reference a run of its body; and where they are not known, as a loop of
one is none."""
_USUAL_PERCENT, _UNKNOWN_PERCENT, _END_PERCENT, _MIRRORED_PERCENT, _SUBTRACTED_PERCENT = 50, 60, 40, 25, 25
"""How often a counter is the usual one; how often it starts from what nobody knows; how often it ends where its type
does; how often the bound comes first in the comparison; how often it adds where others subtract, or the reverse."""
_WRAPPING_PERCENT, _MEETING_PERCENT, _MEETING = 20, 60, (3, 5)
"""How often a counter goes beyond the end of its type; how often then until it meets that, by which steps it does."""
_STEPS, _FARTHEST, _LEAST_BITS = (1, 2, 3, 5), 5, 8
"""What is added each time; how far from 0 a counter starts; and bits of its type at least."""
_MOST_ITERATED = 1 << 21
"""Elements that all iterations make of an array: complex powers of five times as many took the reference two seconds,
and its bounds half a minute."""
_RISING, _FALLING = ("LT", "LE", "NE"), ("GT", "GE", "NE")
_MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}
_CLOSED = ("LE", "GE")


@dataclass(frozen=True, slots=True)
class Counter:
    """A piece of a loop's state: what it starts from, what is added to it, and while it compares how to what.

    Attributes:
        start: before the loop, in the computation that the loop is in.
        step: what each iteration adds.
        direction: of the comparison.
        bound: what it is compared with.
        mirrored: whether the bound comes first.
        trips: iterations, or one more.
        subtracts: whether the step is written as what is taken away.
    """

    start: Instruction
    step: int
    direction: str
    bound: int
    mirrored: bool
    trips: int
    subtracts: bool = False

    @property
    def element_type(self) -> ElementType:
        """The integers that are counted in."""
        return self.start.array.element_type

    def goes_on(self, scope: Scope, number: Instruction) -> Instruction:
        """Whether there is another iteration."""
        pair = [number, scope.constant(self.bound, self.element_type)]
        if self.mirrored:
            return build(scope.computation, "compare", pair[::-1], direction=_MIRRORED[self.direction])
        return build(scope.computation, "compare", pair, direction=self.direction)

    def following(self, scope: Scope, number: Instruction) -> Instruction:
        """The number of the next iteration."""
        if self.subtracts:
            return build(scope.computation, "subtract", [number, scope.constant(-self.step, self.element_type)])
        pair = [number, scope.constant(self.step, self.element_type)]
        return build(scope.computation, "add", pair[::-1] if self.mirrored else pair)


def counter(scope: Scope, trips: int = 0, elements: int = 1) -> Counter:
    """A counter of so many iterations, or of a few; where it starts from 0 or 1 by an input there is one less.

    Args:
        scope: where it starts.
        trips: iterations; 0 for a few, or until two numbers meet.
        elements: of an array that each iteration makes anew.
    """
    is_known = not chance(scope.choices, _UNKNOWN_PERCENT)
    trips = trips or scope.choices.integer(0 if is_known else _LEAST_UNKNOWN, _MOST_TRIPS)
    if not chance(scope.choices, _USUAL_PERCENT):
        kind, size = pick(scope.choices, _kinds(scope)), pick(scope.choices, _STEPS)
        low, high = integer_bounds(kind)
        has_room = size * (trips + 1) + 2 * _FARTHEST <= high - low
        if has_room and chance(scope.choices, _WRAPPING_PERCENT):
            return _wrapping(scope, kind, size, elements)
        if has_room:
            return _any_counter(scope, kind, size, trips, is_known=is_known)
    return Counter(_start(scope, S32, 0, is_known=is_known), 1, "LT", trips, mirrored=False, trips=trips)


def may_iterate(trips: int, elements: int) -> bool:
    """Whether an array of so many elements may be made anew so often."""
    return trips * elements <= _MOST_ITERATED


def _kinds(scope: Scope) -> list[ElementType]:
    types = [t for t in scope.program.element_types if t.is_integer and t.bits >= _LEAST_BITS]
    return [t for t in types if ("and", t.name) not in scope.program.space.banned] or [S32]


def _any_counter(scope: Scope, kind: ElementType, size: int, trips: int, *, is_known: bool) -> Counter:
    """A counter that goes up or down by so many, perhaps to the very end of its type."""
    sign = 1 if chance(scope.choices, 60) else -1
    low, high = integer_bounds(kind)
    # By an input it starts one further up, so its way is longer where it goes down.
    way = size * (trips + (not is_known))
    if chance(scope.choices, _END_PERCENT):
        first = high - way if sign > 0 else low + way
    else:
        first = max(low, -_FARTHEST) + scope.choices.integer(0, _FARTHEST) + (way if sign < 0 else 0)
    directions = (_RISING if sign > 0 else _FALLING)[: 1 if not trips else 3 if is_known else 2]
    direction = pick(scope.choices, directions)
    slack = scope.choices.integer(0, size - 1) if trips and direction != "NE" else 0
    bound = first + sign * (size * trips - slack - (direction in _CLOSED))
    mirrored = chance(scope.choices, _MIRRORED_PERCENT)
    start, subtracts = _start(scope, kind, first, is_known=is_known), _subtracts(scope, kind, sign)
    return Counter(start, sign * size, direction, bound, mirrored=mirrored, trips=trips, subtracts=subtracts)


def _subtracts(scope: Scope, kind: ElementType, sign: int) -> bool:
    """Whether a step is taken away: mostly one down in integers without a sign, seldom any other.

    What is added or taken away without a sign in the other direction goes round.
    """
    is_usual = sign < 0 and kind.kind is Kind.UNSIGNED
    return is_usual != chance(scope.choices, _SUBTRACTED_PERCENT)


def _wrapping(scope: Scope, kind: ElementType, size: int, elements: int) -> Counter:
    """A counter that goes beyond the end of its type, and on from the other end, where the loop ends sooner or later.

    Either it iterates as long as the counter has not come round, or until it meets the last number of all.
    """
    sign = 1 if chance(scope.choices, 60) else -1
    short = [] if scope.depth else [k for k in _kinds(scope) if k.bits == _LEAST_BITS]
    if short and chance(scope.choices, _MEETING_PERCENT) and may_iterate(1 << _LEAST_BITS, elements):
        return _meeting(scope, pick(scope.choices, short), sign * pick(scope.choices, _MEETING))
    low, high = integer_bounds(kind)
    end = high if sign > 0 else low
    trips = scope.choices.integer(1, _MOST_TRIPS)
    first = end - sign * (size * trips - scope.choices.integer(1, size))
    bound = first - sign * scope.choices.integer(1, _FARTHEST)
    mirrored, start = chance(scope.choices, _MIRRORED_PERCENT), _start(scope, kind, first, is_known=True)
    direction, subtracts = "GT" if sign > 0 else "LT", _subtracts(scope, kind, sign)
    return Counter(start, sign * size, direction, bound, mirrored=mirrored, trips=trips, subtracts=subtracts)


def _meeting(scope: Scope, kind: ElementType, step: int) -> Counter:
    """A counter of 8 bits that goes beyond the end of its type once and again, until it meets the last number of all.

    It takes all residues, since none is skipped by an odd step.
    """
    low, high = integer_bounds(kind)
    end, apart = high if step > 0 else low, scope.choices.integer(1, _FARTHEST)
    trips = apart * pow(abs(step), -1, 1 << kind.bits) % (1 << kind.bits)
    start, subtracts = (
        _start(scope, kind, end - apart if step > 0 else end + apart, is_known=True),
        _subtracts(scope, kind, step),
    )
    return Counter(start, step, "LT" if step > 0 else "GT", end, mirrored=False, trips=trips, subtracts=subtracts)


def _start(scope: Scope, kind: ElementType, first: int, *, is_known: bool) -> Instruction:
    """What a loop counts from: a number, or that or the next by an input, so that nobody knows the iterations."""
    number = scope.constant(first, kind)
    if is_known:
        return number
    more = scope.build("and", [scope.unknown(ArrayShape(kind, ())), scope.constant(1, kind)])
    return more if not first else scope.build("add", [more, number])
