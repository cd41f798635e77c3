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

from compiler.backends.cpu.kernels.gemm.amx import AmxNest, applies
from compiler.backends.cpu.kernels.gemm.dot import emit_dot
from compiler.backends.cpu.kernels.gemm.nest import NEST_ATTRIBUTES, Layout, TileNest
from compiler.backends.cpu.kernels.gemm.plan import plan
from compiler.backends.cpu.kernels.gemm.product import Gemm
from compiler.backends.cpu.kernels.gemm.share import Extent, batches, share
from compiler.backends.cpu.kernels.gemm.stream import emit_stream
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import I64, PTR, Builder, Module, Value, integer, zero


def emit(
    module: Module, name: str, gemm: Gemm, target: Target, parameters: Sequence[tuple[str, str]], *, shared: int = 0
) -> int:
    """Define `void NAME(PARAMETERS..., ptr workspace, i64 thread, i64 threads)`; returns bytes of workspace per thread.

    `parameters` are (type with attributes, name) and are what the callbacks refer to, as `%name`.  The workspace is
    64-byte aligned and holds `shared` bytes, which callbacks may use as `%workspace`, then the returned bytes once for
    every thread; each call with a `thread` from 0 to `threads` - 1 computes its own part, in any order or at the same
    time, without waiting for another.
    """
    own = [(f"{PTR} noalias", "workspace"), (I64, "thread"), (I64, "threads")]
    left, right = gemm.lhs.narrow, gemm.rhs.narrow
    tiles = bool(left and right and applies(gemm, target))
    decided = plan(gemm, target)
    attributes = NEST_ATTRIBUTES if decided.form == "tile" and not tiles else "nounwind"
    function = module.function(name, "void", [*parameters, *own], attributes=attributes)
    workspace, *threads = function.arguments[-3:]
    b = Builder(function)
    if left and right and tiles:
        nest = AmxNest(name, gemm, left, right)
        nest.emit(b, b.gep("i8", workspace, b.mul(threads[0], integer(nest.workspace_bytes))), (threads[0], threads[1]))
        b.ret()
        return nest.workspace_bytes
    layout = Layout.of(decided)
    scratch = b.gep("i8", workspace, b.add(b.mul(threads[0], integer(layout.total)), integer(shared)))
    thread, count = threads
    if decided.form == "tile":
        seen = [*parameters, own[0]] if shared else parameters
        TileNest(b, decided, layout, scratch, seen).emit((thread, count))
    elif decided.form == "dot":
        emit_dot(b, decided.gemm, (decided.lanes, decided.rows, decided.vectors), scratch, (thread, count))
    elif decided.form == "stream":
        emit_stream(b, decided.gemm, decided.lanes, scratch, (thread, count))
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
