"""The recipes of all opcodes, and the program that is drawn from them."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.generate import (
    collectives,
    combining,
    control,
    elementwise,
    lapack,
    movement,
    products,
    randomness,
    sized,
    sorting,
)
from compiler.generate.choices import Choices, chance, pick
from compiler.generate.fragments import plant
from compiler.generate.ordering import order
from compiler.generate.recipe import Recipe
from compiler.generate.scope import Program, Scope, Space
from compiler.generate.sharing import share
from compiler.ir.module import Computation, Module
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS
from compiler.plan import device_count

_COMBINING = {**combining.RECIPES, **sorting.RECIPES}
_LINEAR_ALGEBRA = {**products.RECIPES, **lapack.RECIPES}
RECIPES: dict[str, Recipe] = {
    **elementwise.RECIPES,
    **movement.RECIPES,
    **_COMBINING,
    **_LINEAR_ALGEBRA,
    **control.RECIPES,
    **sized.RECIPES,
    **collectives.RECIPES,
    **randomness.RECIPES,
}
"""How each opcode is drawn."""

NOT_DRAWN: dict[str, str] = {
    "parameter": "made where a value is needed",
    "constant": "made where a value is needed",
    "domain": "needs the shardings of several devices",
}
"""The opcodes that can be evaluated and yet are not drawn, with the reason."""

FAMILIES: tuple[frozenset[str], ...] = (
    frozenset(elementwise.RECIPES.keys() | randomness.RECIPES.keys()),
    *map(frozenset, (movement.RECIPES, _COMBINING)),
    *map(frozenset, (control.RECIPES, sized.RECIPES, collectives.RECIPES, _LINEAR_ALGEBRA)),
)
"""Opcodes that have much to do with each other."""

PAIRS: frozenset[tuple[str, str]] = frozenset(
    (opcode, element_type.name) for opcode, recipe in RECIPES.items() for element_type in recipe.element_types
)
"""Every opcode with every element type that it can be drawn on."""

_TRIES = 4
"""Opcodes that are drawn before an instruction is given up: recipes may find no operands."""
_MOST_RESULTS = 40
"""Results of a program: what is not given, nor used, is dead, and of programs with loops of several values many are."""
ORDERED_PERCENT = 8
"""How often instructions of a program wait for others that no value ties them to."""
_REPEATED_PERCENT = 15
"""How often a result is given twice: results of one value need copies."""
_SEVERAL, _SHORTER = (2, 2, 3, 4), 2  # what is compiled for several devices is compiled as often


def program(choices: Choices, space: Space, *, name: str = "generated") -> Module:
    """A valid program of the space; equal choices give equal programs.

    Args:
        choices: the source of chance.
        space: what may be drawn.
        name: the module's.
    """
    module = Module(name)
    entry = Computation("main")
    entry.module = module
    module.computations.append(entry)
    module.entry = entry
    program = Program(choices, space, module, step, devices=_devices(choices, space))
    if program.devices > 1:
        module.attributes["replica_count"] = program.devices
    scope = Scope(program, entry, depth=0)
    drawn = 0
    most = space.most_instructions // (_SHORTER if program.devices > 1 else 1)
    while choices.more(drawn, most):
        step(scope)
        drawn += 1
    if not scope.values and not scope.kept:
        scope.parameter(ArrayShape(pick(choices, program.element_types), scope.dims()))
    _return(scope)
    share(module, choices)
    module.sort_computations()
    if chance(choices, ORDERED_PERCENT):
        order(module, choices)
    return module


def _devices(choices: Choices, space: Space) -> int:
    """For how many devices a program is: mostly one, or as many as a fragment is for."""
    asked = max((device_count(fragment) for fragment in space.fragments), default=1)
    if asked > 1:
        return asked
    may_exchange = not space.opcodes.isdisjoint(collectives.RECIPES)
    return pick(choices, _SEVERAL) if may_exchange and chance(choices, space.devices_percent) else 1


def step(scope: Scope) -> None:
    """Draw one instruction; some of what is drawn cannot be, then another is."""
    scope.choices.group(lambda: _step(scope))


def _step(scope: Scope) -> None:
    space = scope.program.space
    if _plants(scope) and plant(scope, pick(scope.choices, space.fragments)) is not None:
        scope.program.planted += 1
        return
    opcodes = [opcode for opcode in RECIPES if opcode in space.opcodes]
    for _ in range(_TRIES):
        if not opcodes:
            return
        opcode = _featured(scope) or _again(scope, opcodes) or pick(scope.choices, opcodes)
        allowed = [t for t in RECIPES[opcode].element_types if space.allows(opcode, t)]
        if allowed and RECIPES[opcode].draw(scope, opcode, scope.element_type(allowed)) is not None:
            return


def _plants(scope: Scope) -> bool:
    """Whether a fragment is planted instead of drawing an instruction."""
    space, planted = scope.program.space, scope.program.planted
    return planted < len(space.fragments) and chance(scope.choices, space.fragment_percent)


def _featured(scope: Scope) -> str:
    """Now and then one of the opcodes whose turn it is."""
    space = scope.program.space
    has_turn = bool(space.featured) and chance(scope.choices, space.featured_percent)
    return pick(scope.choices, space.featured) if has_turn else ""


def _again(scope: Scope, opcodes: Sequence[str]) -> str:
    """Now and then the opcode of the newest value, which is likely to be the next operand."""
    percent = scope.program.space.again_percent
    newest = scope.values[-1].opcode if percent and scope.values else ""
    return newest if newest in opcodes and chance(scope.choices, percent) else ""


def _return(scope: Scope) -> None:
    """Make a result of every value that nothing uses, up to a few, the newest first; one alone is no tuple.

    Now and then one that is used, a parameter or a result once more is among them: what needs memory of its own.
    """
    unused = [value for value in reversed(scope.values) if not value.users and value.opcode != "parameter"]
    results = [*scope.kept, *unused[:_MOST_RESULTS]] or [scope.values[-1]]
    if scope.values and chance(scope.choices, _REPEATED_PERCENT):
        results.append(pick(scope.choices, scope.values[::-1]))
    scope.computation.root = results[0] if len(results) == 1 else scope.build("tuple", results)


def evaluated() -> frozenset[str]:
    """The opcodes that have a meaning on one host."""
    return frozenset(op.opcode for op in OPS.values() if op.evaluate is not None or op.opcode == "parameter")
