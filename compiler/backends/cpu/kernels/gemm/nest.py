"""The loops around the register tile of a matrix product.

Blocks of columns, blocks of k, a panel of rows held in L1, and a register tile swept over a block of packed columns.

The nest itself only counts and calls, so LLVM is told not to optimise it, which would take longer than anything else.
What touches elements, packing and epilogue, is put into functions of its own, which are optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.dot import dot_scratch
from compiler.backends.cpu.kernels.gemm.micro import Tile, may_be_told, micro_kernel
from compiler.backends.cpu.kernels.gemm.pack import Packer, Panels, Rows, Steps
from compiler.backends.cpu.kernels.gemm.packing import pack_as_routine
from compiler.backends.cpu.kernels.gemm.plan import Plan
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Array, ColumnRange
from compiler.backends.cpu.kernels.gemm.share import Extent, Range, batches, blocks, share
from compiler.backends.cpu.kernels.gemm.stream import stream_scratch
from compiler.backends.cpu.kernels.gemm.vnni import FLIP
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import I1, PTR, Builder, Value, integer, keep_rolled
from compiler.codegen.workspace import whole_lines

NEST_ATTRIBUTES = "noinline optnone nounwind"


@dataclass(frozen=True, slots=True)
class Layout:
    """The offsets of a thread's buffers in its workspace, in bytes."""

    lhs: int
    rhs: int
    staging: int
    partial: int
    total: int

    @staticmethod
    def of(plan: Plan) -> Layout:
        """The buffers that a plan needs."""
        gemm = plan.gemm
        if plan.form != "tile":
            sizes = {"dot": dot_scratch, "stream": stream_scratch}
            total = whole_lines(sizes[plan.form](gemm)) if plan.form in sizes else 0
            return Layout(0, 0, 0, 0, total)
        left, right = _lhs_panels(plan), _rhs_panels(plan)
        extents = (
            0 if plan.lhs_direct else left.panel_elements + plan.lanes,
            0 if plan.rhs_direct else right.panel_elements * plan.column_block + plan.lanes,
            0 if plan.rhs_direct else right.staging_elements,
            0 if plan.out_direct else plan.row_block * plan.rows * plan.column_block * plan.columns,
        )
        offsets = [0]
        for extent in extents:
            offsets.append(offsets[-1] + whole_lines(extent * ELEMENT_BYTES[gemm.type]))
        return Layout(*offsets)


def _lhs_panels(plan: Plan) -> Rows | Panels:
    gemm, whole = plan.gemm, plan.gemm.k % plan.lanes == 0
    if gemm.lhs.row_major:
        return Rows(gemm.lhs, gemm.factor_type, plan.lanes, plan.rows, plan.depth, whole)
    return Panels(
        operand=gemm.lhs,
        type=gemm.factor_type,
        lanes=plan.lanes,
        width=plan.rows,
        last=plan.last_rows,
        count=plan.row_panels,
        depth=plan.depth,
        pad=0,
        whole=whole,
        most=plan.most_row,
    )


def _rhs_panels(plan: Plan) -> Panels:
    gemm = plan.gemm
    return Panels(
        operand=gemm.rhs.transposed(),
        type=gemm.factor_type,
        lanes=plan.lanes,
        width=plan.columns,
        last=plan.last_columns,
        count=plan.column_panels,
        depth=plan.depth,
        pad=plan.lanes,
        whole=gemm.k % plan.lanes == 0,
        most=plan.most_column,
        head=1 if gemm.words and gemm.words.flip else 0,
        gap=1,
        ahead=plan.ahead,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of register tiles: a batch, row panels, column panels and steps along k."""

    batch: Value
    rows: Range
    columns: Range


class _TilePosition(NamedTuple):
    """A register tile: the address of the left factor's rows, and the numbers of its panels of rows and of columns."""

    left: Value
    row: Value
    column: Value


class TileNest:
    """Emits the loops around the register tile; `parameters` are those that the product's callbacks refer to."""

    def __init__(
        self, b: Builder, plan: Plan, layout: Layout, scratch: Value, parameters: Sequence[tuple[str, str]]
    ) -> None:
        self.b = b
        self.name = b.function.name
        self.parameters = parameters
        self.plan = plan
        self.type = plan.gemm.type
        self.factor = plan.gemm.factor_type
        self.left = _lhs_panels(plan)
        self.right = _rhs_panels(plan)
        self.staging = self._at(scratch, layout.staging)
        self.packed_lhs = self._at(scratch, layout.lhs)
        head = self.right.head * self.right.pitch(plan.columns)
        self.packed_rhs = b.gep(self.factor, self._at(scratch, layout.rhs), integer(head))
        self.partial = self._at(scratch, layout.partial)

    def _apart(self, name: str, values: Sequence[Value], body: Callable[[LaneBuilder, Sequence[Value]], None]) -> None:
        """Emit `body`, given `values`, as a function of its own and call it."""
        passed = [(n, value) for n, value in enumerate(values) if value.literal is None]
        own = [(f"{v.type} noalias" if v.type == PTR else v.type, f"given{n}") for n, v in passed]
        function = self.b.module.function(
            f"{self.name}.{name}",
            "void",
            [*self.parameters, *own],
            linkage="internal",
            attributes="noinline nounwind",
        )
        inner, given = LaneBuilder(function), list(values)
        for (n, _), argument in zip(passed, function.arguments[len(self.parameters) :], strict=True):
            given[n] = argument
        body(inner, given)
        inner.ret()
        outer = [Value(type_.split(" ")[0], f"%{n}") for type_, n in self.parameters]
        self.b.call(f"@{function.name}", "void", [*outer, *(value for _, value in passed)])

    def _at(self, scratch: Value, offset: int) -> Value:
        return self.b.gep("i8", scratch, integer(offset))

    @property
    def _out_pitch(self) -> int:
        out = self.plan.gemm.out
        return out.row if self.plan.out_direct and out else self.plan.column_block * self.plan.columns

    def emit(self, threads: tuple[Value, Value]) -> None:
        """The whole nest, for one thread."""
        b, plan = self.b, self.plan
        gemm = plan.gemm
        packs = int(not plan.lhs_direct), int(not plan.rhs_direct)
        edges = (plan.edge, 0) if gemm.exchanged else (0, plan.edge)
        extent = Extent(gemm.batch, plan.row_panels, plan.column_panels, *packs, *edges)
        mine = share(b, extent, *threads)
        with (
            batches(b, mine) as (batch, rows),
            blocks(b, mine.columns, plan.column_block, plan.column_panels, "columns") as columns,
        ):
            if plan.depth_blocks == 1:
                steps = Steps(batch, integer(0), integer(gemm.k))
                self._pack_rhs(columns, steps)
            with blocks(b, rows, plan.row_block, plan.row_panels, "rows") as row_block:
                block = _Block(batch, row_block, columns)
                if plan.depth_blocks == 1:
                    self._sweep(block, steps)
                else:
                    self._sum_depth(block)
                if not plan.out_direct:
                    self._store(block)

    def _sum_depth(self, block: _Block) -> None:
        b, plan = self.b, self.plan
        with b.loop(
            integer(0),
            integer(plan.gemm.k),
            step=plan.depth,
            name="depth",
            nonempty=True,
            metadata=keep_rolled(b.module),
        ) as depth:
            count = b.smin(b.sub(integer(plan.gemm.k), depth.index), integer(plan.depth))
            steps = Steps(block.batch, depth.index, count)
            self._pack_rhs(block.columns, steps)
            self._sweep(block, steps)

    def _pack_rhs(self, columns: Range, steps: Steps) -> None:
        b, panels = self.b, self.right
        if self.plan.rhs_direct:
            return

        def pack(b: Builder, given: Sequence[Value]) -> None:
            batch, first, count, start, stop, packed, staging = given
            packer = Packer(f"{self.name}.rhs", panels, staging)
            packer.pack(b, Steps(batch, first, count), Range(start, stop), packed)

        if not pack_as_routine(b, panels, steps, columns, self.packed_rhs):
            buffers = self.packed_rhs, self.staging
            values = [steps.batch, steps.start, steps.count, columns.start, columns.stop, *buffers]
            self._apart("pack.rhs", values, pack)
        if not panels.head:
            return
        with b.loop(columns.start, columns.stop, name="head", nonempty=True) as panel:
            callee = self._correction(panels.width)
            pitch = integer(panels.pitch(panels.width))
            if panels.last < panels.width:
                last = b.compare("eq", panel.index, integer(panels.count - 1))
                callee = b.select(last, self._correction(panels.last), callee)
                pitch = b.select(last, integer(panels.pitch(panels.last)), pitch)
            right = self._rhs_panel(b.sub(panel.index, columns.start))
            out = b.gep(self.factor, right, b.sub(integer(0), pitch))
            flip = b.module.define_global("gemm.flip", f"internal constant {FLIP}, align 4")
            told = self._of_one_word(panels.width).told
            b.call(callee.name, "void", [flip, right, out, steps.count, Value(I1, "false"), *told])

    def _of_one_word(self, columns: int) -> Tile:
        """The tile of a correction, which is told something if that of the last panel is, too."""
        tile = self._register_tile(1, columns).of_one_word
        return replace(tile, may_be_told=tile.may_be_told and self.right.last == self.right.width)

    def _correction(self, columns: int) -> Value:
        """What sums up the products of a panel's columns with what the left factor's words were flipped by."""
        tile = self._of_one_word(columns)
        return micro_kernel(self.b.module, tile.routine or f"{self.name}.correction.{columns}", tile)

    def _rhs_panel(self, index: Value) -> Value:
        size = self.right.panel_elements
        return self.b.gep(self.factor, self.packed_rhs, self.b.mul(index, integer(size)))

    def _first_row(self, panel: Value) -> Value:
        """The row at which a register tile starts."""
        row = self.b.mul(panel, integer(self.plan.rows))
        return row if self.plan.most_row is None else self.b.smin(row, integer(self.plan.most_row))

    def _sweep(self, block: _Block, steps: Steps) -> None:
        """Every register tile of a block over the given steps."""
        b = self.b
        with b.loop(block.rows.start, block.rows.stop, name="panel", nonempty=True) as row:
            left = self._lhs_address(row.index, steps)
            self._sweep_row(block, steps, left, row.index)

    def _sweep_row(self, block: _Block, steps: Steps, left: Value, row: Value) -> None:
        b, plan = self.b, self.plan
        if plan.column_panels == 1:
            self._tile(block, steps, _TilePosition(left, row, integer(0)), plan.last_columns)
            return
        stop = block.columns.stop
        partial = plan.last_columns < plan.columns
        if partial:
            stop = b.smin(stop, integer(plan.column_panels - 1))
        with b.loop(block.columns.start, stop, name="tile", nonempty=not partial) as column:
            self._tile(block, steps, _TilePosition(left, row, column.index), plan.columns)
        if partial:
            last = integer(plan.column_panels - 1)
            with b.when(b.compare("sgt", block.columns.stop, last), "edge"):
                self._tile(block, steps, _TilePosition(left, row, last), plan.last_columns)

    def _lhs_address(self, panel: Value, steps: Steps) -> Value:
        b, plan, array = self.b, self.plan, self.plan.gemm.lhs.array
        row = self._first_row(panel)
        if plan.lhs_direct and array is not None:
            return b.gep(self.factor, array.base(b, steps.batch), array.offset(b, row, steps.start))
        left, start, stop = self.left, panel, b.add(panel, integer(1))
        if isinstance(left, Rows):
            start, stop = row, b.add(row, integer(plan.rows))
            if plan.last_rows < plan.rows:
                stop = b.smin(stop, integer(plan.gemm.m))

        def pack(b: Builder, given: Sequence[Value]) -> None:
            batch, first, count, start, stop, packed = given
            ranges = Steps(batch, first, count), Range(start, stop)
            if isinstance(left, Rows):
                left.copy(b, *ranges, packed)
            else:
                Packer(f"{self.name}.lhs", left, packed).pack(b, *ranges, packed)

        if not pack_as_routine(b, left, steps, Range(start, stop), self.packed_lhs):
            self._apart("pack.lhs", [steps.batch, steps.start, steps.count, start, stop, self.packed_lhs], pack)
        return self.packed_lhs

    def _rhs_address(self, block: _Block, steps: Steps, panel: Value) -> Value:
        b, array = self.b, self.plan.gemm.rhs.array
        if not self.plan.rhs_direct or array is None:
            return self._rhs_panel(b.sub(panel, block.columns.start))
        column = self.right.first(b, panel)
        return b.gep(self.factor, array.base(b, steps.batch), array.offset(b, steps.start, column))

    def _out_address(self, block: _Block, row: Value, column: Value) -> Value:
        """Where the sums of the register tile in these panels lie."""
        b, array = self.b, self.plan.gemm.out
        down, along = self._first_row(row), self.right.first(b, column)
        if self.plan.out_direct and array is not None:
            return b.gep(self.type, array.base(b, block.batch), array.offset(b, down, along))
        down = b.sub(down, self._first_row(block.rows.start))
        along = b.sub(along, self.right.first(b, block.columns.start))
        return b.gep(self.type, self.partial, b.add(b.mul(down, integer(self._out_pitch)), along))

    def _tile(self, block: _Block, steps: Steps, where: _TilePosition, columns: int) -> None:
        b, plan = self.b, self.plan
        left, row, column = where
        right = self._rhs_address(block, steps, column)
        out = self._out_address(block, row, column)
        callee = self._kernel(plan.rows, columns)
        if plan.last_rows < plan.rows:
            lower = b.compare("eq", row, integer(plan.row_panels - 1))
            edge = self._kernel(plan.last_rows, columns)
            callee = b.select(lower, edge, callee) if plan.row_panels > 1 else edge
        resumes = b.compare("sgt", steps.start, integer(0)) if plan.depth_blocks > 1 else Value(I1, "false")
        addend = plan.gemm.addend if plan.out_direct else None
        addends = self._addend_address(addend, block.batch, row, column) if addend else []
        told = self._register_tile(plan.rows, columns).told
        b.call(callee.name, "void", [left, right, out, steps.count, resumes, *told, *addends])

    def _addend_address(self, array: Array, batch: Value, row: Value, column: Value) -> list[Value]:
        """Where the register tile in these panels lies in an array, as an argument."""
        offset = array.offset(self.b, self._first_row(row), self.right.first(self.b, column))
        return [self.b.gep(self.type, array.base(self.b, batch), offset)]

    def _kernel(self, rows: int, columns: int) -> Value:
        tile = self._register_tile(rows, columns)
        return micro_kernel(self.b.module, tile.routine or f"{self.name}.tile.{rows}x{columns}", tile)

    def _register_tile(self, rows: int, columns: int) -> Tile:
        plan, gemm = self.plan, self.plan.gemm
        left = gemm.lhs.array if plan.lhs_direct else None
        right = gemm.rhs.array if plan.rhs_direct else None
        along, step = (self.left.pitch, 1) if isinstance(self.left, Rows) else (1, plan.rows)
        return Tile(
            type=self.type,
            lanes=plan.lanes,
            rows=rows,
            columns=columns,
            lhs_row=left.row if left else along,
            lhs_step=left.column if left else step,
            rhs_step=right.row if right else self.right.pitch(columns),
            out_row=self._out_pitch,
            partial_load=right is not None,
            partial_store=plan.out_direct,
            accumulates=plan.depth_blocks > 1,
            words=gemm.words,
            corrected=self.right.head > 0,
            addend_row=gemm.addend.row if gemm.addend and plan.out_direct else None,
            may_be_told=may_be_told(plan.rows, plan.depth, packed=not plan.rhs_direct),
        )

    def _store(self, block: _Block) -> None:
        """The epilogue over a finished block."""
        b, plan, gemm = self.b, self.plan, self.plan.gemm
        first = b.mul(block.rows.start, integer(plan.rows))
        height = b.sub(b.smin(b.mul(block.rows.stop, integer(plan.rows)), integer(gemm.m)), first)
        left = b.mul(block.columns.start, integer(plan.columns))
        width = b.sub(b.smin(b.mul(block.columns.stop, integer(plan.columns)), integer(gemm.n)), left)
        sums = self._out_address(block, block.rows.start, block.columns.start)
        # A tile that overlaps others starts with what has been stored already.
        skipped = b.mul(b.sub(first, self._first_row(block.rows.start)), integer(self._out_pitch))
        skipped = b.add(skipped, b.sub(left, self.right.first(b, block.columns.start)))
        sums = b.gep(self.type, sums, skipped)
        self._apart("store", [block.batch, first, left, height, width, sums], self._store_block)

    def _store_block(self, b: LaneBuilder, given: Sequence[Value]) -> None:
        gemm = self.plan.gemm
        batch, first, left, height, width, sums = given
        if gemm.store_row is not None:
            stop, each = b.add(left, width), self.plan.lanes
            lanes = Lanes(each, 1, whole=gemm.n % each == self.plan.columns % each == 0)
            with b.loop(integer(0), height, name="row", nonempty=True, metadata=keep_rolled(b.module)) as row:
                here = b.gep(self.type, sums, b.mul(row.index, integer(self._out_pitch)))
                gemm.store_row(b, lanes, ColumnRange(batch, b.add(first, row.index), left, stop), here)
            return
        outer, inner = (width, height) if gemm.exchanged else (height, width)
        metadata = keep_rolled(b.module, interleave=gemm.interleave) if gemm.interleave else ""
        with (
            b.loop(integer(0), outer, name="outer", nonempty=True, metadata=keep_rolled(b.module)) as one,
            b.loop(integer(0), inner, name="inner", nonempty=True, metadata=metadata) as other,
        ):
            row, column = (other, one) if gemm.exchanged else (one, other)
            offset = b.add(b.mul(row.index, integer(self._out_pitch)), column.index)
            value = b.load(self.type, b.gep(self.type, sums, offset))
            gemm.store(b, batch, b.add(first, row.index), b.add(left, column.index), value)
