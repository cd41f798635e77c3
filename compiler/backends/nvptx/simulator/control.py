"""Decoding of branches, exits and barriers, and of the predicate in front of any other instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.backends.nvptx.simulator.batch import RESCHEDULE, Action, Batch, Lanes, Waiting
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.operands import Operands
from compiler.backends.nvptx.simulator.syntax import Immediate, Symbol

_Chosen = Callable[[Batch], Lanes | None]
"""Places among the active lanes at which the guard holds; None for all of them."""


def decode_guard(operands: Operands) -> _Chosen | None:
    """The predicate in front of an instruction."""
    guard = operands.instruction.guard
    if guard is None:
        return None
    if operands.scope.function.registers.get(guard.register) != "pred":
        operands.fail(f"{guard.register} is no predicate")
    slot = operands.slots.register(operands.scope.prefix + guard.register, "pred")
    negated = guard.negated

    def chosen(batch: Batch) -> Lanes | None:
        value = batch.read(slot)
        if negated:
            value = ~value
        if value.size == 1:
            return None if value[0] else np.empty(0, np.int64)
        positions = np.flatnonzero(value)
        return None if positions.size == value.size else positions

    return chosen


def guarded(action: Action, chosen: _Chosen) -> Action:
    """An instruction that executes only where its guard holds."""

    def act(batch: Batch) -> None:
        positions = chosen(batch)
        if positions is None:
            action(batch)
        elif positions.size:
            saved = batch.index
            batch.index = batch.active[positions]
            try:
                action(batch)
            finally:
                batch.index = saved

    return act


def jump(target: int, chosen: _Chosen | None) -> Action:
    """`bra`: where the guard holds for some lanes only, they part."""
    if chosen is None:
        return lambda batch: target  # noqa: ARG005
    choose = chosen

    def act(batch: Batch) -> int | None:
        positions = choose(batch)
        if positions is None:
            return target
        if not positions.size:
            return None
        return _split_off(batch, positions, target)

    return act


def _split_off(batch: Batch, positions: Lanes, target: int) -> int:
    active = batch.active
    stays = np.ones(active.size, np.bool_)
    stays[positions] = False
    batch.put(batch.pc + 1, active[stays])
    batch.put(target, active[positions])
    return RESCHEDULE


def decode_indexed_jump(operands: Operands, targets: Sequence[int], chosen: _Chosen | None) -> Action:
    """`brx.idx`: each lane goes to the target of its number.

    Args:
        operands: those of the instruction.
        targets: numbers of instructions, by the branch table.
        chosen: what selects the lanes under a guard, if there is one.
    """
    slot = operands.source(operands[0], "b32")
    table = np.array(targets)

    def act(batch: Batch) -> int | None:
        positions = None if chosen is None else chosen(batch)
        number = batch.read_full(slot)
        active = batch.active
        if positions is not None:
            number = number[positions]
            stays = np.ones(active.size, np.bool_)
            stays[positions] = False
            batch.put(batch.pc + 1, active[stays])
            active = active[positions]
        if not active.size:
            return RESCHEDULE
        if (number >= table.size).any():
            lane = int(active[int(np.argmax(number >= table.size))])
            raise Fault("trap", f"brx.idx with an index past its {table.size} targets", lane=lane)
        goes = table[number]
        for target in np.unique(goes):
            batch.put(int(target), active[goes == target])
        return RESCHEDULE

    return act


def finish(chosen: _Chosen | None) -> Action:
    """`exit`, and `ret` of a kernel."""

    def act(batch: Batch) -> int | None:
        positions = None if chosen is None else chosen(batch)
        active = batch.active
        if positions is None:
            batch.retire(active)
            return RESCHEDULE
        if not positions.size:
            return None
        batch.retire(active[positions])
        stays = np.ones(active.size, np.bool_)
        stays[positions] = False
        batch.put(batch.pc + 1, active[stays])
        return RESCHEDULE

    return act


def trap(batch: Batch) -> None:
    """`trap`: the kernel itself says that something is wrong, which is a Fault."""
    raise Fault("trap", "the kernel executed trap", lane=int(batch.active[0]))


def decode_barrier(operands: Operands) -> Action:
    """`bar.sync`, `bar.arrive` and their `barrier` spellings; `bar.warp.sync` comes from `warp`."""
    modifiers = operands.instruction.modifiers
    arrives = "arrive" in modifiers
    if not ({"arrive", "sync"} & set(modifiers)) or {"cluster", "red"} & set(modifiers):
        operands.unsupported()
    number = _constant(operands, 0) if len(operands) else 0
    expected = _constant(operands, 1) if len(operands) > 1 else None
    is_aligned = operands.instruction.opcode == "bar" or "aligned" in modifiers

    def act(batch: Batch) -> int | None:
        if batch.index is None and expected in (None, batch.geometry.threads) and not arrives and not batch.is_waiting:
            batch.pass_barrier(batch.all_lanes)
            return None
        waiting = Waiting(number, batch.pc, batch.active, expected, is_aligned)
        if arrives:
            batch.arrive(waiting)
            return None
        batch.wait(waiting)
        return RESCHEDULE

    return act


def _constant(operands: Operands, number: int) -> int:
    operand = operands[number]
    if not isinstance(operand, Immediate):
        operands.unsupported("barrier numbers and counts must be constants")
    assert isinstance(operand, Immediate)
    return int(operand.value)


def label_of(operands: Operands, number: int) -> str:
    """A branch's label, unique among the expansions of its function."""
    operand = operands[number]
    if not isinstance(operand, Symbol):
        operands.fail(f"{operands.instruction.name} wants a label")
    assert isinstance(operand, Symbol)
    return operands.scope.prefix + operand.name
