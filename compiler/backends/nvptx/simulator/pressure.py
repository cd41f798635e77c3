"""How many registers a kernel needs, by which of its values are alive at once.

ptxas assigns registers, and only it knows; but where it spills nothing it needs about as many as values are alive at
the fullest place, in words of 32 bits.  Constants, addresses of parameters and predicates take none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.syntax import (
    TYPE_BITS,
    Address,
    Function,
    Group,
    Instruction,
    Not,
    Operand,
    Pair,
    Register,
    Symbol,
)

_WRITE_NOTHING = frozenset(
    {
        "st",
        "bra",
        "brx",
        "bar",
        "barrier",
        "ret",
        "exit",
        "red",
        "cp",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "nanosleep",
        "trap",
        "call",
        "discard",
        "pmevent",
        "applypriority",
        "griddepcontrol",
        "stmatrix",
    }
)
"""Opcodes whose first operand is no result."""
_LEAST = 16
"""ptxas gives every thread as many for addresses, the stack and the like."""
_GRANULE = 8
"""Registers of a thread come in so many (CUDA C++ Programming Guide: 256 for each warp)."""
MOST = 255
"""Of each thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""


@dataclass(frozen=True, slots=True)
class Uses:
    """The registers that an instruction writes and reads, by their names in its function."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]


def uses_of(instruction: Instruction) -> Uses:
    """What an instruction writes and reads."""
    has_result = bool(instruction.operands) and instruction.opcode not in _WRITE_NOTHING
    writes = tuple(names_of(instruction.operands[0])) if has_result else ()
    sources = instruction.operands[1 if has_result else 0 :]
    reads = [name for operand in sources for name in names_of(operand)]
    if "mma_async" in instruction.modifiers:
        # Products are added to what their registers hold.
        reads.extend(writes)
    if instruction.guard is not None:
        reads.append(instruction.guard.register)
    return Uses(writes, tuple(dict.fromkeys(reads)))


def names_of(operand: Operand) -> Iterator[str]:
    """The registers of an operand, by name."""
    match operand:
        case Register():
            yield operand.name
        case Not():
            yield operand.register.name
        case Address(base=Register(name=name)):
            yield name
        case Group():
            for item in operand.items:
                yield from names_of(item)
        case Pair():
            yield from names_of(operand.first)
            yield from names_of(operand.second)
        case _:
            pass


def registers_of(kernel: Function) -> int:
    """Registers of 32 bits that a thread of a kernel needs, estimated."""
    instructions = kernel.instructions or ()
    words = {name: max(1, TYPE_BITS[type_] // 32) for name, type_ in kernel.registers.items() if type_ != "pred"}
    uses = [uses_of(instruction) for instruction in instructions]
    alive = _alive_at_entry(kernel, instructions, uses)
    fullest = max((sum(words.get(name, 0) for name in names) for names in alive), default=0)
    return min(MOST, max(_LEAST, -(-fullest // _GRANULE) * _GRANULE))


def _alive_at_entry(kernel: Function, instructions: Sequence[Instruction], uses: Sequence[Uses]) -> list[set[str]]:
    """The registers whose values are still wanted before each instruction."""
    follow = [list(_following(kernel, number, instruction)) for number, instruction in enumerate(instructions)]
    alive: list[set[str]] = [set() for _ in (*instructions, None)]
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(instructions))):
            after = set().union(*(alive[other] for other in follow[number]))
            # A write under a guard leaves the old value where it does not hold.
            written = () if instructions[number].guard else uses[number].writes
            before = (after - set(written)) | set(uses[number].reads)
            if before != alive[number]:
                alive[number], changed = before, True
    return alive


def _following(kernel: Function, number: int, instruction: Instruction) -> Iterator[int]:
    if instruction.opcode == "brx":
        names = [operand.name for operand in instruction.operands if isinstance(operand, Symbol)]
        yield from (kernel.labels[label] for name in names for label in kernel.branch_tables.get(name, ()))
        return
    if instruction.opcode == "bra" and isinstance(instruction.operands[0], Symbol):
        yield kernel.labels[instruction.operands[0].name]
        if instruction.guard is None:
            return
    if instruction.opcode in ("ret", "exit", "trap") and instruction.guard is None:
        return
    yield number + 1
