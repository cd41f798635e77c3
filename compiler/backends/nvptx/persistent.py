"""Persistent kernels: a loop, a branch or a row of small kernels as one launch of a single block.

Where an iteration of a loop is little work, what it costs is its launches, and the host's look at the condition.  One
block does the same work itself: it goes through each launch's blocks in turn, and a barrier stands where one launch
would wait for another.  It has one of the GPU's many multiprocessors to do it with, so the rule is about time:

- a launch is expected to take a block `_BLOCK_SHARE` times, a product `_PRODUCT_SHARE` times, what
  `compiler.codegen.cost` says of one core of a CPU, and `_ROUND_NS` for each of its blocks after which the next can
  begin; a copy what its bytes take, a loop all its iterations (`_ITERATIONS` where their number is not known), a branch
  the longest;
- of launches and copies each saves `LAUNCH_NS`, and of decisions each saves the host's `DECISION_NS`;
- a step is persistent where it takes no longer than it saves, and steps in a row become one launch where there is more
  than one of them, or a decision among them.

What is decided is printed with the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.analysis.opcodes import PRODUCTS
from compiler.backends.nvptx.cards import LAUNCH_NS
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel
from compiler.backends.nvptx.persistent_launch import MOST_THREADS, Emission, side_by_side
from compiler.backends.nvptx.steps import (
    ConditionalStep,
    CopyStep,
    LaunchStep,
    RecordStep,
    Step,
    WaitStep,
    WhileStep,
    buffers_of,
    launches_of,
    written_by,
)
from compiler.codegen.cost import nanoseconds
from compiler.codegen.kernel import KernelKind
from compiler.codegen.llvm_ir import Function, Module

DECISION_NS = 10_000.0
"""Nanoseconds in which the host reads a byte back and decides: two transfers over PCIe and a wait (estimated)."""
_BLOCK_SHARE, _PRODUCT_SHARE = 12.0, 3.6
"""How many times as long as one core of a CPU one block is expected to take, and for a product (estimated)."""
_ROUND_NS = 700.0
"""Nanoseconds from one block of a persistent launch to the next (estimated)."""
_BYTES_PER_NS = 20.0
"""What one multiprocessor copies of global memory (estimated; the port to the L2 cache is 64 bytes a cycle)."""
_ITERATIONS = 8
"""Iterations of a loop of which nobody knows how many there are."""
_MOST_BUFFERS = 256
"""A launch has 4 KB of arguments."""
_MOST_LINES = 20_000
"""LLVM instructions in one function, beyond which compiling takes long."""


def persist(ir: Module, steps: Sequence[Step], kernels: Sequence[EmittedKernel], name: str) -> tuple[Step, ...]:
    """The steps with persistent launches in place of those that are worth it.

    Args:
        ir: holds the kernels' functions; those that nobody launches go.
        steps: what the host does.
        kernels: the kernels that it launches.
        name: what the launches' functions are called.
    """
    costs = {function: cost for kernel in kernels for function, cost in _costs(kernel)}
    owners = {launch.function: kernel for kernel in kernels for launch in kernel.launches}
    found = tuple(_Persistent(ir, owners, costs, name).sequence(steps))
    launched = {launch.launch.function for launch in launches_of(found)}
    ir.functions[:] = [f for f in ir.functions if f.name not in costs or f.name in launched]
    return found


@dataclass(slots=True)
class _Persistent:
    """Finds the steps, and emits the launches."""

    ir: Module
    kernels: Mapping[str, EmittedKernel]
    costs: Mapping[str, float]
    name: str
    functions: dict[str, Function] = field(init=False)

    def __post_init__(self) -> None:
        self.functions = {function.name: function for function in self.ir.functions}

    def sequence(self, steps: Sequence[Step]) -> Iterator[Step]:
        """The steps with persistent ones put together."""
        found: list[Step | list[Step]] = []
        for step in steps:
            if not (self._is_worth_it(step) and self._fits([step])):
                found.append(step)
                continue
            row = self._row(found, step)
            if row is None:
                found.append([step])
            else:
                row.append(step)
        for item in found:
            if isinstance(item, list):
                yield from self._joined(item)
            else:
                yield self._within(item)

    def _row(self, found: Sequence[Step | list[Step]], step: Step) -> list[Step] | None:
        """The last row before a step that it can be part of: it needs nothing of what comes between.

        What the host decides about stays between: memory is shared by what is alive at the same time there.
        """
        for item in reversed(found):
            if isinstance(item, list) and self._fits([*item, step]):
                return item
            if isinstance(item, WhileStep | ConditionalStep):
                return None
            if _meet(item if isinstance(item, list) else [item], [step]):
                return None
        return None

    def _within(self, step: Step) -> Step:
        if isinstance(step, WhileStep):
            note = f"a block would take {_us(self._work(step))}, launches take {_us(self._saved(step))}"
            inner = tuple(tuple(self.sequence(steps)) for steps in (step.condition, step.body))
            return replace(step, condition=inner[0], body=inner[1], note=note)
        if isinstance(step, ConditionalStep):
            return replace(step, branches=tuple(tuple(self.sequence(branch)) for branch in step.branches))
        return step

    def _joined(self, row: Sequence[Step]) -> Iterator[Step]:
        if len(row) == 1 and isinstance(row[0], LaunchStep | CopyStep):
            yield from row
            return
        note = f"a block takes {_us(sum(map(self._work, row)))}, launches would take {_us(sum(map(self._saved, row)))}"
        yield replace(Emission(self.ir, self.kernels, row).launch(self.name), note=note)

    # -- the rule -----------------------------------------------------------------------------------------------
    def _is_worth_it(self, step: Step) -> bool:
        return self._work(step) <= self._saved(step)

    def _work(self, step: Step) -> float:
        """What a step takes a block, in ns."""
        match step:
            case LaunchStep():
                rounds = -(-step.launch.blocks // side_by_side(self.functions[step.launch.function], step.launch))
                return self.costs[step.launch.function] + _ROUND_NS * rounds
            case CopyStep():
                return step.target.size_bytes / _BYTES_PER_NS
            case WhileStep():
                return _trip_count(step) * sum(map(self._work, (*step.condition, *step.body)))
            case ConditionalStep():
                return max(sum(map(self._work, branch)) for branch in step.branches)
            case RecordStep() | WaitStep():
                return 0.0

    def _saved(self, step: Step) -> float:
        """What the host and the launches take for a step, in ns."""
        match step:
            case LaunchStep() | CopyStep():
                return LAUNCH_NS
            case WhileStep():
                decision = DECISION_NS if step.trip_count is None else 0.0
                return _trip_count(step) * (decision + sum(map(self._saved, (*step.condition, *step.body))))
            case ConditionalStep():
                return DECISION_NS + min(sum(map(self._saved, branch)) for branch in step.branches)
            case RecordStep() | WaitStep():
                return 0.0

    def _fits(self, row: Sequence[Step]) -> bool:
        """Whether the functions' shared memory, their arguments and their code fit into one launch."""
        launches = list(launches_of(row))
        functions = {launch.launch.function: launch for launch in launches}
        shared: dict[str, int] = {}
        for name, launch in functions.items():
            threads, function = launch.launch.threads, self.functions[name]
            if (function.waits and threads % grid.WARP) or threads > MOST_THREADS or launch.launch.shared_bytes:
                return False
            shared |= function.shared
        lines = sum(len(self.functions[name].lines) for name in functions)
        few = len(set(buffers_of(row))) <= _MOST_BUFFERS and lines <= _MOST_LINES
        return few and sum(shared.values()) <= grid.OWN_SHARED_BYTES


def _meet(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether two rows touch the same memory, and one of them writes it."""
    written = set(written_by(one)), set(written_by(other))
    return not (written[0].isdisjoint(buffers_of(other)) and written[1].isdisjoint(buffers_of(one)))


def _us(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.1f} us"


def _trip_count(step: WhileStep) -> int:
    return _ITERATIONS if step.trip_count is None else step.trip_count


def _costs(emitted: EmittedKernel) -> Iterator[tuple[str, float]]:
    """What a block would take for each launch, in ns: the kernel's time for the largest, for others a share."""
    most = max((launch.blocks * launch.threads for launch in emitted.launches), default=1)
    kernel = emitted.kernel
    # A loop inside a kernel is one launch as it is, and nobody knows how long it takes.
    share = _PRODUCT_SHARE if any(kernel.of_opcode(opcode) for opcode in PRODUCTS) else _BLOCK_SHARE
    whole = math.inf if kernel.kind is KernelKind.ITERATION else share * nanoseconds(kernel)
    if kernel.kind is KernelKind.UPDATE:
        whole *= min(1.0, most / max(1, kernel.instruction.array.size))
    for launch in emitted.launches:
        yield launch.function, whole * launch.blocks * launch.threads / most
