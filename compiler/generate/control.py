"""Recipes of opcodes that run other computations; some run one that something else runs as well.

Loops count to a small constant, so every program ends.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.generate import bodies
from compiler.generate.choices import chance, pick
from compiler.generate.collectives import agreed
from compiler.generate.combining import ORDERED, combiners
from compiler.generate.elementwise import takes
from compiler.generate.flow import mapped
from compiler.generate.loops import loop
from compiler.generate.recipe import NUMBERS, Recipe
from compiler.generate.scope import Scope
from compiler.ir.module import Computation, Instruction, computed_from
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import PRED, S32, ElementType
from compiler.ops.build import build

_AGREED_PERCENT = 70
"""How often devices choose one branch together, so that they may exchange in it."""
_AGAIN_PERCENT, _ONE_BRANCH_PERCENT, _SEVERAL_PERCENT = 30, 15, 50
"""How often a computation is called once more; how often all branches are one computation; how often a branch takes
several values, and yields several."""
_WHOLE_PERCENT, _TAKEN_PERCENT, _ALIKE_PERCENT, _HANDED_ON_PERCENT = 30, 60, 30, 40
"""How often branches are given a tuple that is there, and each of them then; how often they yield one of its shape; how
often a branch that takes its tuple apart hands it on as a whole as well."""


def _body(scope: Scope, arguments: list[Instruction], *, everyone: bool = False) -> Scope:
    """A computation of such arguments, and what nothing in it uses as its results."""
    inner = bodies.inner_of(scope, "body", everyone=everyone)
    for argument in arguments:
        inner.parameter(argument.array)
    bodies.fill(inner)
    bodies.ended(inner)
    return inner


def _call(scope: Scope, _: str, element_type: ElementType) -> Instruction:
    arguments = bodies.arguments(scope, element_type)
    inner = _body(scope, arguments, everyone=True)
    done = bodies.elements(scope, scope.build("call", arguments, to_apply=inner.computation))[-1]
    if chance(scope.choices, _AGAIN_PERCENT):
        others = [scope.like(argument.array, beside=argument) for argument in arguments]
        done = bodies.elements(scope, scope.build("call", others, to_apply=inner.computation))[-1]
    return done


def _fusion(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    """A loop fusion of elementwise instructions, as XLA's optimised programs have them: everything in it is used."""
    arguments = bodies.arguments(scope, element_type)
    inner = bodies.inner_of(scope, "fused")
    for argument in arguments:
        inner.parameter(argument.array)
    bodies.fill_elementwise(inner)
    body = inner.computation
    parameters, last = body.parameters, inner.values[-1]
    body.root = build(body, "copy", [last]) if last.opcode == "parameter" else last
    dead = set(body.instructions) - computed_from([body.root])
    body.remove(dead)
    kept = [number for number, given in enumerate(parameters) if given not in dead]
    for position, number in enumerate(kept):
        parameters[number].attributes["parameter_number"] = position
    return scope.build(opcode, [arguments[number] for number in kept], calls=body, kind="kLoop")


def _async(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    arguments = bodies.arguments(scope, element_type)
    inner = _body(scope, arguments)
    carried = TupleShape((TupleShape(tuple(a.array for a in arguments)), inner.computation.root.shape))
    going = scope.build("async-start", arguments, shape=carried, calls=inner.computation)
    if opcode == "async-update":
        going = scope.build("async-update", [going])
    return bodies.elements(scope, scope.build("async-done", [going]))[-1]


def _map(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    first = scope.array(element_type)
    operands = [first]
    while scope.choices.more(len(operands), bodies.MOST_ARGUMENTS):
        operands.append(scope.like(first.array, beside=first))
    inner = bodies.inner_of(scope, "mapped")
    for operand in operands:
        inner.parameter(ArrayShape(operand.array.element_type, ()))
    bodies.fill_elementwise(inner)
    inner.computation.root = _flowing(inner, inner.values[-1])
    return scope.build(opcode, operands, to_apply=inner.computation, dimensions=tuple(range(first.array.rank)))


def _flowing(inner: Scope, value: Instruction) -> Instruction:
    """A scalar, or now and then what a branch or a loop in the code of one element makes of it and another."""
    kind = value.array.element_type
    opcodes = [o for o in combiners(kind) if (o, kind.name) not in inner.program.space.banned and kind in takes(o)]
    if kind not in ORDERED or not opcodes:
        return value
    others = [other for other in inner.values if other.array.element_type is kind]
    return mapped(inner, pick(inner.choices, opcodes), [value, pick(inner.choices, others)]) or value


def _conditional(scope: Scope, opcode: str, element_type: ElementType) -> Instruction:
    whole = pick(scope.choices, scope.wholes[::-1]) if scope.wholes and chance(scope.choices, _WHOLE_PERCENT) else None
    return _of_branches(scope, opcode, element_type, whole)


def _of_branches(scope: Scope, opcode: str, element_type: ElementType, whole: Instruction | None) -> Instruction:
    """A choice among branches.

    Args:
        scope: where instructions are added.
        opcode: the table's, `conditional`.
        element_type: of what the branches yield, unless that is such as the whole.
        whole: a tuple that some of the branches are given as it is; None for none.
    """
    is_two_way = chance(scope.choices, 60)
    selector = scope.like(ArrayShape(PRED if is_two_way else S32, ()))
    is_agreed = scope.program.devices > 1 and scope.everyone and chance(scope.choices, _AGREED_PERCENT)
    selector = agreed(scope, selector) if is_agreed else selector
    count = 2 if is_two_way else scope.choices.integer(1, 3)
    is_alike = whole is not None and chance(scope.choices, _ALIKE_PERCENT)
    result = whole.shape if whole and is_alike else bodies.shape_of(scope, _several(scope, scope.array(element_type)))
    branches: list[Computation] = []
    operands: list[Instruction] = []
    given: list[Instruction] = []
    for _ in range(count):
        is_one = bool(given) and chance(scope.choices, _ONE_BRANCH_PERCENT)
        if whole is not None and not is_one and chance(scope.choices, _TAKEN_PERCENT):
            given, shape = [], whole.shape
            operands.append(whole)
        else:
            given = _others(scope, given) if is_one else _several(scope, pick(scope.choices, scope.values[::-1]))
            shape = operands[-1].shape if is_one else bodies.shape_of(scope, given)
            operands.append(bodies.packed(scope, shape, iter(given)))
        branches.append(branches[-1] if is_one else _branch(scope, shape, result, everyone=is_agreed))
    if is_two_way:
        first, second = branches
        named = {"true_computation": first, "false_computation": second}
        done = scope.build(opcode, [selector, *operands], **named)
    else:
        done = scope.build(opcode, [selector, *operands], branch_computations=tuple(branches))
    return bodies.elements(scope, done)[-1]


def _others(scope: Scope, given: list[Instruction]) -> list[Instruction]:
    """Values of the same shapes."""
    return [scope.like(value.array, beside=value) for value in given]


def _several(scope: Scope, first: Instruction) -> list[Instruction]:
    """A value, and now and then others that go along with it."""
    values = [first]
    if chance(scope.choices, _SEVERAL_PERCENT):
        while scope.choices.more(len(values), bodies.MOST_ARGUMENTS):
            values.append(pick(scope.choices, scope.values[::-1]))
    return values


def _branch(scope: Scope, given: Shape, result: Shape, *, everyone: bool) -> Computation:
    """A computation of a value that yields one of a shape; a tuple is taken apart, and at times handed on as well."""
    inner = bodies.inner_of(scope, "branch", everyone=everyone)
    kind = bodies.unpacked(inner, given)[0].array.element_type
    whole, is_handed_on = inner.computation.parameters[0], isinstance(given, TupleShape)
    is_handed_on = is_handed_on and chance(scope.choices, _HANDED_ON_PERCENT)
    if is_handed_on and given == result:
        inner.computation.root = whole  # nothing else is drawn: none of it would show
        return inner.computation
    bodies.fill(inner)
    if is_handed_on and inner.depth <= scope.program.space.depth and scope.program.space.allows("conditional", kind):
        _of_branches(inner, "conditional", kind, whole)
    yielded = [bodies.outcome(inner, leaf) for leaf in leaves(result)]
    inner.computation.root = bodies.packed(inner, result, iter(bodies.with_the_rest(inner, yielded)))
    return inner.computation


def nesting(draw: Callable[[Scope, str, ElementType], Instruction]) -> Recipe:
    """A recipe that draws nothing where computations nest as deep as they may."""

    def guarded(scope: Scope, opcode: str, element_type: ElementType) -> Instruction | None:
        return draw(scope, opcode, element_type) if scope.depth < scope.program.space.depth else None

    return Recipe(NUMBERS, guarded)


RECIPES: dict[str, Recipe] = {
    "call": nesting(_call),
    "fusion": nesting(_fusion),
    "map": nesting(_map),
    "while": nesting(loop),
    "conditional": nesting(_conditional),
    "async-start": nesting(_async),
    "async-update": nesting(_async),
    "async-done": nesting(_async),
}
