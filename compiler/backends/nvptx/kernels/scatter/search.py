"""Where in the order of windows those of a row of the result begin: found once for all elements of a block.

Elements of a row ask for the same, and where one row's windows end those of the next begin.  Of few rows a warp looks
for each beginning, at 32 windows at once: each step waits for memory, and 8,192 windows take three instead of fourteen.
Of many rows warps look for the first and the last, and each thread bisects for one between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.backends.nvptx.kernels import grid
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import I1, I32, I64, Builder, Value, integer
from compiler.ir.types import U32

IsBefore = Callable[[Value, Value], Value]
"""Whether the window of a number is for a row before some row."""
_WARPS = grid.BLOCK // grid.WARP
_FEW = 2 * _WARPS
"""Rows of which warps find the beginnings: each has no more than two of them."""


class Beginnings:
    """The beginnings of the windows of a block's rows, in shared memory.

    Args:
        emission: where code is emitted, with what is known there.
        name: what the shared memory is called.
        windows: how many there are.
        is_before: which windows are for rows before another one.
    """

    def __init__(self, emission: Emission, name: str, windows: int, is_before: IsBefore) -> None:
        self._emission, self._windows, self._is_before = emission, windows, is_before
        self._name = name

    def find(self, first: Value, count: int) -> None:
        """Find those of so many rows from the first one on, the last of which tells where the one before it ends."""
        builder = self._emission.builder
        self._array = grid.shared_array(builder, self._name, U32, count)
        if count <= _FEW:
            self._find_by_warps(first, range(count))
        else:
            self._find_by_warps(first, range(0, count, count - 1))
            grid.barrier(builder)
            self._find_between(first, count)
        grid.barrier(builder)

    def _find_by_warps(self, first: Value, rows: range) -> None:
        """Find those of the rows of some numbers, each by a warp."""
        builder, thread = self._emission.builder, grid.thread(self._emission.builder)
        start, one = builder.binary("lshr", thread, integer(5)), builder.binary("and", thread, integer(grid.WARP - 1))
        with builder.loop(start, integer(len(rows)), step=_WARPS, name="rows") as loop:
            number = builder.mul(loop.index, integer(rows.step))
            found = self._by_warp(builder.add(first, number))
            with builder.when(builder.compare("eq", one, integer(0)), "one"):
                self._keep(number, found)

    def _find_between(self, first: Value, count: int) -> None:
        """Find those between the first and the last of so many, each by a thread."""
        builder = self._emission.builder
        bounds = self.of(integer(0)), self.of(integer(count - 1))
        start = builder.add(grid.thread(builder), integer(1))
        with builder.loop(start, integer(count - 1), step=grid.BLOCK, name="rows") as loop:
            self._keep(loop.index, self._by_thread(builder.add(first, loop.index), bounds))

    def _keep(self, number: Value, found: Value) -> None:
        builder = self._emission.builder
        builder.store(builder.cast("trunc", found, I32), self._address(number), align=4)

    def of(self, number: Value) -> Value:
        """Where the windows of the block's row of that number begin."""
        builder = self._emission.builder
        return builder.cast("zext", builder.load(I32, self._address(number), align=4), I64)

    def _address(self, number: Value) -> Value:
        return self._emission.builder.gep(I32, self._array, number)

    def _by_warp(self, row: Value) -> Value:
        """How many windows are for rows before one: lanes look at the last of pieces that become ever shorter."""
        builder, end = self._emission.builder, integer(self._windows)
        steps = max(1, math.ceil(math.log(max(self._windows, 2), grid.WARP) - 1e-9))
        lane = builder.binary("and", grid.thread(builder), integer(grid.WARP - 1))
        size, low = integer(grid.WARP ** (steps - 1)), integer(0)
        with builder.loop(integer(0), integer(steps), carried=[low, size], name="search", nonempty=True) as loop:
            low, size = loop.carried
            piece = builder.add(low, builder.mul(lane, size))
            last = builder.sub(builder.smin(builder.add(piece, size), end), integer(1))
            before = builder.choose(
                builder.compare("slt", piece, end), lambda: self._is_before(last, row), lambda: Value(I1, "false")
            )
            low = builder.add(low, builder.mul(_lanes_where(builder, before), size))
            loop.carry(low, builder.binary("lshr", size, integer(grid.WARP.bit_length() - 1)))
        return builder.smin(loop.results[0], end)

    def _by_thread(self, row: Value, bounds: tuple[Value, Value]) -> Value:
        """The same by bisection between bounds."""
        builder = self._emission.builder
        zeros = builder.overloaded("ctlz", [builder.sub(bounds[1], bounds[0]), Value(I1, "false")])
        steps = builder.sub(integer(64), zeros)
        with builder.loop(integer(0), steps, carried=bounds, name="search") as loop:
            low, high = loop.carried
            middle = builder.binary("lshr", builder.add(low, high), integer(1))
            is_open = builder.compare("slt", low, high)
            before = builder.choose(is_open, lambda: self._is_before(middle, row), lambda: Value(I1, "false"))
            is_after = builder.binary("and", is_open, builder.binary("xor", before, Value(I1, "true")))
            loop.carry(
                builder.select(before, builder.add(middle, integer(1)), low), builder.select(is_after, middle, high)
            )
        return loop.results[0]


def _lanes_where(builder: Builder, condition: Value) -> Value:
    """How many lanes of the warp a condition holds in, as an i64."""
    module = builder.module
    ballot = module.declare("llvm.nvvm.vote.ballot.sync", I32, [I32, I1], "convergent nounwind")
    votes = builder.call(ballot, I32, [integer(-1, I32), condition])
    return builder.cast("zext", builder.overloaded("ctpop", [votes]), I64)
