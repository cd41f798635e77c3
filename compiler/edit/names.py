"""Names that XLA takes: some mean something to it, and no program with them gets through.

An instruction may not have the name of a type, nor one that begins with two underscores, not even behind `%`.  On the
way through StableHLO the entry becomes the function `main`, which no other computation may be then.  Here any name may
stand that the language has, so a program is renamed before XLA is given it, and what XLA says of it is renamed back.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.names import Names
from compiler.ir.types import TYPES

_PREFIX = "named_"
_ENTRY = "main"


def named_for_xla(module: Module) -> tuple[Module, dict[str, str]]:
    """A copy in which everything has a name that XLA takes, and what each of the new names stands for.

    A new name belongs to one old name, and to nothing else in the module.
    """
    renamed = module.clone()
    named: list[Instruction | Computation] = [*renamed.instructions(), *renamed.computations]
    names = Names(thing.name for thing in named)
    chosen: dict[str, str] = {}
    for thing in _refused(renamed):
        if thing.name not in chosen:
            chosen[thing.name] = names.take(_PREFIX + thing.name.lstrip("_"))
        thing.name = chosen[thing.name]
    return renamed, {new: old for old, new in chosen.items()}


def _refused(module: Module) -> Iterable[Instruction | Computation]:
    yield from (i for i in module.instructions() if i.name in TYPES or i.name.startswith("__"))
    yield from (c for c in module.computations if c.name == _ENTRY and c is not module.entry)
