"""Which instructions have to execute when only counts are wanted: a backward slice (Weiser) from control and addresses.

What a kernel costs depends on where its lanes go and on what memory they touch, and for most kernels not on the numbers
that they compute.  Instructions of whose results neither hangs compute nothing then, and loads and stores tell of their
addresses only.  Through memory the slice is told by state spaces: where something loaded is needed, so is everything
that is stored there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.simulator.carry import has_carry
from compiler.backends.nvptx.simulator.flatten import Placed
from compiler.backends.nvptx.simulator.pressure import names_of, uses_of
from compiler.backends.nvptx.simulator.syntax import Address, Instruction, Symbol

_ADDRESSES = {"ld": (1,), "ldu": (1,), "st": (0,), "ldmatrix": (1,), "cp": (0, 1, 3)}
"""Operands of what accesses memory that say where, and how much."""
_ALWAYS = frozenset({"bra", "brx", "ret", "exit", "call", "trap", "bar", "barrier", "atom", "red", "stmatrix"})
"""What decides where lanes go, or who updates what."""
_CONSTANT = "global.nc"
"""Global memory that nobody writes during the launch."""
_SPACES = ("global", "shared", "local")


class Values(enum.Enum):
    """What a launch computes."""

    ALL = "all"
    """Everything."""
    STORED = "stored"
    """What control, addresses and other launches hang on: numbers stored in global memory with the others."""
    NEEDED = "needed"
    """What control and addresses hang on."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What control and addresses hang on.

    Attributes:
        skipped: numbers of the instructions whose results they do not hang on.
        reads_back: whether they hang on anything in global memory.
    """

    skipped: frozenset[int]
    reads_back: bool


def sliced(placed: Sequence[Placed], *, keeps_global: bool) -> Slice:
    """The slice of a program.

    Args:
        placed: its instructions.
        keeps_global: whether what it stores in global memory is wanted, by a later launch.
    """
    steps = [_Step.of(of_one) for of_one in placed]
    needed: set[str] = set()
    spaces = {"global"} if keeps_global else set[str]()
    before = -1
    while before != len(needed) + len(spaces):
        before = len(needed) + len(spaces)
        for step in reversed(steps):
            executes = step.executes(needed, spaces)
            needed.update(step.reads if executes else step.located_by)
            if executes:
                spaces.update(step.loads)
    skipped = frozenset(n for n, step in enumerate(steps) if not step.executes(needed, spaces))
    return Slice(skipped, not spaces.isdisjoint(("global", _CONSTANT)))


@dataclass(frozen=True, slots=True)
class _Step:
    """What there is to know of an instruction.

    Attributes:
        is_fixed: whether it executes in any case.
        reads: the registers that it reads, and those that say where.
        located_by: registers without which not even its address is known.
        writes: registers.
        loads: spaces of memory that it reads, where others may write.
        stores: spaces that it writes.
    """

    is_fixed: bool
    reads: tuple[str, ...]
    located_by: tuple[str, ...]
    writes: tuple[str, ...]
    loads: tuple[str, ...]
    stores: tuple[str, ...]

    @classmethod
    def of(cls, placed: Placed) -> _Step:
        """That of an instruction."""
        instruction = placed.instruction
        opcode, uses = instruction.opcode, uses_of(instruction)
        positions = _ADDRESSES.get(opcode, ())
        guard = [instruction.guard.register] if instruction.guard is not None and positions else []
        operands = [instruction.operands[position] for position in positions if position < len(instruction.operands)]
        return cls(
            is_fixed=opcode in _ALWAYS or _orders(instruction) or has_carry(instruction),
            reads=uses.reads,
            located_by=(*guard, *(name for operand in operands for name in names_of(operand))),
            writes=uses.writes,
            loads=tuple(_loaded(placed)),
            stores=tuple(_stored(instruction)),
        )

    def executes(self, needed: set[str], spaces: set[str]) -> bool:
        """Whether its results are among those needed, in registers or in memory."""
        return self.is_fixed or not needed.isdisjoint(self.writes) or not spaces.isdisjoint(self.stores)


def _spaces_of(instruction: Instruction) -> tuple[str, ...]:
    words = [modifier.partition("::")[0] for modifier in instruction.modifiers]
    if "const" in words:
        return ()
    if "param" in words:
        return ("local",)
    named = tuple(space for space in _SPACES if space in words)
    return named or _SPACES


def _loaded(placed: Placed) -> Iterator[str]:
    instruction = placed.instruction
    if "param" in instruction.modifiers and _is_argument(placed):
        return
    if "nc" in instruction.modifiers:
        yield _CONSTANT
    elif instruction.opcode in ("ld", "ldu", "ldmatrix", "atom", "red"):
        yield from _spaces_of(instruction)
    elif "mma_async" in instruction.modifiers:
        yield "shared"
    elif _copies(instruction):
        yield "global"


def _copies(instruction: Instruction) -> bool:
    """Whether it is a `cp.async`, and none that only closes a group or waits."""
    return instruction.opcode == "cp" and len(instruction.operands) > 1


def _orders(instruction: Instruction) -> bool:
    """Whether it closes a group, waits for one, or is a fence of what others do in the background."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    is_proxy_fence = opcode == "fence" and modifiers[:2] == ("proxy", "async")
    is_copy, is_product = _copies(instruction), "mma_async" in modifiers
    return is_proxy_fence or (opcode == "cp" and not is_copy) or (opcode == "wgmma" and not is_product)


def _is_argument(placed: Placed) -> bool:
    """Whether a load of `.param` memory takes an argument of the kernel, and not a variable of a function."""
    address = placed.instruction.operands[1]
    symbol = address.base if isinstance(address, Address) else None
    return isinstance(symbol, Symbol) and symbol.name not in placed.scope.bindings


def _stored(instruction: Instruction) -> Iterator[str]:
    if instruction.opcode in ("st", "atom", "red"):
        yield from _spaces_of(instruction)
    elif _copies(instruction):
        yield "shared"
