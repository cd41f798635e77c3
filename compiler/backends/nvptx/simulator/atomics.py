"""`atom` and `red`.

Lanes that update one place do so one after the other, in the order of lanes.  Where nobody wants the old values,
NumPy's unbuffered `ufunc.at` does exactly that; otherwise lanes take turns, all places at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.backends.nvptx.simulator import floating
from compiler.backends.nvptx.simulator.access import by_window, locate
from compiler.backends.nvptx.simulator.batch import Action, Array, Batch, Lanes
from compiler.backends.nvptx.simulator.memory import Addresses
from compiler.backends.nvptx.simulator.operands import Operands, storage
from compiler.backends.nvptx.simulator.rounding import FORMATS
from compiler.backends.nvptx.simulator.syntax import TYPE_BITS, Register, Sink
from compiler.backends.nvptx.simulator.transfer import decode_address, space_of

_OPERATIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def decode_atomic(operands: Operands) -> Action:
    """`atom` gives the old value, `red` does not."""
    modifiers = operands.instruction.modifiers
    name = next((m for m in modifiers if m in _OPERATIONS), "")
    type_ = modifiers[-1]
    if not name or type_ not in TYPE_BITS or type_ == "b128" or any(m in ("v2", "v4", "v8") for m in modifiers):
        operands.unsupported()
    has_result = operands.instruction.opcode == "atom"
    target = operands[0] if has_result else Sink()
    first = 1 if has_result else 0
    address = operands[first]
    space = space_of(operands, address)
    addresses = decode_address(operands, address)
    arity = 2 if name == "cas" else 1
    slots = [operands.source(operands[first + 1 + i], type_) for i in range(arity)]
    combine = _combination(name, type_)
    if combine is None:
        operands.unsupported()
    assert combine is not None
    slot = operands.target(target, type_) if isinstance(target, Register) else None
    at_once = _at_once(name, type_) if slot is None else None
    update = _Update(storage(TYPE_BITS[type_]), combine, at_once)

    def act(batch: Batch) -> None:
        values = [batch.read_full(source) for source in slots]
        where = np.broadcast_to(addresses(batch), (batch.active_count,))

        def serve(space_: str, space_addresses: Addresses, positions: Lanes) -> Array:
            return update(batch, space_, space_addresses, [value[positions] for value in values])

        old = by_window(batch, space, where, serve)
        if slot is not None:
            batch.write(slot, old)

    return act


class _Update:
    """One atomic operation on the active lanes' places; gives the old values."""

    def __init__(self, dtype: np.dtype[Any], combine: Callable[..., Any], at_once: tuple[np.ufunc, Any] | None) -> None:
        self.dtype = dtype
        self.combine = combine
        self.at_once = at_once

    def __call__(self, batch: Batch, space: str, addresses: Addresses, values: list[Array]) -> Array:
        memory, elements = locate(batch, space, addresses, self.dtype)
        view = memory.data.view(self.dtype)
        if self.at_once is not None:
            function, kind = self.at_once
            function.at(view.view(kind), elements, values[0].view(kind))
            return values[0]
        old = np.empty(elements.size, self.dtype)
        for turn in _turns(elements):
            at = elements[turn]
            old[turn] = view[at]
            view[at] = self.combine(old[turn], *(value[turn] for value in values))
        return old


def _turns(elements: Lanes) -> list[Lanes]:
    """Sets of lanes with distinct places, in which every lane comes after those before it with its place."""
    order = np.argsort(elements, kind="stable")
    ordered = elements[order]
    is_first = np.ones(elements.size, np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    count = np.arange(elements.size)
    rank = count - np.maximum.accumulate(np.where(is_first, count, 0))
    by_rank = np.argsort(rank, kind="stable")
    ends = np.flatnonzero(np.diff(rank[by_rank])) + 1
    return [order[ranks_] for ranks_ in np.split(by_rank, ends)]


def _combination(name: str, type_: str) -> Callable[..., Any] | None:
    """The new value from the old one and the operands."""
    base = type_.removesuffix("x2")
    if base in FORMATS:
        form = FORMATS[base]
        if name == "add":
            function = floating.arithmetic("add", form, "rn")
        elif name in ("min", "max"):
            make = floating.minimum if name == "min" else floating.maximum
            function = make(form, propagates_nan=False)
        else:
            return None
        return floating.packed(function) if type_.endswith("x2") else function
    return _integer_combination(name, f"i{TYPE_BITS[type_] // 8}" if type_[0] == "s" else None)


def _integer_combination(name: str, signed: str | None) -> Callable[..., Any]:
    def ordered(function: np.ufunc) -> Callable[..., Any]:
        if signed is None:
            return function
        return lambda old, b: function(old.view(signed), b.view(signed)).view(old.dtype)

    table: dict[str, Callable[..., Any]] = {
        "add": np.add,
        "min": ordered(np.minimum),
        "max": ordered(np.maximum),
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "exch": lambda old, b: b,  # noqa: ARG005
        "cas": lambda old, b, c: np.where(old == b, c, old),
        "inc": lambda old, b: np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1)),
        "dec": lambda old, b: np.where((old == 0) | (old > b), b, old - old.dtype.type(1)),
    }
    return table[name]


def _at_once(name: str, type_: str) -> tuple[np.ufunc, Any] | None:
    """NumPy's own function where `ufunc.at` does the same; not for floats that it rounds or orders otherwise."""
    ufuncs = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    if name not in ufuncs:
        return None
    if type_ in ("f32", "f64"):
        return (np.add, np.dtype(type_.replace("f32", "f4").replace("f64", "f8"))) if name == "add" else None
    if type_ in FORMATS or type_.endswith("x2"):
        return None
    return ufuncs[name], np.dtype(f"{'i' if type_[0] == 's' else 'u'}{TYPE_BITS[type_] // 8}")
