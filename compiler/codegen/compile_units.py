"""A module cut into units, each compiled on its own: several at once, and none with passes that are of no use to it.

A function that must not be inlined can be called across units, so such functions, and those that are seen from outside,
are what a module is cut into.  The other functions, which are small, go with whoever calls them, once per unit.  Which
functions share a unit depends on the module alone, never on the machine's number of cores, so the code does not either.

Of functions that are the same but for their names, as those of a model's equal layers are, one is compiled; the others'
names become names of it.

Functions without a loop that LLVM could vectorise (those that calculate with vectors themselves, and the program that
calls them) make units of their own: to them the passes that transform loops are nothing but work.  So do functions that
are cold, the program and its phases outside of loops, and those that LLVM is told not to optimise: to translate them
quickly takes a quarter of the time.  Where LLVM is to optimise nothing, all functions are like these.  Neither is told
where divisions fit in 32 bits: that takes code away only where LLVM's code generation sees it alone.

Routines that go together are a unit whose text is the same in every program that has the same ones, so that it is
compiled once (`routines`).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.codegen.llvm_ir import Function, Module, shortened

_REFERENCE = re.compile(r"@([\w.$-]+)|!(\d+)")
_LARGE = 4096
"""Constants with longer definitions are defined once and shared, others once per unit that uses them."""

_LOOP_COST = 250
"""What vectorising a loop costs, in instructions of code that is only translated."""

_COLD = 4
"""How many instructions of cold code are translated in the time of one."""

_UNIT_COST = 800
"""Units are filled up to this cost, some 15 ms: less does not make up for what every unit costs, a millisecond."""


@dataclass(slots=True)
class CompileUnit:
    """Some functions of a module, with all that they need.

    Attributes:
        has_loops: whether there are loops that LLVM should vectorise.
        cold: whether all functions are.
        routine: what routines they are, if they are, and so the same for other programs.
        cost: how long it takes to compile, about, in instructions.
        functions: those of the module, in its order, that are defined here.
    """

    has_loops: bool
    cold: bool = False
    routine: str = ""
    cost: int = 0
    functions: list[Function] = field(default_factory=list)
    text: str = ""


def whole(module: Module) -> CompileUnit:
    """The module as one unit."""
    has_loops = any(function.scalar_loops for function in module.functions)
    return CompileUnit(has_loops, functions=module.functions, text=str(module))


def cut(module: Module, *, optimise: bool = True) -> list[CompileUnit]:
    """The module's units, the most expensive first.  Functions called across units become visible from outside.

    Where LLVM is not to optimise anything, all code is cold, and units hold whatever comes.
    """
    helpers = {function.name: function for function in module.functions if _goes_along(function)}
    roots = [function for function in module.functions if function.name not in helpers]
    same = _equals(module, roots)
    compiled = [function for function in roots if same[function.name] == function.name]
    uses = {function.name: _references(str(function)) for function in (*compiled, *helpers.values())}
    units = _fill([_closure(function, helpers, uses) for function in compiled], optimise=optimise)
    shared: set[str] = set()
    for unit in units:
        unit.text = _text(module, unit, uses, same, shared)
    return units


def _equals(module: Module, functions: Sequence[Function]) -> dict[str, str]:
    """Map each function to the first with the same body and signature; that one to itself."""
    same = {function.name: function.name for function in functions}
    alike: dict[Hashable, list[Function]] = {}
    for function in functions:
        if function.routine:
            continue
        outside = function.result, function.parameters, function.linkage, function.attributes
        alike.setdefault((*outside, len(function.lines), function.counter), []).append(function)
    # Callers may be the same once their callees are.
    changed = True
    while changed:
        changed = False
        for group in alike.values():
            seen: dict[Hashable, str] = {}
            for function in group if len(group) > 1 else ():
                first = seen.setdefault(_normal(module, function, same), function.name)
                changed |= same[function.name] != first
                same[function.name] = first
    return same


def _normal(module: Module, function: Function, same: Mapping[str, str]) -> Hashable:
    """A function's body with metadata numbered as it comes, and of callees that are the same, the same name."""
    numbers: dict[str, int] = {}

    def rename(found: re.Match[str]) -> str:
        name, node = found.groups()
        if name:
            return f"@{same.get(name, name)}"
        return f"!{numbers.setdefault(node, len(numbers))}"

    body = _REFERENCE.sub(rename, "\n".join(function.lines))
    return body, tuple(_spelled(module, int(node), ()) for node in numbers)


def _spelled(module: Module, node: int, within: tuple[int, ...]) -> str:
    """A metadata node with those that it refers to, written out."""
    if node in within:
        return "self"
    text = module.nodes[node].partition(" = ")[2]
    return re.sub(r"!(\d+)", lambda found: _spelled(module, int(found[1]), (*within, node)), text)


def _goes_along(function: Function) -> bool:
    return function.linkage == "internal" and "noinline" not in function.attributes


@dataclass(frozen=True, slots=True)
class _Uses:
    symbols: frozenset[str]
    metadata: frozenset[int]


def _references(text: str) -> _Uses:
    found = _REFERENCE.findall(text)
    return _Uses(frozenset(name for name, _ in found if name), frozenset(int(node) for _, node in found if node))


def _closure(root: Function, helpers: dict[str, Function], uses: dict[str, _Uses]) -> list[Function]:
    """A function and the helpers that go along with it."""
    found, names = [root], {root.name}
    for function in found:
        for name in sorted(uses[function.name].symbols & helpers.keys() - names):
            names.add(name)
            found.append(helpers[name])
    return found


class _Sort(NamedTuple):
    """What functions of one unit have in common, as `CompileUnit` says it."""

    has_loops: bool
    cold: bool
    routine: str


def _fill(closures: Sequence[Sequence[Function]], *, optimise: bool) -> list[CompileUnit]:
    """Neighbours of one sort share a unit until it is full."""
    units: list[CompileUnit] = []
    open_units: dict[_Sort, CompileUnit] = {}
    for functions in closures:
        is_cold = not optimise or functions[0].cold or "optnone" in functions[0].attributes
        loops = 0 if is_cold else sum(function.scalar_loops for function in functions)
        sort = _Sort(loops > 0, is_cold, functions[0].routine)
        cost = sum(len(function.lines) for function in functions) // (_COLD if is_cold else 1) + _LOOP_COST * loops
        unit = open_units.get(sort)
        if unit is None or (not unit.routine and unit.cost and unit.cost + cost > _UNIT_COST):
            unit = open_units[sort] = CompileUnit(*sort)
            units.append(unit)
        known = {function.name for function in unit.functions}
        unit.functions += [function for function in functions if function.name not in known]
        unit.cost += cost
    return sorted(units, key=lambda unit: -unit.cost)


def _text(
    module: Module, unit: CompileUnit, uses: Mapping[str, _Uses], same: Mapping[str, str], shared: set[str]
) -> str:
    defined = {function.name for function in unit.functions}
    aliases = {name: first for name, first in same.items() if first in defined and name != first}
    symbols = frozenset[str]().union(*(uses[name].symbols for name in defined)) - defined - aliases.keys()
    nodes = _reachable(module.nodes, frozenset[int]().union(*(uses[name].metadata for name in defined)))
    others = {function.name: function for function in module.functions}
    lines = [_global(module, name, shared) for name in module.globals if name in symbols]
    lines += [module.declarations[name] for name in module.declarations if name in symbols]
    lines += [others[name].declaration() for name in sorted(symbols & others.keys())]
    texts = [function.text(internal=_goes_along(function)) for function in unit.functions]
    lines += texts if unit.has_loops or unit.cold else map(shortened, texts)
    lines += [f"@{name} = alias {others[name].type}, ptr @{first}" for name, first in aliases.items()]
    lines += [module.nodes[node] for node in nodes]
    text = "\n".join(lines) + "\n"
    return _renumbered(text, nodes) if unit.routine else text


def _renumbered(text: str, nodes: Sequence[int]) -> str:
    """A text with its metadata nodes numbered from 0 on, whatever else there is in the module."""
    numbers = {str(node): number for number, node in enumerate(nodes)}
    return re.sub(r"!(\d+)", lambda found: f"!{numbers[found[1]]}", text)


def _global(module: Module, name: str, shared: set[str]) -> str:
    """The definition of a global, or its declaration where another unit has the only one."""
    definition = module.globals[name]
    kind = next(word for word in ("constant", "global") if f"{word} " in definition[:32])
    if kind == "constant" and len(definition) < _LARGE:
        return f"@{name} = {definition}"
    if name in shared:
        return f"@{name} = external {kind} i8"
    shared.add(name)
    return f"@{name} = {definition.removeprefix('internal ').removeprefix('private ')}"


def _reachable(nodes: Sequence[str], first: Iterable[int]) -> list[int]:
    found = sorted(first)
    seen = set(found)
    for node in found:
        more = [int(number) for number in re.findall(r"!(\d+)", nodes[node])]
        found += [number for number in dict.fromkeys(more) if number not in seen]
        seen.update(more)
    return sorted(found)
