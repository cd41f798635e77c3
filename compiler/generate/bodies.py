"""Computations that instructions run: filled like the entry, only shorter, and ended by what comes of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.generate.choices import chance, pick
from compiler.generate.derived import derived
from compiler.generate.elementwise import takes
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import PRED, ElementType
from compiler.ops import OPS, Trait, having, narrowing

MOST_ARGUMENTS = 3
"""Values that a computation is given, beside a counter."""
MOST_INNER = 5
"""Instructions of an inner computation."""
_DERIVED_PERCENT = 80
"""How often what comes of a computation is made of a value of another shape that was drawn in it."""
_NESTED_PERCENT = 20
"""How often some of several values are in a tuple of their own."""
_GIVEN = having(Trait.STRUCTURAL | Trait.GENERATES) - {"tuple"}
_MIXED = narrowing(Trait.ELEMENTWISE, "convert select clamp complex stochastic-convert")
"""What has operands of several types, or a result of another: a body of one type has none."""
_PLAIN = [op for op in OPS.values() if op.elementwise and op.evaluate and not op.required and op.opcode not in _MIXED]
UNARY = [op.opcode for op in _PLAIN if op.operands == (1, 1)]
"""Elementwise opcodes of one operand."""


def inner_of(scope: Scope, name: str, *, everyone: bool = False) -> Scope:
    """A new computation, one level deeper.

    Args:
        scope: whose instruction runs it.
        name: of the computation.
        everyone: whether all devices run it equally often that come to the instruction.
    """
    inner = scope.program.computation(name)
    return Scope(scope.program, inner, depth=scope.depth + 1, everyone=everyone and scope.everyone)


def fill(scope: Scope) -> None:
    """A few instructions of any kind."""
    drawn = 0
    while scope.choices.more(drawn, MOST_INNER):
        scope.program.step(scope)
        drawn += 1


def fill_elementwise(scope: Scope) -> None:
    """A few instructions that look at no dimensions."""
    space, drawn = scope.program.space, 0
    allowed = [op for op in _PLAIN if op.opcode in space.opcodes]
    while allowed and scope.choices.more(drawn, MOST_INNER):
        drawn += 1
        value = pick(scope.choices, scope.values[::-1])
        op = pick(scope.choices, allowed)
        if space.allows(op.opcode, value.array.element_type) and value.array.element_type in takes(op.opcode):
            others = [newest(scope, value.array) for _ in range(op.operands[0] - 1)]
            scope.build(op.opcode, [value, *others])


def arguments(scope: Scope, element_type: ElementType) -> list[Instruction]:
    """One value of the type and perhaps some others."""
    given = [scope.array(element_type)]
    while scope.choices.more(len(given), MOST_ARGUMENTS):
        given.append(pick(scope.choices, scope.values[::-1]))
    return given


def outcome(scope: Scope, shape: Shape) -> Instruction:
    """A value of a shape that was drawn here, or is made of one that was and that nothing uses."""
    assert isinstance(shape, ArrayShape)
    drawn = [value for value in reversed(scope.values) if value.opcode not in _GIVEN and not value.users]
    alike = [v for v in drawn if (v.array.element_type, v.array.dims) == (shape.element_type, shape.dims)]
    if alike:
        return alike[0]
    made = derived(scope, drawn[0], shape) if drawn and chance(scope.choices, _DERIVED_PERCENT) else None
    return made or newest(scope, shape)


def with_the_rest(scope: Scope, results: Sequence[Instruction]) -> list[Instruction]:
    """Results, the last of them with all that was drawn here and nothing uses, so that no instruction is dead.

    Floats are not made integers: which they come to, rounding would decide.
    """
    value = results[-1]
    kind = value.array.element_type
    opcode = "add" if kind.is_float or kind.is_complex else "xor"
    rest = [v for v in scope.values if v.opcode not in _GIVEN and not v.users and v not in results]
    if (opcode, kind.name) in scope.program.space.banned or kind not in takes(opcode):
        return list(results)
    for other in rest:
        is_exact = other.array.element_type.is_integer or other.array.element_type is PRED
        made = derived(scope, other, value.array) if is_exact or opcode == "add" else None
        value = scope.build(opcode, [value, made]) if made is not None else value
    return [*results[:-1], value]


def newest(scope: Scope, shape: Shape) -> Instruction:
    """A value of a shape, mostly one that is there."""
    assert isinstance(shape, ArrayShape)
    found = scope.find(lambda other: (other.element_type, other.dims) == (shape.element_type, shape.dims))
    return found or scope.fresh(shape)


def shape_of(scope: Scope, values: Sequence[Instruction]) -> Shape:
    """The shape of an array, or of a tuple of several, some of which now and then are in a tuple of their own.

    Who finds an array by the number of an element has to count the arrays of those before it.

    Args:
        scope: the source of decisions.
        values: the arrays.
    """
    shapes = [value.array for value in values]
    if len(shapes) == 1:
        return shapes[0]
    if not chance(scope.choices, _NESTED_PERCENT):
        return TupleShape(tuple(shapes))
    first = scope.choices.integer(0, len(shapes) - 1)
    behind = scope.choices.integer(first + 1, len(shapes))
    return TupleShape((*shapes[:first], TupleShape(tuple(shapes[first:behind])), *shapes[behind:]))


def packed(scope: Scope, shape: Shape, values: Iterator[Instruction]) -> Instruction:
    """Arrays, in order, as one value of a shape.

    Args:
        scope: where instructions are put.
        shape: of the value: an array's, or a tuple's, however nested.
        values: the arrays, of which as many are taken as the shape has.
    """
    if not isinstance(shape, TupleShape):
        return next(values)
    return scope.build("tuple", [packed(scope, element, values) for element in shape.elements])


def unpacked(scope: Scope, shape: Shape) -> list[Instruction]:
    """The arrays of a computation's one parameter."""
    return elements(scope, scope.parameter(shape))


def elements(scope: Scope, done: Instruction, first: int = 0) -> list[Instruction]:
    """The arrays that the instruction `done` yields, from the number `first` on; instructions go into `scope`."""
    return [element(scope, done, number) for number in range(first, _width(done.shape))]


def element(scope: Scope, whole: Instruction, number: int) -> Instruction:
    """The array of a `number` among those of `whole`, however they are in tuples; instructions go into `scope`."""
    while isinstance(whole.shape, TupleShape):
        widths = [_width(inner) for inner in whole.shape.elements]
        index = next(k for k in range(len(widths)) if number < sum(widths[: k + 1]))
        number -= sum(widths[:index])
        whole = scope.build("get-tuple-element", [whole], index=index)
    return whole


def _width(shape: Shape) -> int:
    return len(list(leaves(shape)))


def ended(scope: Scope) -> None:
    """Make results of the newest values that nothing in a computation uses."""
    unused: Sequence[Instruction] = [v for v in scope.values if not v.users and v.opcode != "parameter"]
    results = unused[-MOST_INNER:]
    scope.computation.root = scope.build("tuple", results) if len(results) > 1 else scope.values[-1]
