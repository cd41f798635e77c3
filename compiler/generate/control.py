"""Recipes of opcodes that run other computations, which are filled like the entry, only shorter.

Loops count to a small constant, so every program ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.generate.choices import chance, permutation, pick, subset
from compiler.generate.combining import ORDERED, combiners, running
from compiler.generate.derived import derived
from compiler.generate.elementwise import takes
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.module import Instruction, computed_from
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import PRED, S32, ElementType
from compiler.ops import OPS, Trait, having, narrowing
from compiler.ops.build import build, parameter

_MOST_TRIPS = 4
"""Iterations of a loop, since each costs the reference a run of its body."""
_MANY_TRIPS = 40
"""Iterations of a loop over elementwise ops, which is one kernel: more than are unrolled (32)."""
_MOST_ARGUMENTS = 3
"""Values that a computation is given, beside the counter."""
_MOST_INNER = 5
"""Instructions of an inner computation."""
_UNKNOWN_PERCENT, _JOINED_PERCENT = 60, 30
"""How often a selector is known at run time only; how often branches end in the same instruction."""
_PLAIN_PERCENT, _MANY_PERCENT, _CHAINED_PERCENT = 40, 25, 30
"""How often a loop is one of elementwise ops; of these, how often it has many iterations; how often one follows
another."""
_ALIKE_PERCENT, _LEAST_ALIKE = 40, 2
"""How often a state has several values of one shape, and how many at least."""
_EXCHANGED_PERCENT, _MOVED_PERCENT, _REPEATED_PERCENT, _OLD_PERCENT = 35, 75, 25, 70
"""How often values of a state change places; how many of them do; how often one takes two places; how often it is the
old one."""
_DERIVED_PERCENT = 80
"""How often a branch's argument is made of another one's, so that confusing them shows."""
_GIVEN = having(Trait.STRUCTURAL | Trait.GENERATES) - {"tuple"}
_LEAST_UNKNOWN = 2  # iterations, where they are not known; a loop of one is none


def _inner(scope: Scope, name: str) -> Scope:
    return Scope(scope.program, scope.program.computation(name), depth=scope.depth + 1)


def _fill(scope: Scope) -> None:
    drawn = 0
    while scope.choices.more(drawn, _MOST_INNER):
        scope.program.step(scope)
        drawn += 1


def _arguments(scope: Scope, element_type: ElementType) -> list[Instruction]:
    """One value of the type and perhaps some others."""
    arguments = [scope.array(element_type)]
    while scope.choices.more(len(arguments), _MOST_ARGUMENTS):
        arguments.append(pick(scope.choices, scope.values[::-1]))
    return arguments


def _return(scope: Scope, shapes: Sequence[Shape]) -> list[Instruction]:
    """For each shape a value of it that comes of what was drawn, if any does."""
    return [_outcome(scope, shape) for shape in shapes]


def _outcome(scope: Scope, shape: Shape) -> Instruction:
    """A value of a shape that was drawn here, or is made of one that was and that nothing uses."""
    assert isinstance(shape, ArrayShape)
    drawn = [value for value in reversed(scope.values) if value.opcode not in _GIVEN and not value.users]
    alike = [v for v in drawn if (v.array.element_type, v.array.dims) == (shape.element_type, shape.dims)]
    if alike:
        return alike[0]
    made = derived(scope, drawn[0], shape) if drawn and chance(scope.choices, _DERIVED_PERCENT) else None
    return made or _newest(scope, shape)


def _carried(scope: Scope, element_type: ElementType) -> list[Instruction]:
    """The state of a loop: as arguments are, or several values that may take each other's places on the way round."""
    if not chance(scope.choices, _ALIKE_PERCENT):
        return _arguments(scope, element_type)
    first = scope.array(element_type)
    alike = [first]
    while len(alike) < _LEAST_ALIKE or scope.choices.more(len(alike), _MOST_ARGUMENTS + 1):
        alike.append(scope.like(first.array, beside=alike[-1]))
    return alike


def _following(scope: Scope, state: Sequence[Instruction]) -> list[Instruction]:
    """The next state of a loop: new values, joined to the present ones or, now and then, those exchanged."""
    found = _return(scope, [value.array for value in state])
    if chance(scope.choices, _JOINED_PERCENT):
        found = [_joined(scope, new, old) for new, old in zip(found, state, strict=True)]
    if chance(scope.choices, _EXCHANGED_PERCENT):
        _exchange(scope, found, state)
    return found


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


def _start(scope: Scope) -> Instruction:
    """What a loop counts from: 0, or 0 or 1 by an input, so that nobody knows beforehand how often it iterates."""
    if not chance(scope.choices, _UNKNOWN_PERCENT):
        return scope.constant(0, S32)
    return scope.build("and", [scope.unknown(ArrayShape(S32, ())), scope.constant(1, S32)])


def _newest(scope: Scope, shape: Shape) -> Instruction:
    assert isinstance(shape, ArrayShape)
    found = scope.find(lambda other: (other.element_type, other.dims) == (shape.element_type, shape.dims))
    return found or scope.fresh(shape)


def _unpacked(scope: Scope, shape: TupleShape) -> list[Instruction]:
    """The elements of a computation's one parameter, which is a tuple."""
    whole = scope.parameter(shape)
    return [scope.build("get-tuple-element", [whole], index=k) for k in range(len(shape.elements))]


def _elements(scope: Scope, done: Instruction, count: int) -> Instruction:
    return [scope.build("get-tuple-element", [done], index=k) for k in range(count)][-1]


def _array_of(scope: Scope, done: Instruction) -> Instruction:
    """What yields an array, or the last of the elements that it yields."""
    return _elements(scope, done, len(done.shape.elements)) if isinstance(done.shape, TupleShape) else done


def _body(scope: Scope, shapes: Sequence[Shape]) -> Scope:
    """A computation with these parameters, and what nothing in it uses as its results."""
    inner = _inner(scope, "body")
    for shape in shapes:
        inner.parameter(shape)
    _fill(inner)
    unused = [value for value in inner.values if not value.users and value.opcode != "parameter"]
    results = unused[-_MOST_INNER:]
    inner.computation.root = inner.build("tuple", results) if len(results) > 1 else inner.values[-1]
    return inner


def _call(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    arguments = _arguments(scope, element_type)
    inner = _body(scope, [a.array for a in arguments])
    return _array_of(scope, scope.build("call", arguments, to_apply=inner.computation))


def _fusion(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """A loop fusion of elementwise instructions, as XLA's optimised programs have them: everything in it is used."""
    arguments = _arguments(scope, element_type)
    inner = _inner(scope, "fused")
    for argument in arguments:
        inner.parameter(argument.array)
    _elementwise(inner, _MOST_INNER)
    body = inner.computation
    parameters, last = body.parameters, inner.values[-1]
    body.root = build(body, "copy", [last]) if last.opcode == "parameter" else last
    dead = set(body.instructions) - computed_from([body.root])
    body.remove(dead)
    kept = [number for number, given in enumerate(parameters) if given not in dead]
    for position, number in enumerate(kept):
        parameters[number].attributes["parameter_number"] = position
    return scope.build(opcode, [arguments[number] for number in kept], calls=body, kind="kLoop")


def _elementwise(scope: Scope, most: int) -> None:
    """A few instructions that look at no dimensions."""
    space, drawn = scope.program.space, 0
    allowed = [op for op in _PLAIN if op.opcode in space.opcodes]
    while allowed and scope.choices.more(drawn, most):
        drawn += 1
        value = pick(scope.choices, scope.values[::-1])
        op = pick(scope.choices, allowed)
        if space.allows(op.opcode, value.array.element_type) and value.array.element_type in takes(op.opcode):
            others = [_newest(scope, value.array) for _ in range(op.operands[0] - 1)]
            scope.build(op.opcode, [value, *others])


def _chained(scope: Scope, value: Instruction) -> None:
    """A few kernels in a row that keep the shape: what lies between two of them is in memory for as long."""
    banned, array, drawn = scope.program.space.banned, value.array, 0
    opcodes = ["reverse", "reduce-window"] if array.element_type in ORDERED else ["reverse"]
    allowed = [opcode for opcode in opcodes if array.rank and (opcode, array.element_type.name) not in banned]
    while allowed and scope.choices.more(drawn, _MOST_INNER):
        drawn += 1
        if pick(scope.choices, allowed) == "reverse":
            value = scope.build("reverse", [value], dimensions=tuple(subset(scope.choices, range(array.rank), 60)))
        else:
            value = running(scope, value)


def _async(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    arguments = _arguments(scope, element_type)
    inner = _body(scope, [a.array for a in arguments])
    carried = TupleShape((TupleShape(tuple(a.array for a in arguments)), inner.computation.root.shape))
    going = scope.build("async-start", arguments, shape=carried, calls=inner.computation)
    if opcode == "async-update":
        going = scope.build("async-update", [going])
    return _array_of(scope, scope.build("async-done", [going]))


def _map(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    first = scope.array(element_type)
    operands = [first]
    while scope.choices.more(len(operands), _MOST_ARGUMENTS):
        operands.append(scope.like(first.array, beside=first))
    inner = _inner(scope, "mapped")
    for operand in operands:
        inner.parameter(ArrayShape(operand.array.element_type, ()))
    _elementwise(inner, _MOST_INNER)
    inner.computation.root = inner.values[-1]
    return scope.build(opcode, operands, to_apply=inner.computation, dimensions=tuple(range(first.array.rank)))


def _while(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    carried = _carried(scope, element_type)
    start = _start(scope)
    state = scope.build("tuple", [start, *carried])
    shape = state.shape
    assert isinstance(shape, TupleShape)
    condition = _inner(scope, "condition")
    count = build(condition.computation, "get-tuple-element", [parameter(condition.computation, 0, shape)], index=0)
    # Loops of elementwise ops alone are written out, or turned inside out where they iterate too often for that.
    is_plain = chance(scope.choices, _PLAIN_PERCENT)
    most = _MANY_TRIPS if is_plain and chance(scope.choices, _MANY_PERCENT) else 0
    least = 0 if start.opcode == "constant" else _LEAST_UNKNOWN
    trips = condition.constant(most or scope.choices.integer(least, _MOST_TRIPS), S32)
    condition.computation.root = build(condition.computation, "compare", [count, trips], direction="LT")
    body = _inner(scope, "body")
    number, *present = _unpacked(body, shape)
    if is_plain:
        _elementwise(body, _MOST_INNER)
    elif chance(scope.choices, _CHAINED_PERCENT):
        _chained(body, pick(scope.choices, present))
    else:
        _fill(body)
    following = build(body.computation, "add", [number, body.constant(1, S32)])
    body.computation.root = body.build("tuple", [following, *_following(body, present)])
    done = scope.build(opcode, [state], condition=condition.computation, body=body.computation)
    return _elements(scope, done, len(shape.elements))


def _conditional(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    is_two_way = chance(scope.choices, 60)
    selector = scope.like(ArrayShape(PRED if is_two_way else S32, ()))
    count = 2 if is_two_way else scope.choices.integer(1, 3)
    result = scope.array(element_type).array
    branches, operands = [], []
    for _ in range(count):
        operand = pick(scope.choices, scope.values[::-1])
        inner = _inner(scope, "branch")
        inner.parameter(operand.array)
        _fill(inner)
        inner.computation.root = _outcome(inner, result)
        branches.append(inner.computation)
        operands.append(operand)
    if is_two_way:
        first, second = branches
        return scope.build(opcode, [selector, *operands], true_computation=first, false_computation=second)
    return scope.build(opcode, [selector, *operands], branch_computations=tuple(branches))


def nesting(draw: Callable[[Scope, str, ElementType], Instruction]) -> Recipe:
    """A recipe that draws nothing where computations nest as deep as they may."""

    def guarded(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
        return draw(scope, opcode, element_type) if scope.depth < scope.program.space.depth else None

    return Recipe(NUMBERS, guarded)


_MIXED = narrowing(Trait.ELEMENTWISE, "convert select clamp complex stochastic-convert")
"""What has operands of several types, or a result of another: a body of one type has none."""
_PLAIN = [op for op in OPS.values() if op.elementwise and op.evaluate and not op.required and op.opcode not in _MIXED]

RECIPES: dict[str, Recipe] = {
    "call": nesting(_call),
    "fusion": nesting(_fusion),
    "map": nesting(_map),
    "while": nesting(_while),
    "conditional": nesting(_conditional),
    "async-start": nesting(_async),
    "async-update": nesting(_async),
    "async-done": nesting(_async),
}
