"""Fusion: instructions whose values need not go through memory become one kernel.

Walking from results to operands, every instruction either joins the *group* of the instructions that use it or becomes
the root of a group of its own.  It joins when its value can be computed again at any index (`FUSIBLE`), when all its
users are in one group, and when that does not repeat much work; ops that only move or compare data may be copied into
several groups, because computing them twice gives the same bits (an op that rounds is never copied: two copies could be
contracted differently with their neighbours).  Since a group is entered only through its users, no cycle can arise.

Three kinds of group, as the kernels have them: a *loop* over the root's elements; a *reduce*, whose root is a reduction
or an elementwise epilogue of one; a *dot*, whose root is an elementwise epilogue of one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.analysis.effects import has_effect, held_by_control
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape
from compiler.ops import OPS

_MOVES = frozenset(
    {"broadcast", "reshape", "bitcast", "transpose", "slice", "reverse", "iota", "constant", "dynamic-slice"}
)
_SELECTS = frozenset({"pad", "concatenate", "gather", "dynamic-update-slice"})
_EXACT = _MOVES | {
    "abs",
    "and",
    "compare",
    "convert",
    "is-finite",
    "maximum",
    "minimum",
    "negate",
    "not",
    "or",
    "select",
    "sign",
    "xor",
}
_EXPENSIVE = frozenset(
    {
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan2",
        "atanh",
        "cbrt",
        "cosh",
        "cosine",
        "divide",
        "erf",
        "exponential",
        "exponential-minus-one",
        "log",
        "log-plus-one",
        "logistic",
        "power",
        "remainder",
        "rsqrt",
        "sine",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        *_SELECTS,
    }
)
_WIDEST_CONCATENATE = 8
_MOST_COPIES = 4
_LARGEST_GROUP = 512


class GroupKind(enum.Enum):
    """How a group's kernel walks; the value is XLA's name of the fusion kind."""

    LOOP = "kLoop"
    REDUCE = "kInput"
    DOT = "kOutput"


@dataclass(slots=True, eq=False)
class Group:
    """Instructions that become one kernel; `members` holds the root too."""

    root: Instruction
    kind: GroupKind
    members: set[Instruction] = field(default_factory=set)

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimensions of the root."""
        return self.root.array.dims


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    fused_bodies = {c for i in module.instructions() if i.opcode == "fusion" for c in i.called_computations()}
    applied = {c for i in module.instructions() for c in _applied(i)}
    for computation in list(module.computations):
        if computation in fused_bodies or computation in applied:
            continue
        groups = [group for group in _groups(computation, fuel) if _worth_a_fusion(group)]
        for group in groups:
            _outline(module, computation, group)
        computation.sort()
        _remove_unused(computation)
        changed |= bool(groups)
    module.sort_computations()
    return changed


def _applied(instruction: Instruction) -> Iterable[Computation]:
    """Computations that are applied to elements, within which there is nothing to fuse."""
    return () if instruction.opcode in ("while", "conditional", "call") else instruction.called_computations()


def is_fusible(instruction: Instruction) -> bool:
    """Whether a back end can compute a single element of this instruction's result."""
    if not isinstance(instruction.shape, ArrayShape) or instruction.array.is_dynamic:
        return False
    if instruction.opcode == "concatenate":
        return len(instruction.operands) <= _WIDEST_CONCATENATE
    if instruction.opcode == "constant":
        return instruction.array.size == 1
    op = OPS.get(instruction.opcode)
    return instruction.opcode in _MOVES | _SELECTS or (op is not None and op.elementwise)


def _groups(computation: Computation, fuel: Fuel) -> list[Group]:
    """Partition a computation from its results upwards; groups come out with their users' groups first."""
    of: dict[Instruction, list[Group]] = {}
    groups: list[Group] = []
    held = held_by_control(computation)
    for instruction in reversed(computation.instructions):
        if instruction in held or "control-predecessors" in instruction.attributes:
            continue
        homes = _homes(instruction, of)
        if homes and fuel.spend("fuse into user", instruction):
            for group in homes:
                group.members.add(instruction)
                _adopt(group, instruction)
            of[instruction] = homes
            continue
        kind = _kind(instruction)
        if kind is not None:
            group = Group(instruction, kind, {instruction})
            of[instruction] = [group]
            groups.append(group)
    return groups


def _kind(instruction: Instruction) -> GroupKind | None:
    """The kind of a new group with this root; None for what is not fused."""
    if instruction.opcode == "reduce":
        return GroupKind.REDUCE
    if instruction.opcode == "dot":
        return GroupKind.DOT
    return GroupKind.LOOP if is_fusible(instruction) and instruction.opcode != "constant" else None


def _adopt(group: Group, instruction: Instruction) -> None:
    """A loop that takes in a reduction or a dot becomes a kernel of that kind."""
    kind = _kind(instruction)
    if kind is not None and kind is not GroupKind.LOOP:
        group.kind = kind


def _homes(instruction: Instruction, of: dict[Instruction, list[Group]]) -> list[Group]:
    """The groups that an instruction may join: those of all its users, or none."""
    if instruction.is_root or not instruction.users or any(user not in of for user in instruction.users):
        return []
    homes = list(dict.fromkeys(group for user in instruction.users for group in of[user]))
    if len(homes) > 1 and not _may_copy(instruction, len(homes)):
        return []
    if not all(_may_join(instruction, group) for group in homes):
        return []
    return homes


def _may_copy(instruction: Instruction, copies: int) -> bool:
    if instruction.opcode == "constant" or _is_splat(instruction) or instruction.opcode == "iota":
        return True
    return instruction.opcode in _EXACT and (instruction.opcode == "reshape" or copies <= _MOST_COPIES)


def _is_splat(instruction: Instruction) -> bool:
    """Whether every element is the same scalar."""
    return instruction.opcode == "broadcast" and instruction.operands[0].array.rank == 0


def _may_join(instruction: Instruction, group: Group) -> bool:
    if len(group.members) >= _LARGEST_GROUP:
        return False
    if instruction.opcode in ("reduce", "dot"):
        return _may_end_in(instruction, group)
    if not is_fusible(instruction):
        return False
    if group.kind is GroupKind.DOT and not _beside_dot(instruction, group):
        return False
    return not _repeats_work(instruction, group)


def _may_end_in(instruction: Instruction, group: Group) -> bool:
    """Whether a reduction or a dot may have the group as its epilogue: elementwise all the way, at equal indices."""
    if not isinstance(instruction.shape, ArrayShape) or not _accepts(group, instruction):
        return False
    if group.dims != instruction.array.dims or instruction.array.size == 0:
        return False
    return all(_is_elementwise(member) for member in _between(instruction, group))


def _accepts(group: Group, instruction: Instruction) -> bool:
    """A loop takes either kind in; a group of reductions takes more of the same form."""
    if group.kind is GroupKind.LOOP:
        return True
    if group.kind is not GroupKind.REDUCE or instruction.opcode != "reduce":
        return False
    first = next(member for member in group.members if member.opcode == "reduce")
    return _reduce_form(first) == _reduce_form(instruction)


def _reduce_form(reduce: Instruction) -> tuple[tuple[int, ...], list[int]]:
    return reduce.operands[0].array.dims, sorted(reduce.attributes["dimensions"])


def _between(start: Instruction, group: Group) -> set[Instruction]:
    """Members of the group that depend on `start`."""
    found: set[Instruction] = set()
    pending = [user for user in start.users if user in group.members]
    while pending:
        member = pending.pop()
        if member not in found:
            found.add(member)
            pending += [user for user in member.users if user in group.members]
    return found


def _is_elementwise(instruction: Instruction) -> bool:
    op = OPS.get(instruction.opcode)
    return op is not None and op.elementwise and instruction.opcode != "constant"


def _beside_dot(instruction: Instruction, group: Group) -> bool:
    """Into a dot's group only what its epilogue needs, and conversions of operands, which packing does in passing."""
    feeds_dot = any(user.opcode == "dot" for user in instruction.users)
    if feeds_dot:
        return instruction.opcode == "convert" or instruction.opcode == "constant"
    return all(user in group.members for user in instruction.users) and not _feeds_operand(instruction, group)


def _feeds_operand(instruction: Instruction, group: Group) -> bool:
    return any(member.opcode == "dot" for member in _between(instruction, group))


def _repeats_work(instruction: Instruction, group: Group) -> bool:
    """Whether an expensive op would be computed more often than it has elements."""
    if instruction.opcode not in _EXPENSIVE:
        return False
    size = max(1, instruction.array.size)
    return any(_visits(user) > size for user in _between(instruction, group) | {group.root})


def _visits(member: Instruction) -> int:
    """How often a kernel asks for elements on behalf of a member."""
    source = member.operands[0] if member.opcode == "reduce" else member
    return source.array.size


def _worth_a_fusion(group: Group) -> bool:
    """A single op is a kernel as it is; a group of views needs no kernel."""
    real = [m for m in group.members if m.opcode not in ("constant", "reshape", "bitcast")]
    if group.kind is GroupKind.LOOP and not real:
        return False
    return len([m for m in group.members if m.opcode != "constant"]) > 1


def _outline(module: Module, computation: Computation, group: Group) -> None:
    """Move a group into a computation of its own, called by a fusion in the root's place."""
    body = Computation(f"fused_computation.{group.root.name}")
    copies: dict[Instruction, Instruction] = {}
    operands: list[Instruction] = []
    for instruction in computation.instructions:
        if instruction not in group.members:
            continue
        for operand in instruction.operands:
            if operand in copies:
                continue
            if _is_scalar_constant(operand):
                copies[operand] = body.add(operand.clone([]))
                continue
            number = {"parameter_number": len(operands)}
            copies[operand] = body.add(
                Instruction("parameter", operand.shape, (), number, name=f"param_{len(operands)}")
            )
            operands.append(operand)
        if instruction not in copies:
            copies[instruction] = body.add(instruction.clone([copies[o] for o in instruction.operands]))
    body.root = copies[group.root]
    body.sort()
    module.add_computation(body)
    attributes = {"kind": group.kind.value, "calls": body}
    fusion = Instruction("fusion", group.root.shape, operands, attributes, name=f"{group.root.name}_fusion")
    group.root.replace_uses_with(computation.add(fusion))


def _is_scalar_constant(instruction: Instruction) -> bool:
    return instruction.opcode == "constant" and math.prod(instruction.array.dims) == 1


def _remove_unused(computation: Computation) -> None:
    """Take out what now lives in fusions only."""
    dead: set[Instruction] = set()
    held = held_by_control(computation)
    for instruction in reversed(computation.instructions):
        unused = all(user in dead for user in instruction.users) and instruction is not computation.root
        if unused and instruction not in held and not has_effect(instruction):
            dead.add(instruction)
    computation.remove(dead)
