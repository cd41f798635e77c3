"""Fusion groups: instructions that will be computed together in one kernel, and what kind of kernel that makes.

A *group* is grown from its root towards operands; `joining` decides about each operand.  The forms are a *loop* over
the root's elements; a *reduce*, whose root is a reduction or an elementwise epilogue of one; a *row*, in which
reductions over the last dimensions are broadcast back over them; a *dot*, or a convolution, with its elementwise
epilogue.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from compiler.analysis.indexing_count import IndexingCount, common
from compiler.analysis.opcodes import FUNCTIONS, MOVES, PRODUCTS, SELECTS
from compiler.analysis.updates import is_elementwise, is_update_in_place
from compiler.ir.graph import reachable
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops import Trait, having

_BY_ELEMENT = MOVES | SELECTS | having(Trait.ELEMENTWISE)
"""Opcodes of which a kernel may compute any single element."""

_WIDEST_CONCATENATE = 8
"""Operands up to which a concatenation joins a loop, in which each is a loop of its own: of 8 it compiles in 49 ms
instead of 32, of 32 in 187 instead of 79, which a call of some 5 us saved hardly ever pays for
(`reports/measured/2026-11-26-constants`)."""
_FRAMES = {"concatenate": 18, "pad": 9, "dynamic-update-slice": 9, "reduce": 9, "gather": 5}
"""Frames of Python's stack that emission takes within an op that is not elementwise; for those not here 3."""
_MOST_COLUMNS = 4
"""Columns up to which what few columns are summed up with is computed along with them: beside a matrix of distances, of
2 to 4 columns, its way through memory was a third of the time (11-22)."""


class FusionGroupKind(enum.Enum):
    """The way a group's kernel walks; the value is XLA's name of the fusion kind."""

    LOOP = "kLoop"
    REDUCE = "kInput"
    ROW = "kCustom"
    DOT = "kOutput"


@dataclass(slots=True, eq=False)
class FusionGroup:
    """Instructions that become one kernel; `members` holds the roots, its results, too.

    `weights` are reductions of a few terms each that are computed within another reduction.  `copies` has what other
    groups compute as well, and how many operations that round are on a path through such.
    """

    roots: list[Instruction]
    kind: FusionGroupKind
    members: set[Instruction] = field(default_factory=set)
    depths: dict[Instruction, int] = field(default_factory=dict)
    weights: set[Instruction] = field(default_factory=set)
    copies: dict[Instruction, int] = field(default_factory=dict)
    indexing: IndexingCount = field(init=False)
    functions: int = field(init=False)

    def __post_init__(self) -> None:
        self.indexing = IndexingCount(self.roots)
        self.functions = sum(member.opcode in FUNCTIONS for member in self.members)

    def depending_on(self, value: Instruction, but: Collection[Instruction] = ()) -> Iterator[Instruction]:
        """Members that are computed from a value, each once; what is computed only by way of `but` is left out."""

        def users(of: Instruction) -> list[Instruction]:
            return [user for user in of.users if user in self.members and user not in but]

        return reachable(users(value), users)

    @property
    def reduces(self) -> list[Instruction]:
        """The reductions that the kernel walks for."""
        return [i for i in self.members if i.opcode == "reduce" and i not in self.weights]

    @property
    def root(self) -> Instruction:
        """The instruction that the group was grown from."""
        return self.roots[0]

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimensions of the root; none for one that yields a tuple."""
        return self.root.array.dims if isinstance(self.root.shape, ArrayShape) else ()


def is_fusible(instruction: Instruction) -> bool:
    """Whether a back end can compute a single element of this instruction's result."""
    if not isinstance(instruction.shape, ArrayShape) or instruction.array.is_dynamic:
        return False
    if instruction.opcode == "concatenate":
        return len(instruction.operands) <= _WIDEST_CONCATENATE
    if instruction.opcode == "constant":
        return instruction.array.size == 1
    if is_update_in_place(instruction):
        return False
    return instruction.opcode in _BY_ELEMENT


def kind_of(instruction: Instruction) -> FusionGroupKind | None:
    """The kind of a new group with this root; None for what is not fused."""
    if instruction.opcode == "reduce":
        return FusionGroupKind.REDUCE
    if instruction.opcode in PRODUCTS:
        return None if instruction.array.element_type.is_complex else FusionGroupKind.DOT
    takes_in = instruction.opcode == "scatter" or (instruction.opcode == "sort" and len(instruction.operands) > 1)
    fusible = is_fusible(instruction) or is_update_in_place(instruction) or takes_in
    return FusionGroupKind.LOOP if fusible and instruction.opcode != "constant" else None


def is_iota(instruction: Instruction) -> bool:
    """Whether a value is the elements' numbers along a dimension, which a sort need not read."""
    if instruction.opcode == "broadcast":
        return instruction.operands[0].opcode == "iota"
    return instruction.opcode == "iota"


def add_to(group: FusionGroup, instruction: Instruction) -> None:
    """Add an instruction; a loop that takes in a reduction or a dot becomes a kernel of that kind."""
    if instruction.opcode == "reduce" and is_weight(instruction, group):
        group.weights.add(instruction)
    group.members.add(instruction)
    group.functions += instruction.opcode in FUNCTIONS
    group.depths[instruction] = depth_of(instruction, group)
    group.indexing.add(instruction)
    kind = kind_of(instruction)
    if (
        kind is None
        or kind is FusionGroupKind.LOOP
        or group.kind is FusionGroupKind.ROW
        or instruction in group.weights
    ):
        return
    plain = instruction.opcode in PRODUCTS or is_epilogue_of(instruction, group)
    group.kind = kind if plain else FusionGroupKind.ROW


def depth_of(instruction: Instruction, group: FusionGroup) -> int:
    """The depth of recursion at which emission reaches an instruction; elementwise chains it takes in a loop."""
    above = max((group.depths[user] for user in common(instruction.users, group.depths)), default=0)
    return above if is_elementwise(instruction) else above + _FRAMES.get(instruction.opcode, 3)


def is_epilogue_of(instruction: Instruction, group: FusionGroup) -> bool:
    """Whether the group computes from an instruction's value elementwise, at equal indices."""
    shapes = instruction.shape, group.root.shape
    same_dims = all(isinstance(shape, ArrayShape) for shape in shapes) and group.dims == instruction.array.dims
    return same_dims and all(is_elementwise(member) for member in between(instruction, group))


def is_row_form(reduce: Instruction) -> bool:
    """Whether a reduction is of one operand, over its last dimensions."""
    dims, rank = sorted(reduce.attributes["dimensions"]), reduce.operands[0].array.rank
    return len(reduce.operands) == 2 and dims == list(range(rank - len(dims), rank))


def is_along_rows(member: Instruction, dims: tuple[int, ...], outer: int) -> bool:
    """Whether a value at a point needs others of the same row, at the same point, only.

    Args:
        member: the instruction that computes the value.
        dims: the sizes of the dimensions that the group walks over.
        outer: how many of them count rows; those behind are within a row.
    """
    rows = dims[:outer]
    if member.opcode == "reduce":
        return member.operands[0].array.dims == dims and member.array.dims == rows
    if member.opcode == "broadcast":
        return member.attributes.get("dimensions") == tuple(range(outer)) and member.array.dims == dims
    return is_elementwise(member) and member.array.dims in (dims, rows)


def is_weight(value: Instruction, group: FusionGroup) -> bool:
    """Whether a value is the same for all of the few columns that a reduction keeps: it is computed once for them.

    Such are the weights by which differences to other points are summed up, a point being a line of few coordinates.
    """
    if group.kind is not FusionGroupKind.REDUCE or not isinstance(value.shape, ArrayShape):
        return False
    reduces = group.reduces
    dims, reduced = reduce_form(reduces[0])
    last = len(dims) - 1
    few = last - 1 in reduced and last not in reduced and 1 < dims[last] <= _MOST_COLUMNS
    if not few or value.array.dims != dims[:-1] or not value.users:
        return False

    def stays(member: Instruction) -> bool:
        in_place = is_elementwise(member) and member.array.dims in (dims, dims[:-1])
        return member not in group.roots and (in_place or _spreads(member, len(dims)))

    return all(map(stays, group.depending_on(value, but=reduces)))


def _spreads(member: Instruction, rank: int) -> bool:
    """Whether a value without columns is broadcast to all of them."""
    return member.opcode == "broadcast" and member.attributes.get("dimensions") == tuple(range(rank - 1))


def reduce_form(reduce: Instruction) -> tuple[tuple[int, ...], list[int]]:
    """The operands' dimensions and which of them are reduced, which all reductions of one kernel have in common."""
    return reduce.operands[0].array.dims, sorted(reduce.attributes["dimensions"])


def between(start: Instruction, group: FusionGroup) -> set[Instruction]:
    """Members of the group that depend on `start`."""
    return set(group.depending_on(start))


def worth_a_fusion(group: FusionGroup) -> bool:
    """A single op is a kernel as it is; a group of views needs no kernel."""
    real = [m for m in group.members if m.opcode not in ("constant", "reshape", "bitcast")]
    if group.kind is FusionGroupKind.LOOP and not real:
        return False
    return len([m for m in group.members if m.opcode != "constant"]) > 1
