"""Changes to programs that keep every bit of their results: what metamorphic testing is done with.

A mutated program computes what the original does by another way, so an engine that answers otherwise is wrong about one
of the two, and no tolerance is needed to say so where the engine promises bits.

`mutate` makes several changes one after the other.  From the same choices the first of them are the same whatever their
number, so the one that brings a bug to light is found by asking for fewer.  `is_commutative` says of a reducer whether
its operands may be exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.analysis.commutativity import is_commutative
from compiler.generate.choices import Choices, chance, pick
from compiler.ir.module import Computation, Instruction, Module
from compiler.mutation import identities, movement, operands, structure
from compiler.mutation.site import Mutation, Site
from compiler.ops import Trait, having

__all__ = ["MUTATIONS", "Applied", "is_commutative", "mutate"]

MUTATIONS: dict[str, Mutation] = {
    **identities.MUTATIONS,
    **movement.MUTATIONS,
    **operands.MUTATIONS,
    **structure.MUTATIONS,
}
"""Every kind of change by its name."""

_TRIES = 8
"""Mutations that are drawn before a program is left as it is: most have a site in most programs."""
_CONTROL = having(Trait.CONTROL)
_SOME_USERS = 25
"""Of 100, how often only some users of a value get the changed one."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One change that was made: its kind, and the instruction that it was made at."""

    name: str
    computation: str
    instruction: str

    def __str__(self) -> str:
        return f"{self.name} at {self.computation}/{self.instruction}"


def mutate(
    module: Module, choices: Choices, *, count: int, among: tuple[str, ...] = ()
) -> tuple[Module, tuple[Applied, ...]]:
    """A copy of a module with so many changes, fewer where nothing more can be changed, and what was done.

    Args:
        module: is valid, as the copy is, and stays as it is.
        choices: the source of chance.
        count: changes.
        among: their kinds, keys of `MUTATIONS`; all if there are none.
    """
    names = among or tuple(MUTATIONS)
    result = module.clone()
    applied = []
    for _ in range(count):
        for _ in range(_TRIES):
            name = pick(choices, names)
            sites = _sites(result, MUTATIONS[name])
            if sites:
                instruction = pick(choices, sites)
                applied.append(Applied(name, instruction.computation.name, instruction.name))
                _apply(MUTATIONS[name], Site(instruction, choices))
                break
    result.sort_computations()
    return result, tuple(applied)


def _sites(module: Module, mutation: Mutation) -> list[Instruction]:
    computations = module.computations if mutation.everywhere else _controlled(module)
    return [i for computation in computations for i in computation.instructions if mutation.applies(i)]


def _controlled(module: Module) -> list[Computation]:
    """The computations that run as the entry does, instruction by instruction."""
    found = [module.entry]
    for computation in found:
        for instruction in computation.instructions:
            if instruction.opcode in _CONTROL:
                found += [c for c in instruction.called_computations() if c not in found]
    return found


def _apply(mutation: Mutation, site: Site) -> None:
    """Make a change, and have the users, or at times only some of them, take the new value."""
    instruction, computation = site.instruction, site.computation
    users, is_root = list(instruction.users), instruction.is_root
    made = mutation.rewrite(site)
    if made is instruction:
        return
    if any(user.opcode == "bitcast" for user in users):
        made = _as_it_lay(site, made)
    if len(users) > 1 and chance(site.choices, _SOME_USERS):
        users = [user for user in users if chance(site.choices, 50)]
    for user in users:
        user.set_operands([made if operand is instruction else operand for operand in user.operands])
    if is_root:
        computation.root = made
    computation.sort()


def _as_it_lay(site: Site, made: Instruction) -> Instruction:
    """The same array in the layout of the one that it stands for: by that a bitcast finds its elements."""
    shape = site.instruction.array
    return made if made.array.layout == shape.layout else site.build("copy", [made], shape=shape)
