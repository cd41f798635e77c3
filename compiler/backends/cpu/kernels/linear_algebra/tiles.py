"""Building blocks of blocked factorisations: register tiles, transposes, small triangles.

A blocked algorithm factors a panel of a few columns and applies that to the rest of the matrix at once, strip by strip
of columns, by the register tiles of matrix products.  A panel is kept transposed, so that its columns are walked in
vectors, and behind each of them is a vector of zeros, so that the last one may be read whole.  All matrices are
row-major; strides are known, extents are arguments, so that one function serves every step.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.backends.cpu.kernels.gemm.micro import Tile, load_lanes, micro_kernel, multiply_add, store_lanes
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES
from compiler.backends.cpu.kernels.vectors.transposition import transpose
from compiler.backends.cpu.machine import Machine
from compiler.codegen.llvm_ir import I1, I64, PTR, Builder, Module, Value, integer, keep_rolled, vector_type, zero

ATTRIBUTES = "noinline nounwind"
PANEL = 32
"""Columns of a panel: deep enough for the tiles, and still few."""
_BLOCK = 8
"""Rows and columns that are transposed in registers."""
_COLUMNS = 4
"""Columns of a panel that are changed together."""
_VECTORS = 2
"""Vectors across a strip; with them a tile has as many sums as hide the latency of multiply-add twice."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Strides of a product's left factor, in elements: from row to row and from step to step; rows of the result."""

    row: int
    step: int
    out: int


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of one kernel: its name, its elements' type and the machine's vectors."""

    module: Module
    name: str
    type: str
    machine: Machine

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.machine.vector_bits // 8 // ELEMENT_BYTES[self.type]

    @property
    def vector(self) -> str:
        """The type of a vector."""
        return vector_type(self.type, self.lanes)

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return ELEMENT_BYTES[self.type]

    @property
    def rows(self) -> int:
        """Rows of a register tile."""
        return 8 if self.machine.vector_registers > 16 else 4

    @property
    def width(self) -> int:
        """Columns of a strip."""
        return _VECTORS * self.lanes

    def pitch(self, rows: int) -> int:
        """From column to column of a panel: with room for zeros, and off the distances that share sets of L1."""
        return -(-rows // self.lanes) * self.lanes + 3 * self.lanes

    def at(self, b: Builder, base: Value, *steps: tuple[Value, int]) -> Value:
        """The address of an element: the base and multiples of strides.

        Args:
            b: where code is emitted.
            base: an address.
            steps: an i64, and how many elements it counts.
        """
        offset = integer(0)
        for index, stride in steps:
            offset = b.add(b.mul(index, integer(stride)), offset)
        return b.gep(self.type, base, offset)

    def load(self, b: Builder, address: Value) -> Value:
        """A vector, wherever it lies."""
        return b.load(self.vector, address, align=self.bytes)

    def store(self, b: Builder, value: Value, address: Value) -> None:
        """Write a vector, wherever it lies.

        Args:
            b: where code is emitted.
            value: the vector.
            address: the address of its first element.
        """
        b.store(value, address, align=self.bytes)

    def multiply_add(self, b: Builder, left: Value, right: Value, total: Value) -> Value:
        """`left * right + total`, fused where the target can.

        Args:
            b: where code is emitted.
            left: a scalar, or a vector.
            right: one of the same type.
            total: one of the same type.
        """
        return multiply_add(b, left, right, total)

    def strips(self, columns: int) -> tuple[int, ...]:
        """The widths of strips that columns are cut into: whole ones, and the last."""
        last = columns % self.width
        return (self.width, *([last] if last else [])) if columns >= self.width else (last,)

    # -- products -----------------------------------------------------------------------------------------------------

    def product(self, factors: Factors, columns: int, *, rhs_step: int = 0, accumulates: bool = True) -> str:
        """`void NAME(ptr lhs, ptr rhs, ptr out, i64 rows, i64 depth)`: out += lhs rhs, or out = lhs rhs.

        Args:
            factors: strides of the left factor and of the result, in elements.
            columns: of the strip.
            rhs_step: elements from row to row of the right factor, 0 for a strip's.
            accumulates: whether the product is added to what is there.
        """
        kind = f"{factors.row}.{factors.step}.{factors.out}.{rhs_step}.{columns}.{'add' if accumulates else 'set'}"
        name = f"{self.name}.product.{kind}"
        if self.module.has_function(name):
            return f"@{name}"
        tiles = []
        for rows in (self.rows, 1):
            tile = Tile(
                *(self.type, self.lanes, rows, columns),
                *(factors.row, factors.step, rhs_step or self.width, factors.out),
                partial_load=bool(rhs_step),
                partial_store=True,
                accumulates=accumulates,
            )
            tiles.append((rows, micro_kernel(self.module, f"{name}.{rows}", tile)))
        parameters = [(PTR, "lhs"), (PTR, "rhs"), (PTR, "out"), (I64, "rows"), (I64, "depth")]
        function = self.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        lhs, rhs, out, count, depth = function.arguments
        b = Builder(function)
        first = integer(0)
        for rows, tile_function in tiles:
            stop = count if rows == 1 else b.binary("and", count, integer(-rows))
            with b.loop(first, stop, step=rows, name="rows", scalar=True, metadata=keep_rolled(self.module)) as row:
                addresses = [
                    self.at(b, base, (row.index, stride)) for base, stride in ((lhs, factors.row), (out, factors.out))
                ]
                b.call(tile_function.name, "void", [addresses[0], rhs, addresses[1], depth, Value(I1, "true")])
            first = stop
        b.ret()
        return f"@{name}"

    # -- transposes ---------------------------------------------------------------------------------------------------

    def turn(self) -> str:
        """`void NAME(ptr source, i64 stride, ptr target, i64 stride, i64 rows, i64 columns)`: target = source'."""
        name = f"{self.name}.turn"
        if self.module.has_function(name):
            return f"@{name}"
        parameters = [(PTR, "source"), (I64, "from"), (PTR, "target"), (I64, "to"), (I64, "rows"), (I64, "columns")]
        function = self.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        source, apart, target, pitch, rows, columns = function.arguments
        b = Builder(function)

        def address(base: Value, stride: Value, row: Value, column: Value) -> Value:
            return b.gep(self.type, base, b.add(b.mul(row, stride), column))

        def each(row: Value, first: Value) -> None:
            with b.loop(first, columns, name="one", scalar=True, metadata=keep_rolled(self.module, scalar=True)) as one:
                value = b.load(self.type, address(source, apart, row, one.index))
                b.store(value, address(target, pitch, one.index, row))

        block = vector_type(self.type, _BLOCK)
        whole, across = (b.binary("and", extent, integer(-_BLOCK)) for extent in (rows, columns))
        with b.loop(integer(0), whole, step=_BLOCK, name="row", metadata=keep_rolled(self.module)) as row:
            lines = [b.add(row.index, integer(n)) for n in range(_BLOCK)]
            with b.loop(integer(0), across, step=_BLOCK, name="column", metadata=keep_rolled(self.module)) as column:
                values = [b.load(block, address(source, apart, line, column.index), align=self.bytes) for line in lines]
                for number, value in enumerate(transpose(b, values)):
                    to = address(target, pitch, b.add(column.index, integer(number)), row.index)
                    b.store(value, to, align=self.bytes)
            for line in lines:
                each(line, across)
        with b.loop(whole, rows, name="row", scalar=True, metadata=keep_rolled(self.module, scalar=True)) as row:
            each(row.index, integer(0))
        b.ret()
        return f"@{name}"

    def take_from_others(
        self, b: Builder, column: Value, others: tuple[Value, int], heads: tuple[Value, int], rows: tuple[Value, ...]
    ) -> None:
        """Take multiples of a panel's column from the columns behind it, several at a time.

        Args:
            b: where code is emitted.
            column: the address of the panel's column.
            others: the address of the first column, and elements from one to the next.
            heads: the address of the first column's multiplier, and elements from one to the next.
            rows: the first row, which is the first column too, and where columns and rows end.
        """
        below, width, height = rows
        grouped = b.add(below, b.binary("and", b.sub(width, below), integer(-_COLUMNS)))
        for first, stop, group in ((below, grouped, _COLUMNS), (grouped, width, 1)):
            with b.loop(first, stop, step=group, name="others", scalar=True) as other:
                numbers = [b.add(other.index, integer(n)) for n in range(group)]
                lines, addresses = ([self.at(b, base, (n, apart)) for n in numbers] for base, apart in (others, heads))
                factors = [
                    b.broadcast(b.unary("fneg", b.load(self.type, address)), self.lanes) for address in addresses
                ]
                with b.loop(below, height, step=self.lanes, name="rows", metadata=keep_rolled(self.module)) as row:
                    left = self.load(b, b.gep(self.type, column, row.index))
                    for line, factor in zip(lines, factors, strict=True):
                        here = b.gep(self.type, line, row.index)
                        self.store(b, multiply_add(b, left, factor, self.load(b, here)), here)

    # -- triangles ----------------------------------------------------------------------------------------------------

    def copy_rows(
        self, b: Builder, extent: tuple[Value, int], source: tuple[Value, int], target: tuple[Value, int]
    ) -> None:
        """Copy rows of up to a strip's width, given with the distances between them; lanes behind are 0.

        Args:
            b: where code is emitted.
            extent: how many rows, and elements of each.
            source: the address of the first, and elements from row to row.
            target: the same of where they go.
        """
        rows, columns = extent
        with b.loop(integer(0), rows, name="copy", metadata=keep_rolled(self.module)) as row:
            given, wanted = (self.at(b, base, (row.index, stride)) for base, stride in (source, target))
            for first in range(0, self.width, self.lanes):
                inside = max(0, columns - first)
                if inside:
                    value = load_lanes(b, self.type, b.gep(self.type, given, integer(first)), self.lanes, inside)
                    self.store(b, value, b.gep(self.type, wanted, integer(first)))
                else:
                    self.store(b, zero(self.vector), b.gep(self.type, wanted, integer(first)))

    def put_negated(
        self, b: Builder, extent: tuple[Value, int], source: tuple[Value, int], target: tuple[Value, int]
    ) -> None:
        """Copy a strip's rows, negated; given with the distances between them.

        Args:
            b: where code is emitted.
            extent: how many rows, and elements of each.
            source: the address of the first, and elements from row to row.
            target: the same of where they go.
        """
        rows, columns = extent
        with b.loop(integer(0), rows, name="put", metadata=keep_rolled(self.module)) as row:
            given, wanted = (self.at(b, base, (row.index, stride)) for base, stride in (source, target))
            for first in range(0, columns, self.lanes):
                value = b.unary("fneg", self.load(b, b.gep(self.type, given, integer(first))))
                address = b.gep(self.type, wanted, integer(first))
                store_lanes(b, value, address, self.lanes, min(self.lanes, columns - first))

    def triangle(self, rows: int, strides: tuple[int, int], *, lower: bool, unit: bool) -> str:
        """`void NAME(ptr matrix, ptr sides)`: a few rows of a strip solved and negated, by the triangle beside them.

        Args:
            rows: solved at a time.
            strides: of the triangle, from row to row and from column to column.
            lower: whether it is the lower one.
            unit: whether its diagonal is taken for ones.
        """
        name = f"{self.name}.triangle.{rows}"
        if self.module.has_function(name):
            return f"@{name}"
        parameters = [(f"{PTR} noalias readonly", "matrix"), (f"{PTR} noalias", "sides")]
        function = self.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, sides = function.arguments
        b = Builder(function)
        addresses = [
            [b.gep(self.type, sides, integer(row * self.width + first)) for first in range(0, self.width, self.lanes)]
            for row in range(rows)
        ]
        values = [[self.load(b, address) for address in line] for line in addresses]

        def factor(row: int, column: int) -> Value:
            address = b.gep(self.type, matrix, integer(row * strides[0] + column * strides[1]))
            return b.broadcast(b.load(self.type, address), self.lanes)

        order = list(range(rows) if lower else reversed(range(rows)))
        for number, row in enumerate(order):
            if not unit:
                pivot = factor(row, row)
                values[row] = [b.binary("fdiv", value, pivot) for value in values[row]]
            values[row] = [b.unary("fneg", value) for value in values[row]]
            for later in order[number + 1 :]:
                by = factor(later, row)
                values[later] = [multiply_add(b, by, *pair) for pair in zip(values[row], values[later], strict=True)]
        for line, row_values in zip(addresses, values, strict=True):
            for address, value in zip(line, row_values, strict=True):
                self.store(b, value, address)
        b.ret()
        return f"@{name}"
