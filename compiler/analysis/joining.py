"""Fusion decisions: whether an instruction joins the fusion group of its users, or why it does not.

Three questions decide: can its value be computed at any index, would that repeat much work, and does the kernel have a
form for the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.analysis import prologues, views
from compiler.analysis.aliasing import origin
from compiler.analysis.decision import YES, Decision, no, unless
from compiler.analysis.gathered_rows import stays_along_rows
from compiler.analysis.groups import (
    FusionGroup,
    FusionGroupKind,
    between,
    depth_of,
    is_along_rows,
    is_epilogue_of,
    is_fusible,
    is_iota,
    is_row_form,
    is_weight,
    kind_of,
    reduce_form,
)
from compiler.analysis.opcodes import EXACT, EXPENSIVE, FUNCTIONS, MOVES, PRODUCTS, SUMS
from compiler.analysis.updates import is_elementwise, is_update_in_place, reads_in_time
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ops import Trait, having

_EDGES = having(Trait.SELECTS) - having(Trait.INDEXED)
"""Opcodes that decide by comparisons which a loop kernel knows beforehand nearly everywhere."""
_MOST_COPIES = 4
"""Users up to which what only moves data is computed by each of them: of 2 to 8 all take 0.8 to 0.9 of the time, of 16
as much as before (`reports/measured/2026-11-26-constants`)."""
_MOST_ROUNDED = 4
"""Users up to which a sum or a factor with a broadcast value is computed by each: a batch normalisation has two (352 to
129 us, 11-21), a training step of it before a clipped activation four."""
_LONGEST_COPY = 4
"""Operations that round on a path that several kernels have copies of: a batch normalisation subtracts and
multiplies twice."""
LARGEST_GROUP = 512
"""Instructions of a fusion: chains of 2048 compile in 0.7 s as fusions of 512 and run within 0.2 of the best, in 2.1 s
as one, which runs three times as long (`reports/measured/2026-11-26-constants`)."""
MOST_FUNCTIONS = 32
"""Functions of one kernel: beside so many, a way through memory costs little, and equal parts are compiled once."""
_LARGEST_BESIDE_EDGES = 32
"""Instructions of a group up to which what decides at the edges may join it: each is compiled once for the inside and
for every edge. From 8 to 128, on arrays that stay in a cache, times are within a quarter of each other
(`reports/measured/2026-11-26-constants`)."""
_MOST_BESIDE_SCATTER = 6
"""Instructions that a scatter's kernel computes for each update, one by one.  JAX's arithmetic on indices costs a tenth
of the time where it goes through memory; chains of 12 take 4 times as long as in vectors beforehand
(`reports/measured/2026-11-26-constants`)."""
_DEEPEST_GROUP = 400
"""Instructions on a path through a fusion: emission recurses over it, and Python's stack is finite."""
_MOST_USES = 16
"""Uses of a value that one kernel may have, each with code of its own: sixteen steps of a padded stencil were 2^16
copies of the first (11-24)."""
_LONGEST_ROW = 16384
"""Elements of a row that is one kernel's: 64 KiB of f32 stay in an L2 cache between its phases."""
_FEWEST_ROWS = 8
"""Rows from which on two, four or eight threads have as many each, whatever their length; fewer long ones are better
cut."""


def may_copy(instruction: Instruction, groups: Sequence[FusionGroup]) -> bool:
    """Whether an instruction may be computed in each of several groups."""
    if instruction.opcode == "constant" or _is_splat(instruction) or instruction.opcode == "iota":
        return True
    if instruction.opcode in SUMS or _is_factor(instruction):
        few = len(groups) <= _MOST_ROUNDED and _rounded_copies(instruction, groups) < _LONGEST_COPY
        return few and _spread_operands(instruction)
    if instruction.opcode not in EXACT:
        return False
    return instruction.opcode == "reshape" or _times_read(instruction, groups) <= _MOST_COPIES


def _times_read(instruction: Instruction, groups: Sequence[FusionGroup]) -> int:
    """The number of copies; of what combines arrays, whose copies of copies read ever more, every use is one."""
    read = [operand for operand in instruction.operands if not (_is_splat(operand) or is_iota(operand))]
    combines = is_elementwise(instruction) and len(read) > 1
    return sum(group.indexing.of(instruction) for group in groups) if combines else len(groups)


def _is_factor(instruction: Instruction) -> bool:
    """Whether a value is a product that is only multiplied.

    With a sum one copy would be rounded together and another, which is used twice, by itself: who looks for the largest
    element among copies would find none.
    """
    return instruction.opcode == "multiply" and all(user.opcode == "multiply" for user in instruction.users)


def _spread_operands(instruction: Instruction) -> bool:
    """Whether an operand of two is a smaller array spread out: a copy then reads as much as it would of the result."""
    return any(operand.opcode == "broadcast" for operand in instruction.operands)


def note_copies(instruction: Instruction, groups: Sequence[FusionGroup]) -> None:
    """Have several groups know that each of them computes an instruction."""
    rounded = _rounded_copies(instruction, groups) + (instruction.opcode not in EXACT)
    for group in groups:
        group.copies[instruction] = rounded


def _rounded_copies(instruction: Instruction, groups: Sequence[FusionGroup]) -> int:
    """The most operations that round on a path from an instruction through what several of its groups compute."""
    return max((group.copies.get(user, 0) for group in groups for user in instruction.users), default=0)


def _is_splat(instruction: Instruction) -> bool:
    """Whether every element is the same scalar."""
    return instruction.opcode == "broadcast" and instruction.operands[0].array.rank == 0


def may_join(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether an instruction whose users are all in a group, or copied, may join it."""
    has_room = _has_room(instruction, group)
    if not has_room:
        return has_room
    beside = _BESIDE.get(group.root.opcode)
    if beside:
        return beside(instruction, group)
    if instruction.opcode == "reduce":
        return _reduction(instruction, group)
    return (_product if instruction.opcode in PRODUCTS else _in_passing)(instruction, group)


def _has_room(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether a group is not too large yet, and does not write what an instruction reads."""
    if len(group.members) >= LARGEST_GROUP or depth_of(instruction, group) > _DEEPEST_GROUP:
        return no("the kernel is large, or deep, enough as it is")
    if instruction.opcode in FUNCTIONS and group.functions >= MOST_FUNCTIONS:
        return no(f"the kernel computes {MOST_FUNCTIONS} functions already")
    return unless(_reads_updated(instruction, group), "the kernel writes where it reads")


def _product(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether a product may have the group as its epilogue."""
    if kind_of(instruction) is None:
        return no("products of complex numbers have kernels of their own")
    return _may_end_in(instruction, group)


def _beside_sort(instruction: Instruction, _: FusionGroup) -> Decision:
    """Into a sort's group only what it need not read."""
    numbered = is_iota(instruction) and not instruction.array.is_dynamic
    return unless(not numbered, "a sort reads its operands from memory, but for elements' numbers")


def _reduction(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether a reduction may join: the group is its epilogue, or goes row by row, or takes it as a weight."""
    ends = _may_end_in(instruction, group)
    row = ends or _may_be_row(instruction, group)
    if row or (is_weight(instruction, group) and _sums_columns(instruction, group)):
        return YES
    return no(f"{ends.reason}; and as rows: {row.reason}")


def _in_passing(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether an element may be computed where it is asked for."""
    if not is_fusible(instruction):
        return no(f"a kernel cannot compute single elements of {instruction.opcode}")
    if group.kind is FusionGroupKind.DOT and not (beside := _beside_dot(instruction, group)):
        return beside
    if not _is_splat(instruction) and (uses := group.indexing.of(instruction)) > _MOST_USES:
        return no(f"its code would stand in the kernel {uses} times")
    if (dilated := _dilated(instruction)) and any(dilated & _dilated(member) for member in between(instruction, group)):
        return no("it is dilated, and what it would be computed in is once more")
    return unless(_repeats_work(instruction, group), "elements would be computed more often than there are")


def _dilated(instruction: Instruction) -> set[int]:
    """The dimensions along which a pad has elements of its operand lie apart, so that every few it is another's turn.

    Loops run in periods of as many; where the operand is dilated too, each element would take a division to find.
    """
    padding = instruction.attributes["padding"] if instruction.opcode == "pad" else ()
    return {number for number, dim in enumerate(padding) if dim.interior > 0}


def _reads_updated(instruction: Instruction, group: FusionGroup) -> bool:
    """Whether an instruction is what the group's root updates in place, or reads of it what may have been written."""
    if not is_update_in_place(group.root):
        return False
    updated = origin(group.root.operands[0])
    if any(origin(value) == updated for value in instruction.operands):
        return not reads_in_time(instruction, group.root, group.members)
    return origin(instruction) == updated


def _may_end_in(instruction: Instruction, group: FusionGroup) -> Decision:
    """Whether a reduction or a dot may have the group as its epilogue: elementwise all the way, at equal indices."""
    if not isinstance(instruction.shape, ArrayShape):
        return no("it has several results")
    if not _accepts(group, instruction):
        return no("the kernel is built around something else")
    if not instruction.array.size:
        return no("it has no elements")
    return unless(not is_epilogue_of(instruction, group), "what follows is not elementwise, at equal indices")


def _may_be_row(reduce: Instruction, group: FusionGroup) -> Decision:
    """Whether a reduction and what the group does with it can be done one row at a time."""
    single = isinstance(group.root.shape, ArrayShape)
    if group.kind is FusionGroupKind.DOT or not single or not is_row_form(reduce):
        return no("it does not reduce the last dimensions of one array for other than a product")
    dims, outer = reduce.operands[0].array.dims, min(reduce.attributes["dimensions"])
    rows, length = math.prod(dims[:outer]), math.prod(dims[outer:])
    if not 1 <= length <= _LONGEST_ROW or (rows < _FEWEST_ROWS and rows * length > _LONGEST_ROW) or rows == 0:
        return no(f"{rows} rows of {length} elements are too few, or too long")
    if group.dims not in (dims, dims[:outer]):
        return no("the kernel's result has other dimensions")
    others = [member for member in group.members if member.opcode == "reduce"]
    if any(reduce_form(other) != reduce_form(reduce) for other in others):
        return no("the kernel reduces other dimensions")
    straight = all(is_along_rows(member, dims, outer) for member in between(reduce, group))
    return unless(not straight, "what follows needs other rows")


def _accepts(group: FusionGroup, instruction: Instruction) -> bool:
    """A loop takes either kind in; a group of reductions takes more of the same form."""
    if group.kind is FusionGroupKind.LOOP:
        return True
    if group.kind is not FusionGroupKind.REDUCE or instruction.opcode != "reduce":
        return False
    return reduce_form(group.reduces[0]) == reduce_form(instruction)


def _sums_columns(reduce: Instruction, group: FusionGroup) -> bool:
    """Whether a reduction is of the few columns that the group's own keep."""
    return is_row_form(reduce) and reduce.operands[0].array.dims == reduce_form(group.reduces[0])[0]


def _beside_scatter(instruction: Instruction, group: FusionGroup) -> Decision:
    """Into a scatter's group what is computed in passing: its updates are applied one by one, not in vectors.

    Threads would else hand indices and updates on to the one that applies them.
    """
    cheap = instruction.opcode not in EXPENSIVE or instruction.opcode in ("gather", "concatenate")
    others = sum(member.opcode not in MOVES for member in group.members)
    if not is_fusible(instruction):
        return no(f"a kernel cannot compute single elements of {instruction.opcode}")
    if not cheap:
        return no("updates are applied one by one: what takes long is done before")
    return unless(others > _MOST_BESIDE_SCATTER, f"the scatter's kernel computes {others} other things already")


_BESIDE = {"sort": _beside_sort, "scatter": _beside_scatter}
"""What may join groups with such roots."""


def _beside_dot(instruction: Instruction, group: FusionGroup) -> Decision:
    """Into a dot's group only what its epilogue needs, and what packing does to operands in passing.

    Those are conversions, moves that leave an operand in memory with a stride for each dimension, and what a dot may
    as well compute itself.
    """
    cheap = instruction.opcode not in EXPENSIVE
    if views.seen_by_dots(instruction, group.members) or prologues.joins(instruction, group.members, cheap=cheap):
        return YES
    feeds_dot = any(user.opcode in PRODUCTS for user in instruction.users)
    if feeds_dot:
        packed = instruction.opcode == "convert" or instruction.opcode == "constant"
        return unless(not packed, "a product packs its operands, and computes nothing but conversions as it does")
    if not _is_splat(instruction) and any(user not in group.members for user in instruction.users):
        return no("others than the product's epilogue use it")
    return unless(_feeds_operand(instruction, group), "the product's operand hangs on it")


def _feeds_operand(instruction: Instruction, group: FusionGroup) -> bool:
    return any(member.opcode in PRODUCTS for member in between(instruction, group))


def _repeats_work(instruction: Instruction, group: FusionGroup) -> bool:
    """Whether an expensive op would be computed more often than it has elements."""
    if instruction.opcode not in EXPENSIVE:
        return False
    if is_weight(instruction, group):
        return False
    size = max(1, instruction.array.size)
    if instruction.opcode in _EDGES and group.kind is FusionGroupKind.LOOP and _is_small(group):
        size += size // 8
    dependents = {member for member in between(instruction, group) if isinstance(member.shape, ArrayShape)}
    if instruction.array.rank and all(_is_hoisted(instruction, member) for member in dependents):
        return False
    asking = between(instruction, group) | {group.root}
    if instruction.opcode == "gather" and group.kind is FusionGroupKind.LOOP:
        return not stays_along_rows(instruction, group.root, asking) and any(_visits(user) > size for user in asking)
    if group.kind is FusionGroupKind.LOOP and _is_small(group) and all(map(_keeps_pieces, asking)):
        return _asked(instruction, group) > size
    return any(_visits(user) > size for user in asking)


def _keeps_pieces(member: Instruction) -> bool:
    """Whether a loop over a member can be run in pieces between the edges of what it is computed from."""
    return is_elementwise(member) or member.opcode in _EDGES or member.opcode in ("reverse", "slice")


def _asked(instruction: Instruction, group: FusionGroup) -> int:
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


def _is_small(group: FusionGroup) -> bool:
    """Whether a group may hold one more op for each of whose cases its other members are emitted again."""
    return len(group.members) <= _LARGEST_BESIDE_EDGES


def _is_hoisted(instruction: Instruction, member: Instruction) -> bool:
    """Whether a value broadcast along the last dimensions is computed once per row of a member, outside its loop."""
    dims = member.operands[0].array.dims if member.opcode == "reduce" else member.array.dims
    return is_along_rows(member, dims, instruction.array.rank)


def _visits(member: Instruction) -> int:
    """How often a kernel asks for elements on behalf of a member."""
    source = member.operands[0] if member.opcode == "reduce" else member
    return source.array.size
