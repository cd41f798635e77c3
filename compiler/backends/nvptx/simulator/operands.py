"""From the operands of the text to numbered slots.

Every value that an instruction can read is a slot of the batch's register list: registers, immediates, special
registers, addresses of variables and kernel parameters alike.  A slot holds an unsigned NumPy array of the register's
width (bool for a predicate); what the slots hold at the start of a launch is kept here as a description.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.body import is_special
from compiler.backends.nvptx.simulator.flatten import FlatProgram, Placed, Scope
from compiler.backends.nvptx.simulator.memory import GLOBAL_BASE
from compiler.backends.nvptx.simulator.rounding import FORMATS, from_wide
from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Immediate,
    Instruction,
    Not,
    Operand,
    Register,
    Symbol,
)
from compiler.diagnostics import ParseError, UnsupportedError

BY = "the PTX simulator"


@cache
def storage(bits: int) -> np.dtype[Any]:
    """How a register of that width is kept.

    Raises:
        UnsupportedError: it has 128 bits.
    """
    if bits == 1:
        return np.dtype(np.bool_)
    if bits == 128:
        raise UnsupportedError("a 128-bit register", BY, "use vectors of 64-bit registers")
    return np.dtype(f"u{max(bits, 8) // 8}")


@dataclass(slots=True)
class Slots:
    """The slots of one kernel."""

    initial: list[NDArray[Any]] = field(default_factory=list)
    specials: dict[str, int] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)
    parameters: dict[tuple[int, int], int] = field(default_factory=dict)
    """Slot of (byte offset, bytes) in the kernel's parameter block."""
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The first and the last instruction that names a register, by its slot."""
    number: int = 0
    """Of the instruction that is decoded."""
    group_rows: dict[str, int] = field(default_factory=dict)
    """A number for each register that products of warp groups use, by its unique name."""
    _registers: dict[str, tuple[int, str]] = field(default_factory=dict)
    _constants: dict[tuple[str, Any], int] = field(default_factory=dict)

    def add(self, value: NDArray[Any]) -> int:
        """A new slot that starts with a value."""
        self.initial.append(value)
        return len(self.initial) - 1

    def register(self, key: str, type_: str) -> int:
        """The slot of a register."""
        if key not in self._registers:
            self._registers[key] = self.add(np.zeros(1, storage(TYPE_BITS[type_]))), type_
        return self._named(self._registers[key][0])

    def known(self, key: str) -> tuple[int, str] | None:
        """The slot and the type of a register that there was already."""
        known = self._registers.get(key)
        if known is not None:
            self._named(known[0])
        return known

    def _named(self, slot: int) -> int:
        first, _ = self.spans.get(slot, (self.number, 0))
        self.spans[slot] = first, self.number
        return slot

    def constant(self, value: int, dtype: np.dtype[Any]) -> int:
        """The slot of a constant, given by its bits."""
        key = (dtype.str, value)
        if key not in self._constants:
            self._constants[key] = self.add(np.array([value], dtype))
        return self._constants[key]

    def special(self, name: str) -> int:
        """The slot of a special register, filled in for every batch."""
        if name not in self.specials:
            is_long = name in ("%clock64", "%globaltimer")
            self.specials[name] = self.add(np.zeros(1, np.uint64 if is_long else np.uint32))
        return self.specials[name]

    def symbol(self, key: str) -> int:
        """The slot of a variable's address, filled in for every launch."""
        if key not in self.symbols:
            self.symbols[key] = self.add(np.array([GLOBAL_BASE], np.uint64))
        return self.symbols[key]

    def parameter(self, offset: int, dtype: np.dtype[Any]) -> int:
        """The slot of a piece of the kernel's parameter block, filled in for every launch."""
        key = (offset, dtype.itemsize)
        if key not in self.parameters:
            self.parameters[key] = self.add(np.zeros(1, dtype))
        return self.parameters[key]


class Operands:
    """The operands of one instruction, as slots."""

    def __init__(self, placed: Placed, slots: Slots, program: FlatProgram) -> None:
        self.placed = placed
        self.slots = slots
        self.program = program
        self.instruction: Instruction = placed.instruction
        self.scope: Scope = placed.scope

    def __len__(self) -> int:
        return len(self.instruction.operands)

    def __getitem__(self, number: int) -> Operand:
        if number >= len(self.instruction.operands):
            self.fail(f"{self.instruction.name} wants more than {len(self)} operands")
        return self.instruction.operands[number]

    def fail(self, message: str) -> Any:
        """Say what is wrong with the instruction, as a ParseError."""
        raise ParseError(message, self.instruction.span)

    def unsupported(self, reason: str = "") -> Any:
        """Say that the simulator does not know the instruction, as an UnsupportedError."""
        raise UnsupportedError(f"{self.instruction.text!r} (line {self.instruction.span.line})", BY, reason)

    def register_type(self, operand: Operand) -> str:
        """The declared type of a register."""
        if not isinstance(operand, Register):
            return str(self.fail(f"{self.instruction.name} wants a register here"))
        if is_special(operand.name):
            return "b64" if operand.name in ("%clock64", "%globaltimer") else "b32"
        return self.scope.function.registers[operand.name]

    def register(self, operand: Operand) -> int:
        """The slot of a register that is written, or read as it is."""
        type_ = self.register_type(operand)
        assert isinstance(operand, Register)
        if is_special(operand.name):
            return self.slots.special(operand.name)
        return self.slots.register(self.scope.prefix + operand.name, type_)

    def target(self, operand: Operand, type_: str) -> int:
        """The slot of a register that takes a result of exactly that width."""
        if self.dtype(operand) != storage(TYPE_BITS[type_]):
            self.fail(f"{self.instruction.name} gives .{type_}, the register is .{self.register_type(operand)}")
        return self.register(operand)

    def dtype(self, operand: Operand) -> np.dtype[Any]:
        """How a register is kept."""
        return storage(TYPE_BITS[self.register_type(operand)])

    def source(self, operand: Operand, type_: str) -> int:
        """The slot of an operand that is read as `type_`; a register must have that width."""
        bits = TYPE_BITS[type_]
        if isinstance(operand, Immediate):
            return self.slots.constant(immediate_bits(operand, type_), storage(bits))
        if isinstance(operand, Register):
            known = self.slots.known(self.scope.prefix + operand.name)
            if known is not None and TYPE_BITS[known[1]] == bits:
                return known[0]
            if self.dtype(operand) != storage(bits):
                declared = self.register_type(operand)
                self.fail(f"{self.instruction.name} reads {bits} bits, {operand.name} is .{declared}")
            return self.register(operand)
        if isinstance(operand, Symbol):
            if bits != 64:
                self.fail(f"{self.instruction.name} reads {bits} bits, the address of {operand.name} has 64")
            return self.symbol(operand)
        return int(self.fail(f"{self.instruction.name} cannot read an operand of this form"))

    def symbol(self, operand: Symbol) -> int:
        """The slot of a variable's address in its own state space."""
        return self.slots.symbol(self.symbol_key(operand))

    def symbol_key(self, operand: Symbol) -> str:
        """The name under which the launch knows a variable or parameter."""
        name = operand.name
        if name in self.scope.bindings:
            return self.scope.bindings[name]
        if any(p.name == name for p in self.scope.function.parameters):
            return f"param:{name}"
        return name

    def predicate(self, operand: Operand) -> tuple[int, bool]:
        """The slot of a predicate and whether it is read negated."""
        if isinstance(operand, Not):
            return self.source(operand.register, "pred"), True
        return self.source(operand, "pred"), False


def immediate_bits(operand: Immediate, type_: str) -> int:
    """The bit pattern of an immediate read as a type."""
    bits = TYPE_BITS[type_]
    value = operand.value
    if type_ == "pred":
        return int(bool(value))
    if operand.width:
        if type_ in ("f32", "f64") and operand.width != bits:
            form = FORMATS[type_]
            kind = np.uint32 if operand.width == 32 else np.uint64
            number = np.array([value], kind).view(np.float32 if operand.width == 32 else np.float64)
            return int(from_wide(number.astype(np.float64), form)[0])
        return int(value) & ((1 << bits) - 1)
    if type_ in FORMATS or isinstance(value, float):
        form = FORMATS.get(type_, FORMATS["f64" if bits == 64 else "f32"])
        return int(from_wide(np.array([float(value)]), form)[0])
    return value & ((1 << bits) - 1)
