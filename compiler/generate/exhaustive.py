"""All small programs in a fixed order: one instruction in any form near the simplest, two in a row, three common ones.

A form is the simplest outcome of every decision but one, on an array whose dimensions all differ or on one where they
are all the same.  So the forms of an opcode on a type are counted by drawing it once, and any of them is drawn by its
number.  Many programs stand in one module, each with results of its own: compiling costs more than they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from compiler.generate.choices import Choices, chance, pick
from compiler.generate.scope import Program, Scope, Space
from compiler.generate.table import RECIPES
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape
from compiler.ir.types import TYPES, ElementType
from compiler.ops import Trait, narrowing

BASES = ((2, 3, 4), (3, 3, 3))
"""Dimensions of the arrays that programs are about."""
_BESIDE = ((5,), (4, 3))
"""Dimensions of those for opcodes that take fewer."""
_ALL_OF, _PERCENT = 6, 99
"""Choices up to which each is tried, of more the ends and the middle; of a choice by percent the end."""
_MOST_ELEMENTS, _BUDGET = 256, 1 << 20
"""Elements of an array, and of all: no small program comes near."""
_EVERYTHING = frozenset(RECIPES)
COMMON = narrowing(
    Trait.ELEMENTWISE | Trait.MOVES | Trait.GENERATES | Trait.SELECTS | Trait.PRODUCT | Trait.COMBINES | Trait.CONTROL,
    "abs add and broadcast compare concatenate convert divide dot iota maximum minimum multiply negate not or pad "
    "reduce reshape reverse select slice subtract transpose while",
)
"""What most programs consist of, and most rewrites look for; here it comes three in a row, in any order."""
_OF_THREE = ("f32", "s32")
_SAMPLE = 12
"""Programs of a sample: as many instructions as a drawn program has by chance (chosen)."""
_OF_TWO_PERCENT = 50  # the others have one instruction in any of its forms (chosen)


@dataclass(slots=True)
class Deviating:
    """Decisions that are the simplest but for one, by its number; `asked` are the ranges of all that were made."""

    at: int = -1
    value: int = 0
    asked: list[tuple[int, int]] = field(default_factory=list)

    def integer(self, low: int, high: int) -> int:
        """The least, or the value of the one decision."""
        self.asked.append((low, high))
        return min(max(self.value, low), high) if len(self.asked) - 1 == self.at else low

    def more(self, drawn: int, most: int) -> bool:
        """Whether to draw another element, which is a decision like any other."""
        return drawn < most and self.integer(0, 1) > 0

    def group(self, draw: Callable[[], None]) -> None:
        """Nothing shrinks here."""
        draw()


@dataclass(frozen=True, slots=True)
class Small:
    """A program of one instruction in a form, or with others in their simplest forms behind it."""

    opcode: str
    element_type: str
    base: tuple[int, ...]
    at: int = -1
    value: int = 0
    second: str = ""
    third: str = ""


def _others(low: int, high: int) -> list[int]:
    """The other outcomes of a decision that are tried: all of a few, else both ends and the middle."""
    if (low, high) == (0, _PERCENT):
        return [high]
    if high - low <= _ALL_OF:
        return list(range(low + 1, high + 1))
    return sorted({low + 1, (low + high) // 2, high - 1, high})


class Packing:
    """A module that small programs are put into, side by side."""

    def __init__(self, name: str, space: Space) -> None:
        self.module = Module(name)
        entry = Computation("main")
        entry.module = self.module
        self.module.computations.append(entry)
        self.module.entry = entry
        self._space = space
        self._results: list[Instruction] = []
        self._given: dict[ArrayShape, Instruction] = {}
        self._scope = Scope(Program(Deviating(), space, self.module, lambda _: None), entry, depth=0)

    def add(self, small: Small) -> bool:
        """Put a program in; returns whether it is one."""
        element_type = TYPES[small.element_type]
        self._scope.values = self.given(element_type, small.base)
        made = self._drawn(small.opcode, element_type, Deviating(small.at, small.value))
        for opcode in filter(None, (small.second, small.third)):
            if made is not None:
                self._scope.values = [made]
                made = self._drawn(opcode, made.array.element_type, Deviating())
        if made is None:
            return False
        self._results.append(made)
        return True

    def asked(self, small: Small) -> list[tuple[int, int]]:
        """The decisions that a program of one instruction takes, which is put in."""
        choices = Deviating(small.at, small.value)
        self._scope.values = self.given(TYPES[small.element_type], small.base)
        self._drawn(small.opcode, TYPES[small.element_type], choices)
        return choices.asked

    def given(self, element_type: ElementType, base: tuple[int, ...]) -> list[Instruction]:
        """The arrays that a program is about, its base the newest of them."""
        shapes = [ArrayShape(element_type, dims) for dims in (*_BESIDE, base)]
        for shape in shapes:
            if shape not in self._given:
                self._given[shape] = self._scope.parameter(shape)
        return [self._given[shape] for shape in shapes]

    def _drawn(self, opcode: str, element_type: ElementType, choices: Deviating) -> Instruction | None:
        """An instruction of an opcode on the newest value; None where there is none, or its value is no array."""
        self._scope.program.choices = choices
        self._scope.program.spent = 0
        if element_type not in RECIPES[opcode].element_types or not self._space.allows(opcode, element_type):
            return None
        made = RECIPES[opcode].draw(self._scope, opcode, element_type)
        if made is None or not isinstance(made.shape, ArrayShape) or made.shape.is_dynamic:
            return None
        return made

    def finish(self) -> Module | None:
        """The module; None where no program came of anything."""
        if not self._results:
            return None
        self.module.entry.root = self._scope.build("tuple", self._results)
        self.module.sort_computations()
        return self.module


def space_of(element_types: Sequence[str], banned: frozenset[tuple[str, str]]) -> Space:
    """The space that small programs are of: nothing in it is left to chance."""
    return Space(
        _EVERYTHING,
        frozenset(element_types),
        banned=banned,
        most_elements=_MOST_ELEMENTS,
        budget=_BUDGET,
        depth=1,
        newest_percent=100,
        guard_percent=0,
        most_parameters=1 << 10,
    )


@cache
def _decisions(opcode: str, element_type: str, base: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The decisions that the simplest form of an opcode takes."""
    packing = Packing("asked", space_of((element_type, "pred", "s32"), frozenset()))
    return tuple(packing.asked(Small(opcode, element_type, base)))


def small_programs(element_types: Sequence[str], banned: frozenset[tuple[str, str]] = frozenset()) -> Iterator[Small]:
    """All small programs on some types, those of one instruction first, then those of two and of three."""
    pairs = [
        (opcode, kind)
        for opcode in sorted(RECIPES)
        for kind in sorted(element_types)
        if TYPES[kind] in RECIPES[opcode].element_types and (opcode, kind) not in banned
    ]
    for opcode, kind in pairs:
        for base in BASES:
            yield Small(opcode, kind, base)
            for at, (low, high) in enumerate(_decisions(opcode, kind, base)):
                yield from (Small(opcode, kind, base, at, value) for value in _others(low, high))
    for opcode, kind in pairs:
        yield from (Small(opcode, kind, BASES[0], second=second) for second in sorted(RECIPES))
    common = sorted(COMMON)
    of_three = [(opcode, kind) for opcode, kind in pairs if opcode in COMMON and kind in _OF_THREE]
    for opcode, kind in of_three:
        yield from (Small(opcode, kind, BASES[0], second=one, third=other) for one, other in product(common, repeat=2))


def sample(
    choices: Choices, name: str, element_types: Sequence[str], banned: frozenset[tuple[str, str]] = frozenset()
) -> Module | None:
    """A module of a dozen small programs, of one instruction or of two; every opcode comes as often as every other.

    Args:
        choices: which programs they are.
        name: of the module.
        element_types: those that the programs are on.
        banned: opcodes on types that must not be drawn.

    Returns:
        The module; None where no program came of anything.
    """
    packing = Packing(name, space_of(element_types, banned))
    for _ in range(_SAMPLE):
        packing.add(_any_of(choices, element_types))
    return packing.finish()


def _any_of(choices: Choices, element_types: Sequence[str]) -> Small:
    """One of the small programs of one instruction or of two."""
    opcode = pick(choices, sorted(RECIPES))
    kinds = [kind for kind in sorted(element_types) if TYPES[kind] in RECIPES[opcode].element_types]
    kind, base = pick(choices, kinds or sorted(element_types)), pick(choices, BASES)
    if chance(choices, _OF_TWO_PERCENT):
        return Small(opcode, kind, base, second=pick(choices, sorted(RECIPES)))
    decisions = enumerate(_decisions(opcode, kind, base))
    forms = [(-1, 0), *((at, value) for at, (low, high) in decisions for value in _others(low, high))]
    return Small(opcode, kind, base, *pick(choices, forms))
