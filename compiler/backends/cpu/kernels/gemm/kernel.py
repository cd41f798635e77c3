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

from compiler.backends.cpu.kernels.gemm.amx import AmxNest
from compiler.backends.cpu.kernels.gemm.dot import GroupShape, emit_dot
from compiler.backends.cpu.kernels.gemm.nest import NEST_ATTRIBUTES, Layout, TileNest
from compiler.backends.cpu.kernels.gemm.plan import Plan
from compiler.backends.cpu.kernels.gemm.product import Gemm
from compiler.backends.cpu.kernels.gemm.share import Extent, batches, share
from compiler.backends.cpu.kernels.gemm.stream import emit_stream
from compiler.codegen.llvm_ir import I64, PTR, Builder, Function, Module, Value, integer, zero

_OWN = ((f"{PTR} noalias", "workspace"), (I64, "thread"), (I64, "threads"))
"""Parameters behind those that callbacks refer to."""


@dataclass(frozen=True, slots=True)
class Product:
    """A function `void NAME(PARAMETERS..., ptr workspace, i64 thread, i64 threads)` that computes a planned product.

    The workspace is 64-byte aligned and holds `shared` bytes, which callbacks may use as `%workspace`, then
    `thread_bytes` once for every thread; each call with a `thread` from 0 to `threads` - 1 computes its own part, in
    any order or at the same time, without waiting for another.

    Attributes:
        plan: what was decided.
        shared: bytes at the start of the workspace that are the callbacks'.
    """

    plan: Plan
    shared: int = 0

    @property
    def thread_bytes(self) -> int:
        """Workspace for each thread."""
        return Layout.of(self.plan).total

    def emit(self, module: Module, name: str, parameters: Sequence[tuple[str, str]]) -> None:
        """Define the function that computes the product.

        Args:
            module: where the function is defined.
            name: of the function.
            parameters: type with attributes, and name, of each; callbacks refer to them as `%name`.
        """
        decided = self.plan
        function = _begin(module, name, parameters, NEST_ATTRIBUTES if decided.form == "tile" else "nounwind")
        workspace, *threads = function.arguments[-3:]
        b, layout = Builder(function), Layout.of(decided)
        scratch = b.gep("i8", workspace, b.add(b.mul(threads[0], integer(layout.total)), integer(self.shared)))
        thread, count = threads
        if decided.form == "tile":
            seen = [*parameters, _OWN[0]] if self.shared else parameters
            TileNest(b, decided, layout, scratch, seen).emit((thread, count))
        elif decided.form == "dot":
            shape = GroupShape(decided.lanes, decided.rows, decided.vectors)
            emit_dot(b, decided.gemm, shape, scratch, (thread, count))
        elif decided.form == "stream":
            emit_stream(b, decided.gemm, decided.lanes, scratch, (thread, count))
        elif decided.form == "zero":
            _emit_zero(b, decided.gemm, (thread, count))
        b.ret()


@dataclass(frozen=True, slots=True)
class ProductOnTiles:
    """A product on tile registers, AMX, for products that they suit."""

    gemm: Gemm

    @property
    def thread_bytes(self) -> int:
        """Workspace for each thread."""
        return self._nest("").workspace_bytes

    def emit(self, module: Module, name: str, parameters: Sequence[tuple[str, str]]) -> None:
        """Define the function that computes the product.

        Args:
            module: where the function goes.
            name: the function's name.
            parameters: LLVM's types and names of its parameters.
        """
        function = _begin(module, name, parameters, "nounwind")
        workspace, thread, threads = function.arguments[-3:]
        b, nest = Builder(function), self._nest(name)
        nest.emit(b, b.gep("i8", workspace, b.mul(thread, integer(nest.workspace_bytes))), (thread, threads))
        b.ret()

    def _nest(self, name: str) -> AmxNest:
        left, right = self.gemm.lhs.narrow, self.gemm.rhs.narrow
        assert left is not None
        assert right is not None
        return AmxNest(name, self.gemm, left, right)


def _begin(module: Module, name: str, parameters: Sequence[tuple[str, str]], attributes: str) -> Function:
    return module.function(name, "void", [*parameters, *_OWN], attributes=attributes)


def _emit_zero(b: Builder, gemm: Gemm, threads: tuple[Value, Value]) -> None:
    mine = share(b, Extent(gemm.batch, gemm.m, 1), *threads)
    with (
        batches(b, mine) as (batch, rows),
        b.loop(rows.start, rows.stop, name="row") as row,
        b.loop(integer(0), integer(gemm.n), name="column", nonempty=True) as column,
    ):
        gemm.store(b, batch, row.index, column.index, zero(gemm.type))
