"""Small programs at random, a dozen to a module: a few instructions in a row, each in any form, on few elements.

What an instruction makes of values at its own edges, and what a rewrite makes of two in a row, shows best where they
stand alone: in a large program few values are such, and what becomes of them hides the rest.  Every opcode has its
turn, those the most often that much of the compiler is for, with what rewrites look for before and behind them; what
nothing uses is a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.generate.choices import Choices, chance, pick
from compiler.generate.exhaustive import COMMON, Packing, space_of
from compiler.generate.sharing import share
from compiler.generate.table import FAMILIES, RECIPES, step
from compiler.ir.module import Module
from compiler.ir.types import TYPES
from compiler.ops import Trait, having

_OTHERS = {"concatenate", "custom-call", "fusion", "map", "pad", "rng-bit-generator", "set-dimension-size"}
_MUCH = _OTHERS | having(
    Trait.ACCUMULATES | Trait.ORDERS | Trait.INDEXED | Trait.PRODUCT | Trait.MOVES | Trait.CONTROL | Trait.ALGORITHM
)
_TURNS = sorted([*RECIPES, *(opcode for opcode in RECIPES if opcode in _MUCH for _ in range(2))])
"""Opcodes, those that most kernels and rewrites are for several times."""
_SIZE = 12
"""Programs of a sample: as many instructions as a drawn program has by chance (chosen)."""
_BASES = (
    (2, 3, 4), (3, 3, 3), (5,), (4, 4), (17,), (2, 2, 2, 2), (1, 6), (3, 1, 5), (33,), (9, 7), (16, 5), (130,), (),
)  # fmt: skip
"""Dimensions that all differ or are all the same, of size 1, and on both sides of the edges of vectors."""
_BEFORE_PERCENT, _BEHIND_PERCENT, _ALIKE_PERCENT, _ANY_PERCENT = 45, 55, 25, 30
"""How often an instruction stands on another one, and how often one on it; how often that is of the same opcode, or
family, and how often of any."""
_SELDOM_PERCENT = 15
"""How often a program is on one of the types that are seldom drawn."""


def sample(
    choices: Choices,
    name: str,
    element_types: Sequence[str],
    banned: frozenset[tuple[str, str]] = frozenset(),
    seldom: Sequence[str] = (),
) -> Module | None:
    """A module of a dozen small programs.

    Args:
        choices: which programs they are.
        name: of the module.
        element_types: those that the programs are on.
        banned: opcodes on types that must not be drawn.
        seldom: types that few of them are on.

    Returns:
        The module; None where no program came of anything.
    """
    space = replace(
        space_of([*element_types, *seldom], banned),
        newest_percent=85,
        guard_percent=30,
        cube_percent=20,
        edge_percent=40,
        extreme_percent=5,
    )
    packing = Packing(name, space, step)
    for _ in range(_SIZE):
        opcodes = _in_a_row(choices)
        types = seldom if seldom and chance(choices, _SELDOM_PERCENT) else element_types
        kinds = [kind for kind in sorted(types) if any(TYPES[kind] in RECIPES[o].element_types for o in opcodes[:1])]
        packing.chain(opcodes, TYPES[pick(choices, kinds or sorted(types))], pick(choices, _BASES), choices)
    module = packing.finish()
    if module is not None:
        share(module, choices)
    return module


def _in_a_row(choices: Choices) -> list[str]:
    """An opcode, and what it stands on and what on it."""
    opcode = pick(choices, _TURNS)
    before = [_beside(choices, opcode)] if chance(choices, _BEFORE_PERCENT) else []
    behind = [_beside(choices, opcode)] if chance(choices, _BEHIND_PERCENT) else []
    return [*before, opcode, *behind]


def _beside(choices: Choices, opcode: str) -> str:
    if chance(choices, _ALIKE_PERCENT):
        family = next(family for family in FAMILIES if opcode in family)
        return opcode if chance(choices, 50) else pick(choices, sorted(family))
    return pick(choices, sorted(RECIPES) if chance(choices, _ANY_PERCENT) else sorted(COMMON))
