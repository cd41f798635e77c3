"""Loop kernels: every element of the results on its own, in as few and as plain loops as can be.

LLVM vectorises the innermost loop, which is contiguous in the result.  Several results of equal dimensions are computed
in one pass, so that what they share is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from compiler.backends.cpu.kernels import halves, lookup, tabulated, tiles
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lanes import LINE
from compiler.codegen import cost, crossing, movement, nest, pieces, scalar
from compiler.codegen.index import Emission, Index, Known
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.signature import elemental_of, store_roots
from compiler.ir.module import Instruction
from compiler.ir.shape import ArrayShape
from compiler.ir.types import ElementType

_LARGEST_JAM = 64
"""Instructions in a turn of the innermost loop up to which it takes in those of another."""
_FEW = 64
_FEW_TERMS = 8
_SHORT, _MANY_TURNS = 256, 4096
_BLOCK = 1024
"""Elements that are done again where an argument was too large for the cheaper form of a function."""
_SHORT_ROWS = (4, 8, 16, 32)
"""Lengths of rows of which edges are masked, not run apart; others would be found by division."""
_CHAIN, _LONG, _VERY_LONG, _ENDLESS = 0.033, 0.42, 1.35, 3.3
"""Weights of bodies, in nanoseconds per element, between which a loop is interleaved."""
_WORTH, _WELL_WORTH = 0.25e6, 0.67e6
"""Nanoseconds of work for which compiling a long, and a very long, body four times over is worth while."""
_WORTH_ALL = 0.083e6
"""And a short one eight times over; longer ones that often if they are well worth it."""


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a loop kernel."""
    size = kernel.outputs[0].size
    work = cost.nanoseconds(kernel)
    function = begin(module, kernel)
    if size == 0:
        Builder(function).ret()
        return EmittedKernel(kernel, (function.name,), 0, parallel=False, work=0.0)

    (group,) = nest.plan(module, parameters(kernel), [size], _body(kernel))
    group = replace(group, once=bool(kernel.in_place))
    if _is_drawn(kernel):
        group = nest.without_tiny_loops(group)
    elif _has_short_rows(kernel, group):
        group = nest.without_innermost(group)
    parallel = cost.pays(work)
    # Tiles at the edges overlap others.
    tiling = None if group.once else tiles.find(module, kernel, group)
    lookups = lookup.find(module, kernel, group)
    if lookups:
        lookup.emit(LaneBuilder(function), kernel, group, lookups, parallel=parallel)
    elif tiling is not None:
        tiles.emit(Builder(function), tiling, parallel=parallel)
    elif tables := tabulated.find(kernel):
        _emit_pieces(Builder(function), kernel, _jam(module, kernel, group), _body(kernel, tables), work)
    elif pairs := halves.find(module, kernel, group):
        halves.emit(LaneBuilder(function), kernel, group, pairs, parallel=parallel)
    else:
        _emit_pieces(Builder(function), kernel, _jam(module, kernel, group), _body(kernel), work)
    return EmittedKernel(kernel, (function.name,), 0, parallel, work)


def _body(kernel: Kernel, tables: Sequence[tabulated.Table] = ()) -> nest.Body:
    """Computes and stores the results at a point, what has tables by looking it up."""

    def body(emission: Emission, linear: Sequence[Index]) -> None:
        values = tabulated.looking_up(elemental_of(kernel, emission), tables)
        store_roots(kernel, values, nest.coordinates(emission, linear[0], kernel.outputs[0].dims), linear[0])

    return body


def _emit_pieces(builder: Builder, kernel: Kernel, group: nest.Group, body: nest.Body, work: float) -> None:
    """Emit the whole kernel as loops that LLVM makes vectors of."""
    parallel = cost.pays(work)
    level = nest.split_level([1 if n == group.jammed else size for n, size in enumerate(group.loops)])
    length = group.loops[group.innermost]
    known = _known(builder, kernel, group)
    near, often = not group.once and _may_be_near(kernel, length), _has_complex(kernel)
    turns = _Turns(builder, known, interleave(kernel, length, work), near, often)
    part, joined = None, nest.joined(group) if parallel else 1
    if joined > 1:
        part, level = nest.share(builder, prod(group.loops[:joined]), THREAD, THREADS), -1
    elif parallel:
        align = (_BLOCK if near and length % _BLOCK == 0 else LINE) if level == group.innermost else 1
        part = nest.share(builder, group.loops[level], THREAD, THREADS, align=align)
    pieces.walk(
        builder,
        group,
        lambda index: turns.body(lambda emission: body(emission, [index])),
        split=level,
        joined=joined,
        part=part,
        innermost=turns.run,
        known=known,
    )
    builder.ret()


def takes_sums(kernel: Kernel) -> bool:
    """Whether reductions of a few terms each, which are not read from memory one by one, are better done in a loop.

    Neighbouring results then lie in the lanes of vectors; along a row, vectors would be mostly empty.
    """
    sums = kernel.of_opcode("reduce")
    if not kernel.is_of_arrays:
        return False
    sizes = [(i.array.size, i.operands[0].array.size) for i in sums]
    few = all(kept >= _SHORT and all_ <= _FEW_TERMS * kept for kept, all_ in sizes)
    return few and all(leaf.array.size <= kept < all_ for leaf, _ in kernel.leaves for kept, all_ in sizes)


def _jam(module: Module, kernel: Kernel, group: nest.Group) -> nest.Group:
    """The loops, with one of few turns put inside one of many where that reads, or writes, neighbours together."""
    weaves = crossing.weaves(nest.scratch(module, parameters(kernel)), kernel, group)
    last = len(group.loops) - 1
    number = last if weaves else crossing.narrow(nest.scratch(module, parameters(kernel)), kernel, group)
    if number is None or sum(1 for _ in kernel.body()) * group.loops[number] > _LARGEST_JAM:
        return group
    return replace(group, jammed=number, period=None if number == last else group.period)


def _known(builder: Builder, kernel: Kernel, group: nest.Group) -> Known:
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
class _Turns:
    """How the innermost loops of a kernel run.

    Where functions have a cheaper form for arguments that are not large, the loop runs with it, in blocks, and tells
    whether some argument was; such a block is done again in full.  The results are the same either way.  Where limits
    are known to be those of blocks, LLVM need not write a long body again for what would remain; that the kernel's
    length is a multiple says nothing of a piece of it.  What has to be done again `often` is done in vectors too: a
    division by zero is nothing unusual, an angle of millions is.
    """

    builder: Builder
    known: Known
    interleave: int
    near: bool
    often: bool
    _far: Value | None = None

    def body(self, emit_body: Callable[[Emission], None]) -> None:
        """Emit one turn."""
        emission = Emission(self.builder, known=self.known, far=self._far)
        emit_body(emission)
        self._far = emission.far

    def run(self, limits: nest.Range, turn: Callable[[Value], None]) -> None:
        """Emit an innermost loop."""
        builder = self.builder
        metadata = keep_rolled(builder.module, interleave=self.interleave) if self.interleave else ""
        if not self.near:
            with builder.loop(limits.start, limits.stop, nonempty=limits.nonempty, metadata=metadata) as loop:
                turn(loop.index)
            return
        with builder.loop(limits.start, limits.stop, step=_BLOCK, name="block", nonempty=limits.nonempty) as block:
            last = builder.add(block.index, integer(_BLOCK))
            stop = last if limits.unit % _BLOCK == 0 else builder.smin(last, limits.stop)
            none = Value(I1, "false")
            with builder.loop(block.index, stop, carried=[none], nonempty=True, metadata=metadata) as loop:
                self._far = loop.carried[0]
                turn(loop.index)
                loop.carry(self._far)
                self._far = None
            again = keep_rolled(builder.module, scalar=not self.often)
            with (
                builder.when(loop.results[0], "far"),
                builder.loop(block.index, stop, nonempty=True, metadata=again) as loop,
            ):
                turn(loop.index)


def _is_drawn(kernel: Kernel) -> bool:
    """Whether functions are computed of numbers that come from few others, such as random ones, and not from arrays."""
    few = all(leaf.array.size <= _FEW for leaf, _ in kernel.leaves if isinstance(leaf.shape, ArrayShape))
    return few and any(instruction.opcode in scalar.APPROXIMATE for instruction in kernel.body())


def _has_short_rows(kernel: Kernel, group: nest.Group) -> bool:
    """Whether rows that run in pieces leave little to be made vectors of, while neighbours lie behind one another."""
    if len(group.loops) < 2 or group.loops[-1] not in _SHORT_ROWS or not group.breaks or any(group.moving):
        return False
    arrays = [leaf.array.dims for leaf, _ in kernel.leaves if isinstance(leaf.shape, ArrayShape) and leaf.array.rank]
    alike = all(dims == kernel.outputs[0].dims for dims in arrays)
    return alike and bool(group.breaks[-1]) and not group.breaks[-2]


def may_go_back(kernel: Kernel) -> bool:
    """Whether a kernel may compute elements again that it has written already, or had better be free to do so."""
    crosses = kernel.of_opcode("transpose") + [i for i in kernel.of_opcode("broadcast") if _permutes(i)]
    return bool(crosses) or _may_be_near(kernel, kernel.outputs[0].size)


def _permutes(broadcast: Instruction) -> bool:
    dimensions = broadcast.attributes["dimensions"]
    return list(dimensions) != sorted(dimensions)


def _may_be_near(kernel: Kernel, length: int) -> bool:
    """Whether a kernel calls functions that have a cheaper form, in loops that are long enough."""
    body = [i for i in kernel.body() if i.operands and isinstance(i.operands[0].shape, ArrayShape)]
    found = any(scalar.has_near_form(instruction) for instruction in body)
    return found and length >= _SHORT


def _types(kernel: Kernel) -> set[ElementType]:
    return {i.array.element_type for i in kernel.body() if isinstance(i.shape, ArrayShape)}


def _has_complex(kernel: Kernel) -> bool:
    return any(type_.is_complex for type_ in _types(kernel))


def interleave(kernel: Kernel, length: int, work: float) -> int:
    """How many vectors to compute at once, 0 to leave it to LLVM, which counts registers and leaves long bodies single.

    A polynomial is a chain of operations that wait for one another: one vector at a time keeps the units idle most of
    the time, while operands that no longer fit into registers cost next to nothing.  A CPU looks some two hundred
    operations ahead: of eight vectors taken in turn enough are ready among these, of fewer with long chains they are
    not.  Long bodies take long to compile so many times over: they get fewer.
    """
    types = _types(kernel)
    weight = sum(cost.COST[instruction.opcode] for instruction in kernel.body())
    weight *= 2 if any(type_.bits == 64 for type_ in types) else 1
    # Parts of complex numbers are shuffled more than computed with.
    if length < _SHORT or not _CHAIN <= weight < _ENDLESS or _has_complex(kernel):
        return 0
    enough = 0.0 if weight < _LONG else _WORTH if weight < _VERY_LONG else _WELL_WORTH
    if work < enough:
        return 2
    # What is left of a loop by so many vectors is done one by one.
    return 8 if length >= _MANY_TURNS and work >= (_WORTH_ALL if weight < _LONG else _WELL_WORTH) else 4
