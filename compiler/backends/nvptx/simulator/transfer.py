"""Decoding of loads and stores, and of `cp.async`.

A `cp.async` reads its source at once, but its bytes land only at the `wait_group` that covers it; until then they
count as never written, so that a kernel that forgets to wait is caught reading them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.backends.nvptx.simulator.access import GENERIC, load, store
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes, PendingCopy
from compiler.backends.nvptx.simulator.compute import compute, in_order
from compiler.backends.nvptx.simulator.memory import Addresses
from compiler.backends.nvptx.simulator.operands import Operands, storage
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Address,
    Group,
    Immediate,
    Operand,
    Register,
    Sink,
    Symbol,
)

_STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
_SPACES = ("global", "const", "param", "shared", "local")


def space_of(operands: Operands, address: Operand) -> str:
    """The state space of an access; a function's own `.param` variables live in local memory."""
    words = [m.partition("::")[0] for m in operands.instruction.modifiers]
    space = next((w for w in words if w in _SPACES), GENERIC)
    is_named = isinstance(address, Address) and isinstance(address.base, Symbol)
    return "local" if space == "param" and is_named and _is_variable(operands, address) else space


def _is_variable(operands: Operands, address: Operand) -> bool:
    """Whether an address names a variable of the function, and not a parameter of the kernel."""
    assert isinstance(address, Address)
    assert isinstance(address.base, Symbol)
    return not operands.symbol_key(address.base).startswith("param:")


def decode_address(operands: Operands, operand: Operand) -> Callable[[Batch], Addresses]:
    """A function that gives the active lanes' addresses, one element if they agree."""
    if not isinstance(operand, Address):
        operands.fail(f"{operands.instruction.name} wants an address in brackets")
    assert isinstance(operand, Address)
    base = operand.base
    if isinstance(base, Register) and operands.dtype(base) == np.uint32:
        slot, narrow = operands.register(base), np.uint32(operand.offset % 2**32)
        return lambda batch: (batch.read(slot) + narrow).astype(np.uint64)
    slot = operands.source(base, "b64")
    offset = np.uint64(operand.offset % 2**64)
    if not offset:
        return lambda batch: batch.read(slot)
    return lambda batch: batch.read(slot) + offset


def _shape(operands: Operands, values: Operand) -> tuple[str, list[Operand]]:
    """The element type and the registers of an access."""
    type_ = operands.instruction.modifiers[-1]
    if type_ not in TYPE_BITS or type_ in ("b128", "pred"):
        operands.unsupported()
    items: list[Operand] = list(values.items) if isinstance(values, Group) else [values]
    lanes = next((int(m[1:]) for m in operands.instruction.modifiers if m in ("v2", "v4", "v8")), 1)
    if lanes != len(items):
        operands.fail(f"{operands.instruction.name} moves {lanes} elements, the operand has {len(items)}")
    return type_, items


def decode_load(operands: Operands) -> Action:
    """`ld` and `ldu`."""
    address = operands[1]
    type_, items = _shape(operands, operands[0])
    space = space_of(operands, address)
    targets = [
        (place, operands.register(item), _extension(operands, item, type_))
        for place, item in enumerate(items)
        if not isinstance(item, Sink)
    ]
    dtype = storage(TYPE_BITS[type_])
    if space == "param" and isinstance(address, Address) and isinstance(address.base, Symbol):
        return _load_parameter(operands, address, dtype, targets)
    addresses = decode_address(operands, address)
    count, is_strong = len(items), bool(_STRONG & set(operands.instruction.modifiers))

    def act(batch: Batch) -> None:
        values = load(batch, space, addresses(batch), dtype, count, is_strong=is_strong)
        for place, slot, extend in targets:
            batch.write(slot, extend(values[:, place]))

    return act


def _extension(operands: Operands, item: Operand, type_: str) -> Callable[[Array], Array]:
    """From an element in memory to the register, which may be wider."""
    target = operands.dtype(item)
    source = storage(TYPE_BITS[type_])
    if target.itemsize < source.itemsize:
        operands.fail(f"a .{type_} does not fit the register")
    if type_[0] == "s" and target != source:
        return lambda a: a.view(f"i{source.itemsize}").astype(f"i{target.itemsize}").view(target)
    return lambda a: np.array(a, target)


def _load_parameter(
    operands: Operands,
    address: Address,
    dtype: np.dtype[np.generic],
    targets: list[tuple[int, int, Callable[[Array], Array]]],
) -> Action:
    assert isinstance(address.base, Symbol)
    name = address.base.name
    parameter = next(p for p in operands.scope.function.parameters if p.name == name)
    actions = []
    for place, slot, extend in targets:
        offset = address.offset + place * dtype.itemsize
        if offset < 0 or offset + dtype.itemsize > parameter.size_bytes:
            operands.fail(f"parameter {name!r} has {parameter.size_bytes} bytes")
        source = operands.slots.parameter(parameter.offset + offset, dtype)
        actions.append(compute(extend, slot, [source]))
    return in_order(actions)


def decode_store(operands: Operands) -> Action:
    """`st`."""
    type_, items = _shape(operands, operands[1])
    space = space_of(operands, operands[0])
    addresses = decode_address(operands, operands[0])
    dtype = storage(TYPE_BITS[type_])
    slots = []
    for item in items:
        if isinstance(item, Register) and operands.dtype(item).itemsize > dtype.itemsize:
            slots.append(operands.register(item))
        else:
            slots.append(operands.source(item, type_))
    is_strong = bool(_STRONG & set(operands.instruction.modifiers))

    def act(batch: Batch) -> None:
        values = np.empty((batch.active_count, len(slots)), dtype)
        for place, slot in enumerate(slots):
            values[:, place] = batch.read(slot).astype(dtype, copy=False)
        store(batch, space, addresses(batch), values, is_strong=is_strong)

    return act


def decode_async_copy(operands: Operands) -> Action:
    """`cp.async`, its groups and its waits."""
    modifiers = operands.instruction.modifiers
    if modifiers[:1] != ("async",) or {"bulk", "mbarrier"} & set(modifiers):
        operands.unsupported()
    if "commit_group" in modifiers:
        return _commit
    if "wait_all" in modifiers:
        return lambda batch: _land(batch, 0)
    if "wait_group" in modifiers:
        allowed = operands[0]
        if not isinstance(allowed, Immediate):
            operands.fail("cp.async.wait_group wants a constant")
        assert isinstance(allowed, Immediate)
        number = int(allowed.value)
        return lambda batch: _land(batch, number)
    return _async_copy(operands)


def _async_copy(operands: Operands) -> Action:
    destination, source = decode_address(operands, operands[0]), decode_address(operands, operands[1])
    size_operand = operands[2]
    if not isinstance(size_operand, Immediate) or size_operand.value not in (4, 8, 16):
        operands.fail("cp.async copies 4, 8 or 16 bytes")
    assert isinstance(size_operand, Immediate)
    size = int(size_operand.value)
    valid_size = operands.source(operands[3], "b32") if len(operands) > 3 else None

    def act(batch: Batch) -> None:
        count = batch.active_count
        sources = np.broadcast_to(source(batch), (count,))
        targets = np.broadcast_to(destination(batch), (count,))
        values = _read_source(batch, sources, size, valid_size)
        index = batch.shared.resolve(targets, batch.block_of_lane[batch.active], size)
        if batch.races is not None:
            batch.races.update(index * size, size, batch.active)
        batch.shared.valid.reshape(-1, size)[index] = 0
        batch.pending.append(PendingCopy(batch.active.copy(), index, values))

    return act


def _read_source(batch: Batch, sources: Addresses, size: int, valid_size: int | None) -> Array:
    """The bytes to copy; those past the source size are zero and not read."""
    byte = np.dtype(np.uint8)
    if valid_size is None:
        rows = load(batch, "global", sources, byte, size)
        return np.broadcast_to(rows, (sources.size, size))
    wanted = np.minimum(batch.read_full(valid_size), np.uint32(size))
    values = np.zeros((sources.size, size), np.uint8)
    saved, active = batch.index, batch.active
    for amount in np.unique(wanted):
        places = np.flatnonzero(wanted == amount)
        batch.index = active[places]
        step = size if amount == size else 1
        for offset in range(0, int(amount), step):
            part = load(batch, "global", sources[places] + np.uint64(offset), byte, step)
            values[places, offset : offset + step] = part
    batch.index = saved
    return values


def _commit(batch: Batch) -> None:
    """Copies of the active lanes that belong to no group yet form the next one."""
    active = batch.active
    is_active = np.zeros(batch.lane_count, np.bool_)
    is_active[active] = True
    for copy in batch.pending:
        if copy.group is None:
            copy.group = np.full(copy.lanes.size, -1, np.int64)
        mine = is_active[copy.lanes] & (copy.group < 0)
        copy.group[mine] = batch.committed[copy.lanes[mine]]
    batch.committed[active] += 1


def _land(batch: Batch, allowed: int) -> None:
    """Complete all but the latest `allowed` groups of the active lanes; with 0 also what is in no group."""
    is_active = np.zeros(batch.lane_count, np.bool_)
    is_active[batch.active] = True
    rest = []
    for copy in batch.pending:
        group = np.full(copy.lanes.size, -1, np.int64) if copy.group is None else copy.group
        is_old = group < batch.committed[copy.lanes] - allowed
        lands = is_active[copy.lanes] & is_old & ((group >= 0) | (allowed == 0))
        _complete(batch, copy, np.flatnonzero(lands))
        if not lands.all():
            stays = ~lands
            group = group[stays]
            rest.append(PendingCopy(copy.lanes[stays], copy.offsets[stays], copy.values[stays], group))
    batch.pending = rest


def _complete(batch: Batch, copy: PendingCopy, places: Lanes) -> None:
    values = copy.values[places]
    index = copy.offsets[places]
    if batch.races is not None and places.size:
        batch.races.write(index * values.shape[1], values, copy.lanes[places])
    batch.shared.store(index, values)
