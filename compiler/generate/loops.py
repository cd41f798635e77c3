"""Recipe of loops: of any counter, over state that changes places, row by row as scans go, or until no element goes on.

What frontends make of loops is of few forms: a counter and a state; a scan, which takes a row of one array and fills a
row of another in each iteration; and a loop that ends when no element of an array has anything left to do.  Passes look
for just these, and what they take for granted shows near them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.generate import bodies
from compiler.generate.choices import chance, permutation, pick, subset
from compiler.generate.combining import ORDERED, combiners, running
from compiler.generate.counters import Counter, counter, may_iterate
from compiler.generate.elementwise import spread, takes
from compiler.generate.recipe import NUMBERS
from compiler.generate.scope import Scope
from compiler.ir.module import Computation, Instruction
from compiler.ir.numbers import finite_bounds, integer_bounds
from compiler.ir.shape import ArrayShape, Shape
from compiler.ir.types import PRED, ElementType
from compiler.ops.build import build, parameter

_MANY_TRIPS = 40
"""Iterations of a loop over elementwise ops, which is one kernel: more than are unrolled (32)."""
_PLAIN_PERCENT, _MANY_PERCENT, _CHAINED_PERCENT = 40, 25, 30
"""How often a loop is one of elementwise ops; of these, how often it has many iterations; how often one follows
another."""
_ALIKE_PERCENT, _LEAST_ALIKE, _JOINED_PERCENT = 40, 2, 30
"""How often a state has several values of one shape, and how many at least; how often new values join old ones."""
_EXCHANGED_PERCENT, _MOVED_PERCENT, _REPEATED_PERCENT, _OLD_PERCENT = 35, 75, 25, 70
"""How often values of a state change places; how many of them do; how often one takes two places; how often it is the
old one."""
_STANDING_PERCENT = 35
"""How often a value of a state of elements stays as it is in all iterations, and what it goes into changes."""
_ROWS_PERCENT, _BACKWARDS_PERCENT = 25, 30
"""How often a loop goes through rows, and how often from the last on."""
_ASKING_PERCENT, _ROWS_ASKED_PERCENT, _STAYING_PERCENT, _ALL_STAYING_PERCENT = 25, 30, 75, 60
"""How often a loop asks whether any element goes on, and how often one of the rows that it fills; how often each of the
others then stays as it is, and how often all do."""
_UNCOUNTED_PERCENT, _NEGATED_PERCENT, _ASKING_JOINED_PERCENT = 80, 30, 75
"""How often nobody reads what such a loop has counted; how often it asks for what is not done instead of what goes on;
how often its values change each time as long as they go on."""
_ENDS = {"or": 6, "and": 1, "minimum": 1}
"""What says of all elements that the loop goes on, and how often: that any does; that all do, where none may stop
alone; the least."""
_ELEMENTS_PERCENT, _ELEMENTS_ASKING_PERCENT = 35, 60
"""How often a loop is of elementwise ops on arrays of one shape, so that each element may go its own way: only these
become one kernel.  How often such a loop asks whether any element goes on."""
_OF_ELEMENTS = ((17,), (5, 7), (2, 3, 4), (130,), (9, 31), (300,))
"""Dimensions of what is so many elements that it pays (`passes.loop_interchange`): of one vector or two, which stop
together, and of many."""
_FLAG_PERCENT, _EARLIER = 15, (1, 2, 2, 3)
"""How often a flag ends a loop that its condition alone reads and its body alone writes, and how early."""
_MASKED_PERCENT = 50
"""How often integers stay as they are because nothing is added to them, or the like, and not because one is chosen."""


class _Loop(NamedTuple):
    """What a loop is made of: its counter, the state that it computes, the rows that it takes and fills, and flags.

    There is one flag at most, which ends the loop.
    """

    counter: Counter
    carried: list[Instruction]
    rows: list[Instruction]
    flags: list[Instruction]

    @property
    def size(self) -> int:
        """How many values of the state come before the rows."""
        return 1 + len(self.carried)


class _Asked(NamedTuple):
    """What elements are compared with, to see whether they go on, whether that is said by a `not`, and how of all."""

    bound: float
    is_negated: bool
    by: str


def of_many_elements(scope: Scope, first: Instruction) -> Instruction:
    """A loop of elementwise ops on arrays of one shape, many elements: each iterates on its own, in blocks of them.

    Args:
        scope: where instructions are added.
        first: one of the arrays.
    """
    asks = chance(scope.choices, _ELEMENTS_ASKING_PERCENT)
    return _around(scope, "while", _alike(scope, first), asks=asks, is_plain=True)


def loop(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """A loop, and the values of its state behind it.

    Args:
        scope: where instructions are added.
        opcode: the table's, `while`.
        element_type: of one of the arrays that it carries.
    """
    is_of_elements = chance(scope.choices, _ELEMENTS_PERCENT)
    asks = chance(scope.choices, _ELEMENTS_ASKING_PERCENT if is_of_elements else _ASKING_PERCENT)
    carried = _alike(scope, _of_elements(scope, element_type)) if is_of_elements else _carried(scope, element_type)
    # Loops of elementwise ops alone are written out, or turned inside out where they iterate too often for that.
    is_plain = is_of_elements or chance(scope.choices, _PLAIN_PERCENT)
    return _around(scope, opcode, carried, asks=asks, is_plain=is_plain)


def _around(scope: Scope, opcode: str, carried: list[Instruction], *, asks: bool, is_plain: bool) -> Instruction:
    """A loop over some values, and those of its state behind it."""
    elements = max(one.array.size for one in carried)
    is_long = is_plain and chance(scope.choices, _MANY_PERCENT) and may_iterate(_MANY_TRIPS, elements)
    counted = counter(scope, _MANY_TRIPS if is_long else 0, elements)
    has_flag = not asks and chance(scope.choices, _FLAG_PERCENT)
    flags = [scope.constant(value=False, element_type=PRED)] if has_flag else []
    made = _Loop(counted, carried, _rows(scope, carried[0], counted), flags)
    pieces = [counted.start, *carried, *made.rows, *flags]
    state = bodies.packed(scope, bodies.shape_of(scope, pieces), iter(pieces))
    asked = _asked(scope, carried[0]) if asks else None
    condition = _condition(scope, made, state.shape, asked)
    body = _body(scope, made, state.shape, is_plain=is_plain, asked=asked)
    done = scope.build(opcode, [state], condition=condition, body=body)
    # Elements that stop one by one do not agree on how often they iterated.
    first = 1 if asked is not None and chance(scope.choices, _UNCOUNTED_PERCENT) else 0
    return bodies.elements(scope, done, first)[-1]


def _carried(scope: Scope, element_type: ElementType) -> list[Instruction]:
    """The state of a loop: as arguments are, or several values that may take each other's places on the way round."""
    if not chance(scope.choices, _ALIKE_PERCENT):
        return bodies.arguments(scope, element_type)
    return _alike(scope, scope.array(element_type))


def _of_elements(scope: Scope, element_type: ElementType) -> Instruction:
    """A value of a few vectors of elements."""
    dims = pick(scope.choices, _OF_ELEMENTS)
    return scope.like(ArrayShape(element_type, dims)) if scope.fits(dims) else scope.array(element_type)


def _alike(scope: Scope, first: Instruction) -> list[Instruction]:
    """A value and others of its shape."""
    alike = [first]
    while len(alike) < _LEAST_ALIKE or scope.choices.more(len(alike), bodies.MOST_ARGUMENTS + 1):
        alike.append(scope.like(first.array, beside=alike[-1]))
    return alike


# -- elements that go on --------------------------------------------------------------------------------------------
def _asked(scope: Scope, value: Instruction) -> _Asked | None:
    """How it is asked whether elements of a value go on; None of such as have no order."""
    kind = value.array.element_type
    is_able = kind in ORDERED and not kind.is_complex and kind is not PRED and value.array.size > 0
    if not is_able:
        return None
    bound, is_negated = scope.choices.integer(1, 8), chance(scope.choices, _NEGATED_PERCENT)
    return _Asked(bound, is_negated, pick(scope.choices, [end for end, times in _ENDS.items() for _ in range(times)]))


def _go_on(scope: Scope, value: Instruction, asked: _Asked) -> Instruction:
    """Which elements of a value go on."""
    limits = spread(scope, scope.constant(asked.bound, value.array.element_type), value.array)
    if not asked.is_negated:
        return build(scope.computation, "compare", [value, limits], direction="LT")
    return build(scope.computation, "not", [build(scope.computation, "compare", [value, limits], direction="GE")])


def _some_go_on(scope: Scope, value: Instruction, asked: _Asked) -> Instruction:
    """Whether any element goes on, or all do, or the least, which is not always the same."""
    if asked.by in ("or", "and"):
        return _reduced(scope, _go_on(scope, value, asked), asked.by, scope.constant(asked.by == "and", PRED))
    start = scope.constant(finite_bounds(value.array.element_type)[1], value.array.element_type)
    pair = [_reduced(scope, value, asked.by, start), scope.constant(asked.bound, value.array.element_type)]
    return build(scope.computation, "compare", pair, direction="LT")


def _reduced(scope: Scope, value: Instruction, opcode: str, start: Instruction) -> Instruction:
    """All elements as one."""
    made, shape = scope.program.computation("asked"), ArrayShape(value.array.element_type, ())
    made.root = build(made, opcode, [parameter(made, number, shape) for number in range(2)])
    every = tuple(range(value.array.rank))
    return build(scope.computation, "reduce", [value, start], dimensions=every, to_apply=made)


def _condition(scope: Scope, made: _Loop, shape: Shape, asked: _Asked | None) -> Computation:
    inner = bodies.inner_of(scope, "condition")
    computation, state = inner.computation, inner.parameter(shape)
    goes_on = made.counter.goes_on(inner, bodies.element(inner, state, 0))
    if asked is not None:
        is_of_rows = bool(made.rows) and chance(scope.choices, _ROWS_ASKED_PERCENT)
        value = bodies.element(inner, state, made.size + 1 if is_of_rows else 1)
        goes_on = build(computation, "and", [goes_on, _some_go_on(inner, value, asked)])
    if made.flags:
        flag = bodies.element(inner, state, made.size + len(made.rows))
        goes_on = build(computation, "and", [goes_on, build(computation, "not", [flag])])
    computation.root = goes_on
    return computation


# -- rows --------------------------------------------------------------------------------------------
def _rows(scope: Scope, value: Instruction, counted: Counter) -> list[Instruction]:
    """Now and then an array whose rows a loop takes, and one whose rows it fills.

    They are as many as it iterates, or nearly, or as its counter is compared with: it leaves some out if that goes up
    by more than one, or does not begin at the first.
    """
    trips, most = counted.trips, min(counted.bound, _MANY_TRIPS)
    count = max(1, pick(scope.choices, (trips, trips, trips + 1, trips - 1, most, most)))
    dims = (count, *value.array.dims)
    if not chance(scope.choices, _ROWS_PERCENT) or not scope.fits([2, *dims]):
        return []
    shape = ArrayShape(value.array.element_type, dims)
    return [scope.like(shape), spread(scope, scope.small_constant(shape.element_type), shape)]


def _at(scope: Scope, made: _Loop, number: Instruction) -> list[Instruction]:
    """Where the row of an iteration begins."""
    first = number
    if chance(scope.choices, _BACKWARDS_PERCENT):
        last = scope.constant(made.rows[0].array.dims[0] - 1, number.array.element_type)
        first = build(scope.computation, "subtract", [last, number])
    zero = scope.constant(0, number.array.element_type)
    return [first, *[zero] * (made.rows[0].array.rank - 1)]


def _take(scope: Scope, rows: Instruction, at: Sequence[Instruction]) -> Instruction:
    sizes = (1, *rows.array.dims[1:])
    row = build(scope.computation, "dynamic-slice", [rows, *at], dynamic_slice_sizes=sizes)
    return scope.build("reshape", [row], shape=rows.array.with_dims(sizes[1:]))


def _fill(scope: Scope, rows: Instruction, value: Instruction, at: Sequence[Instruction]) -> Instruction:
    row = build(scope.computation, "reshape", [value], shape=value.array.with_dims((1, *value.array.dims)))
    return build(scope.computation, "dynamic-update-slice", [rows, row, *at])


# -- bodies --------------------------------------------------------------------------------------------
def _body(scope: Scope, made: _Loop, shape: Shape, *, is_plain: bool, asked: _Asked | None) -> Computation:
    is_counted = asked is None and made.counter.start.opcode == "constant"
    body = bodies.inner_of(scope, "body", everyone=is_counted)
    number, *state = bodies.unpacked(body, shape)
    present, rows = state[: made.size - 1], state[made.size - 1 :][: len(made.rows)]
    at = _at(body, made, number) if rows else []
    if rows:
        _take(body, rows[0], at)
    if is_plain:
        bodies.fill_elementwise(body)
    elif chance(scope.choices, _CHAINED_PERCENT):
        _chained(body, pick(scope.choices, present))
    else:
        bodies.fill(body)
    following = _following(body, present, _ASKING_JOINED_PERCENT if asked else _JOINED_PERCENT)
    if len(present) > 1 and chance(scope.choices, _STANDING_PERCENT):
        _stand(body, following, present)
    if asked is not None:
        following = _staying(body, following, present, asked)
    if rows:
        rows = [rows[0], _fill(body, rows[1], following[0], at)]
    flags = [_ends(body, made.counter, number) for _ in made.flags]
    pieces = [made.counter.following(body, number), *following, *rows, *flags]
    body.computation.root = bodies.packed(body, shape, iter(pieces))
    return body.computation


def _ends(scope: Scope, counted: Counter, number: Instruction) -> Instruction:
    """Whether an iteration is the last, by its number."""
    low, high = integer_bounds(counted.element_type)
    last = counted.bound - pick(scope.choices, _EARLIER) * counted.step
    pair = [number, scope.constant((last - low) % (high - low + 1) + low, counted.element_type)]
    return build(scope.computation, "compare", pair, direction="EQ")


def _staying(
    scope: Scope, following: list[Instruction], present: Sequence[Instruction], asked: _Asked
) -> list[Instruction]:
    """The next state, in which mostly what does not go on is as it was, all of it or nearly."""
    flags, made = _go_on(scope, present[0], asked), list(following)
    percent = 100 if chance(scope.choices, _ALL_STAYING_PERCENT) else _STAYING_PERCENT
    for number, (new, old) in enumerate(zip(following, present, strict=True)):
        if old.array.dims == flags.array.dims and chance(scope.choices, percent):
            is_masked = old.array.element_type.is_integer and chance(scope.choices, _MASKED_PERCENT)
            made[number] = (_masked if is_masked else _selected)(scope, flags, new, old)
    return made


def _selected(scope: Scope, flags: Instruction, new: Instruction, old: Instruction) -> Instruction:
    """The new value where elements go on, and the old one elsewhere."""
    if chance(scope.choices, _NEGATED_PERCENT):
        return scope.build("select", [scope.build("not", [flags]), old, new])
    return scope.build("select", [flags, new, old])


def _masked(scope: Scope, flags: Instruction, new: Instruction, old: Instruction) -> Instruction:
    """Both joined, the new value times 0 where elements stay: that leaves integers as they are, or nearly does."""
    ones = scope.build("convert", [flags], shape=old.array)
    pair = [old, scope.build("multiply", [ones, new])]
    opcode = pick(scope.choices, ("subtract", *combiners(old.array.element_type)))
    return scope.build(opcode, pair if chance(scope.choices, 70) else pair[::-1])


def _chained(scope: Scope, value: Instruction) -> None:
    """A few kernels in a row that keep the shape: what lies between two of them is in memory for as long."""
    banned, array, drawn = scope.program.space.banned, value.array, 0
    opcodes = ["reverse", "reduce-window"] if array.element_type in ORDERED else ["reverse"]
    allowed = [opcode for opcode in opcodes if array.rank and (opcode, array.element_type.name) not in banned]
    while allowed and scope.choices.more(drawn, bodies.MOST_INNER):
        drawn += 1
        if pick(scope.choices, allowed) == "reverse":
            value = scope.build("reverse", [value], dimensions=tuple(subset(scope.choices, range(array.rank), 60)))
        else:
            value = running(scope, value)


def _following(scope: Scope, state: Sequence[Instruction], joined_percent: int) -> list[Instruction]:
    """The next state of a loop: new values, joined to the present ones or, now and then, those exchanged."""
    found = [bodies.outcome(scope, value.array) for value in state]
    if chance(scope.choices, joined_percent):
        found = [_joined(scope, new, old) for new, old in zip(found, state, strict=True)]
    if chance(scope.choices, _EXCHANGED_PERCENT):
        _exchange(scope, found, state)
    return found


def _stand(scope: Scope, found: list[Instruction], state: Sequence[Instruction]) -> None:
    """Let one value stay as it is, and go into the next one of another of its shape."""
    number = scope.choices.integer(1, len(state) - 1)
    found[number] = state[number]
    others = [k for k, value in enumerate(state) if k != number and value.array == state[number].array]
    if others:
        other = pick(scope.choices, others)
        found[other] = _joined(scope, found[other], state[number])


def _exchange(scope: Scope, found: list[Instruction], state: Sequence[Instruction]) -> None:
    """Let some values go to other places of their shape: in another order, or one to several of them."""
    for shape in dict.fromkeys(value.array for value in state):
        positions = [number for number, value in enumerate(state) if value.array == shape]
        moved = subset(scope.choices, positions, _MOVED_PERCENT)
        sources = [positions[k] for k in permutation(scope.choices, len(positions))]
        is_one = chance(scope.choices, _REPEATED_PERCENT)
        values = state if chance(scope.choices, _OLD_PERCENT) else list(found)
        for position, source in zip(positions, sources, strict=True):
            if position in moved:
                found[position] = values[sources[0] if is_one else source]


def _joined(scope: Scope, new: Instruction, old: Instruction) -> Instruction:
    """Both as one, as loops accumulate; the new one where nothing joins such values."""
    kind, banned = old.array.element_type, scope.program.space.banned
    joining = combiners(kind) if kind in NUMBERS else ()
    opcodes = [opcode for opcode in joining if (opcode, kind.name) not in banned and kind in takes(opcode)]
    return scope.build(pick(scope.choices, opcodes), [new, old]) if opcodes else new
