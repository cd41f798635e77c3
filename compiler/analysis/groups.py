"""Which instructions may be computed together in one kernel, and what kind of kernel that makes.

A *group* is grown from its root towards operands.  Three questions decide whether an instruction joins: can its value
be computed at any index, would that repeat much work, and does the kernel have a form for the result.  The forms are a
*loop* over the root's elements; a *reduce*, whose root is a reduction or an elementwise epilogue of one; a *row*, in
which reductions over the last dimensions are broadcast back over them; a *dot*, or a
convolution, with its elementwise epilogue.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from compiler.analysis import prologues, views
from compiler.analysis.aliasing import origin
from compiler.analysis.opcodes import EXACT, EXPENSIVE, FUNCTIONS, MOVES, PRODUCTS, SELECTS
from compiler.analysis.places import Places
from compiler.analysis.updates import is_elementwise, is_update_in_place, reads_in_time
from compiler.ir.graph import reachable
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS, Trait, having, narrowing

_EDGES = having(Trait.SELECTS) - having(Trait.INDEXED)
"""Opcodes that decide by comparisons which a loop kernel knows beforehand nearly everywhere."""
_WIDEST_CONCATENATE = 8
_MOST_COPIES = 4
_SUMS = narrowing(Trait.ELEMENTWISE, "add subtract")
"""Opcodes that round alike in every copy: only a product is joined with a sum, and products are not copied."""
_MOST_SUMS = 2
_LARGEST_GROUP = 512
MOST_FUNCTIONS = 32
"""Functions of one kernel: beside so many, a way through memory costs little, and equal parts are compiled once."""
_LARGEST_BESIDE_EDGES, _MOST_EDGES = 32, 3
_MOST_BESIDE_SCATTER = 12
_DEEPEST_GROUP = 400
_MOST_PLACES = 16
_FRAMES = {"concatenate": 18, "pad": 9, "dynamic-update-slice": 9, "reduce": 9, "gather": 5}
"""Frames of Python's stack that emission takes within an op that is not elementwise; for those not here 3."""
_LONGEST_ROW = 16384
_MOST_COLUMNS = 4
_FEWEST_ROWS = 8


class GroupKind(enum.Enum):
    """How a group's kernel walks; the value is XLA's name of the fusion kind."""

    LOOP = "kLoop"
    REDUCE = "kInput"
    ROW = "kCustom"
    DOT = "kOutput"


@dataclass(slots=True, eq=False)
class Group:
    """Instructions that become one kernel; `members` holds the roots, its results, too.

    `weights` are reductions of a few terms each that are computed within another reduction.
    """

    roots: list[Instruction]
    kind: GroupKind
    members: set[Instruction] = field(default_factory=set)
    depths: dict[Instruction, int] = field(default_factory=dict)
    weights: set[Instruction] = field(default_factory=set)
    places: Places = field(init=False)
    functions: int = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.roots)
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
    op = OPS.get(instruction.opcode)
    return instruction.opcode in MOVES | SELECTS or (op is not None and op.elementwise)


def kind_of(instruction: Instruction) -> GroupKind | None:
    """The kind of a new group with this root; None for what is not fused."""
    if instruction.opcode == "reduce":
        return GroupKind.REDUCE
    if instruction.opcode in PRODUCTS:
        return None if instruction.array.element_type.is_complex else GroupKind.DOT
    takes_in = instruction.opcode == "scatter" or (instruction.opcode == "sort" and len(instruction.operands) > 1)
    fusible = is_fusible(instruction) or is_update_in_place(instruction) or takes_in
    return GroupKind.LOOP if fusible and instruction.opcode != "constant" else None


def numbers(instruction: Instruction) -> bool:
    """Whether a value is the elements' numbers along a dimension, which a sort need not read."""
    if instruction.opcode == "broadcast":
        return instruction.operands[0].opcode == "iota"
    return instruction.opcode == "iota"


def adopt(group: Group, instruction: Instruction) -> None:
    """Add an instruction; a loop that takes in a reduction or a dot becomes a kernel of that kind."""
    if instruction.opcode == "reduce" and _is_weight(instruction, group):
        group.weights.add(instruction)
    group.members.add(instruction)
    group.functions += instruction.opcode in FUNCTIONS
    group.depths[instruction] = _depth(instruction, group)
    group.places.add(instruction)
    kind = kind_of(instruction)
    if kind is None or kind is GroupKind.LOOP or group.kind is GroupKind.ROW or instruction in group.weights:
        return
    plain = instruction.opcode in PRODUCTS or _is_epilogue_of(instruction, group)
    group.kind = kind if plain else GroupKind.ROW


def may_copy(instruction: Instruction, copies: int) -> bool:
    """Whether an instruction may be computed in that many groups."""
    if instruction.opcode == "constant" or _is_splat(instruction) or instruction.opcode == "iota":
        return True
    if instruction.opcode in _SUMS:
        return copies <= _MOST_SUMS and _spread_operands(instruction)
    return instruction.opcode in EXACT and (instruction.opcode == "reshape" or copies <= _MOST_COPIES)


def _spread_operands(instruction: Instruction) -> bool:
    """Whether an operand of two is a smaller array spread out: then each copy reads as much as it would of the sum."""
    return any(operand.opcode == "broadcast" for operand in instruction.operands)


def _is_splat(instruction: Instruction) -> bool:
    """Whether every element is the same scalar."""
    return instruction.opcode == "broadcast" and instruction.operands[0].array.rank == 0


def may_join(instruction: Instruction, group: Group) -> bool:
    """Whether an instruction whose users are all in a group, or copied, may join it."""
    too_large = len(group.members) >= _LARGEST_GROUP or _depth(instruction, group) > _DEEPEST_GROUP
    if (
        too_large
        or (instruction.opcode in FUNCTIONS and group.functions >= MOST_FUNCTIONS)
        or _reads_updated(instruction, group)
    ):
        return False
    if group.root.opcode == "sort":
        return numbers(instruction) and not instruction.array.is_dynamic
    if group.root.opcode == "scatter":
        return _beside_scatter(instruction, group)
    if instruction.opcode == "reduce":
        forms = _may_end_in(instruction, group) or _may_be_row(instruction, group)
        return forms or (_is_weight(instruction, group) and _sums_columns(instruction, group))
    if instruction.opcode in PRODUCTS:
        return kind_of(instruction) is not None and _may_end_in(instruction, group)
    fits = is_fusible(instruction) and (group.kind is not GroupKind.DOT or _beside_dot(instruction, group))
    repeats = not _is_splat(instruction) and group.places.of(instruction) > _MOST_PLACES
    return fits and not repeats and not _repeats_work(instruction, group)


def _depth(instruction: Instruction, group: Group) -> int:
    """How deep emission is in calls when it gets to an instruction; elementwise chains it takes in a loop."""
    above = max((group.depths.get(user, 0) for user in instruction.users), default=0)
    return above if is_elementwise(instruction) else above + _FRAMES.get(instruction.opcode, 3)


def _reads_updated(instruction: Instruction, group: Group) -> bool:
    """Whether an instruction is what the group's root updates in place, or reads of it what may have been written."""
    if not is_update_in_place(group.root):
        return False
    updated = origin(group.root.operands[0])
    if any(origin(value) == updated for value in instruction.operands):
        return not reads_in_time(instruction, group.root, group.members)
    return origin(instruction) == updated


def _may_end_in(instruction: Instruction, group: Group) -> bool:
    """Whether a reduction or a dot may have the group as its epilogue: elementwise all the way, at equal indices."""
    if not isinstance(instruction.shape, ArrayShape) or not _accepts(group, instruction):
        return False
    return instruction.array.size > 0 and _is_epilogue_of(instruction, group)


def _is_epilogue_of(instruction: Instruction, group: Group) -> bool:
    """Whether the group computes from an instruction's value elementwise, at equal indices."""
    shapes = instruction.shape, group.root.shape
    same_dims = all(isinstance(shape, ArrayShape) for shape in shapes) and group.dims == instruction.array.dims
    return same_dims and all(is_elementwise(member) for member in _between(instruction, group))


def _may_be_row(reduce: Instruction, group: Group) -> bool:
    """Whether a reduction and what the group does with it can be done one row at a time."""
    single = isinstance(group.root.shape, ArrayShape)
    if group.kind is GroupKind.DOT or not single or not _is_row_form(reduce):
        return False
    dims, outer = reduce.operands[0].array.dims, min(reduce.attributes["dimensions"])
    rows, length = math.prod(dims[:outer]), math.prod(dims[outer:])
    if not 1 <= length <= _LONGEST_ROW or (rows < _FEWEST_ROWS and rows * length > _LONGEST_ROW) or rows == 0:
        return False
    if group.dims not in (dims, dims[:outer]):
        return False
    others = [member for member in group.members if member.opcode == "reduce"]
    if any(reduce_form(other) != reduce_form(reduce) for other in others):
        return False
    return all(is_along_rows(member, dims, outer) for member in _between(reduce, group))


def _is_row_form(reduce: Instruction) -> bool:
    """Whether a reduction is of one operand, over its last dimensions."""
    dims, rank = sorted(reduce.attributes["dimensions"]), reduce.operands[0].array.rank
    return len(reduce.operands) == 2 and dims == list(range(rank - len(dims), rank))


def is_along_rows(member: Instruction, dims: tuple[int, ...], outer: int) -> bool:
    """Whether a value at a point needs others of the same row, at the same point, only."""
    rows = dims[:outer]
    if member.opcode == "reduce":
        return member.operands[0].array.dims == dims and member.array.dims == rows
    if member.opcode == "broadcast":
        straight = member.attributes.get("dimensions") == tuple(range(outer))
        return straight and member.array.dims == dims and member.operands[0].array.dims == rows
    return is_elementwise(member) and member.array.dims in (dims, rows)


def _accepts(group: Group, instruction: Instruction) -> bool:
    """A loop takes either kind in; a group of reductions takes more of the same form."""
    if group.kind is GroupKind.LOOP:
        return True
    if group.kind is not GroupKind.REDUCE or instruction.opcode != "reduce":
        return False
    return reduce_form(group.reduces[0]) == reduce_form(instruction)


def _is_weight(value: Instruction, group: Group) -> bool:
    """Whether a value is the same for all of the few columns that a reduction keeps: it is computed once for them.

    Such are the weights by which differences to other points are summed up, a point being a line of few coordinates.
    """
    if group.kind is not GroupKind.REDUCE or not isinstance(value.shape, ArrayShape):
        return False
    reduces = group.reduces
    dims, reduced = reduce_form(reduces[0])
    few = 1 < dims[-1] <= _MOST_COLUMNS and len(dims) - 1 not in reduced and len(dims) - 2 in reduced
    if not few or value.array.dims != dims[:-1] or not value.users:
        return False

    def stays(member: Instruction) -> bool:
        in_place = is_elementwise(member) and member.array.dims in (dims, dims[:-1])
        return member not in group.roots and (in_place or _spreads(member, len(dims)))

    return all(map(stays, group.depending_on(value, but=reduces)))


def _spreads(member: Instruction, rank: int) -> bool:
    """Whether a value without columns is broadcast to all of them."""
    return member.opcode == "broadcast" and member.attributes.get("dimensions") == tuple(range(rank - 1))


def _sums_columns(reduce: Instruction, group: Group) -> bool:
    """Whether a reduction is of the few columns that the group's own keep."""
    return _is_row_form(reduce) and reduce.operands[0].array.dims == reduce_form(group.reduces[0])[0]


def reduce_form(reduce: Instruction) -> tuple[tuple[int, ...], list[int]]:
    """What reductions of one kernel must have in common: the operands' dimensions, and which of them are reduced."""
    return reduce.operands[0].array.dims, sorted(reduce.attributes["dimensions"])


def _between(start: Instruction, group: Group) -> set[Instruction]:
    """Members of the group that depend on `start`."""
    return set(group.depending_on(start))


def _beside_scatter(instruction: Instruction, group: Group) -> bool:
    """Into a scatter's group what is computed in passing: its updates are applied one by one, not in vectors.

    Threads would else hand indices and updates on to the one that applies them.
    """
    cheap = instruction.opcode not in EXPENSIVE or instruction.opcode in ("gather", "concatenate")
    others = sum(member.opcode not in MOVES for member in group.members)
    return is_fusible(instruction) and cheap and others <= _MOST_BESIDE_SCATTER


def _beside_dot(instruction: Instruction, group: Group) -> bool:
    """Into a dot's group only what its epilogue needs, and what packing does to operands in passing.

    Those are conversions, moves that leave an operand in memory with a stride for each dimension, and what a dot may
    as well compute itself.
    """
    cheap = instruction.opcode not in EXPENSIVE
    if views.seen_by_dots(instruction, group.members) or prologues.joins(instruction, group.members, cheap=cheap):
        return True
    feeds_dot = any(user.opcode in PRODUCTS for user in instruction.users)
    if feeds_dot:
        return instruction.opcode == "convert" or instruction.opcode == "constant"
    alone = _is_splat(instruction) or all(user in group.members for user in instruction.users)
    return alone and not _feeds_operand(instruction, group)


def _feeds_operand(instruction: Instruction, group: Group) -> bool:
    return any(member.opcode in PRODUCTS for member in _between(instruction, group))


def _repeats_work(instruction: Instruction, group: Group) -> bool:
    """Whether an expensive op would be computed more often than it has elements."""
    if instruction.opcode not in EXPENSIVE:
        return False
    if _is_weight(instruction, group):
        return False
    size = max(1, instruction.array.size)
    if instruction.opcode in _EDGES and group.kind is GroupKind.LOOP and _is_small(group):
        size += size // 8
    dependents = {member for member in _between(instruction, group) if isinstance(member.shape, ArrayShape)}
    if instruction.array.rank and all(_is_hoisted(instruction, member) for member in dependents):
        return False
    between = _between(instruction, group) | {group.root}
    if group.kind is GroupKind.LOOP and _is_small(group) and all(map(_keeps_pieces, between)):
        return _asked(instruction, group) > size
    return any(_visits(user) > size for user in between)


def _keeps_pieces(member: Instruction) -> bool:
    """Whether a loop over a member can be run in pieces between the edges of what it is computed from."""
    return is_elementwise(member) or member.opcode in _EDGES or member.opcode in ("reverse", "slice")


def _asked(instruction: Instruction, group: Group) -> int:
    """How often a loop asks for elements of an instruction: on behalf of what it is a part of, for the part only."""
    known: dict[Instruction, int] = {}

    def asked(value: Instruction) -> int:
        if value not in known:
            users = [user for user in value.users if user in group.members]
            # At one index a value is computed once, each move asks at indices of its own; edges are cheap at many.
            in_place = max((asked(user) for user in users if is_elementwise(user)), default=0)
            moved = [share(user, value) for user in users if not is_elementwise(user)]
            total = max([in_place, *moved]) if instruction.opcode in _EDGES else in_place + sum(moved)
            known[value] = max(_visits(value) if value in group.members else 0, total)
        return known[value]

    def share(user: Instruction, value: Instruction) -> int:
        size = max(1, user.array.size)
        return asked(user) * value.array.size // size if user.opcode in _EDGES else asked(user)

    return asked(instruction)


def _is_small(group: Group) -> bool:
    """Whether a group may hold one more op for each of whose cases its other members are emitted again."""
    return (
        len(group.members) <= _LARGEST_BESIDE_EDGES and sum(m.opcode in SELECTS for m in group.members) <= _MOST_EDGES
    )


def _is_hoisted(instruction: Instruction, member: Instruction) -> bool:
    """Whether a value broadcast along the last dimensions is computed once per row of a member, outside its loop."""
    dims = member.operands[0].array.dims if member.opcode == "reduce" else member.array.dims
    return is_along_rows(member, dims, instruction.array.rank)


def _visits(member: Instruction) -> int:
    """How often a kernel asks for elements on behalf of a member."""
    source = member.operands[0] if member.opcode == "reduce" else member
    return source.array.size


def worth_a_fusion(group: Group) -> bool:
    """A single op is a kernel as it is; a group of views needs no kernel."""
    real = [m for m in group.members if m.opcode not in ("constant", "reshape", "bitcast")]
    if group.kind is GroupKind.LOOP and not real:
        return False
    return len([m for m in group.members if m.opcode != "constant"]) > 1
