"""Horizontal and multi-output fusion: groups that walk over the same elements become one kernel with several results.

A value that two kernels need, or that is a result besides, has to go to memory; but who computes it can go on computing
with it, and who reads the same array can read it once for both.  Two groups that walk alike - loops of equal
dimensions, or reductions of one form - are joined when one uses the other's result element by element, or when both
read the same array of the size that they walk over.  Nothing outside may depend on one of them and be needed by the
other: that would be a cycle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from compiler.analysis.decision import Decision, no, unless
from compiler.analysis.groups import FusionGroup, FusionGroupKind, reduce_form
from compiler.analysis.joining import LARGEST_GROUP, MOST_FUNCTIONS
from compiler.analysis.opcodes import FUNCTIONS
from compiler.analysis.updates import is_elementwise, is_update_in_place
from compiler.ir.control import predecessors
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape

_MOST_RESULTS = 8
"""Results of a kernel, each a stream of stores: of 32 results 4 or 8 at a time are fastest, 32 take 2.3 times as long
(`reports/measured/2026-11-26-constants`)."""
GroupsOf = dict[Instruction, list[FusionGroup]]


Refuse = Callable[[Instruction, str], None]
"""Is told of an instruction why it is not merged with what."""


def merge(
    groups: list[FusionGroup], of: GroupsOf, allow: Callable[[Instruction], bool], refuse: Refuse
) -> list[FusionGroup]:
    """Join what can be joined; `allow` is asked before each, `refuse` told of what is left apart, and why.

    Groups come with users' groups first.
    """
    merged = dict.fromkeys(groups)
    order = _Order.of(groups)
    for producer in reversed(groups):
        if producer not in merged or _walk(producer) is None:
            continue
        for other in _candidates(producer, merged, of, order):
            fitting = _fits(producer, other, of, order)
            if not fitting:
                refuse(producer.root, f"not with {other.root.name}: {fitting.reason}")
            elif allow(producer.root):
                _join(producer, other, of)
                order.join(producer, other)
                del merged[other]
    for group in merged:
        group.roots = [root for root in group.roots if _is_needed(root, group)] or group.roots[:1]
    return list(merged)


@dataclass(slots=True)
class _Order:
    """The order of the groups' computation.

    Attributes:
        following: what comes after each instruction: its users, and what waits for it.
        positions: where each instruction stands; whatever follows one stands behind it.
        spans: of the groups of several results, where the first stands that needs one of them, and the last member.
    """

    following: dict[Instruction, list[Instruction]]
    positions: dict[Instruction, int]
    spans: dict[FusionGroup, tuple[int, int]] = field(default_factory=dict)

    @staticmethod
    def of(groups: Sequence[FusionGroup]) -> _Order:
        """The order before anything is joined."""
        everything = groups[0].root.computation.instructions if groups else []
        found = {instruction: list(instruction.users) for instruction in everything}
        for instruction in everything:
            for other in predecessors(instruction):
                found[other].append(instruction)
        return _Order(found, {instruction: position for position, instruction in enumerate(everything)})

    def join(self, group: FusionGroup, other: FusionGroup) -> None:
        """Note that a group has taken in another."""
        self.spans.pop(other, None)
        last = self._last(group)
        self.spans[group] = min((self.positions[user] for user in self.after(group)), default=last), last

    def after(self, group: FusionGroup) -> list[Instruction]:
        """The instructions that must follow a group."""
        return [user for root in group.roots for user in self.following[root]]

    def last_before(self, group: FusionGroup) -> int:
        """The position behind which nothing is that a group needs.

        From one instruction to the next the way leads on, and back only by a group of several results: one of them may
        come late, and another be needed early.
        """
        last = self._last(group)
        for first, latest in sorted(self.spans.values()):
            if first > last:
                break
            last = max(last, latest)
        return last

    def _last(self, group: FusionGroup) -> int:
        return max(self.positions[member] for member in group.members)


def _is_needed(root: Instruction, group: FusionGroup) -> bool:
    """Whether anything but the group itself uses a value."""
    return root.is_root or any(user not in group.members for user in root.users)


class Walk(NamedTuple):
    """The iteration space of a group's kernel: its kind, the sizes of its dimensions, and which of them it reduces."""

    kind: FusionGroupKind
    dims: tuple[int, ...]
    reduced: tuple[int, ...]


def _walk(group: FusionGroup) -> Walk | None:
    """How a group walks, None for one that is not joined with others."""
    root = group.root
    if not isinstance(root.shape, ArrayShape) or is_update_in_place(root):
        return None
    if group.kind is FusionGroupKind.LOOP:
        return None if root.opcode in ("reshape", "bitcast", "scatter") else Walk(group.kind, group.dims, ())
    if group.kind is not FusionGroupKind.REDUCE or any(len(reduce.operands) != 2 for reduce in group.reduces):
        return None
    dims, reduced = reduce_form(group.reduces[0])
    return Walk(group.kind, dims, tuple(reduced))


def _candidates(group: FusionGroup, merged: Collection[FusionGroup], of: GroupsOf, order: _Order) -> list[FusionGroup]:
    """Groups that use the group's results, then those that read what it reads."""
    users = (user for root in group.roots for user in root.users)
    siblings = (user for operand in dict.fromkeys(_inputs(group, order)) for user in operand.users)
    found = dict.fromkeys(group_ for user in chain(users, siblings) for group_ in of.get(user, ()))
    return [other for other in found if other is not group and other in merged and _walk(other) is not None]


def _inputs(group: FusionGroup, order: _Order) -> Iterator[Instruction]:
    """The arrays of the size that a group walks over which it reads from memory."""
    walk = _walk(group)
    size = math.prod(walk.dims) if walk else -1
    for member in sorted(group.members, key=order.positions.__getitem__):  # a set has any order
        for operand in member.operands:
            outside = operand not in group.members and operand.opcode != "constant"
            if outside and isinstance(operand.shape, ArrayShape) and operand.array.size == size:
                yield operand


def _fits(first: FusionGroup, second: FusionGroup, of: GroupsOf, order: _Order) -> Decision:
    """Whether two groups may be one kernel."""
    if _walk(first) != _walk(second):
        return no("they walk over other dimensions, or in another way")
    if len(first.roots) + len(second.roots) > _MOST_RESULTS:
        return no(f"together they have more than {_MOST_RESULTS} results")
    if len(together := first.members | second.members) > LARGEST_GROUP:
        return no(f"together they have more than {LARGEST_GROUP} instructions")
    if sum(member.opcode in FUNCTIONS for member in together) > MOST_FUNCTIONS:
        return no(f"together they compute more than {MOST_FUNCTIONS} functions")
    return _need_one_another(first, second, of, order)


def _need_one_another(first: FusionGroup, second: FusionGroup, of: GroupsOf, order: _Order) -> Decision:
    """Whether two groups of one kernel would be computed at the same elements, and nothing else between them."""
    pairs = ((first, second), (second, first))
    if not all(_used_in_place(root, user) for maker, user in pairs for root in maker.roots):
        return no("one uses the other's result at other elements than its own")
    apart = any(_detour(start, end, of, order) for start, end in pairs)
    return unless(apart, "something between them needs one and is needed by the other")


def _used_in_place(root: Instruction, group: FusionGroup) -> bool:
    """Whether the group uses a value, if at all, at the very elements that it is walking over."""
    return all(is_elementwise(m) and m.array.dims == root.array.dims for m in group.depending_on(root))


def _detour(start: FusionGroup, end: FusionGroup, of: GroupsOf, order: _Order) -> bool:
    """Whether a third party depends on `start` and is needed by `end`; what both have copies of makes it one."""
    last = order.last_before(end)
    reached: set[FusionGroup] = {start}
    seen: set[Instruction] = set()
    pending = order.after(start)
    direct = True
    while pending:
        later: list[Instruction] = []
        for instruction in pending:
            groups = of.get(instruction, [])
            if end in groups and not direct:
                return True
            if instruction in seen or order.positions[instruction] > last:
                continue
            seen.add(instruction)
            if not groups:
                later += order.following[instruction]
            for group_ in groups:
                if group_ is not end and group_ not in reached:
                    reached.add(group_)
                    later += order.after(group_)
        pending, direct = later, False
    return False


def _join(group: FusionGroup, other: FusionGroup, of: GroupsOf) -> None:
    group.roots += other.roots
    group.members |= other.members
    group.weights |= other.weights
    for member in other.members:
        groups = [group if group_ is other else group_ for group_ in of[member]]
        of[member] = list(dict.fromkeys(groups))
