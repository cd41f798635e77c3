"""Loops hold what they need and nothing else: state that nobody reads goes, and what is known of it is said.

    while(s) of a tuple in a tuple, or used as a whole  ->  while of arrays, each taken by whoever reads it
    get-tuple-element(while(s), i), body: s.i as it is   ->  what s.i was before the loop
    s.i as it is, a number before the loop               ->  the number, wherever the loop reads it
    get-tuple-element(while(s), i), body: s.i + c        ->  the number that it is after the last iteration
    s.i that neither the condition, nor who reads the result, nor any piece that these need, is computed from  ->  gone
    s.i and s.j, the same before the loop and after each iteration  ->  s.i
    while(s) of no iteration, of one  ->  s, body(s)

A loop of which nothing is read any more has no users, and `dce` removes it.  How often a loop iterates counts only
where that is certain (`analysis.trip_count`).  What a body does besides computing stays, and so do loops that wait for
others or that others wait for.  A loop that may never end yields its unchanged pieces nevertheless, as in XLA.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from compiler.analysis.effects import control_predecessors, has_effect
from compiler.analysis.trip_count import known_trip_count, step_of
from compiler.expansion.loop_state import LoopState, flatten, is_piece, may_be_flattened
from compiler.expansion.replacement import simplify_each
from compiler.ir.calls import Calls
from compiler.ir.control import is_ordered
from compiler.ir.literal import Literal
from compiler.ir.module import Computation, Instruction, Module, computed_from, inline
from compiler.ir.outline import is_scalar_constant
from compiler.ir.rewrite import Fuel
from compiler.ops.build import constant


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return simplify_each(module, "while", lambda loop, calls, _awaited: _simplify(loop, calls, fuel))


def _simplify(loop: Instruction, calls: Calls, fuel: Fuel) -> bool:
    if any(calls[callee] != 1 for callee in loop.called_computations()) or not may_be_flattened(loop):
        return False
    trip_count = known_trip_count(loop)
    if trip_count in (0, 1) and (loop.users or loop.is_root) and fuel.spend(f"loop of {trip_count} iterations", loop):
        _write_out(loop, trip_count)
        return True
    changed = False
    if LoopState.of(loop, calls) is None and fuel.spend("take state apart", loop):
        flatten(loop)
        changed = True
    state = LoopState.of(loop, calls)
    if state is None:
        return changed
    changed |= _say_what_is_known(state, trip_count, fuel)
    changed |= _merge(state, fuel)
    return _leave_out(state, fuel) or changed


def _write_out(loop: Instruction, trip_count: int) -> None:
    result = loop.operands[0]
    if trip_count:
        result = inline(loop.attributes["body"], [result], loop.computation.add)
    loop.replace_uses_with(result)
    loop.computation.remove([loop])  # what it does besides has been written out, too


# -- what is known of a piece ---------------------------------------------------------------------------------------
def _say_what_is_known(state: LoopState, trip_count: int | None, fuel: Fuel) -> bool:
    changed = False
    for user in state.users():
        number = user.attributes["index"]
        if not (user.users or user.is_root):
            continue
        if state.is_unchanged(number):
            changed |= _unchanged(state, user, fuel)
        elif user.operands[0] is state.loop and trip_count is not None:
            changed |= _counted(state, user, trip_count, fuel)
    return changed


def _unchanged(state: LoopState, user: Instruction, fuel: Fuel) -> bool:
    """Let whoever takes a piece that never changes use what it was before the loop; in the loop if it is a number."""
    before = state.initial[user.attributes["index"]]
    if user.operands[0] is state.loop:
        return fuel.replace("unchanged by loop", user, before)
    others = [other for other in user.users if other is not state.body.root]
    if not is_scalar_constant(before) or not (others or user is state.condition.root):
        return False
    if not fuel.spend("number in loop", user):
        return False
    known = constant(user.computation, before.literal, name=before.name)
    for other in others:
        other.set_operands([known if operand is user else operand for operand in other.operands])
    if user is state.condition.root:
        state.condition.root = known
    user.computation.sort()
    return True


def _counted(state: LoopState, user: Instruction, trip_count: int, fuel: Fuel) -> bool:
    """Put the number that a counter is after the last iteration in the place of what the loop yields."""
    number = user.attributes["index"]
    before, step = state.initial[number], step_of(state.body, number)
    if step is None or not is_scalar_constant(before) or before.literal.array is None:
        return False
    if not fuel.spend("counter after loop", user):
        return False
    element_type = before.array.element_type
    reached = int(before.literal.array.reshape(-1)[0]) + trip_count * step
    wrapped = reached & (1 << element_type.bits) - 1
    if element_type.is_signed and wrapped >> element_type.bits - 1:
        wrapped -= 1 << element_type.bits
    value = np.full(before.array.dims, wrapped, element_type.dtype)
    user.replace_uses_with(constant(user.computation, Literal(before.array, value), name=user.name))
    return True


# -- pieces that are not needed -------------------------------------------------------------------------------------
def _merge(state: LoopState, fuel: Fuel) -> bool:
    """Let one of two pieces that are always the same be used for both."""
    first: dict[tuple[Instruction, Instruction | None], int] = {}
    changed = False
    for number, (before, after) in enumerate(zip(state.initial, state.following, strict=True)):
        same = first.setdefault((before, None if state.is_unchanged(number) else after), number)
        users = [u for u in state.users() if u.attributes["index"] == number and _is_read(u, state)]
        if same == number or not users or not fuel.spend("same piece", state.loop):
            continue
        for user in users:
            user.attributes["index"] = same
        changed = True
    return changed


def _is_read(user: Instruction, state: LoopState) -> bool:
    """Whether a piece that is taken is used for anything but handing it on."""
    return user.is_root or any(other is not state.body.root for other in user.users)


def _leave_out(state: LoopState, fuel: Fuel) -> bool:
    """Leave out of the state what nobody needs."""
    if not any(user.users or user.is_root for user in state.loop.users):
        return False  # the loop itself is not needed, or is for what it does
    asked = _needed(state.condition, [state.condition.root])
    awaited = control_predecessors(state.loop.computation)
    read = {user for user in state.loop.users if user.users or user.is_root or user in awaited}
    needed = {user.attributes["index"] for user in {*asked, *read} if is_piece(user) or user in read}
    while True:
        kept = _needed(state.body, (state.following[number] for number in needed))
        more = {i.attributes["index"] for i in kept if is_piece(i)}
        if more <= needed:
            break
        needed |= more
    is_complete = len(needed) == len(state.initial) or state.body.root in kept
    if is_complete or not fuel.spend("leave out of state", state.loop):
        return False
    dead = [i for i in state.body.instructions if i not in kept and i is not state.body.root]
    dead += [i for i in state.condition.instructions if i not in asked]
    dead += [i for i in state.loop.users if i not in read]
    state.keep(sorted(needed), dead=[i for i in dead if i.opcode != "parameter"])
    return True


def _needed(computation: Computation, values: Iterable[Instruction]) -> set[Instruction]:
    """Values, what a computation does besides, and all that these are computed from."""
    awaited = control_predecessors(computation)
    bound = [i for i in computation.instructions if i in awaited or is_ordered(i) or has_effect(i)]
    return computed_from([*values, *bound])
