"""PTX as data: what the parser makes and the machine runs.

Names of registers, parameters and variables that stand in a nested `{ }` scope are made unique by the parser, so a
function is one flat list of instructions over one name table.  A PTX type is kept as its word (`f32`, `b8`, `pred`);
`TYPE_BITS` is the list of those that are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.diagnostics import Span

TYPE_BITS: Mapping[str, int] = {
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 128,
    "f16": 16,
    "bf16": 16,
    "f16x2": 32,
    "bf16x2": 32,
    "u16x2": 32,
    "s16x2": 32,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "pred": 1,
}


@dataclass(frozen=True, slots=True)
class Register:
    """A register, or a special register such as `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant; `width` is 32 or 64 for the hexadecimal float forms, whose `value` is then the bit pattern."""

    value: int | float
    width: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, function or label by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """What stands in brackets: base plus a constant offset."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Operands in braces (a vector) or in parentheses (a call's list)."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results `a|b`; either may be `_`."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """A predicate operand that is read negated."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """The `_` in place of a result that nobody wants."""


Operand = Register | Immediate | Symbol | Address | Group | Pair | Not | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate in front of an instruction."""

    register: str
    negated: bool


class Instruction(NamedTuple):
    """One instruction: `@guard opcode.modifiers operands`."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    span: Span

    @property
    def name(self) -> str:
        """The opcode with all its modifiers, as written."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def text(self) -> str:
        """The source text."""
        return self.span.text[self.span.start : self.span.end]


@dataclass(frozen=True, slots=True)
class Relocation:
    """An initialiser that holds an address; of it, the byte at `shift` where a mask such as `0xFF00(x)` stands."""

    symbol: str
    addend: int = 0
    shift: int | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared piece of memory in a state space."""

    space: str
    type: str
    name: str
    align: int
    size_bytes: int
    initial: tuple[int | float | Immediate | Relocation, ...]
    is_extern: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or result of a function and where in the parameter block it lies."""

    name: str
    type: str
    align: int
    size_bytes: int
    offset: int


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel (`.entry`) or a device function (`.func`); `instructions` is None for a declaration."""

    name: str
    is_entry: bool
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    registers: Mapping[str, str]
    variables: Mapping[str, Variable]
    instructions: tuple[Instruction, ...] | None
    labels: Mapping[str, int]
    branch_tables: Mapping[str, tuple[str, ...]]
    limits: Mapping[str, tuple[int, ...]]
    span: Span

    @property
    def parameter_bytes(self) -> int:
        """Size of the parameter block."""
        return max((p.offset + p.size_bytes for p in self.parameters), default=0)


@dataclass(frozen=True, slots=True)
class PtxModule:
    """A PTX text, parsed: kernels, functions and variables."""

    filename: str
    text: str
    version: str
    target: str
    address_size: int
    variables: Mapping[str, Variable] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)

    @property
    def kernels(self) -> dict[str, Function]:
        """The functions that can be launched, by name."""
        return {name: function for name, function in self.functions.items() if function.is_entry}
