"""When warps execute: basic blocks in cycles, by what their instructions wait for.

Each warp has a clock.  It issues an instruction a cycle, and goes from one basic block to the next when everything in
it has begun; within a block an instruction begins as soon as its operands are there, loads not before stores that
precede them: ptxas puts what waits behind what need not.  So what a block takes depends on nothing but how late the
operands are that come from outside, and what memory takes.  Loops come back to a block with all of that as it was, and
what it took is looked up.

What is read off PTX is what a GPU executes, but for one thing: a compare takes a second predicate and combines it with
its result (`setp.CmpOp.BoolOp`, PTX ISA, "Comparison and Selection Instructions: setp"; `ISETP.GE.U32.XOR`), and ptxas
makes one instruction of a compare and what combines predicates where nobody else reads the compare's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.backends.nvptx.simulator.pipes import Cost, Pipe, cost_of
from compiler.backends.nvptx.simulator.pressure import uses_of
from compiler.backends.nvptx.simulator.syntax import Immediate, Instruction

Cycles = NDArray[np.int64]

_ENDS = frozenset({"bra", "brx", "ret", "exit", "call", "bar", "barrier"})
_MEMORY = frozenset({"ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix"})
_COMPARES = frozenset({"setp"})
_COMBINES = frozenset({"and", "or", "xor"})
"""What a compare does with a second predicate."""
_FOLDED = Cost(Pipe.NONE, 0, 0, 0)
"""What an instruction takes that is a part of another one."""
_GROUPS = 8
"""Groups of copies ahead, or of products, that are told apart: kernels have no more stages."""
_STORED, *_LANDED = range(_GROUPS + 1)
"""Rows for what is no register: the last store, and all that was copied ahead so many groups ago or earlier."""
_MULTIPLIED = list(range(_GROUPS + 1, 2 * _GROUPS + 1))
"""Rows for all products of warp groups of so many groups ago or earlier."""
_OTHERS = 2 * _GROUPS + 1
"""How many these are."""
_MOST_TIMES = 1 << 12
"""Ways in which a block was entered that are remembered: of 16 warps a few hundred bytes each."""


@dataclass(frozen=True, slots=True)
class _Effects:
    """What there is to know of an instruction once.

    Attributes:
        reads: rows of what it waits for.
        writes: rows of the registers that it writes.
        cost: what it takes of a warp.
        accesses: whether memory adds to its latency.
        stores: whether others may read what it stores.
        ahead: of a copy or product with nobody waiting, or of what closes a group of them, rows by groups ago.
        commits: whether it closes such a group.
        adds: whether it is a product, which begins when what it adds to is there, with nobody waiting for that.
        issues: cycles in which its warp issues nothing else.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    cost: Cost
    accesses: bool
    stores: bool
    ahead: Sequence[int]
    commits: bool
    adds: bool
    issues: int


@dataclass(frozen=True, slots=True, eq=False)
class BasicBlock:
    """Instructions that execute one after the other.

    Attributes:
        begin: the number of the first.
        end: the number of the first of the next block.
        effects: those of each.
        reads: rows of what is waited for from outside.
        writes: rows of what it leaves.
        times: what it took, by the latencies of memory, the number of warps and how late each had what it waits for.
    """

    begin: int
    end: int
    effects: Sequence[_Effects]
    reads: NDArray[np.intp]
    writes: NDArray[np.intp]
    times: dict[tuple[tuple[int, ...], int, bytes], tuple[Cycles, Cycles]] = field(default_factory=dict)

    def taken(self, latencies: tuple[int, ...], late: Cycles) -> tuple[Cycles, Cycles]:
        """Cycles from the block's begin until warps have begun everything in it, and until what it writes is there.

        Args:
            latencies: cycles that memory adds, of each instruction that accesses it.
            late: of each row that is waited for and each warp, how long after the begin it is there.
        """
        key = latencies, late.shape[1], late.tobytes()
        known = self.times.get(key)
        if known is None:
            if len(self.times) >= _MOST_TIMES:
                self.times.clear()
            known = self.times[key] = self._taken(iter(latencies), late)
        return known

    def _taken(self, latencies: Iterator[int], late: Cycles) -> tuple[Cycles, Cycles]:
        ready: dict[int, Any] = dict(zip(self.reads.tolist(), late, strict=True))
        clock, issued = np.zeros(late.shape[1], np.int64), 0
        for effects in self.effects:
            now = np.zeros_like(clock)
            for row in effects.reads:
                now = np.maximum(now, ready[row])
            issued += effects.issues
            clock = np.maximum(np.maximum(clock, now), issued)
            latency = next(latencies) if effects.accesses else 0
            if effects.stores:
                ready[_STORED] = now
            if effects.adds:
                now = np.maximum.reduce([clock, *(ready[row] for row in effects.writes)])
                latency = effects.cost.latency
            ahead = effects.ahead
            if effects.commits:
                ready.update(zip(ahead[1:], [ready[row] for row in ahead[:-1]], strict=True))
            elif ahead and latency:
                ready[ahead[0]] = np.maximum(ready[ahead[0]], (now if effects.adds else clock) + latency)
            latency += 0 if effects.adds else effects.cost.latency
            ready.update((row, now + latency) for row in effects.writes)
        return clock, np.array([ready[row] for row in self.writes.tolist()], np.int64).reshape(-1, clock.size)


def basic_blocks(instructions: Sequence[Instruction], starts: Collection[int]) -> tuple[list[BasicBlock], int]:
    """The basic blocks of a program, and of how many rows their warps have times.

    Args:
        instructions: of the program.
        starts: the numbers of those that are jumped to; others begin blocks behind branches.
    """
    rows: dict[str, int] = {}
    begins = [n for n in range(len(instructions)) if n in starts or not n or instructions[n - 1].opcode in _ENDS]
    ends = [*begins[1:], len(instructions)] if begins else []
    folded = _folded(instructions, zip(begins, ends, strict=True))
    costs = (_FOLDED if n in folded else cost_of(instruction) for n, instruction in enumerate(instructions))
    effects = [_effects_of(*of_one, rows) for of_one in zip(instructions, costs, strict=True)]
    found = [_block(begin, end, effects[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    return found, _OTHERS + len(rows)


def _block(begin: int, end: int, effects: Sequence[_Effects]) -> BasicBlock:
    reads, writes = dict[int, None](), dict[int, None]()
    for of_one in effects:
        also = (*of_one.ahead, *(of_one.writes if of_one.adds else ()))
        reads.update((row, None) for row in (*of_one.reads, *also) if row not in writes)
        writes.update(dict.fromkeys((*of_one.writes, *of_one.ahead, *((_STORED,) if of_one.stores else ()))))
    return BasicBlock(begin, end, effects, np.array(list(reads), np.intp), np.array(list(writes), np.intp))


def _folded(instructions: Sequence[Instruction], spans: Iterable[tuple[int, int]]) -> set[int]:
    """The numbers of those that combine predicates and become a part of a compare in the same basic block."""
    readers = Counter(name for instruction in instructions for name in uses_of(instruction).reads)
    found = set[int]()
    for begin, end in spans:
        compared = set[str]()
        for number in range(begin, end):
            opcode, uses = instructions[number].opcode, uses_of(instructions[number])
            if opcode in _COMBINES and any(name in compared and readers[name] == 1 for name in uses.reads):
                found.add(number)
            compared.difference_update(uses.writes)
            if opcode in _COMPARES:
                compared.update(uses.writes)
    return found


def _effects_of(instruction: Instruction, cost: Cost, rows: dict[str, int]) -> _Effects:
    """Those of an instruction that costs so much; registers that have no row yet get one."""
    opcode, modifiers = instruction.opcode, set(instruction.modifiers)

    def row_of(name: str) -> int:
        return rows.setdefault(name, _OTHERS + len(rows))

    uses = uses_of(instruction)
    chain = {"cp": _LANDED, "wgmma": _MULTIPLIED}.get(opcode, [])
    waits = bool(chain) and bool({"wait_all", "wait_group"} & modifiers)
    commits = bool(chain) and "commit_group" in modifiers
    adds = opcode == "wgmma" and "mma_async" in modifiers
    loads = opcode in ("ld", "ldmatrix", "atom", "red", "cp") and not {"nc", "param", "const"} & modifiers
    also = (*((_STORED,) if loads else ()), *((chain[_allowed(instruction)],) if waits else ()))
    reads = [name for name in uses.reads if not (adds and name in uses.writes)]
    return _Effects(
        reads=(*map(row_of, reads), *also),
        writes=tuple(map(row_of, uses.writes)),
        cost=cost,
        accesses=opcode in _MEMORY,
        stores=opcode in ("st", "atom", "red"),
        ahead=chain if (opcode == "cp" and not waits) or commits or adds else (),
        commits=commits,
        adds=adds,
        issues=max(1, round(cost.issued)) if cost.issued else 0,
    )


def _allowed(instruction: Instruction) -> int:
    """How many groups of copies or products, the open one among them, may still be on their way behind a wait."""
    if "wait_all" in instruction.modifiers:
        return 0
    (number,) = instruction.operands
    assert isinstance(number, Immediate)
    return min(int(number.value) + 1, _GROUPS - 1)


@dataclass(slots=True)
class Clocks:
    """The clocks of the warps of a batch, and when each has what it waits for."""

    now: Cycles
    _ready: Cycles

    @classmethod
    def of(cls, warps: int, rows: int) -> Clocks:
        """The clocks of so many warps that begin."""
        return cls(np.zeros(warps, np.int64), np.zeros((rows, warps), np.int64))

    def advance(self, block: BasicBlock, warps: Any, latencies: tuple[int, ...]) -> None:
        """Warps have executed a block.

        Args:
            block: the instructions.
            warps: indices of the warps that execute.
            latencies: cycles that memory adds, of each instruction that accesses it.
        """
        now = self.now[warps]
        late = self._ready[block.reads][:, warps] - now
        clock, ready = block.taken(latencies, np.maximum(late, 0, out=late))
        if isinstance(warps, slice):
            self._ready[block.writes] = ready + now
        elif block.writes.size:
            self._ready[block.writes[:, None], warps] = ready + now
        self.now[warps] = now + clock
