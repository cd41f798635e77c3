"""Decoding of loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from compiler.backends.nvptx.simulator.access import GENERIC, load, store, touch
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, nothing
from compiler.backends.nvptx.simulator.compute import Compute, in_order
from compiler.backends.nvptx.simulator.memory import Addresses
from compiler.backends.nvptx.simulator.operands import Operands, storage
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Address,
    Group,
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


@dataclass(frozen=True, slots=True)
class AddressOf:
    """The active lanes' addresses: what a slot holds and an offset, added in the slot's width."""

    slot: int
    offset: np.unsignedinteger[Any]

    def __call__(self, batch: Batch) -> Addresses:
        """The addresses; one element if they agree."""
        value = batch.read(self.slot)
        if self.offset:
            value = value + self.offset
        return value.astype(np.uint64, copy=False)


def decode_address(operands: Operands, operand: Operand) -> AddressOf:
    """Where an instruction accesses memory."""
    if not isinstance(operand, Address):
        operands.fail(f"{operands.instruction.name} wants an address in brackets")
    assert isinstance(operand, Address)
    base = operand.base
    if isinstance(base, Register) and operands.dtype(base) == np.uint32:
        return AddressOf(operands.register(base), np.uint32(operand.offset % 2**32))
    return AddressOf(operands.source(base, "b64"), np.uint64(operand.offset % 2**64))


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


class _Target(NamedTuple):
    """Where an element of an access goes: its number, its register's slot, and how it is extended."""

    number: int
    slot: int
    extend: Callable[[Array], Array]


def decode_load(operands: Operands) -> Action:
    """`ld` and `ldu`."""
    address = operands[1]
    type_, items = _shape(operands, operands[0])
    space = space_of(operands, address)
    targets = [
        _Target(number, operands.register(item), _extension(operands, item, type_))
        for number, item in enumerate(items)
        if not isinstance(item, Sink)
    ]
    dtype = storage(TYPE_BITS[type_])
    if space == "param" and isinstance(address, Address) and isinstance(address.base, Symbol):
        return _load_parameter(operands, address, dtype, targets)
    addresses = decode_address(operands, address)
    forms = tuple(operands.slots.initial[slot].dtype for _, slot, _ in targets)
    kind = (operands.instruction.name, space, tuple(number for number, _, _ in targets), forms)
    is_strong = bool(_STRONG & set(operands.instruction.modifiers))
    return Load(addresses, space, dtype, len(items), targets, kind, is_strong)


@dataclass(frozen=True, slots=True)
class Load:
    """An action that loads so many elements.

    Loads of one `kind` differ in addresses and slots only.  What a strong one loads others may write meanwhile.
    """

    address: AddressOf
    space: str
    dtype: np.dtype[Any]
    count: int
    targets: Sequence[_Target]
    kind: Hashable
    is_strong: bool

    @property
    def reads(self) -> Sequence[int]:
        """The slots that it reads."""
        return (self.address.slot,)

    @property
    def writes(self) -> Sequence[int]:
        """The slots that it writes."""
        return [slot for _, slot, _ in self.targets]

    def put(self, batch: Batch, values: Array) -> None:
        """Set the registers to what was loaded, of shape (lanes, elements)."""
        columns = values.T.copy()
        for number, slot, extend in self.targets:
            batch.write(slot, extend(columns[number]))

    def __call__(self, batch: Batch) -> None:
        """Do so for the active lanes."""
        values = load(batch, self.space, self.address(batch), self.dtype, self.count, is_strong=self.is_strong)
        self.put(batch, values)


def decode_access(operands: Operands) -> Action:
    """`ld`, `ldu` and `st` of which only the addresses are wanted."""
    number = 0 if operands.instruction.opcode == "st" else 1
    type_, items = _shape(operands, operands[1 - number])
    space = space_of(operands, operands[number])
    if space in ("param", "const"):
        return nothing
    addresses, size = decode_address(operands, operands[number]), storage(TYPE_BITS[type_]).itemsize * len(items)
    return lambda batch: touch(batch, space, addresses(batch), size)


def _extension(operands: Operands, item: Operand, type_: str) -> Callable[[Array], Array]:
    """From an element that nobody else holds to the register, which may be wider."""
    target = operands.dtype(item)
    source = storage(TYPE_BITS[type_])
    if target.itemsize < source.itemsize:
        operands.fail(f"a .{type_} does not fit the register")
    if type_[0] == "s" and target != source:
        return lambda a: a.view(f"i{source.itemsize}").astype(f"i{target.itemsize}").view(target)
    return lambda a: a.astype(target, copy=False)


def _load_parameter(
    operands: Operands,
    address: Address,
    dtype: np.dtype[np.generic],
    targets: Sequence[_Target],
) -> Action:
    assert isinstance(address.base, Symbol)
    name = address.base.name
    parameter = next(p for p in operands.scope.function.parameters if p.name == name)
    actions = []
    for number, slot, extend in targets:
        offset = address.offset + number * dtype.itemsize
        if offset < 0 or offset + dtype.itemsize > parameter.size_bytes:
            operands.fail(f"parameter {name!r} has {parameter.size_bytes} bytes")
        source = operands.slots.parameter(parameter.offset + offset, dtype)
        actions.append(Compute(_of_its_own(extend), slot, [source]))
    return in_order(actions)


def _of_its_own(extend: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda a: extend(a.copy())


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
        for number, slot in enumerate(slots):
            values[:, number] = batch.read(slot).astype(dtype, copy=False)
        store(batch, space, addresses(batch), values, is_strong=is_strong)

    return act
