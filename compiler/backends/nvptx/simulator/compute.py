"""Decoding of the instructions that only move and compute: operands become slots, the operation a closure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backends.nvptx.simulator.batch import Action, Array, Batch
from compiler.backends.nvptx.simulator.floating import RawFunction
from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE, LOCAL_BASE, SHARED_BASE, WINDOW
from compiler.backends.nvptx.simulator.operands import Operands, storage
from compiler.backends.nvptx.simulator.pure import comparison, pure_operation
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Address,
    Group,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
)

_BASES = {"shared": SHARED_BASE, "local": LOCAL_BASE}


@dataclass(frozen=True, slots=True)
class Compute:
    """An action that applies a function to slots; the function must return an array of its own.

    Functions of one `kind`, unless it is None, are the same, and take arrays of any length.
    """

    function: RawFunction
    target: int
    sources: Sequence[int]
    kind: Hashable = None

    @property
    def reads(self) -> Sequence[int]:
        """The slots that it reads."""
        return self.sources

    @property
    def writes(self) -> Sequence[int]:
        """The slots that it writes."""
        return (self.target,)

    def __call__(self, batch: Batch) -> None:
        """Do so for the active lanes."""
        registers = batch.registers
        values = [registers[slot] for slot in self.sources]
        if batch.index is None or batch.is_packed:
            registers[self.target] = self.function(*values)
        else:
            where = batch.where
            batch.write(self.target, self.function(*[v if v.size == 1 else v[where] for v in values]))


def in_order(actions: Sequence[Action]) -> Action:
    """Several actions as one."""
    if len(actions) == 1:
        return actions[0]

    def act(batch: Batch) -> None:
        for action in actions:
            action(batch)

    return act


def resize(function: RawFunction, type_: str, bits: int) -> RawFunction:
    """Extend or cut a result of a type to the width of the register that takes it.

    Args:
        function: what computes the result.
        type_: the result's, as PTX spells it.
        bits: of the register.
    """
    if type_ == "pred" or TYPE_BITS[type_] == bits:
        return function
    target = storage(bits)
    if type_[0] == "s":
        return lambda *raws: function(*raws).view(f"i{TYPE_BITS[type_] // 8}").astype(f"i{bits // 8}").view(target)
    return lambda *raws: function(*raws).astype(target)


def decode_pure(operands: Operands) -> Action:
    """An instruction of the tables in `pure`."""
    operation = pure_operation(operands.instruction)
    if operation is None:
        operands.unsupported()
    assert operation is not None
    if len(operands) <= len(operation.operands):
        operands.fail(f"{operands.instruction.name} wants {len(operation.operands) + 1} operands")
    if isinstance(operands[0], Sink):
        return lambda batch: None  # noqa: ARG005
    target = operands[0]
    is_loose = operands.instruction.opcode == "cvt"
    slots, function = [], operation.function
    for number, type_ in enumerate(operation.operands):
        operand = operands[number + 1]
        if is_loose and isinstance(operand, Register) and operands.dtype(operand) != storage(TYPE_BITS[type_]):
            function = _narrowed(function, number, TYPE_BITS[type_])
            slots.append(operands.register(operand))
        else:
            slots.append(operands.source(operand, type_))
    bits = TYPE_BITS[operands.register_type(target)]
    if not is_loose and storage(bits) != storage(TYPE_BITS[operation.result]):
        operands.fail(f"{operands.instruction.name} gives {TYPE_BITS[operation.result]} bits, the register has {bits}")
    # One of the operands of lop3 is part of the function.
    form = (bits, *(operands.slots.initial[slot].dtype for slot in slots)) if is_loose else bits
    kind = None if operands.instruction.opcode == "lop3" else (operands.instruction.name, form)
    return Compute(resize(function, operation.result, bits), operands.register(target), slots, kind)


def _narrowed(function: RawFunction, operand_number: int, bits: int) -> RawFunction:
    """Read only the lower bits of an operand in a wider register."""
    narrow = storage(bits)

    def apply(*raws: Array) -> Array:
        values = list(raws)
        values[operand_number] = values[operand_number].astype(narrow)
        result: Array = function(*values)
        return result

    return apply


def decode_move(operands: Operands) -> Action:
    """`mov`: copies, packs, unpacks, and takes addresses."""
    type_ = operands.instruction.modifiers[-1] if operands.instruction.modifiers else ""
    if type_ not in TYPE_BITS:
        operands.unsupported()
    target, source = operands[0], operands[1]
    if isinstance(target, Group):
        return _unpack(operands, target, type_)
    if isinstance(source, Group):
        return _pack(operands, target, source)
    if isinstance(source, Register) and source.name.startswith(("%clock", "%globaltimer")):
        return _clock(operands.register(target), storage(TYPE_BITS[type_]))
    if isinstance(source, Address) and isinstance(source.base, Symbol):
        offset = np.uint64(source.offset % 2**64)
        slot = operands.symbol(source.base)
        return Compute(lambda a: a + offset, operands.register(target), [slot])
    slot = operands.target(target, type_)
    if isinstance(source, Symbol) and TYPE_BITS[type_] == 32:
        return Compute(lambda a: a.astype(np.uint32), slot, [operands.symbol(source)])
    return Compute(lambda a: a.copy(), slot, [operands.source(source, type_)])


def _clock(target: int, dtype: np.dtype[np.generic]) -> Action:
    """Clocks count the instructions that were issued; only that they grow is like the hardware."""

    def act(batch: Batch) -> None:
        batch.write(target, np.array([batch.steps], np.uint64).astype(dtype))

    return act


def _unpack(operands: Operands, target: Group, type_: str) -> Action:
    source = operands.source(operands[1], type_)
    count = len(target.items)
    dtype = storage(TYPE_BITS[type_] // count)

    def piece(number: int) -> RawFunction:
        return lambda a: np.ascontiguousarray(np.ascontiguousarray(a).view(dtype)[number::count])

    # All pieces are taken before any is written: the source may be one of the targets.
    wanted = [(i, operands.register(item)) for i, item in enumerate(target.items) if not isinstance(item, Sink)]
    functions = [(piece(number), slot) for number, slot in wanted]

    def act(batch: Batch) -> None:
        value = batch.read(source)
        for result, slot in [(function(value), slot) for function, slot in functions]:
            batch.write(slot, result)

    return act


def _pack(operands: Operands, target: Operand, source: Group) -> Action:
    bits = TYPE_BITS[operands.register_type(target)]
    width = bits // len(source.items)
    whole, dtype = storage(bits), storage(width)
    slots = [operands.source(item, f"b{width}") for item in source.items]

    def pack(*raws: Array) -> Array:
        columns = np.broadcast_arrays(*raws)
        return np.stack(columns, axis=1).astype(dtype).reshape(-1).view(whole)

    return Compute(pack, operands.register(target), slots)


def decode_set_predicate(operands: Operands) -> Action:
    """`setp`: a comparison, combined with a predicate if one is given, and its opposite."""
    instruction = operands.instruction
    type_ = instruction.modifiers[-1]
    if type_ not in TYPE_BITS:
        operands.unsupported()
    if type_.endswith("x2"):
        return _set_packed_predicates(operands, type_)
    relate = _comparison(operands, type_)
    sources = [operands.source(operands[1], type_), operands.source(operands[2], type_)]
    if len(operands) == 3 and isinstance(operands[0], Register):
        return Compute(relate, operands.target(operands[0], "pred"), sources, instruction.name)
    combine, is_negated = None, False
    if len(operands) > 3:
        slot, is_negated = operands.predicate(operands[3])
        sources.append(slot)
        word = next((m for m in instruction.modifiers if m in _COMBINE), "")
        if not word:
            operands.fail(f"{instruction.name} has a third operand but no .and, .or or .xor")
        combine = _COMBINE[word]

    def outcome(*raws: Array, inverted: bool) -> Array:
        result = relate(raws[0], raws[1])
        if inverted:
            result = ~result
        return result if combine is None else combine(result, raws[2] ^ is_negated)

    pair = operands[0]
    targets = (pair.first, pair.second) if isinstance(pair, Pair) else (pair,)
    actions = [
        (operands.target(target, "pred"), bool(is_second))
        for is_second, target in enumerate(targets)
        if not isinstance(target, Sink)
    ]

    def act(batch: Batch) -> None:
        raws = [batch.read(slot) for slot in sources]
        for slot, value in [(slot, outcome(*raws, inverted=inverted)) for slot, inverted in actions]:
            batch.write(slot, value)

    return act


def _comparison(operands: Operands, type_: str) -> RawFunction:
    """The relation that an instruction asks about."""
    relate = comparison(operands.instruction, type_)
    if relate is None:
        operands.unsupported()
    assert relate is not None
    return relate


_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _set_packed_predicates(operands: Operands, type_: str) -> Action:
    """`setp.f16x2 p|q, a, b`: one predicate per half."""
    relate, pair = _comparison(operands, type_), operands[0]
    if not isinstance(pair, Pair) or len(operands) != 3:
        operands.unsupported()
    assert isinstance(pair, Pair)
    sources = [operands.source(operands[1], type_), operands.source(operands[2], type_)]

    def half(number: int) -> RawFunction:
        shift = np.uint32(16 * number)
        return lambda a, b: relate(*((x >> shift).astype(np.uint16) for x in (a, b)))

    targets = [(half(i), t) for i, t in enumerate((pair.first, pair.second)) if not isinstance(t, Sink)]
    return in_order([Compute(function, operands.target(target, "pred"), sources) for function, target in targets])


def decode_set(operands: Operands) -> Action:
    """`set`: a comparison as all ones or 1.0."""
    types = [m for m in operands.instruction.modifiers if m in TYPE_BITS]
    if len(types) != 2 or types[1].endswith("x2") or len(operands) != 3:
        operands.unsupported()
    relate = _comparison(operands, types[1])
    dtype = storage(TYPE_BITS[types[0]])
    true = dtype.type({"f32": 0x3F80_0000, "f16": 0x3C00, "bf16": 0x3F80}.get(types[0], -1 % 2 ** (8 * dtype.itemsize)))
    sources = [operands.source(operands[1], types[1]), operands.source(operands[2], types[1])]
    return Compute(lambda a, b: np.where(relate(a, b), true, dtype.type(0)), operands.register(operands[0]), sources)


def decode_address_conversion(operands: Operands) -> Action:
    """`cvta`: between a state space and generic addresses."""
    modifiers = operands.instruction.modifiers
    space = next((m.partition("::")[0] for m in modifiers if m not in ("to", "u64", "u32")), "global")
    base = np.uint64(_BASES.get(space, 0))
    source = operands[1]
    offset = np.uint64(0)
    if isinstance(source, Address) and isinstance(source.base, Symbol):
        offset, source = np.uint64(source.offset % 2**64), source.base
    slot = operands.source(source, "b64")
    target = operands.register(operands[0])
    if "to" in modifiers:
        return Compute(lambda a: a - base, target, [slot])
    return Compute(lambda a: a + (base + offset), target, [slot])


def decode_is_space(operands: Operands) -> Action:
    """`isspacep`: which window a generic address lies in."""
    space = operands.instruction.modifiers[0].partition("::")[0]
    low = np.uint64(_BASES.get(space, GLOBAL_BASE))

    def inside(a: Array) -> Array:
        return a - low < np.uint64(WINDOW)

    return Compute(inside, operands.register(operands[0]), [operands.source(operands[1], "b64")])
