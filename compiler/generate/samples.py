"""Small programs at random, a dozen to a module: a few instructions in a row, each in any form, on few elements.

What an instruction makes of values at its own edges, and what a rewrite makes of two in a row, shows best where they
stand alone: in a large program few values are such, and what becomes of them hides the rest.  Rewrites look for two or
three of a kind, such as what only moves elements, which among all opcodes hardly ever meet: so most modules have a
theme.  In the others every opcode has its turn, with what rewrites look for before and behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.generate.callers import CALLERS
from compiler.generate.choices import Choices, chance, pick
from compiler.generate.exhaustive import COMMON, Packing, space_of
from compiler.generate.kernels import KERNELS
from compiler.generate.lapack import BY_ROUTINE
from compiler.generate.libraries import LIBRARIES
from compiler.generate.ordering import order
from compiler.generate.recurrences import RECURRENCES
from compiler.generate.regions import around_regions
from compiler.generate.scope import Space
from compiler.generate.sharing import share
from compiler.generate.table import FAMILIES, ORDERED_PERCENT, RECIPES, step
from compiler.ir.module import Module
from compiler.ir.types import TYPES
from compiler.ops import Trait, having

_MUCH = having(
    Trait.ACCUMULATES | Trait.ORDERS | Trait.INDEXED | Trait.PRODUCT | Trait.MOVES | Trait.CONTROL | Trait.ALGORITHM
)
_USUAL, _OFTEN = 1, 3  # weights
_WEIGHTS: Mapping[str, int] = {
    **dict.fromkeys(RECIPES, _USUAL),
    **dict.fromkeys(sorted(_MUCH & RECIPES.keys()), _OFTEN),
    "concatenate": _OFTEN,
    "custom-call": _OFTEN,
    "fusion": _OFTEN,
    "map": _OFTEN,
    "pad": _OFTEN,
    "rng-bit-generator": _OFTEN,
    "set-dimension-size": _OFTEN,
}
"""How often an opcode comes: those that most kernels and rewrites are for several times."""
_TURNS = [opcode for opcode in sorted(_WEIGHTS) for _ in range(_WEIGHTS[opcode])]
_MOVES = "transpose broadcast reshape reverse slice pad concatenate"
_THEMES: Mapping[str, int] = {
    f"{_MOVES} transpose transpose broadcast bitcast dot dot": 5,
    "add subtract multiply divide negate maximum minimum abs power select compare convert clamp": 3,
    "and or xor not shift-left shift-right-logical shift-right-arithmetic remainder mulhi popcnt select": 1,
    "gather scatter scatter dynamic-slice dynamic-update-slice dynamic-update-slice iota concatenate select sort": 3,
    f"reduce reduce reduce-window scan select-and-scatter topk sort multiply {_MOVES}": 3,
    f"dot dot convolution ragged-dot scaled-dot add maximum convert {_MOVES}": 2,
    "while while conditional conditional call map fusion tuple add dynamic-update-slice reduce": 3,
    "set-dimension-size": 1,
    "custom-call cholesky triangular-solve fft batch-norm-training batch-norm-grad batch-norm-inference": 1,
}
"""Opcodes that meet, some of them more often, and how often they do."""
_ANY_THEME = 5  # the weight of all opcodes
_SIZE = 12
"""Programs of a sample: of two to four instructions each, they have about as many as a drawn program."""
_CUBES = ((3, 3, 3), (2, 2, 2, 2), (4, 4), (3, 3, 3), (5, 5, 5))  # dimensions that are all the same
_BASES = (
    (2, 3, 4), (3, 3, 3), (5,), (4, 4), (17,), (2, 2, 2, 2), (1, 6), (3, 1, 5), (33,), (9, 7), (16, 5), (130,), (),
    (3, 40), (70,), (2, 5, 18), (260,), (2, 200),
)  # fmt: skip
"""Dimensions that all differ or are all the same, of size 1, and on both sides of the edges of vectors."""
_EMPTY_PERCENT, _EMPTY = 4, ((0, 3), (2, 0, 3), (4, 0), (0,))
"""How often a program begins with arrays without elements: sums of nothing, results that no kernel writes."""
_LARGE_PERCENT, _FEW_LARGE, _MOST_OF_LARGE = 15, 3, 1 << 14
"""How often samples are of so few programs on arrays that threads share, and that are cut into tiles; and of how many
elements these are at most."""
_LARGE = ((100, 65), (3, 40, 50), (65, 129), (2, 3, 33, 31), (5000,), (17, 300), (300, 17), (4097,))
"""Dimensions on both sides of the edges of tiles."""
_LARGE_ABLE = having(Trait.ACCUMULATES | Trait.ORDERS | Trait.INDEXED | Trait.MOVES) - having(Trait.ALGORITHM)
_CUT = tuple(sorted(_LARGE_ABLE & RECIPES.keys()))
"""What is done in other ways there."""
_ALL_KERNELS = {**KERNELS, **RECURRENCES}
_WEIGHTS_OF_KERNELS: Mapping[str, int] = {
    **dict.fromkeys(_ALL_KERNELS, 2),
    "product": 8,
    "reduce": 3,
    "columns": 3,
    "convolution": 6,
    "rows": 4,
    "scatter": 7,
    "gather": 3,
    "sort": 5,
    "topk": 3,
    "running": 3,
    "fft": 3,
    "row of kernels": 3,
    "loop of kernels": 4,
    "chain": 1,
}
"""Those for which there are the most strategies come more often, and what takes many numbers less."""
_KERNELS = [_ALL_KERNELS[name] for name, weight in _WEIGHTS_OF_KERNELS.items() for _ in range(weight)]
_ALIKE_KERNELS = (
    *[(_KERNELS, 5)] * 10,
    (list(LIBRARIES.values()), 3),
    (list(CALLERS.values()), 1),
    *[(list(BY_ROUTINE.values()), 5)] * 3,
)
"""What the kernels of a module are, each as often as the others, and how many there are, no two of a kind: those of
instructions mostly; calls of libraries, or of functions, which some engines refuse; or of LAPACK.  A kernel takes about
as long as one or two small programs."""
_PARAMETERS = (0, 4, 1 << 10)
"""How many values a module takes besides those that its programs begin with: where there are few, constants stand
beside them."""
_BEFORE_PERCENT, _BEHIND_PERCENT, _ALIKE_PERCENT, _ANY_PERCENT = 45, 55, 25, 30
"""How often an instruction stands on another one, and how often one on it; how often that is of the same opcode, or
family, and how often of any."""
_LENGTHS, _CUBIC_PERCENT, _AGAIN_PERCENT = (2, 3, 3, 4), 60, 25
"""How many instructions of a theme stand in a row; how often they begin with dimensions that are all the same,
where some change places; how often two of an opcode follow one another."""
_SELDOM_PERCENT, _REGIONS_PERCENT = 15, 6
"""How often a program is on one of the types that are seldom drawn; how often a module is of manual regions instead."""


def sample(
    choices: Choices,
    name: str,
    element_types: Sequence[str],
    banned: frozenset[tuple[str, str]] = frozenset(),
    seldom: Sequence[str] = (),
) -> Module | None:
    """A module of a dozen small programs, or of one for several devices with manual regions.

    Args:
        choices: which programs they are.
        name: of the module.
        element_types: those that the programs are on.
        banned: opcodes on types that must not be drawn.
        seldom: types that few of them are on.

    Returns:
        The module; None where no program came of anything.
    """
    if chance(choices, _REGIONS_PERCENT):
        return around_regions(choices, name, element_types, banned, step)
    is_large = chance(choices, _LARGE_PERCENT)
    packing = Packing(name, _space(choices, [*element_types, *seldom], banned, is_large=is_large), step)
    theme = _CUT if is_large else _theme(choices)
    for _ in range(_FEW_LARGE if is_large else _SIZE):
        opcodes = _of_theme(choices, theme) if theme else _in_a_row(choices)
        types = seldom if seldom and chance(choices, _SELDOM_PERCENT) else element_types
        kinds = [kind for kind in sorted(types) if TYPES[kind] in RECIPES[opcodes[0]].element_types]
        is_cubic = "transpose" in theme and chance(choices, _CUBIC_PERCENT)
        bases = _LARGE if is_large else _CUBES if is_cubic else _BASES
        base = pick(choices, _EMPTY if chance(choices, _EMPTY_PERCENT) else bases)
        packing.chain(opcodes, TYPES[pick(choices, kinds or sorted(types))], base, choices)
    module = packing.finish()
    if module is not None:
        share(module, choices)
    return _at_times_ordered(module, choices)


def around_kernels(
    choices: Choices, name: str, element_types: Sequence[str], banned: frozenset[tuple[str, str]] = frozenset()
) -> Module | None:
    """A module of a few kernels with what stands before and behind them, of sizes at which their strategies differ.

    Args:
        choices: which kernels they are.
        name: of the module.
        element_types: those that the kernels are on.
        banned: opcodes on types that must not be drawn.

    Returns:
        The module; None where no kernel is on any of the types.
    """
    packing = Packing(name, _space(choices, element_types, banned, is_large=True), step)
    recipes, count = pick(choices, _ALIKE_KERNELS)
    left = list(recipes)
    for _ in range(count):
        recipe = pick(choices, left)
        left = [other for other in left if other is not recipe]
        kinds = [kind for kind in recipe.element_types if kind.name in element_types]
        if kinds:
            packing.kernel(recipe, pick(choices, kinds), choices)
    return _at_times_ordered(packing.finish(), choices)


def _at_times_ordered(module: Module | None, choices: Choices) -> Module | None:
    """A module, now and then with instructions that wait for others."""
    if module is not None and chance(choices, ORDERED_PERCENT):
        order(module, choices)
    return module


def _space(
    choices: Choices, element_types: Sequence[str], banned: frozenset[tuple[str, str]], *, is_large: bool
) -> Space:
    space = replace(
        space_of(element_types, banned),
        newest_percent=85,
        guard_percent=30,
        cube_percent=20,
        edge_percent=40,
        extreme_percent=5,
        most_parameters=pick(choices, _PARAMETERS),
    )
    return replace(space, most_elements=_MOST_OF_LARGE) if is_large else space


def _theme(choices: Choices) -> tuple[str, ...]:
    """Opcodes that meet in a module, or none, where all do."""
    weighted = [theme for theme, weight in _THEMES.items() for _ in range(weight)]
    return tuple(pick(choices, [""] * _ANY_THEME + weighted).split())


def _of_theme(choices: Choices, theme: Sequence[str]) -> list[str]:
    """Opcodes in a row."""
    found = [pick(choices, theme)]
    for _ in range(pick(choices, _LENGTHS) - 1):
        found.append(found[-1] if chance(choices, _AGAIN_PERCENT) else pick(choices, theme))
    return found


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
