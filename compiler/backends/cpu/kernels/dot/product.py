"""Dots as batches of matrix products.

The dimensions of a dot fall into four groups, batch, rows, columns and depth; each is walked by one linear index.
What is fused before the dot is evaluated while its operands are packed (`dot_operand`), the epilogue where a result
element is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.analysis.views import view
from compiler.backends.cpu.kernels.dot import addresses
from compiler.backends.cpu.kernels.dot.dot_operand import DotOperand
from compiler.backends.cpu.kernels.gemm.product import Array, ColumnRange, Gemm
from compiler.backends.cpu.kernels.vectors import epilogue
from compiler.backends.cpu.kernels.vectors.interleaving import interleave
from compiler.backends.cpu.kernels.vectors.lanes import Counters, Lanes, Loops
from compiler.codegen import cost, element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import Builder, Value
from compiler.codegen.product import Factor, accumulation_type
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction

_SHORTEST_ROW = 4
"""Elements of a row from which on it is worth a vector."""


class Product:
    """The mapping from an HLO dot in a kernel, or what amounts to one, to a `Gemm`.

    The result's dimensions are those of the batch, the rows and the columns; a factor without a batch serves all of it.
    """

    def __init__(self, kernel: Kernel, dot: Instruction, lhs: Factor, rhs: Factor) -> None:
        self.kernel = kernel
        self.dot = dot
        self.type = accumulation_type(dot)
        self.lhs, self.rhs = lhs, rhs
        self.operands = (
            DotOperand(kernel, lhs, lhs.free, lhs.depth, self.type),
            DotOperand(kernel, rhs, rhs.depth, rhs.free, self.type),
        )
        self.batch = max(lhs.count(lhs.batch), rhs.count(rhs.batch))
        if 0 in (lhs.count(lhs.batch), rhs.count(rhs.batch)):
            self.batch = 0

    def gemm(self) -> Gemm:
        """The dot as a batch of matrix products, with what is stored of each sum."""
        plain = self.kernel.roots == (self.dot,) and self.dot.array.element_type is self.type
        addend = self._addend()
        return Gemm(
            batch=self.batch,
            m=self.lhs.count(self.lhs.free),
            n=self.rhs.count(self.rhs.free),
            k=self.lhs.count(self.lhs.depth),
            type=element.value_type(self.type),
            lhs=self.operands[0].operand(),
            rhs=self.operands[1].operand(),
            store=self._store,
            store_row=self._store_row if self._has_rows else None,
            out=self._result() if plain or addend else None,
            addend=addend,
            accumulates=addend is not None and bool(self.kernel.in_place),
            interleave=interleave(self.kernel, self.rhs.count(self.rhs.free), cost.nanoseconds(self.kernel)),
        )

    def _addend(self) -> Array | None:
        """What is added to the product, where that is all the epilogue and lies plainly, or spread, in memory."""
        (root,), leaves = self.kernel.roots, dict(self.kernel.leaves)
        if root.opcode != "add" or self.dot not in root.operands or root.array.element_type is not self.type:
            return None
        (other, *_) = [operand for operand in root.operands if operand is not self.dot] or [self.dot]
        spread = other.opcode == "broadcast" and other not in leaves
        seen = view(other.operands[0] if spread else other, leaves)
        if seen is None:
            return None
        dims = root.array.dims
        if spread:
            strides = dict(zip(other.attributes["dimensions"], seen.strides, strict=True))
            seen = replace(seen, dims=dims, strides=tuple(strides.get(d, 0) for d in range(len(dims))))
        columns = len(dims) - len(self.rhs.free)
        rows = columns - len(self.lhs.free)
        if dims[rows:] != (*self.lhs.sizes(self.lhs.free), *self.rhs.sizes(self.rhs.free)):
            return None
        row, column = seen.joint_stride(range(rows, columns)), seen.joint_stride(range(columns, len(dims)))
        if row is None or column is None:
            return None
        return Array(addresses.of_view(self.kernel, seen, range(rows)), row, column)

    def _result(self) -> Array:
        n = self.rhs.count(self.rhs.free)
        matrix = self.lhs.count(self.lhs.free) * n
        out, type_ = arguments(self.kernel).outputs[0], element.storage_type(self.type)
        return Array(addresses.of_batches(out, type_, [(self.batch, matrix)]), n, 1)

    @property
    def _has_rows(self) -> bool:
        """Whether rows are a dimension of the result, and their epilogue has a form on vectors."""
        sizes = [size for size in self.rhs.sizes(self.rhs.free) if size != 1]
        return len(sizes) == 1 and sizes[0] >= _SHORTEST_ROW and epilogue.has_lanes(self.kernel, self.dot)

    def _store(self, builder: Builder, batch: Value, row: Value, column: Value, value: Value) -> None:
        emission = Emission(builder)
        at = [emission.opaque(index, size) for index, size in zip((batch, row, column), self._sizes, strict=True)]
        self._put(emission, at, value)

    def _store_row(self, builder: LaneBuilder, lanes: Lanes, at: ColumnRange, sums: Value) -> None:
        emission = Emission(builder)
        outer = [emission.opaque(index, size) for index, size in zip((at.batch, at.row), self._sizes[:-1], strict=True)]

        def body(counters: Counters) -> None:
            value = epilogue.sums_at(emission, sums, self.type, at.first)
            self._put(emission, [*outer, *counters], value)

        length = self._sizes[-1]
        columns = nest.Range(at.first, at.stop)
        epilogue.row_lanes(self.kernel, lanes, length).each(emission, Loops([columns], [length]), body)

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.batch, self.lhs.count(self.lhs.free), self.rhs.count(self.rhs.free)

    def _put(self, emission: Emission, positions: Sequence[Index], value: Value) -> None:
        """Do the epilogue for a sum, or some in lanes, given the batch, the row and the column."""
        kernel, (root,) = self.kernel, self.kernel.roots
        at = reshape(emission, positions, self._sizes, self.dot.array.dims)
        result = element.convert(emission.builder, value, self.type, self.dot.array.element_type)
        inner = elemental_of(kernel, emission)
        values = Elemental(emission, {**inner.leaves, self.dot: lambda _: result})
        stored = values.value(root, tuple(at)) if root is not self.dot else result
        store(emission, root.array, stored, arguments(kernel).outputs[0], linear(positions, self._sizes))
