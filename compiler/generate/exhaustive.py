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

from compiler.generate.choices import Choices
from compiler.generate.recipe import Recipe
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
        """Choices that belong together, which matters to those who shrink; nothing shrinks here."""
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
    """A module that small programs are put into, side by side.

    `step` draws the instructions of inner computations, which are empty without it.
    """

    def __init__(self, name: str, space: Space, step: Callable[[Scope], None] = lambda _: None) -> None:
        self.module = Module(name)
        entry = Computation("main")
        entry.module = self.module
        self.module.computations.append(entry)
        self.module.entry = entry
        self._space = space
        self._results: list[Instruction] = []
        self._given: dict[ArrayShape, Instruction] = {}
        self._scope = Scope(Program(Deviating(), space, self.module, step), entry, depth=0)

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

    def chain(self, opcodes: Sequence[str], element_type: ElementType, base: tuple[int, ...], choices: Choices) -> None:
        """Put instructions in, each mostly on what the one before makes, and give all that none of them uses.

        Args:
            opcodes: of the instructions; one that cannot be drawn there is left out.
            element_type: of the first.
            base: the dimensions of what it is mostly on.
            choices: all their decisions.
        """
        given = self.given(element_type, base)
        self._scope.values, self._scope.kept = list(given), []
        for opcode in opcodes:
            made = self._drawn(opcode, element_type, choices)
            element_type = made.array.element_type if made else element_type
        unused = [v for v in self._scope.values if v not in given and not v.users and v.opcode != "parameter"]
        self._results += [*self._scope.kept, *unused]

    def kernel(self, recipe: Recipe, element_type: ElementType, choices: Choices) -> None:
        """Put in what a recipe makes of arrays that it brings along, and give all that is not used there.

        Args:
            recipe: draws the instructions.
            element_type: of the arrays.
            choices: all its decisions.
        """
        self._scope.values, self._scope.kept = [], []
        self._scope.program.choices, self._scope.program.spent = choices, 0
        recipe.draw(self._scope, "", element_type)
        unused = [v for v in self._scope.values if not v.users and v.opcode != "parameter"]
        self._results += [*self._scope.kept, *unused]

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

    def _drawn(self, opcode: str, element_type: ElementType, choices: Choices) -> Instruction | None:
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
        self._leave_out_unused()
        self.module.sort_computations()
        return self.module

    def _leave_out_unused(self) -> None:
        """Take away the arrays that no program has come to use."""
        entry = self.module.entry
        entry.remove([parameter for parameter in entry.parameters if not parameter.users])
        for number, parameter in enumerate(entry.parameters):
            parameter.attributes["parameter_number"] = number


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
