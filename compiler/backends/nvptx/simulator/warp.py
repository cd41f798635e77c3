"""Instructions in which the lanes of a warp exchange values: shuffles, votes, matches and reductions.

Each names the lanes that take part in a mask.  A lane that executes one without being in its own mask, or a mask that
names a live lane which is not executing, is undefined on the hardware (it hangs or gives garbage) and an error here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes
from compiler.backends.nvptx.simulator.faults import Fault
from compiler.backends.nvptx.simulator.operands import Operands, immediate_bits
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Immediate, Operand, Pair, Sink

_ONE = np.uint32(1)
_WARP = 32
"""Lanes of a warp."""
_EVERYBODY = 0xFFFF_FFFF
"""The mask of all of them."""
_Range = tuple[Lanes, NDArray[np.bool_]]


def _warp_bits(batch: Batch, holds: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """For each active lane the bit mask of the active lanes of its warp for which something holds."""
    lanes = batch.active
    bits = np.zeros(int(batch.warp_of_lane[-1]) + 1, np.uint32)
    chosen = lanes[holds]
    np.bitwise_or.at(bits, batch.warp_of_lane[chosen], _ONE << batch.lane_in_warp[chosen].astype(np.uint32))
    return bits[batch.warp_of_lane[lanes]]


def _check_mask(batch: Batch, mask: NDArray[np.uint32]) -> None:
    """Everybody who is named takes part, and everybody who takes part is named."""
    lanes = batch.active
    own = _ONE << batch.lane_in_warp[lanes].astype(np.uint32)
    is_missing = (mask & own) == 0
    if is_missing.any():
        position = int(np.argmax(is_missing))
        raise Fault("divergent-shuffle", f"the thread is not in its own member mask {int(mask[position]):#x}", position)
    if batch.index is None:
        return
    executing = _warp_bits(batch, np.ones(lanes.size, np.bool_))
    alive = np.zeros(int(batch.warp_of_lane[-1]) + 1, np.uint32)
    living = np.flatnonzero(batch.is_alive)
    bit = _ONE << batch.lane_in_warp[living].astype(np.uint32)
    np.bitwise_or.at(alive, batch.warp_of_lane[living], bit)
    absent = mask & alive[batch.warp_of_lane[lanes]] & ~executing
    if absent.any():
        position = int(np.argmax(absent != 0))
        message = (
            f"the member mask {int(mask[position]):#x} names threads of the warp that are not here: "
            f"{int(absent[position]):#x}"
        )
        raise Fault("divergent-shuffle", message, position)


def decode_shuffle(operands: Operands) -> Action:
    """`shfl.sync`."""
    modifiers = operands.instruction.modifiers
    if modifiers[0] != "sync" or modifiers[1] not in _SOURCE_LANE:
        operands.unsupported()
    mode = modifiers[1]
    find = _SOURCE_LANE[mode]
    target = operands[0]
    value_target, flag_target = (target.first, target.second) if isinstance(target, Pair) else (target, Sink())
    value_slot = None if isinstance(value_target, Sink) else operands.target(value_target, "b32")
    flag_slot = None if isinstance(flag_target, Sink) else operands.target(flag_target, "pred")
    value, amount, clamp, mask = (operands.source(operands[number], "b32") for number in range(1, 5))
    pattern = _pattern(mode, [operands[number] for number in range(2, 5)])

    def act(batch: Batch) -> None:
        if pattern is not None and batch.index is None and batch.has_whole_warps:
            everywhere(batch, *pattern)
            return
        _check_mask(batch, batch.read_full(mask))
        lanes = batch.active
        own = batch.lane_in_warp[lanes]
        bounds = batch.read_full(clamp).astype(np.int64)
        source, is_inside = find(own, batch.read_full(amount).astype(np.int64) & 31, bounds & 31, bounds >> 8 & 31)
        source = np.where(is_inside, source, own)
        full = np.broadcast_to(batch.registers[value], (batch.lane_count,))
        source_lane = _source_lanes(batch, lanes, own, source)
        if value_slot is not None:
            batch.write(value_slot, full[source_lane])
        if flag_slot is not None:
            batch.write(flag_slot, is_inside)

    def everywhere(batch: Batch, source: Lanes, is_inside: NDArray[np.bool_]) -> None:
        """All lanes of all warps take part, each warp in the same way, so that nothing can be missing."""
        warps = batch.lane_count // _WARP
        if value_slot is not None:
            batch.write(value_slot, batch.read_full(value).reshape(warps, _WARP).take(source, axis=1).reshape(-1))
        if flag_slot is not None:
            batch.write(flag_slot, np.tile(is_inside, warps))

    return act


def _pattern(mode: str, controls: Sequence[Operand]) -> _Range | None:
    """The lanes that those of one warp read from, and where that is inside their segments, if the text says so."""
    given = [immediate_bits(control, "b32") for control in controls if isinstance(control, Immediate)]
    if len(given) != len(controls) or given[2] != _EVERYBODY:
        return None
    own, amount, bounds = np.arange(_WARP), np.array(given[:1]), np.array(given[1:2])
    source, is_inside = _SOURCE_LANE[mode](own, amount & 31, bounds & 31, bounds >> 8 & 31)
    return np.where(is_inside, source, own), is_inside


def _source_lanes(batch: Batch, lanes: Lanes, own: Lanes, source: Lanes) -> Lanes:
    """The lanes to read from, which must be executing too."""
    source_lane = lanes - own + source
    is_here = np.zeros(batch.lane_count, np.bool_)
    is_here[lanes] = True
    is_same_warp = source_lane < batch.lane_count
    source_lane = np.minimum(source_lane, batch.lane_count - 1)
    is_same_warp &= batch.warp_of_lane[source_lane] == batch.warp_of_lane[lanes]
    is_wrong = ~(is_same_warp & is_here[source_lane])
    if is_wrong.any():
        position = int(np.argmax(is_wrong))
        message = f"a shuffle reads from lane {int(source[position])} of the warp, which does not take part"
        raise Fault("divergent-shuffle", message, position)
    result: Lanes = source_lane
    return result


def _up(own: Lanes, amount: Lanes, clamp: Lanes, segment: Lanes) -> _Range:
    source = own - amount
    return source, source >= (own & segment | clamp & ~segment & 31)


def _down(own: Lanes, amount: Lanes, clamp: Lanes, segment: Lanes) -> _Range:
    source = own + amount
    return source, source <= (own & segment | clamp & ~segment & 31)


def _butterfly(own: Lanes, amount: Lanes, clamp: Lanes, segment: Lanes) -> _Range:
    source = own ^ amount
    return source, source <= (own & segment | clamp & ~segment & 31)


def _indexed(own: Lanes, amount: Lanes, clamp: Lanes, segment: Lanes) -> _Range:
    first = own & segment
    source = first | amount & ~segment & 31
    return source, source <= (first | clamp & ~segment & 31)


_SOURCE_LANE: dict[str, Callable[[Lanes, Lanes, Lanes, Lanes], _Range]] = {
    "up": _up,
    "down": _down,
    "bfly": _butterfly,
    "idx": _indexed,
}


def decode_vote(operands: Operands) -> Action:
    """`vote.sync`: all, any, uni or ballot of a predicate."""
    modifiers = operands.instruction.modifiers
    if modifiers[0] != "sync":
        operands.unsupported()
    kind = modifiers[1]
    slot, is_negated = operands.predicate(operands[1])
    mask = operands.source(operands[2], "b32")
    target = operands.target(operands[0], "b32" if kind == "ballot" else "pred")

    def act(batch: Batch) -> None:
        members = batch.read_full(mask)
        _check_mask(batch, members)
        holds = batch.read_full(slot) ^ is_negated
        votes = _warp_bits(batch, holds) & members
        everyone = _warp_bits(batch, np.ones(holds.size, np.bool_)) & members
        batch.write(target, _OUTCOMES[kind](votes, everyone))

    if kind not in _OUTCOMES:
        operands.unsupported()
    return act


_OUTCOMES: dict[str, Callable[[Array, Array], Array]] = {
    "ballot": lambda votes, _: votes,
    "any": lambda votes, _: votes != 0,
    "all": lambda votes, everyone: votes == everyone,
    "uni": lambda votes, everyone: (votes == everyone) | (votes == 0),
}


def decode_match(operands: Operands) -> Action:
    """`match.any.sync` and `match.all.sync`: who holds the same value."""
    modifiers = operands.instruction.modifiers
    kind, type_ = modifiers[0], modifiers[-1]
    if kind not in ("any", "all") or type_ not in TYPE_BITS:
        operands.unsupported()
    target = operands[0]
    mask_target, flag_target = (target.first, target.second) if isinstance(target, Pair) else (target, Sink())
    value, mask = operands.source(operands[1], type_), operands.source(operands[2], "b32")
    mask_slot = operands.target(mask_target, "b32")
    flag_slot = None if isinstance(flag_target, Sink) else operands.target(flag_target, "pred")

    def act(batch: Batch) -> None:
        members = batch.read_full(mask)
        _check_mask(batch, members)
        same, everyone = _same_value(batch, batch.read_full(value), members)
        if kind == "any":
            batch.write(mask_slot, same)
            return
        agrees = same == everyone
        batch.write(mask_slot, np.where(agrees, same, np.uint32(0)))
        if flag_slot is not None:
            batch.write(flag_slot, agrees)

    return act


def _same_value(batch: Batch, values: Array, members: Array) -> tuple[Array, Array]:
    warps = batch.warp_of_lane[batch.active]
    key = np.stack([warps.astype(np.uint64), values.astype(np.uint64)], axis=1)
    _, group = np.unique(key, axis=0, return_inverse=True)
    group = group.reshape(-1)
    bits = np.zeros(int(group.max()) + 1, np.uint32)
    np.bitwise_or.at(bits, group, _ONE << batch.lane_in_warp[batch.active].astype(np.uint32))
    everyone = _warp_bits(batch, np.ones(values.size, np.bool_)) & members
    return bits[group] & members, everyone


class _Reduction(NamedTuple):
    """What `redux.sync` combines lanes by, and what changes nothing, of unsigned and of signed integers."""

    function: np.ufunc
    of_unsigned: int
    of_signed: int


_REDUCTIONS: dict[str, _Reduction] = {
    "add": _Reduction(np.add, 0, 0),
    "min": _Reduction(np.minimum, 2**32 - 1, 2**31 - 1),
    "max": _Reduction(np.maximum, 0, -(2**31)),
    "and": _Reduction(np.bitwise_and, 2**32 - 1, -1),
    "or": _Reduction(np.bitwise_or, 0, 0),
    "xor": _Reduction(np.bitwise_xor, 0, 0),
}


def decode_reduction(operands: Operands) -> Action:
    """`redux.sync` of 32-bit integers, over the lanes with the same member mask."""
    modifiers = operands.instruction.modifiers
    name, type_ = modifiers[1], modifiers[-1]
    if name not in _REDUCTIONS or type_[0] == "f":
        operands.unsupported()
    function, of_unsigned, of_signed = _REDUCTIONS[name]
    dtype: np.dtype[Any] = np.dtype(np.int32 if type_[0] == "s" else np.uint32)
    neutral = of_signed if type_[0] == "s" else of_unsigned
    value, mask = operands.source(operands[1], type_), operands.source(operands[2], "b32")
    target = operands.target(operands[0], "b32")

    def act(batch: Batch) -> None:
        members = batch.read_full(mask)
        _check_mask(batch, members)
        key = np.stack([batch.warp_of_lane[batch.active].astype(np.uint64), members.astype(np.uint64)], axis=1)
        _, group = np.unique(key, axis=0, return_inverse=True)
        group = group.reshape(-1)
        total = np.full(int(group.max()) + 1, neutral, dtype)
        function.at(total, group, batch.read_full(value).view(dtype))
        batch.write(target, total[group].view(np.uint32))

    return act


def decode_active_mask(operands: Operands) -> Action:
    """`activemask`."""
    target = operands.target(operands[0], "b32")

    def act(batch: Batch) -> None:
        batch.write(target, _warp_bits(batch, np.ones(batch.active_count, np.bool_)))

    return act


def decode_warp_barrier(operands: Operands) -> Action:
    """`bar.warp.sync`."""
    mask = operands.source(operands[0], "b32")

    def act(batch: Batch) -> None:
        _check_mask(batch, batch.read_full(mask))
        for detector in (batch.races, batch.global_races):
            if detector is not None:
                detector.pass_warp_barrier(batch.active)

    return act


def decode_elect(operands: Operands) -> Action:
    """`elect.sync`: the lowest member is the leader."""
    target = operands[0]
    if not isinstance(target, Pair):
        operands.fail("elect.sync wants d|p")
    assert isinstance(target, Pair)
    mask = operands.source(operands[1], "b32")
    lane_slot = None if isinstance(target.first, Sink) else operands.target(target.first, "b32")
    flag_slot = operands.target(target.second, "pred")

    def act(batch: Batch) -> None:
        members = batch.read_full(mask)
        _check_mask(batch, members)
        leader = np.bitwise_count((members & (~members + _ONE)) - _ONE).astype(np.uint32)
        if lane_slot is not None:
            batch.write(lane_slot, leader)
        batch.write(flag_slot, batch.lane_in_warp[batch.active] == leader)

    return act
