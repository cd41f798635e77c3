"""Row kernels, of softmax, norms and their gradients: several passes over one row while it is in cache.

Every full-shape value of the kernel has dimensions `K x R`; reductions are over all of `R`, and their results, of
dimensions `K`, are broadcast back along `R`.  For one row (one index into `K`) the reductions fall into *phases*: those
of a phase need only results of earlier phases.  A value that two phases need is kept in a row buffer when computing it
again would cost something, or could round differently: a value that feeds both a row's maximum and `exp(x - max)` must
be the same in both.

What is not computed from a reduction may be read at other points than the one at hand, below a transpose for example.
Such values are neither kept nor computed once for a row: they would be those of the wrong row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from compiler.analysis.commutativity import in_any_order
from compiler.analysis.groups import is_along_rows
from compiler.codegen.kernel import Kernel
from compiler.ir.graph import reachable
from compiler.ir.module import Instruction, computed_from
from compiler.ops import Trait, narrowing

_FREE = narrowing(
    Trait.ELEMENTWISE | Trait.MOVES | Trait.GENERATES,
    "broadcast constant convert iota negate reshape select compare and or not abs",
)
"""Opcodes that are exact and next to free: such values are computed again rather than kept."""


@dataclass(slots=True, eq=False)
class Phase:
    """One pass over a row: reductions (none in the last), and the values kept for later passes."""

    reduces: list[Instruction] = field(default_factory=list)
    kept: list[Instruction] = field(default_factory=list)
    read: list[Instruction] = field(default_factory=list)
    """What earlier phases have kept for this one."""
    spread: list[Instruction] = field(default_factory=list)
    """Broadcasts of row values that the pass reads: their operands are computed before it."""


class Rows:
    """A row kernel taken apart."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.body = list(kernel.body())
        self.reduces = [i for i in self.body if i.opcode == "reduce"]
        first = self.reduces[0]
        self.dims = first.operands[0].array.dims
        self.outer = min(first.attributes["dimensions"])
        self.row_dims = self.dims[: self.outer]
        self.count = math.prod(self.row_dims)
        self.inner_dims = self.dims[self.outer :]
        self.length = math.prod(self.inner_dims)
        self.phases = self._phases()
        self._moved = self._read_elsewhere()
        self._keep()

    @property
    def in_any_order(self) -> bool:
        """Whether elements of a row may be combined with others than their neighbours."""
        return all(map(in_any_order, self.reduces))

    def is_row_result(self, root: Instruction) -> bool:
        """Whether a root has one element for each row."""
        return root.array.dims == self.row_dims and root.array.dims != self.dims

    def _phases(self) -> list[Phase]:
        level: dict[Instruction, int] = {}
        for instruction in self.body:
            below = max((level.get(operand, 0) for operand in instruction.operands), default=0)
            level[instruction] = below + (instruction.opcode == "reduce")
        phases = [Phase() for _ in range(max(level.values()))]
        for reduce in self.reduces:
            phases[level[reduce] - 1].reduces.append(reduce)
        if any(not self.is_row_result(root) for root in self.kernel.roots):
            phases.append(Phase())
        return phases

    def targets(self, phase: Phase) -> list[Instruction]:
        """The full-shape values that a phase is there for."""
        if phase.reduces:
            return [reduce.operands[0] for reduce in phase.reduces]
        return [root for root in self.kernel.roots if not self.is_row_result(root)]

    def computed(self, phase: Phase) -> list[Instruction]:
        """The instructions that a phase computes at each position of a row, without what it reads from memory."""
        given = {leaf for leaf, _ in self.kernel.leaves}
        for earlier in self.phases[: self.phases.index(phase)]:
            given.update(earlier.kept)

        def is_computed(value: Instruction) -> bool:
            return value not in given and value not in phase.spread and bool(value.array.rank)

        walked = reachable(self.targets(phase), lambda value: value.operands if is_computed(value) else ())
        return [*filter(is_computed, walked), *phase.reduces]

    def _read_elsewhere(self) -> set[Instruction]:
        """What is, or may be, read at other points than the one at hand."""
        movers = [i for i in self.body if not is_along_rows(i, self.dims, self.outer)]
        return computed_from(operand for mover in movers for operand in mover.operands)

    def _keep(self) -> None:
        """Find what each phase reads, and which values of earlier phases it would compute again."""
        computed: dict[Instruction, Phase] = {}
        given = {leaf for leaf, _ in self.kernel.leaves}
        for phase in self.phases:
            mine: set[Instruction] = set()
            stack = self.targets(phase)
            while stack:
                value = stack.pop()
                if value in mine or value in given:
                    continue
                mine.add(value)
                if self._is_spread(value):
                    phase.spread.append(value)
                    continue
                earlier = computed.get(value)
                is_worth_it = value.opcode not in _FREE and value.array.dims == self.dims
                if earlier is not None and is_worth_it and value not in self._moved:
                    phase.read.append(value)
                    if value not in earlier.kept:
                        earlier.kept.append(value)
                    continue
                stack += [operand for operand in value.operands if operand.array.rank]
            for value in mine:
                computed.setdefault(value, phase)
        position = {instruction: number for number, instruction in enumerate(self.body)}
        for phase in self.phases:
            phase.kept.sort(key=position.__getitem__)
            phase.spread.sort(key=position.__getitem__)

    def _is_spread(self, value: Instruction) -> bool:
        """Whether a value is a row value, the same along the whole row."""
        along_rows = value.attributes.get("dimensions") == tuple(range(self.outer))
        straight = value.opcode == "broadcast" and along_rows and value.operands[0].array.dims == self.row_dims
        return straight and value not in self._moved
