"""Loop kernels as loops that LLVM makes vectors of, in as few and as plain ones as can be.

LLVM vectorises the innermost loop, which is contiguous in the result.  Several results of equal dimensions are computed
in one pass, so that what they share is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.backends.cpu.kernels.loop import memory_table
from compiler.backends.cpu.kernels.loop.given import LoopGiven, body_of, functions_of, has_fast_path
from compiler.backends.cpu.kernels.strategy import Functions, Plan
from compiler.backends.cpu.kernels.vectors.interleaving import has_complex, interleave
from compiler.backends.cpu.kernels.vectors.lanes import LINE
from compiler.backends.strategy import Declined, Detail
from compiler.codegen import cost, loop_splitting, math, movement, nest, strided
from compiler.codegen.index import Emission, Index, Known
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.signature import elemental_of

_LARGEST_JAM = 64
"""Instructions in an iteration of the innermost loop up to which it takes in those of another."""
MOST_BRANCHES = 8
"""Functions of a single element up to which each is written in both its forms, with a branch."""
BLOCK = 1024
"""Elements that are done again where an argument was too large for the cheaper form of a function."""


def decide(given: LoopGiven) -> Plan:
    """The plan of a kernel whose elements are computed as they are written down."""
    return _plan(given, ())


def decide_tabulated(given: LoopGiven) -> Plan | Declined:
    """The plan of a loop that looks chains of functions up, of numbers of 16 bits, in tables in memory."""
    tables = memory_table.find(given.kernel)
    if isinstance(tables, Declined):
        return tables
    return _plan(given, tables)


def _plan(given: LoopGiven, tables: Sequence[memory_table.Table]) -> Plan:
    kernel, work = given.kernel, given.cost_ns
    group = _jam(given.scratch, kernel, given.group)
    length = group.loops[group.innermost]
    shared = _Shared.of(group) if cost.pays_threads(work) else _Shared(nest.split_level(_split(group)), 1)
    loops = _Loops(
        kernel=kernel,
        group=group,
        tables=tables,
        shared=shared,
        parallel=cost.pays_threads(work),
        interleave=interleave(kernel, length, work),
        fast=not group.once and has_fast_path(kernel, length),
    )
    details = loops.details
    if tables:
        details["tables"] = [table.root.name for table in tables]
    return given.plan(loops.emit, work, details=details)


def _split(group: nest.LoopNest) -> list[int]:
    """Iterations of the loops of which threads may share one."""
    return [1 if n == group.jammed else size for n, size in enumerate(group.loops)]


@dataclass(frozen=True, slots=True)
class _Shared:
    """The loop that threads share, -1 for the first `joined` ones as one."""

    level: int
    joined: int

    @staticmethod
    def of(group: nest.LoopNest) -> _Shared:
        joined = nest.joined(group)
        return _Shared(-1 if joined > 1 else nest.split_level(_split(group)), joined)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loops:
    """All that is decided about a kernel.

    Attributes:
        kernel: what is computed.
        group: the loops.
        tables: what is looked up, not computed.
        shared: the loop that threads share.
        parallel: whether they do.
        interleave: vectors that the innermost loop computes at once, 0 for as many as LLVM likes.
        fast: whether it runs in blocks with the cheaper forms of functions first.
    """

    kernel: Kernel
    group: nest.LoopNest
    tables: Sequence[memory_table.Table]
    shared: _Shared
    parallel: bool
    interleave: int
    fast: bool

    @property
    def details(self) -> dict[str, Detail]:
        """Their details, as `emit decisions` prints them."""
        found: dict[str, Detail] = {"loops": self.group.loops}
        if self.parallel:
            found |= (
                {"joined_loops": self.shared.joined} if self.shared.joined > 1 else {"split_loop": self.shared.level}
            )
        if self.interleave:
            found["interleave"] = self.interleave
        if self.group.jammed is not None:
            found["jammed_loop"] = self.group.jammed
        if self.fast:
            found["block"] = BLOCK
        return found

    def emit(self, module: Module) -> Functions:
        """Write the kernel's function."""
        function = begin(module, self.kernel)
        builder, group = Builder(function), self.group
        level, joined = self.shared.level, self.shared.joined
        length = group.loops[group.innermost]
        known = _known(builder, self.kernel, group)
        alone = prod(group.loops) == 1 and len(functions_of(self.kernel)) <= MOST_BRANCHES
        iterations = _Iterations(builder, self.kernel, known, self.interleave, self.fast, alone)
        chunk = None
        if joined > 1:
            chunk = nest.share(builder, prod(group.loops[:joined]), THREAD, THREADS)
        elif self.parallel:
            align = (BLOCK if self.fast and length % BLOCK == 0 else LINE) if level == group.innermost else 1
            chunk = nest.share(builder, group.loops[level], THREAD, THREADS, align=align)
        body = body_of(self.kernel, self.tables)
        loop_splitting.walk(
            builder,
            group,
            lambda index: iterations.body(partial(_at, body, index)),
            split=level,
            joined=joined,
            chunk=chunk,
            innermost=iterations.run,
            known=known,
        )
        builder.ret()
        return (function.name,)


def _at(body: nest.Body, index: Index, emission: Emission) -> None:
    body(emission, [index])


def _jam(module: Module, kernel: Kernel, group: nest.LoopNest) -> nest.LoopNest:
    """The loops, with one of few iterations put inside one of many where that reads, or writes, neighbours together."""
    last = len(group.loops) - 1
    if not last:
        return group
    scratch = nest.scratch(module, parameters(kernel))
    number = last if strided.weaves(scratch, kernel, group) else strided.narrow(scratch, kernel, group)
    if number is None or sum(1 for _ in kernel.body()) * group.loops[number] > _LARGEST_JAM:
        return group
    return replace(group, jammed=number, periods=() if number == last else group.periods)


def _known(builder: Builder, kernel: Kernel, group: nest.LoopNest) -> Known:
    """The start indices that the loops' pieces depend on, read before the loops."""
    inside = set(kernel.body()) | {leaf for leaf, _ in kernel.leaves}
    emission = Emission(builder)
    values = elemental_of(kernel, emission)
    known = Known()
    for key in dict.fromkeys(key for moving in group.moving if moving for key, _ in moving.starts):
        if isinstance(key, movement.Start) and key.instruction in inside:
            known.starts[key] = movement.clamped(values, key.instruction, key.indices, key.limit)
    return known


@dataclass(slots=True)
class _Iterations:
    """How the innermost loops of a kernel run.

    Where functions have a cheaper form for arguments that are not large, the loop runs with it, in blocks, and tells
    whether some argument was; such a block is done again in full.  The results are the same either way.  Where limits
    are known to be those of blocks, LLVM need not write a long body again for what would remain; that the kernel's
    length is a multiple says nothing of a piece of it.  What has to be done again often is done in vectors too: a
    division by zero is nothing unusual, an angle of millions is, so its functions are called.  An element `alone` waits
    for one form only, by a branch: what a loop of scalars takes is the time from one to the next.
    """

    builder: Builder
    kernel: Kernel
    known: Known
    interleave: int
    fast: bool
    alone: bool
    _slow: Value | None = None

    def body(self, emit_body: Callable[[Emission], None]) -> None:
        """Emit one iteration."""
        emission = Emission(self.builder, known=self.known, slow=self._slow, alone=self.alone)
        emit_body(emission)
        self._slow = emission.slow

    def run(self, limits: nest.Range, iteration: Callable[[Value], None]) -> None:
        """Emit an innermost loop."""
        builder = self.builder
        metadata = keep_rolled(builder.module, interleave=self.interleave) if self.interleave else ""
        if not self.fast:
            with builder.loop(limits.start, limits.stop, nonempty=limits.nonempty, metadata=metadata) as loop:
                iteration(loop.index)
            return
        with builder.loop(limits.start, limits.stop, step=BLOCK, name="block", nonempty=limits.nonempty) as block:
            last = builder.add(block.index, integer(BLOCK))
            stop = last if limits.unit % BLOCK == 0 else builder.smin(last, limits.stop)
            none = Value(I1, "false")
            with builder.loop(block.index, stop, carried=[none], nonempty=True, metadata=metadata) as loop:
                self._slow = loop.carried[0]
                iteration(loop.index)
                loop.carry(self._slow)
                self._slow = None
            often = has_complex(self.kernel)
            again = keep_rolled(builder.module, scalar=not often)
            with (
                builder.when(loop.results[0], "slow"),
                builder.loop(block.index, stop, nonempty=True, metadata=again) as loop,
            ):
                builder.calls_functions = not often and not share_arguments(self.kernel)
                iteration(loop.index)
                builder.calls_functions = False


def share_arguments(kernel: Kernel) -> bool:
    """Whether functions with a cheaper form are computed of the same numbers: inlined, they share work."""
    taken = [instruction.operands for instruction in kernel.body() if math.has_fast_path(instruction.opcode)]
    return len(set(taken)) < len(taken)
