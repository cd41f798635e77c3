"""The program that is being generated: its computations, the values at hand, and what may still be added.

Operands are chosen by counting back from the newest value, so that a source of choices that deletes an instruction
leaves the others' operands meaningful.  Where no value fits, a new one is made: a parameter of the entry, elsewhere a
constant or an iota.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.generate.choices import Choices, chance, permutation, pick
from compiler.generate.constants import extremes, small
from compiler.ir.literal import array_literal, scalar_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, Shape, TupleShape, leaves
from compiler.ir.types import PRED, S32, TYPES, ElementType, Kind
from compiler.ops import Trait, having
from compiler.ops.build import build, constant, parameter

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 300)
"""Sizes of dimensions: small ones, and both sides of the edges of vectors, tiles and blocks."""

LARGE_SIZES = (512, 777, 1024, 2049, 4096, 10_000, 65_535, 65_537, 300_000)
"""Sizes of dimensions where there is room for large arrays."""
_LEAST_ROOM = 1 << 14
"""Elements of an array from which on sizes beyond blocks and tiles are drawn: 128 x 128."""
_LARGEST_LITERAL = 12
"""Elements up to which a constant is written out; larger ones are broadcast."""
_ALIKE_PERCENT, _OTHER_SIGN_PERCENT = 25, 50
"""How often all its numbers are the same, which rewrites look for, and how often one has the other sign then."""
_ONE_PERCENT = 12
"""How often a dimension has size 1.

Percentages were set by what campaigns reached (`fuzzing/reached.py`), by hand, and are no optimum."""
_EQUAL_PERCENT = 15
"""How often a dimension is as long as the one before it."""
_SAME_PERCENT = 20
"""How often both operands may be one value: of `x < x` much is known beforehand."""
_UNUSED_PERCENT = 60  # what nothing uses shows in no result
_DIMENSIONS = 4
"""Dimensions of an array: more than 4 only take longer, since loops collapse them."""
_CUBIC, _SPREAD_PERCENT = 3, 35
"""Dimensions of a cube, and how often a value that fits is spread over more of them."""
_WHOLES = having(Trait.CONTROL | Trait.TUPLES) | {"parameter"}
"""What gives tuples that anything may be given."""
_OTHER_INDICES_PERCENT, _NARROW_PERCENT, _LEAST_INDEX_BITS = 35, 50, 8
"""How often indices are not s32; how often of a type that does not hold all of them, of so many bits at least."""


@dataclass(frozen=True, slots=True)
class Space:
    """The programs that may be generated; types are named as in HLO text.

    Attributes:
        opcodes: what may be drawn; the generator adds constants, converts and the like around it where it must.
        element_types: of the values drawn.
        banned: (opcode, element type) pairs that must not be drawn, those that an engine does not support.
        most_instructions: how many are drawn in the entry computation.
        most_elements: of any one array.
        budget: elements of all arrays together.
        depth: how deep computations may nest.
        guard_percent: how often an operand is clamped into the domain of the function that is applied to it.
        empty_percent: how often a dimension has size 0.
        newest_percent: how often an operand is the newest value that fits: rewrites look at chains.
        most_parameters: of the entry; where there are few, most values are constants, and folded.
        extreme_percent: how often a scalar constant is an extreme of its type: the least, the greatest, no number.
        cube_percent: how often all dimensions of an array are equal: what confuses dimensions of different sizes gives
            no valid program, so it shows in squares and cubes.
        edge_percent: how often operands of integers meet, in places, where the operation runs out of integers.
        devices_percent: how often a program that may exchange among devices is for several of them.
        fragments: programs that are planted among what is drawn, so many at most (`compiler.generate.fragments`).
        fragment_percent: how often one is, instead of an instruction.
        featured: opcodes that come now and then whatever else is drawn, so that the rarest has its turn.
        featured_percent: how often one of them is drawn.
        again_percent: how often an instruction has the opcode of the one before it: rewrites look at two alike.
    """

    opcodes: frozenset[str]
    element_types: frozenset[str]
    banned: frozenset[tuple[str, str]] = frozenset()
    most_instructions: int = 16
    most_elements: int = 4096
    budget: int = 60_000
    depth: int = 2
    guard_percent: int = 80
    empty_percent: int = 0
    newest_percent: int = 35
    most_parameters: int = 8
    extreme_percent: int = 0
    cube_percent: int = 0
    edge_percent: int = 0
    again_percent: int = 0
    fragments: tuple[Module, ...] = ()
    fragment_percent: int = 0
    featured: tuple[str, ...] = ()
    featured_percent: int = 0
    devices_percent: int = 0

    def allows(self, opcode: str, element_type: ElementType) -> bool:
        """Whether an opcode may be drawn on a type."""
        name = element_type.name
        return opcode in self.opcodes and name in self.element_types and (opcode, name) not in self.banned


@dataclass(slots=True)
class Program:
    """The module, and what all of its computations share while it is generated.

    `step` draws one more instruction, from the table of all recipes, into whichever scope a recipe wants filled;
    `devices` is how many the program is for, `planted` counts its fragments.
    """

    choices: Choices
    space: Space
    module: Module
    step: Callable[[Scope], None]
    devices: int = 1
    spent: int = 0
    planted: int = 0
    element_types: list[ElementType] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.element_types = [t for t in TYPES.values() if t.name in self.space.element_types]

    def computation(self, name: str) -> Computation:
        """A new computation, to be filled; callees are put before callers when the program is done."""
        return self.module.add_computation(Computation(name))

    def room(self) -> int:
        """How many elements another array may have."""
        return max(1, min(self.space.most_elements, self.space.budget - self.spent))


class Scope:
    """A computation under construction, and the arrays that its next instruction may use.

    `everyone` says that all devices come to it equally often, so that they may exchange there.  `wholes` are tuples of
    arrays, which may be handed on as they are, whether they are taken apart as well or not.
    """

    def __init__(self, program: Program, computation: Computation, *, depth: int, everyone: bool | None = None) -> None:
        self.program = program
        self.computation = computation
        self.depth = depth
        self.everyone = not depth if everyone is None else everyone
        self.values: list[Instruction] = []
        self.wholes: list[Instruction] = []
        self.kept: list[Instruction] = []

    @property
    def choices(self) -> Choices:
        """The source of decisions."""
        return self.program.choices

    def build(self, opcode: str, operands: Sequence[Instruction] = (), **given: Any) -> Instruction:
        """Append an instruction; an array becomes available to those that follow.

        Args:
            opcode: HLO's.
            operands: in order.
            given: attributes, or a shape where it does not follow.
        """
        made = build(self.computation, opcode, operands, **given)
        self._offer(made)
        return made

    def parameter(self, shape: Shape) -> Instruction:
        """Append the next parameter."""
        made = parameter(self.computation, len(self.computation.parameters), shape)
        self._offer(made)
        return made

    def _offer(self, made: Instruction) -> None:
        found = list(leaves(made.shape))
        if not (found and all(map(_is_plain, found))):
            return
        if isinstance(made.shape, ArrayShape):
            self.program.spent += made.array.size
            self.values.append(made)
        elif made.opcode in _WHOLES and isinstance(made.shape, TupleShape):
            self.wholes.append(made)

    def adopt(self, made: Instruction) -> Instruction:
        """Append an instruction that is there already."""
        self._offer(self.computation.add(made))
        return made

    def give(self, made: Sequence[Instruction], *, are_kept: bool) -> None:
        """Offer what is there already, or keep it as the program's own results, where no other instruction meets it.

        What stands in a body is no result, and is offered.
        """
        if are_kept and not self.depth:
            self.kept += made
            return
        for value in made:
            self._offer(value)

    def constant(self, value: Any, element_type: ElementType) -> Instruction:
        """Append a scalar constant, which is not offered to other instructions."""
        return constant(self.computation, scalar_literal(np.asarray(value).astype(element_type.dtype), element_type))

    def find(self, fits: Callable[[ArrayShape], bool], *, but: Instruction | None = None) -> Instruction | None:
        """A value whose shape fits, `but` for one, the newest being the simplest; mostly one that nothing uses yet."""
        found = [value for value in reversed(self.values) if fits(value.array) and value is not but]
        if not found:
            return None
        unused = [value for value in found if not value.users]
        if 0 < len(unused) < len(found) and chance(self.choices, _UNUSED_PERCENT):
            found = unused
        return found[0] if chance(self.choices, self.program.space.newest_percent) else pick(self.choices, found)

    def array(
        self, element_type: ElementType, *, least_rank: int = 0, most_rank: int = _DIMENSIONS, size: int = 0
    ) -> Instruction:
        """A value of an element type, mostly one that is there; its rank, and its size at most, may be demanded.

        Args:
            element_type: of the value.
            least_rank: its rank, at least.
            most_rank: its rank, at most.
            size: its elements, at most; 0 for any number.
        """

        def fits(shape: ArrayShape) -> bool:
            is_small = not size or shape.size <= size
            return shape.element_type is element_type and least_rank <= shape.rank <= most_rank and is_small

        found = None if chance(self.choices, 10) else self.find(fits)
        return found or self.fresh(ArrayShape(element_type, self.dims(least_rank, most_rank, size=size)))

    @property
    def is_large(self) -> bool:
        """Whether there is room for arrays that are shared among threads, cut into tiles or looked up."""
        return self.program.space.most_elements >= _LEAST_ROOM

    def at_most(self, size: int) -> int:
        """How many elements a value may have of which so many are enough: all of them among large ones."""
        return self.program.space.most_elements if self.is_large else size

    def cube(self, element_type: ElementType, rank: int = _CUBIC) -> Instruction | None:
        """Now and then a value of so many dimensions or more, all of the same size."""

        def fits(shape: ArrayShape) -> bool:
            is_cube = shape.rank >= rank and len(set(shape.dims)) == 1 and shape.dims[0] > 1
            return shape.element_type is element_type and is_cube

        percent = self.program.space.cube_percent
        if not percent or not chance(self.choices, percent):
            return None
        side = pick(self.choices, [n for n in SIZES[1:] if n**rank <= self.program.room()] or SIZES[1:2])
        return self.find(fits) or self._spread_out(element_type, side, rank)

    def _spread_out(self, element_type: ElementType, side: int, rank: int) -> Instruction:
        """A new cube, now and then of a line or a square along any of its dimensions."""
        if ("broadcast", element_type.name) in self.program.space.banned or not chance(self.choices, _SPREAD_PERCENT):
            return self.fresh(ArrayShape(element_type, (side,) * rank))
        kept = sorted(permutation(self.choices, rank)[: self.choices.integer(1, rank - 1)])
        narrow = self.like(ArrayShape(element_type, (side,) * len(kept)))
        shape = ArrayShape(element_type, (side,) * rank)
        return self.build("broadcast", [narrow], shape=shape, dimensions=tuple(kept))

    def like(self, shape: ArrayShape, *, beside: Instruction | None = None) -> Instruction:
        """A value of exactly this shape: one that is there, a scalar spread out, or a new one.

        `beside` is an operand that it stands beside: seldom the same value, of which much is known beforehand.
        """
        kind = self.choices.integer(0, 9)
        but = None if chance(self.choices, _SAME_PERCENT) else beside
        found = self.find(lambda other: (other.element_type, other.dims) == (shape.element_type, shape.dims), but=but)
        if found is not None and kind < 7:
            return found
        if kind in (7, 8) and shape.rank:
            one = self.find(lambda other: other.element_type is shape.element_type and not other.rank)
            value = one or self.small_constant(shape.element_type)
            return self.build("broadcast", [value], shape=ArrayShape(shape.element_type, shape.dims), dimensions=())
        return self.fresh(shape)

    def index_type(self, dims: Sequence[int] = ()) -> ElementType:
        """The type of indices into dimensions: mostly s32, else any integers that the program may use.

        Often one that does not hold all indices, or not as a number with a sign: what widens them too late, not at all,
        or as if they had one, shows there.
        """
        others = [t for t in self.program.element_types if t.is_integer and t.bits >= _LEAST_INDEX_BITS]
        narrow = [t for t in others if max(dims, default=0) >= 1 << t.bits - 1]
        if narrow and chance(self.choices, _NARROW_PERCENT):
            return pick(self.choices, narrow)
        return pick(self.choices, others) if others and chance(self.choices, _OTHER_INDICES_PERCENT) else S32

    def unknown(self, shape: ArrayShape) -> Instruction:
        """A value that no pass knows, so that nothing is folded: a new parameter, where there may be one."""
        return self.parameter(shape) if self.takes_parameters() else self.like(shape)

    def takes_parameters(self) -> bool:
        """Whether the computation is the entry, and may have another parameter."""
        is_entry = self.computation is self.program.module.entry
        return is_entry and len(self.computation.parameters) < self.program.space.most_parameters

    def fresh(self, shape: ArrayShape) -> Instruction:
        """A new value that depends on nothing here."""
        bare = ArrayShape(shape.element_type, shape.dims)
        kind = self.choices.integer(0, 9)
        if kind < 8 and self.takes_parameters():
            return self.parameter(bare)
        if kind == 8 and bare.rank and bare.element_type is not PRED:
            return self.build("iota", shape=bare, iota_dimension=self.choices.integer(0, bare.rank - 1))
        if 0 < bare.size <= _LARGEST_LITERAL:
            values = self._numbers(bare.element_type, bare.size)
            # As objects: left to itself NumPy makes floats of integers some of which need all 64 bits.
            array = np.array(values, object).astype(bare.element_type.dtype).reshape(bare.dims)
            made = constant(self.computation, array_literal(array, bare.element_type))
            self._offer(made)
            return made
        return self.build("broadcast", [self.small_constant(bare.element_type)], shape=bare, dimensions=())

    def small_constant(self, element_type: ElementType) -> Instruction:
        """A scalar constant near 0, or an extreme of its type."""
        return self.constant(self._number(element_type), element_type)

    def _numbers(self, element_type: ElementType, count: int) -> list[Any]:
        """Numbers of a constant: any, or the same, at times but for the sign of one, which may be that of a zero."""
        if not chance(self.choices, _ALIKE_PERCENT):
            return [self._number(element_type) for _ in range(count)]
        values = [self._number(element_type)] * count
        has_signs = element_type.is_signed_float or element_type.is_complex
        if has_signs and chance(self.choices, _OTHER_SIGN_PERCENT):
            values[self.choices.integer(0, count - 1)] = -values[0]
        return values

    def _number(self, element_type: ElementType) -> Any:
        if chance(self.choices, self.program.space.extreme_percent):
            return pick(self.choices, extremes(element_type))
        return small(self.choices, element_type)

    def dims(self, least_rank: int = 0, most_rank: int = _DIMENSIONS, *, size: int = 0) -> tuple[int, ...]:
        """Dimensions of an array that there is room for.

        Args:
            least_rank: dimensions at least.
            most_rank: dimensions at most.
            size: elements at most; 0 for as many as there is room for.
        """
        rank = self.choices.integer(least_rank, max(least_rank, min(most_rank, _DIMENSIONS)))
        room = min(self.program.room(), size or self.program.space.most_elements)
        known = SIZES + LARGE_SIZES if room >= _LEAST_ROOM else SIZES
        sides = [n for n in known if n**rank <= room]
        if rank > 1 and sides and chance(self.choices, self.program.space.cube_percent):
            return (pick(self.choices, sides),) * rank
        dims: list[int] = []
        for _ in range(rank):
            if chance(self.choices, self.program.space.empty_percent):
                dims.append(0)
                continue
            fitting = [n for n in known if n <= room]
            if dims and 0 < dims[-1] <= room and chance(self.choices, _EQUAL_PERCENT):
                dims.append(dims[-1])
            else:
                dims.append(1 if chance(self.choices, _ONE_PERCENT) else pick(self.choices, fitting))
            room = max(1, room // dims[-1])
        return tuple(pick_order(self.choices, dims))

    def fits(self, dims: Sequence[int]) -> bool:
        """Whether there is room for an array of these dimensions."""
        return math.prod(dims) <= self.program.room()

    def element_type(self, allowed: Sequence[ElementType]) -> ElementType:
        """One of the types, mostly that of a value at hand, so that programs hang together."""
        present = [v.array.element_type for v in reversed(self.values) if v.array.element_type in allowed]
        if present and not chance(self.choices, 20):
            return pick(self.choices, present[:6])
        return pick(self.choices, allowed)


def _is_plain(shape: Shape) -> bool:
    """Whether it is an array of numbers whose sizes are known."""
    return isinstance(shape, ArrayShape) and shape.element_type.kind is not Kind.OPAQUE and not shape.is_dynamic


def pick_order(choices: Choices, dims: list[int]) -> list[int]:
    """The sizes with the one drawn first, which tends to be the largest, anywhere."""
    if len(dims) < 2:
        return dims
    index = choices.integer(0, len(dims) - 1)
    dims[0], dims[index] = dims[index], dims[0]
    return dims
