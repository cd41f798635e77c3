"""Triangular systems of few right-hand sides: unknowns by squares of 32, one behind the other, in one block.

Unknowns wait for one another, so what stands between two of them is all that counts.  A warp has 32 rows.  When those
before it are known, its lanes find theirs by shuffles alone: each has the row of the square on the diagonal in
registers, and a reciprocal for its pivot, so that an unknown takes a product, a shuffle and a multiply-add.  Then it
tells the others through shared memory, at a barrier before which each of these has read the part of its row that the
unknowns are multiplied with.

Rows are counted along the substitution, from the last one where the matrix is an upper one.  A block has as many rows
as it has lanes; of longer systems the products of what is known are taken out of all rows that follow by one launch,
a warp for each row, or, of many sides, a block for a tile of rows and sides, before the next block of rows is solved.
What is left lies in the workspace, in f64.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP, Launch
from compiler.backends.nvptx.kernels.strategy import Plan, planned
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Module, Value, floating, integer
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import SUM, Matrix, Substitution
from compiler.ir.types import F64

_WARPS = 8
"""Warps of a block: of more, none has registers for two rows of squares."""
_WARPS_BY_TURNS = 4
"""The same where blocks take turns: half as many rows are half as much to do in them, and tiles take out more products
in less time (by the model)."""
_MOST_SIDES = 2
"""Right-hand sides that a block has: what it reads of the matrix serves all, and with more of them registers spill."""
_MULTIPROCESSORS = 128
"""Blocks up to which each has a multiprocessor of its own."""
_TILE, _DEPTH = 64, 16
"""Rows, and sides, of a tile that a block takes products out of, and how many unknowns it has in shared memory."""
_EDGE = 4
"""Rows, and sides, of a tile that are one thread's: so many products are made of twice as many loads."""
_ACROSS = _TILE // _EDGE
"""Threads of a block that have other rows, and other sides."""
_MANY_SIDES, _MANY_UNKNOWNS = 16, 200_000
"""Right-hand sides of a matrix, and unknowns of all, from which on tiles take less time than a warp for each row: a
tenth less of 1000 x 200, half of 1000 x 1000 (by the model)."""
_TINY, _HUGE = 2.0**-1000, 2.0**1000
"""Pivots between these have reciprocals that are as good as they are."""


def plan(kernel: Kernel, form: Substitution) -> Plan:
    """The plan of blocks of rows, solved one after the other."""
    solver = _Solver(Module(), kernel, form)
    return planned(
        lambda module: tuple(_Solver(module, kernel, form).launches()),
        workspace_bytes=8 * form.sides * form.size if form.size > solver.rows else 0,
        details={"sides": form.sides, "size": form.size, "sides_of_block": solver.each},
    )


class _Square(NamedTuple):
    """What a lane has of a square on the diagonal: its row, its pivot, and the pivot's reciprocal."""

    row: Sequence[Value]
    pivot: Value
    inverse: Value


class _Solver:
    def __init__(self, module: Module, kernel: Kernel, form: Substitution) -> None:
        self.module, self.kernel, self.form = module, kernel, form
        self.each = min(_MOST_SIDES, form.columns, -(-form.sides // _MULTIPROCESSORS))
        self.groups = -(-form.columns // self.each)
        self.tiled = form.columns >= _MANY_SIDES and form.size * form.sides >= _MANY_UNKNOWNS
        takes_turns = form.sides // form.columns * self.groups > _MULTIPROCESSORS
        warps = _WARPS_BY_TURNS if self.tiled and takes_turns else _WARPS
        self.rows = WARP * min(warps, -(-form.size // WARP))
        self.is_long = form.size > self.rows

    def launches(self) -> Iterator[Launch]:
        """Everything in order; functions are told which row is the first."""
        blocks = self.form.sides // self.form.columns * self.groups
        solve = self._solve()
        update = (self._update_tiles() if self.tiled else self._update()) if self.is_long else ""
        for first in range(0, self.form.size, self.rows):
            yield Launch(solve, blocks, self.rows, (first,))
            below = self.form.size - first - self.rows
            if below > 0 and self.tiled:
                tiles = -(-below // _TILE)
                yield Launch(update, blocks // self.groups * self.side_tiles * tiles, _ACROSS**2, (first, tiles))
            elif below > 0:
                warps = grid.BLOCK // WARP
                yield Launch(update, blocks * -(-below // warps), grid.BLOCK, (first, -(-below // warps)))

    def _solve(self) -> str:
        builder = grid.begin(self.module, self.kernel, self.rows, "_solve", numbers=["first"], talks=True)
        sides, first = self._sides(builder, grid.block(builder)), Value(I64, "%first")
        warp, lane = builder.udivrem(grid.thread(builder), integer(WARP))
        mine, count = builder.add(first, grid.thread(builder)), self.rows // WARP
        left = grid.shared_array(builder, f"left.{self.kernel.name}", F64, self.each * self.rows)
        known = grid.shared_array(builder, f"known.{self.kernel.name}", F64, 2 * self.each * WARP)

        def left_at(side: int) -> Value:
            return builder.gep("double", left, builder.add(grid.thread(builder), integer(side * self.rows)))

        def known_at(slot: Value, side: int, number: Value) -> Value:
            at = builder.add(builder.mul(slot, integer(self.each * WARP)), integer(side * WARP))
            return builder.gep("double", known, builder.add(at, number))

        sides.begin(mine, first, lambda side, value: builder.store(value, left_at(side), align=8))
        own = self._row(sides, mine, builder.add(first, builder.mul(warp, integer(WARP))))
        pivot = sides.factor(mine, mine)
        inverse = builder.binary("fdiv", floating(1.0, "double"), pivot)
        with builder.loop(integer(0), integer(count), name="square", nonempty=True) as step:
            slot = builder.binary("and", step.index, integer(1))
            with builder.when(builder.compare("sle", warp, step.index), "known"):
                with builder.when(builder.compare("eq", warp, step.index), "owner"):
                    start = [builder.load("double", left_at(side), align=8) for side in range(self.each)]
                    found = self._square(builder, lane, _Square(own, pivot, inverse), start)
                    for side, value in enumerate(found):
                        builder.store(value, known_at(slot, side, lane), align=8)
                        sides.store(side, mine, value)
                grid.barrier(builder)
            with builder.when(builder.compare("sgt", warp, step.index), "waiting"):
                row = self._row(sides, mine, builder.add(first, builder.mul(step.index, integer(WARP))))
                grid.barrier(builder)
                for side in range(self.each):
                    value = builder.load("double", left_at(side), align=8)
                    others = [
                        builder.load("double", known_at(slot, side, integer(number)), align=8) for number in range(WARP)
                    ]
                    builder.store(_less(builder, value, row, others), left_at(side), align=8)
        builder.ret()
        return builder.function.name

    def _row(self, sides: _Sides, row: Value, column: Value) -> list[Value]:
        """Elements of a row from a column on, as many as a warp has lanes."""
        builder = sides.builder
        return [sides.factor(row, builder.add(column, integer(number))) for number in range(WARP)]

    def _square(self, builder: Builder, lane: Value, square: _Square, left: Sequence[Value]) -> list[Value]:
        """The unknowns of a warp, each in its lane, for each side.

        What is above the diagonal may be anything: it changes a lane's rest once its unknown is found.
        """
        left, found = list(left), list(left)
        for number in range(WARP):
            is_mine = builder.compare("eq", lane, integer(number))
            for side, value in enumerate(left):
                unknown = value if self.form.unit_diagonal else self._quotient(builder, value, square)
                spread = grid.from_lane(builder, unknown, number)
                found[side] = builder.select(is_mine, unknown, found[side])
                left[side] = builder.binary("fsub", value, builder.binary("fmul", square.row[number], spread, SUM), SUM)
        return found

    def _quotient(self, builder: Builder, value: Value, square: _Square) -> Value:
        """A rest by a pivot; narrow types have no pivots whose reciprocals f64 does not hold."""
        product = builder.binary("fmul", value, square.inverse)
        if self.form.element_type is not F64:
            return product
        size = builder.overloaded("fabs", [square.pivot])
        is_tiny = builder.compare("olt", size, floating(_TINY, "double"))
        is_odd = builder.binary("or", is_tiny, builder.compare("ogt", size, floating(_HUGE, "double")))
        return builder.choose(is_odd, lambda: builder.binary("fdiv", value, square.pivot), lambda: product)

    def _update(self) -> str:
        """Take what is known out of the rows that follow, a warp for each."""
        builder = grid.begin(self.module, self.kernel, grid.BLOCK, "_update", numbers=["first", "chunks"], talks=True)
        first, chunks = Value(I64, "%first"), Value(I64, "%chunks")
        group, chunk = builder.udivrem(grid.block(builder), chunks)
        sides = self._sides(builder, group)
        warp, lane = builder.udivrem(grid.thread(builder), integer(WARP))
        behind = builder.add(first, integer(self.rows))
        row = builder.add(behind, builder.add(builder.mul(chunk, integer(grid.BLOCK // WARP)), warp))
        columns = [builder.add(first, builder.add(lane, integer(n))) for n in range(0, self.rows, WARP)]
        own = [sides.factor(row, column) for column in columns]
        totals: list[Value] = []
        for side in range(self.each):
            known = [sides.left(side, column) for column in columns]
            total = _less(builder, floating(0.0, "double"), own, known)
            totals += grid.reduce_lanes(Emission(builder), [total], _added, WARP)
        is_first = builder.compare("eq", lane, integer(0))
        inside = builder.compare("slt", row, integer(self.form.size))
        with builder.when(builder.binary("and", is_first, inside), "first"):
            sides.begin(
                row,
                first,
                lambda side, value: sides.keep(side, row, builder.binary("fadd", value, totals[side])),
            )
        builder.ret()
        return builder.function.name

    def _sides(self, builder: Builder, group: Value) -> _Sides:
        """The right-hand sides of a block."""
        number, group = builder.udivrem(group, integer(self.groups))
        begins = builder.mul(group, integer(self.each))
        return _Sides(self, builder, number, [builder.add(begins, integer(side)) for side in range(self.each)])

    @property
    def side_tiles(self) -> int:
        """Tiles along the sides of a matrix."""
        return -(-self.form.columns // _TILE)

    def _update_tiles(self) -> str:
        """Take what is known out of the rows that follow, a block for a tile of rows and sides."""
        builder = grid.begin(self.module, self.kernel, _ACROSS**2, "_update", numbers=["first", "tiles"], talks=True)
        first, (above, tile) = Value(I64, "%first"), builder.udivrem(grid.block(builder), Value(I64, "%tiles"))
        number, across = builder.udivrem(above, integer(self.side_tiles))
        row = builder.add(builder.add(first, integer(self.rows)), builder.mul(tile, integer(_TILE)))
        side = builder.mul(across, integer(_TILE))
        high, low = builder.udivrem(grid.thread(builder), integer(_ACROSS))
        ahead = [builder.add(high, integer(n * _ACROSS)) for n in range(_EDGE)]
        mine = _Sides(self, builder, number, [builder.add(side, one) for one in ahead])
        sums = self._tile_sums(mine, (first, row), (low, high))
        for (n, column), total in zip(itertools.product(range(_EDGE), mine.columns), sums, strict=True):
            target = builder.add(row, builder.add(low, integer(n * _ACROSS)))
            self._take_out(_Sides(self, builder, number, [column]), target, first, total)
        builder.ret()
        return builder.function.name

    def _take_out(self, side: _Sides, row: Value, first: Value, total: Value) -> None:
        """Take a sum of products out of what is left of a row of a side, if there is such a one."""
        builder = side.builder
        inside = builder.compare("slt", row, integer(self.form.size))
        with builder.when(builder.binary("and", inside, side.exist[0]), "inside"):
            side.begin(row, first, lambda _, value: side.keep(0, row, builder.binary("fsub", value, total)))

    def _tile_sums(self, sides: _Sides, begins: tuple[Value, Value], thread: tuple[Value, Value]) -> Sequence[Value]:
        """The products of a thread's rows, every so many of the tile's, and its sides, added up.

        Args:
            sides: those that it loads for its block.
            begins: the first unknown that is known, and the first row.
            thread: the thread's numbers along rows, and along sides.
        """
        builder, (first, row), (low, high) = sides.builder, begins, thread
        stride, whole = _TILE + 1, _DEPTH * (_TILE + 1)
        shared = grid.shared_array(builder, f"tile.{self.kernel.name}", F64, 2 * whole)

        def at(offset: int, column: Value, number: Value) -> Value:
            element = builder.add(builder.mul(column, integer(stride)), number)
            return builder.gep("double", shared, builder.add(element, integer(offset)))

        def load(start: Value) -> list[Value]:
            column = builder.add(first, builder.add(start, low))
            rows = [builder.add(row, builder.add(high, integer(n * _ACROSS))) for n in range(_EDGE)]
            return [sides.factor(one, column) for one in rows] + [sides.left(n, column) for n in range(_EDGE)]

        zeros, count = [floating(0.0, "double")] * _EDGE**2, self.rows
        carried = [*zeros, *load(integer(0))]
        with builder.loop(
            integer(0), integer(count), step=_DEPTH, carried=carried, name="piece", nonempty=True
        ) as piece:
            sums, found = list(piece.carried[: _EDGE**2]), piece.carried[_EDGE**2 :]
            grid.barrier(builder)
            for n, value in enumerate(found):
                number = builder.add(high, integer(n % _EDGE * _ACROSS))
                builder.store(value, at(n // _EDGE * whole, low, number), align=8)
            grid.barrier(builder)
            following = load(builder.smin(builder.add(piece.index, integer(_DEPTH)), integer(count - _DEPTH)))
            for column in map(integer, range(_DEPTH)):
                left, right = (
                    [
                        builder.load("double", at(offset, column, builder.add(one, integer(n * _ACROSS))), align=8)
                        for n in range(_EDGE)
                    ]
                    for offset, one in ((0, low), (whole, high))
                )
                for n in range(_EDGE**2):
                    product = builder.binary("fmul", left[n // _EDGE], right[n % _EDGE], SUM)
                    sums[n] = builder.binary("fadd", sums[n], product, SUM)
            piece.carry(*sums, *following)
        return piece.results[: _EDGE**2]


class _Sides:
    """Right-hand sides of a matrix, with rows and columns counted along the substitution."""

    def __init__(self, solver: _Solver, builder: Builder, number: Value, columns: Sequence[Value]) -> None:
        self.solver, self.form, self.builder = solver, solver.form, builder
        self.matrix, self.right, self.solution = self.form.matrices(builder, number)
        last = integer(self.form.columns - 1)
        self.columns = columns
        self.exist = [builder.compare("sle", column, last) for column in self.columns]
        # Where there is no such side, the last one stands for it.
        self.read = [builder.smin(column, last) for column in self.columns]
        base = builder.mul(number, integer(self.form.columns * self.form.size))
        workspace = arguments(solver.kernel).workspace if solver.is_long else None
        self.workspace = workspace and builder.gep("double", workspace, base)

    def _along(self, row: Value) -> Value:
        """Which row of the matrix is that one of the substitution; the last one stands for what is past it."""
        inside = self.builder.smin(row, integer(self.form.size - 1))
        return inside if self.form.is_lower else self.builder.sub(integer(self.form.size - 1), inside)

    def factor(self, row: Value, column: Value) -> Value:
        """An element of the matrix."""
        return self.matrix.load(self._along(row), self._along(column))

    def _left(self) -> Matrix:
        """What is left of each side, and what is known of it, by row and column."""
        builder, base = self.builder, self.workspace
        assert base is not None
        return Matrix(
            builder,
            F64,
            lambda row, column: builder.gep(
                "double", base, builder.add(builder.mul(column, integer(self.form.size)), row)
            ),
        )

    def left(self, side: int, row: Value) -> Value:
        """What the workspace has of a side."""
        return self._left().load(self.builder.smin(row, integer(self.form.size - 1)), self.read[side])

    def keep(self, side: int, row: Value, value: Value) -> None:
        """Put a value of a side to the workspace, if there is such a side and row."""
        inside = self.builder.compare("slt", row, integer(self.form.size))
        with self.builder.when(self.builder.binary("and", inside, self.exist[side]), "kept"):
            self._left().store(row, self.columns[side], value)

    def begin(self, row: Value, first: Value, use: Callable[[int, Value], None]) -> None:
        """Use what is left of a row of each side: what is given, before anything is known."""
        builder, sides = self.builder, range(len(self.columns))

        def given() -> None:
            for side, value in enumerate([self.right.load(self._along(row), self.read[side]) for side in sides]):
                use(side, value)

        if self.workspace is None:
            given()
            return
        is_given = builder.compare("eq", first, integer(0))
        with builder.when(is_given, "given"):
            given()
        with builder.when(builder.compare("ne", first, integer(0)), "left"):
            for side, value in enumerate([self.left(side, row) for side in sides]):
                use(side, value)

    def store(self, side: int, row: Value, value: Value) -> None:
        """Write an unknown, if there is such a side and row."""
        inside = self.builder.compare("slt", row, integer(self.form.size))
        with self.builder.when(self.builder.binary("and", inside, self.exist[side]), "stored"):
            self.solution.store(self._along(row), self.columns[side], value)
        if self.workspace is not None:
            # What the last rows are found to be nobody needs.
            last = (self.form.size - 1) // self.solver.rows * self.solver.rows
            goes_on = self.builder.compare("slt", row, integer(last))
            with self.builder.when(self.builder.binary("and", goes_on, self.exist[side]), "known"):
                self._left().store(row, self.columns[side], value)


def _less(builder: Builder, start: Value, left: Sequence[Value], right: Sequence[Value]) -> Value:
    """A value less the products of pairs, in four sums."""
    sums = [start, *[floating(0.0, "double")] * 3]
    for number, (one, other) in enumerate(zip(left, right, strict=True)):
        product = builder.binary("fmul", one, other, SUM)
        sums[number % 4] = builder.binary("fsub", sums[number % 4], product, SUM)
    halves = (builder.binary("fadd", sums[0], sums[1]), builder.binary("fadd", sums[2], sums[3]))
    return builder.binary("fadd", *halves)


def _added(emission: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
    return [emission.builder.binary("fadd", one, other) for one, other in zip(left, right, strict=True)]
