"""Matrix products as kernels generated for one shape, memory order, element type and CPU.

A pure generator: it knows nothing of HLO.  The caller describes the product as a `Gemm` whose operands and epilogue are
callbacks that emit scalar code, so conversions and transpositions are fused into packing and epilogues into the store;
where an operand or the result is a plain array it says so and vectors go straight to memory.

The general form is the classic one: blocks of columns, blocks of k, a panel of rows held in L1, and a register tile
swept over a block of packed columns.  There is no BLAS to depend on, and none is needed: this runs at the speed of
OpenBLAS for large products and above it for small ones, which it reads without packing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.gemm_amx import AmxNest, applies
from compiler.backends.cpu.kernels.gemm_micro import Tile, micro_kernel
from compiler.backends.cpu.kernels.gemm_narrow import dot_scratch, emit_dot, emit_stream, stream_scratch
from compiler.backends.cpu.kernels.gemm_pack import Packer, Panels, Steps
from compiler.backends.cpu.kernels.gemm_plan import (
    ELEMENT_BYTES,
    Array,
    Gemm,
    Load,
    Narrow,
    Operand,
    Plan,
    Store,
    plan,
)
from compiler.backends.cpu.kernels.gemm_share import Extent, Range, batches, blocks, minimum, share
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import I1, I64, PTR, Builder, Module, Value, integer, keep_rolled, zero

__all__ = ["Array", "Gemm", "Load", "Narrow", "Operand", "Plan", "Store", "emit", "plan"]

_LINE = 64


def emit(module: Module, name: str, gemm: Gemm, target: Target, parameters: Sequence[tuple[str, str]]) -> int:
    """Define `void NAME(PARAMETERS..., ptr workspace, i64 thread, i64 threads)`; returns bytes of workspace per thread.

    `parameters` are (type with attributes, name) and are what the callbacks refer to, as `%name`.  The workspace is
    64-byte aligned and holds the returned bytes once for every thread; each call with a `thread` from 0 to
    `threads` - 1 computes its own part, in any order or at the same time, without waiting for another.
    """
    own = [(f"{PTR} noalias", "workspace"), (I64, "thread"), (I64, "threads")]
    function = module.function(name, "void", [*parameters, *own])
    workspace, *threads = function.arguments[-3:]
    b = Builder(function)
    left, right = gemm.lhs.narrow, gemm.rhs.narrow
    if left and right and applies(gemm, target):
        nest = AmxNest(name, gemm, left, right)
        nest.emit(b, b.gep("i8", workspace, b.mul(threads[0], integer(nest.workspace_bytes))), (threads[0], threads[1]))
        b.ret()
        return nest.workspace_bytes
    decided = plan(gemm, target)
    layout = _Layout.of(decided)
    scratch = b.gep("i8", workspace, b.mul(threads[0], integer(layout.total)))
    thread, count = threads
    if decided.form == "tile":
        _TileNest(b, name, decided, layout, scratch).emit((thread, count))
    elif decided.form == "dot":
        emit_dot(b, decided.gemm, scratch, (thread, count))
    elif decided.form == "stream":
        emit_stream(b, decided.gemm, scratch, (thread, count))
    elif decided.form == "zero":
        _emit_zero(b, decided.gemm, (thread, count))
    b.ret()
    return layout.total


def _emit_zero(b: Builder, gemm: Gemm, threads: tuple[Value, Value]) -> None:
    mine = share(b, Extent(gemm.batch, gemm.m, 1), *threads)
    with (
        batches(b, mine) as (batch, rows),
        b.loop(rows.start, rows.stop, name="row") as row,
        b.loop(integer(0), integer(gemm.n), name="column", nonempty=True) as column,
    ):
        gemm.store(b, batch, row.index, column.index, zero(gemm.type))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a thread's buffers lie in its workspace, in bytes."""

    lhs: int
    rhs: int
    staging: int
    partial: int
    total: int

    @staticmethod
    def of(plan: Plan) -> _Layout:
        gemm = plan.gemm
        if plan.form != "tile":
            sizes = {"dot": dot_scratch, "stream": stream_scratch}
            total = _aligned(sizes[plan.form](gemm)) if plan.form in sizes else 0
            return _Layout(0, 0, 0, 0, total)
        left, right = _lhs_panels(plan), _rhs_panels(plan)
        staging = max(0 if plan.lhs_direct else left.staging_elements, 0 if plan.rhs_direct else right.staging_elements)
        extents = (
            0 if plan.lhs_direct else left.panel_elements + plan.lanes,
            0 if plan.rhs_direct else right.panel_elements * plan.column_block + plan.lanes,
            staging,
            0 if plan.out_direct else plan.row_block * plan.rows * plan.column_block * plan.columns,
        )
        offsets = [0]
        for extent in extents:
            offsets.append(offsets[-1] + _aligned(extent * ELEMENT_BYTES[gemm.type]))
        return _Layout(*offsets)


def _aligned(size: int) -> int:
    return -(-size // _LINE) * _LINE


def _lhs_panels(plan: Plan) -> Panels:
    gemm = plan.gemm
    return Panels(
        *(gemm.lhs, gemm.type, plan.lanes),
        *(plan.rows, plan.last_rows, plan.row_panels, plan.depth),
        pad=0,
        whole=gemm.k % plan.lanes == 0,
    )


def _rhs_panels(plan: Plan) -> Panels:
    gemm = plan.gemm
    return Panels(
        *(gemm.rhs.transposed(), gemm.type, plan.lanes),
        *(plan.columns, plan.last_columns, plan.column_panels, plan.depth),
        pad=plan.lanes,
        whole=gemm.k % plan.lanes == 0,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of register tiles: a batch, row panels, column panels and steps along k."""

    batch: Value
    rows: Range
    columns: Range


class _TileNest:
    """Emits the loops around the register tile."""

    def __init__(self, b: Builder, name: str, plan: Plan, layout: _Layout, scratch: Value) -> None:
        self.b = b
        self.name = name
        self.plan = plan
        self.type = plan.gemm.type
        staging = self._at(scratch, layout.staging)
        self.lhs = Packer(f"{name}.lhs", _lhs_panels(plan), staging)
        self.rhs = Packer(f"{name}.rhs", _rhs_panels(plan), staging)
        self.packed_lhs = self._at(scratch, layout.lhs)
        self.packed_rhs = self._at(scratch, layout.rhs)
        self.partial = self._at(scratch, layout.partial)

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
        extent = Extent(gemm.batch, plan.row_panels, plan.column_panels, plan.rows, plan.columns)
        mine = share(b, extent, *threads)
        with (
            b.when(mine.present(b), "present"),
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
                if not (plan.out_direct and gemm.plain_store):
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
            count = minimum(b, b.sub(integer(plan.gemm.k), depth.index), plan.depth)
            steps = Steps(block.batch, depth.index, count)
            self._pack_rhs(block.columns, steps)
            self._sweep(block, steps)

    def _pack_rhs(self, columns: Range, steps: Steps) -> None:
        if self.plan.rhs_direct:
            return
        self.rhs.pack(self.b, steps, columns, self.packed_rhs)

    def _rhs_panel(self, index: Value) -> Value:
        size = self.rhs.panels.panel_elements
        return self.b.gep(self.type, self.packed_rhs, self.b.mul(index, integer(size)))

    def _sweep(self, block: _Block, steps: Steps) -> None:
        """Every register tile of a block over the given steps."""
        b, plan = self.b, self.plan
        with b.loop(block.rows.start, block.rows.stop, name="panel", nonempty=True) as row:
            left = self._lhs_address(row.index, steps)
            stop = block.columns.stop
            partial = plan.last_columns < plan.columns
            if partial:
                stop = minimum(b, stop, plan.column_panels - 1)
            with b.loop(block.columns.start, stop, name="tile", nonempty=not partial) as column:
                self._tile(block, steps, (left, row.index, column.index), plan.columns)
            if partial:
                last = integer(plan.column_panels - 1)
                with b.when(b.compare("sgt", block.columns.stop, last), "edge"):
                    self._tile(block, steps, (left, row.index, last), plan.last_columns)

    def _lhs_address(self, panel: Value, steps: Steps) -> Value:
        b, plan, array = self.b, self.plan, self.plan.gemm.lhs.array
        if not plan.lhs_direct or array is None:
            self.lhs.pack(b, steps, Range(panel, b.add(panel, integer(1))), self.packed_lhs)
            return self.packed_lhs
        row = b.mul(panel, integer(plan.rows * array.row))
        offset = b.add(row, b.mul(steps.start, integer(array.column)))
        return b.gep(self.type, array.base(b, steps.batch), offset)

    def _rhs_address(self, block: _Block, steps: Steps, panel: Value) -> Value:
        b, plan, array = self.b, self.plan, self.plan.gemm.rhs.array
        if not plan.rhs_direct or array is None:
            return self._rhs_panel(b.sub(panel, block.columns.start))
        column = b.mul(panel, integer(plan.columns))
        offset = b.add(column, b.mul(steps.start, integer(array.row)))
        return b.gep(self.type, array.base(b, steps.batch), offset)

    def _out_address(self, block: _Block, row: Value, column: Value) -> Value:
        b, plan, array = self.b, self.plan, self.plan.gemm.out
        if not plan.out_direct or array is None:
            down = b.mul(b.sub(row, block.rows.start), integer(plan.rows * self._out_pitch))
            along = b.mul(b.sub(column, block.columns.start), integer(plan.columns))
            return b.gep(self.type, self.partial, b.add(down, along))
        down = b.mul(row, integer(plan.rows * array.row))
        along = b.mul(column, integer(plan.columns))
        return b.gep(self.type, array.base(b, block.batch), b.add(down, along))

    def _tile(self, block: _Block, steps: Steps, where: tuple[Value, Value, Value], columns: int) -> None:
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
        b.call(callee.name, "void", [left, right, out, steps.count, resumes])

    def _kernel(self, rows: int, columns: int) -> Value:
        name = f"{self.name}.tile.{rows}x{columns}"
        if self.b.module.has_function(name):
            return Value(PTR, f"@{name}")
        plan, gemm = self.plan, self.plan.gemm
        left = gemm.lhs.array if plan.lhs_direct else None
        right = gemm.rhs.array if plan.rhs_direct else None
        tile = Tile(
            type=self.type,
            lanes=plan.lanes,
            rows=rows,
            columns=columns,
            lhs_row=left.row if left else 1,
            lhs_step=left.column if left else plan.rows,
            rhs_step=right.row if right else self.rhs.panels.pitch(columns),
            out_row=self._out_pitch,
            partial_load=right is not None,
            partial_store=plan.out_direct,
            accumulates=plan.depth_blocks > 1,
        )
        return micro_kernel(self.b.module, name, tile)

    def _store(self, block: _Block) -> None:
        """The epilogue over a finished block."""
        b, plan, gemm = self.b, self.plan, self.plan.gemm
        first = b.mul(block.rows.start, integer(plan.rows))
        height = b.sub(minimum(b, b.mul(block.rows.stop, integer(plan.rows)), gemm.m), first)
        left = b.mul(block.columns.start, integer(plan.columns))
        width = b.sub(minimum(b, b.mul(block.columns.stop, integer(plan.columns)), gemm.n), left)
        sums = self._out_address(block, block.rows.start, block.columns.start)
        outer, inner = (width, height) if gemm.exchanged else (height, width)
        with (
            b.loop(integer(0), outer, name="outer", nonempty=True, metadata=keep_rolled(b.module)) as one,
            b.loop(integer(0), inner, name="inner", nonempty=True) as other,
        ):
            row, column = (other, one) if gemm.exchanged else (one, other)
            offset = b.add(b.mul(row.index, integer(self._out_pitch)), column.index)
            value = b.load(self.type, b.gep(self.type, sums, offset))
            gemm.store(b, block.batch, b.add(first, row.index), b.add(left, column.index), value)
