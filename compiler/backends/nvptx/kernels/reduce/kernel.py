"""Reduction kernels: a team of threads or a block for each result, a block for each strip of neighbouring results.

In the block form every thread first takes elements a block's width apart, or those that follow each other where a
reducer minds which of two values comes first; then the block's accumulators are combined in a tree, in the order of
threads, by shuffles within warps and through shared memory between them.  Rows too short for a block are a team's, a
warp or a part of one (`team`); the shortest are a thread's.  A row alone is a block's sooner: other rows would give the
GPU's other warps something to do.  Rows are read in words of 16 bytes.

Where neighbouring results come from neighbouring elements, a block's warps lie across them: each lane has a result, or
of narrow types a few, each warp a part of the reduction, and memory is read in whole lines.  A long reduction to few
results is cut into chunks, whose partial results a second launch combines.  Memory is as fast as what is on its way at
once allows, so a thread asks for several elements before it combines them.  The order of combination depends on the
shape alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.reduce.emitter import Emitter
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Launches, Plan, Strategy, planned
from compiler.backends.strategy import Declined
from compiler.codegen.reduction import Reduction

_SHORT = 16
"""Elements of a result: with fewer a thread makes it, if there are as many results at least."""
_SIDE_BY_SIDE = 16
"""Neighbouring results from which on a strip of columns is read in whole sectors of 32 bytes and more."""
_FEW_CHUNKS = 3
"""Chunks where every kernel is to be shared: one between the first and the last, which has fewer elements."""


class ReduceGiven(Given):
    """A reduction kernel, with who might reduce a row of it."""

    @cached_property
    def form(self) -> Reduction:
        """The reduction: its operands, and the dimensions along which they are reduced."""
        return Reduction(self.kernel)

    @cached_property
    def seen(self) -> Emitter:
        """What emits it, to be looked at."""
        return Emitter(self.scratch, self.form)

    @property
    def in_strips(self) -> bool:
        """Whether neighbouring results come from neighbouring elements."""
        return not self.form.is_row and self.form.groups[-1].size >= _SIDE_BY_SIDE

    def cut(self, chunks: int, pieces: int) -> int:
        """Into how many chunks reductions of so many pieces are cut: into a few where every kernel is to be shared."""
        return max(chunks, min(_FEW_CHUNKS, pieces)) if self.gpu.share_all else chunks

    def plan(self, emit: Callable[[Emitter], Launches], *, chunks: int = 1) -> Plan:
        """The plan of a form."""
        workspace = sum(self.form.partial_bytes(chunks)) if chunks > 1 else 0
        details = {"results": self.form.kept, "length": self.seen.length, "chunks": chunks}
        return planned(lambda module: emit(Emitter(module, self.form)), workspace_bytes=workspace, details=details)


def _nothing(given: ReduceGiven) -> Plan | Declined:
    """The plan of a reduction that keeps nothing."""
    return Declined("there are results") if given.form.kept else planned(lambda _: ())


def _threads(given: ReduceGiven) -> Plan | Declined:
    """The plan of a thread for each result."""
    length = given.seen.length
    if length >= _SHORT or (length and given.form.kept < _SHORT):
        return Declined(f"{_SHORT} elements or more make a result, or there are fewer results")
    return given.plan(lambda emitter: (emitter.thread_per_result(),))


def _teams(given: ReduceGiven) -> Plan | Declined:
    """The plan of a team within a warp for each row."""
    if not given.form.is_row:
        return Declined("the last dimension is kept")
    if given.seen.team.threads > grid.WARP:
        return Declined("rows are too long for a warp, or alone")
    return given.plan(lambda emitter: (emitter.team_per_result(),))


def _strips(given: ReduceGiven) -> Plan | Declined:
    """The plan of a block for each strip of neighbouring results."""
    if not given.in_strips:
        return Declined("neighbouring results do not come from neighbouring elements")
    chunks = given.cut(given.seen.strip_chunks(), given.seen.length)
    if chunks <= 1:
        return given.plan(lambda emitter: (emitter.block_per_strip(1),))
    return given.plan(lambda emitter: (emitter.block_per_strip(chunks), emitter.combine_chunks(chunks)), chunks=chunks)


def _blocks(given: ReduceGiven) -> Plan:
    """The plan of a block for each result, or for each chunk of one."""
    chunks = given.cut(given.seen.block_chunks(), given.seen.pieces)
    if chunks <= 1:
        return given.plan(lambda emitter: (emitter.block_per_result(),))
    return given.plan(lambda emitter: (emitter.block_per_chunk(chunks), emitter.combine_chunks(chunks)), chunks=chunks)


REDUCE = Kind(
    (
        Strategy("nothing", _nothing),
        Strategy("a thread for each result", _threads),
        Strategy("a team for each row", _teams),
        Strategy("a block for each strip", _strips),
        Strategy("a block for each result", _blocks),
    ),
    ReduceGiven,
)
"""Reduction kernels."""
