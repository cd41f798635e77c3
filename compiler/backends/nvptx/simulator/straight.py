"""Straight-line code in which instructions of one kind execute together.

With few lanes what an instruction costs is the call of NumPy, not the lanes.  So between two places at which lanes part
or meet, or memory is written, instructions that only compute or load are put in another order: those of one kind that
do not need each other come together and execute as one, on an array with a row for each.  Where one of them faults,
the registers are as before and all is executed again in the order of the text, which finds the first culprit.

The other order is looked for when instructions are executed for the second time: much of a text never is, or once, and
finding it takes as long as executing them.

Where some lanes are active only, the line's operands are taken out of their registers once, and what is needed behind
it is put back once: in between registers hold the values of the active lanes and of no others.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeGuard

import numpy as np

from compiler.backends.nvptx.simulator.access import load
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch
from compiler.backends.nvptx.simulator.compute import Compute
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.transfer import Load

MOST_LANES = 1 << 12
"""With more, copying values into rows takes longer than the calls that it saves."""
_MOST_LOADING = 1 << 7
"""With more, those that lie one after the other had better be sliced out of memory, one instruction at a time."""


_Member = Compute | Load


def _may_move(action: Action) -> TypeGuard[_Member]:
    """Whether an instruction only computes, or loads what nobody writes meanwhile."""
    return isinstance(action, Compute) or (isinstance(action, Load) and not action.is_strong)


class StraightLine:
    """An action that executes instructions up to `end`, the index of the next one; `members` are in text order.

    What its registers hold is needed elsewhere but for those that are `own`.
    """

    def __init__(self, end: int, members: Sequence[_Member], own: Collection[int]) -> None:
        self.end = end
        self._members = members
        self._own = own
        self._is_repeated = False

    @cached_property
    def _actions(self) -> Sequence[Action]:
        """What executes all of them in another order."""
        return tuple(_grouped(self._members))

    @cached_property
    def _replaced(self) -> Sequence[int]:
        """The registers whose old values are needed to execute them again."""
        return tuple(_replaced(self._members))

    @cached_property
    def _taken(self) -> Sequence[int]:
        """The registers that are read before they are written, if they are."""
        return tuple(dict.fromkeys(_taken(self._members)))

    @cached_property
    def _held(self) -> Sequence[int]:
        """All registers whose values differ meanwhile where some lanes are active only."""
        return tuple({*self._taken}.union(*(member.writes for member in self._members)))

    @cached_property
    def _given(self) -> Sequence[int]:
        """The registers that are written, and may be read elsewhere."""
        written = {slot for member in self._members for slot in member.writes}
        return tuple(slot for slot in written if slot not in self._own or slot in self._taken)

    def __call__(self, batch: Batch) -> int:
        """Execute all, and say where the lanes go."""
        if not self._is_repeated:
            self._is_repeated = True
            self._execute_each(batch)
        elif batch.index is None:
            self._execute_together(batch)
        else:
            self._execute_packed(batch)
        batch.steps += len(self._members) - 1
        return self.end

    def _execute_each(self, batch: Batch) -> None:
        for member in self._members:
            member(batch)
            batch.pc += 1

    def _execute_packed(self, batch: Batch) -> None:
        """Execute for some lanes, on registers that hold the values of no others."""
        registers, where = batch.registers, batch.where
        whole = [registers[slot] for slot in self._held]
        for slot in self._taken:
            value = registers[slot]
            if value.size != 1:
                registers[slot] = value[where]
        batch.is_packed, is_fault = True, False
        try:
            for action in self._actions:
                action(batch)
        except Fault:
            is_fault = True
        finally:
            batch.is_packed = False
            values = [registers[slot] for slot in self._given]
            for slot, value in zip(self._held, whole, strict=True):
                registers[slot] = value
        if is_fault:
            self._execute_each(batch)
            return
        for slot, value in zip(self._given, values, strict=True):
            batch.write(slot, value)

    def _execute_together(self, batch: Batch) -> None:
        registers = batch.registers
        saved = [registers[slot] for slot in self._replaced]
        try:
            for action in self._actions:
                action(batch)
        except Fault:
            for slot, value in zip(self._replaced, saved, strict=True):
                registers[slot] = value
            self._execute_each(batch)


def straightened(
    actions: Sequence[Action], starts: Collection[int], spans: Mapping[int, tuple[int, int]]
) -> tuple[Action, ...]:
    """The actions of a program, with straight lines where they begin.

    Args:
        actions: one for each instruction.
        starts: the instructions that are jumped to.
        spans: the first and the last instruction that names a register, by its slot.
    """
    found = list(actions)
    begin = 0
    while begin < len(actions):
        end = begin
        while end < len(actions) and _may_move(actions[end]) and (end == begin or end not in starts):
            end += 1
        if end - begin > 1:
            members = tuple(filter(_may_move, actions[begin:end]))
            written = {slot for member in members for slot in member.writes}
            own = {slot for slot in written if begin <= spans[slot][0] and spans[slot][1] < end}
            found[begin] = StraightLine(end, members, own)
        begin = max(end, begin + 1)
    return tuple(found)


def _taken(members: Sequence[_Member]) -> Iterator[int]:
    """The registers that are read before they are written, if they are."""
    written = set[int]()
    for member in members:
        yield from (slot for slot in member.reads if slot not in written)
        written.update(member.writes)


def _replaced(members: Sequence[_Member]) -> Iterator[int]:
    """The registers that are read before they are written."""
    read, written = set[int](), set[int]()
    for member in members:
        read.update(slot for slot in member.reads if slot not in written)
        yield from (slot for slot in member.writes if slot in read and slot not in written)
        written.update(member.writes)


def _grouped(members: Sequence[_Member]) -> Iterator[Action]:
    """Of those that can execute next always the kind of which there are most."""
    after, missing = _dependences(members)
    ready: dict[Hashable, list[int]] = {}

    def enter(number: int) -> None:
        ready.setdefault(members[number].kind, []).append(number)

    for number, count in enumerate(missing):
        if not count:
            enter(number)
    while ready:
        kind = max(ready, key=lambda kind: len(ready[kind]))
        numbers = ready.pop(kind)
        yield from _together([members[number] for number in numbers])
        for number in numbers:
            for other in after[number]:
                missing[other] -= 1
                if not missing[other]:
                    enter(other)


def _dependences(members: Sequence[_Member]) -> tuple[list[set[int]], list[int]]:
    """For each member those that must come after it, and how many must come before it."""
    after: list[set[int]] = [set() for _ in members]
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for number, member in enumerate(members):
        before = {writer[slot] for slot in (*member.reads, *member.writes) if slot in writer}
        before.update(reader for slot in member.writes for reader in readers.get(slot, ()))
        for other in before - {number}:
            after[other].add(number)
        for slot in member.reads:
            readers.setdefault(slot, []).append(number)
        for slot in member.writes:
            writer[slot], readers[slot] = number, []
    missing = [0] * len(members)
    for others in after:
        for other in others:
            missing[other] += 1
    return after, missing


def _together(members: Sequence[_Member]) -> Sequence[Action]:
    """Members of one kind as one action; where that is one call of NumPy each, there is nothing to save."""
    if len(members) == 1 or members[0].kind is None:
        return members
    computations = [member for member in members if isinstance(member, Compute)]
    if computations:
        return computations if isinstance(computations[0].function, np.ufunc) else [_Computations(computations)]
    return [_Loads([member for member in members if isinstance(member, Load)])]


class _Computations:
    """One function for several targets."""

    def __init__(self, members: Sequence[Compute]) -> None:
        self.members = members
        self.operands = list(zip(*(member.sources for member in members), strict=True))

    def __call__(self, batch: Batch) -> None:
        registers = batch.registers
        values = [[registers[slot] for slot in slots] for slots in self.operands]
        # What is the same for all lanes stays one number.
        if any(all(value.size == 1 for value in of_member) for of_member in zip(*values, strict=True)):
            for member in self.members:
                member(batch)
            return
        result = self.members[0].function(*(_rows(batch, column) for column in values))
        for member, row in zip(self.members, result.reshape(len(self.members), -1), strict=True):
            batch.write(member.target, row)


def _rows(batch: Batch, values: Sequence[Array]) -> Array:
    """The values for the active lanes one after the other."""
    rows = np.empty((len(values), batch.active_count), values[0].dtype)
    is_whole = batch.index is None or batch.is_packed
    for row, value in zip(rows, values, strict=True):
        row[...] = value if is_whole or value.size == 1 else value[batch.where]
    return rows.reshape(-1)


class _Loads:
    """Loads of one form from several addresses."""

    def __init__(self, members: Sequence[Load]) -> None:
        self.members = members

    def __call__(self, batch: Batch) -> None:
        first, count = self.members[0], len(self.members)
        addresses = [member.address(batch) for member in self.members]
        if batch.active_count > _MOST_LOADING or any(address.size == 1 for address in addresses):
            for member in self.members:
                member(batch)
            return
        lanes, saved = batch.repeated(count), batch.index
        batch.index = lanes
        try:
            values = load(batch, first.space, np.concatenate(addresses), first.dtype, first.count)
        finally:
            batch.index = saved
        for member, loaded in zip(self.members, values.reshape(count, -1, values.shape[1]), strict=True):
            member.put(batch, loaded)
