"""Dot kernels: on tensor cores (`dot_tensor`), else in tiles, a warp for each element, a thread for each element.

In the tiled form 256 threads make a square tile of the result: slices of both operands, `_DEPTH` deep, go through
shared memory, and every thread keeps a square of accumulators in registers.  Where the result is narrow but the sums
are long, the lanes of a warp share each sum and put it together by shuffles.  Small products have a thread per element.

Conversions of the operands are evaluated where they are loaded, the epilogue where an element is stored.  Nothing is
narrower than the accumulation type, and the order of each sum depends on the shape alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import dot_tensor, grid
from compiler.backends.nvptx.kernels.dot_product import Product, inside
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, Builder, Module, Value, integer, zero
from compiler.codegen.product import Factor
from compiler.diagnostics import UnsupportedError

_DEPTH = 16
_LANES = 16
"""A tile's threads are a square of that many."""
_PAD = 4
_LARGE_TILE, _SMALL_TILE = 4, 2
"""Rows and columns of accumulators of a thread; a tile's side is 16 times that."""
_MANY_BLOCKS = 128
_LONG_BODY = 40
_LONG_SUM = 64


def emit(module: Module, kernel: Kernel, capability: int) -> EmittedKernel:
    """Emit a dot kernel for GPUs of that compute capability."""
    dots = kernel.of_opcode("dot")
    if len(dots) != 1 or len(kernel.roots) != 1 or kernel.roots[0].array.dims != dots[0].array.dims:
        raise UnsupportedError("a fusion of this form around dot", "the NVPTX back end", kernel.name)
    if kernel.roots[0].array.size == 0:
        return EmittedKernel(kernel, ())
    product = Product(kernel, dots[0])
    if dot_tensor.is_possible(product, capability):
        return EmittedKernel(kernel, (dot_tensor.emit(module, product),))
    if min(product.rows, product.columns) >= _LANES and product.depth:
        return EmittedKernel(kernel, (_Tiled(module, product).emit(),))
    if product.depth >= _LONG_SUM:
        return EmittedKernel(kernel, (_warp_per_element(module, product),))
    launch = grid.for_each(module, kernel, product.size, lambda builder, number: _element(product, builder, number))
    return EmittedKernel(kernel, (launch,))


def _element(product: Product, builder: Builder, number: Value) -> None:
    """Sum up one element of the result and store it."""
    emission = Emission(builder)
    batch, row, column = product.position(emission, number)
    total = _sum(product, emission, (batch, row, column), (integer(0), 1))
    product.store(emission, total, batch, row, column)


def _sum(product: Product, emission: Emission, at: tuple[Index, Index, Index], part: tuple[Value, int]) -> Value:
    """The sum of every `part[1]`-th term from `part[0]` on of one element."""
    builder, (batch, row, column), (first, step) = emission.builder, at, part
    start = [zero(product.value_type)]
    with builder.loop(first, integer(product.depth), step=step, carried=start, name="term") as loop:
        emission.enter()
        depth = whole(Variable(loop.index, product.depth))
        left = product.load(emission, product.lhs, batch, row, depth)
        right = product.load(emission, product.rhs, batch, column, depth)
        loop.carry(product.multiply_add(builder, left, right, loop.carried[0]))
        emission.leave()
    return loop.results[0]


def _warp_per_element(module: Module, product: Product) -> Launch:
    """Each warp sums up one element."""
    warps = grid.BLOCK // grid.WARP
    builder = grid.begin(module, product.kernel, grid.BLOCK)
    thread = grid.thread(builder)
    lane = builder.binary("and", thread, integer(grid.WARP - 1))
    warp = builder.binary("lshr", thread, integer(5))
    number = builder.add(builder.mul(grid.block(builder), integer(warps)), warp)
    # All lanes of a warp take the branch or none does.
    with builder.when(builder.compare("slt", number, integer(product.size)), "inside"):
        emission = Emission(builder)
        batch, row, column = product.position(emission, number)
        total = _sum(product, emission, (batch, row, column), (lane, grid.WARP))
        distance = grid.WARP // 2
        while distance:
            other = grid.shuffle_down(builder, total, distance, grid.WARP)
            total = _add(product, builder, total, other)
            distance //= 2
        with builder.when(builder.compare("eq", lane, integer(0)), "first"):
            emission.enter()
            product.store(emission, total, batch, row, column)
            emission.leave()
    builder.ret()
    return Launch(builder.function.name, -(-product.size // warps), grid.BLOCK)


def _add(product: Product, builder: Builder, left: Value, right: Value) -> Value:
    return builder.binary("fadd" if product.type.is_float else "add", left, right)


@dataclass(frozen=True, slots=True)
class _Side:
    """One operand of a tile: its slice in shared memory, depth by free dimension, and where the tile starts."""

    factor: Factor
    shared: Value
    start: Index
    size: int


class _Tiled:
    """Emits the tiled form; `square` rows and columns of accumulators are a thread's."""

    def __init__(self, module: Module, product: Product) -> None:
        self.module = module
        self.product = product
        blocks = self._blocks(_LARGE_TILE * _LANES)
        body = sum(1 for _ in product.kernel.body())
        self.square = _LARGE_TILE if blocks >= _MANY_BLOCKS and body <= _LONG_BODY else _SMALL_TILE
        self.side = self.square * _LANES

    def _blocks(self, side: int) -> int:
        product = self.product
        return product.batch * -(-product.rows // side) * -(-product.columns // side)

    def emit(self) -> Launch:
        """Emit the function."""
        product, side, threads = self.product, self.side, _LANES * _LANES
        builder = grid.begin(self.module, product.kernel, threads)
        emission = Emission(builder)
        down, across = -(-product.rows // side), -(-product.columns // side)
        blocks = product.batch * down * across
        tile = emission.opaque(grid.block(builder), blocks)
        batch, row, column = reshape(emission, (tile,), (blocks,), (product.batch, down, across))
        batch, row, column = (
            emission.opaque(emission.value(index), count)
            for index, count in ((batch, product.batch), (row, down), (column, across))
        )
        thread = emission.opaque(grid.thread(builder), threads)
        place = tuple(
            emission.opaque(emission.value(i), _LANES)
            for i in reshape(emission, (thread,), (threads,), (_LANES, _LANES))
        )
        sides = tuple(
            _Side(factor_, self._shared(name), index.times(side), size)
            for factor_, name, index, size in (
                (product.lhs, "lhs", row, product.rows),
                (product.rhs, "rhs", column, product.columns),
            )
        )
        totals = self._sums(emission, batch, sides, place)
        self._store(emission, totals, batch, sides, place)
        builder.ret()
        return Launch(builder.function.name, blocks, threads)

    def _shared(self, name: str) -> Value:
        stored = element.storage_type(self.product.type)
        count = _DEPTH * (self.side + _PAD)
        return grid.shared_array(self.module, f"shared.{self.product.kernel.name}.{name}", stored, count)

    def _address(self, builder: Builder, shared: Value, depth: Value, position: Value) -> Value:
        offset = builder.add(builder.mul(depth, integer(self.side + _PAD)), position)
        return builder.gep(element.storage_type(self.product.type), shared, offset)

    def _sums(
        self, emission: Emission, batch: Index, sides: Sequence[_Side], place: Sequence[Index]
    ) -> list[list[Value]]:
        """The thread's square of sums: slice by slice through shared memory."""
        builder, product = emission.builder, self.product
        start = [zero(product.value_type)] * self.square**2
        slices = -(-product.depth // _DEPTH)
        with builder.loop(integer(0), integer(slices), carried=start, name="slice", nonempty=True) as loop:
            emission.enter()
            first = whole(Variable(loop.index, slices)).times(_DEPTH)
            for side in sides:
                self._fill(emission, batch, side, first)
            grid.barrier(builder)
            with builder.loop(integer(0), integer(_DEPTH), carried=loop.carried, name="depth", nonempty=True) as inner:
                columns = [self._column(emission, s, inner.index, at) for s, at in zip(sides, place, strict=True)]
                pairs = itertools.product(*columns)
                sums = zip(pairs, inner.carried, strict=True)
                inner.carry(*(product.multiply_add(builder, a, b, total) for (a, b), total in sums))
            grid.barrier(builder)
            loop.carry(*inner.results)
            emission.leave()
        results = iter(loop.results)
        return [[next(results) for _ in range(self.square)] for _ in range(self.square)]

    def _column(self, emission: Emission, side: _Side, depth: Value, at: Index) -> list[Value]:
        """The thread's elements of a slice at one depth."""
        builder, type_ = emission.builder, self.product.type
        first = emission.value(at.times(self.square))
        base = self._address(builder, side.shared, depth, first)
        stored = element.storage_type(type_)
        return [element.load(builder, type_, builder.gep(stored, base, integer(n))) for n in range(self.square)]

    def _fill(self, emission: Emission, batch: Index, side: _Side, first: Index) -> None:
        """Bring a slice of an operand into shared memory, zeros beyond its edges; neighbours read neighbours."""
        builder, product = emission.builder, self.product
        threads = _LANES * _LANES
        along_depth = side.factor.instruction.array.rank - 1 in side.factor.depth
        sizes = (self.side, _DEPTH) if along_depth else (_DEPTH, self.side)
        for turn in range(self.side * _DEPTH // threads):
            emission.enter()
            number = emission.opaque(grid.thread(builder), threads).plus(turn * threads)
            found = reshape(emission, (number,), (self.side * _DEPTH,), sizes)
            position, depth = found if along_depth else reversed(found)
            free, deep = side.start + position, first + depth
            condition = inside(emission, ((free, side.size), (deep, product.depth)))
            # In range wherever it is loaded, which the index arithmetic may rely on.
            free, deep = (
                emission.opaque(emission.value(free), side.size),
                emission.opaque(emission.value(deep), product.depth),
            )
            value = product.load_where(emission, condition, side.factor, (batch, free, deep))
            address = self._address(builder, side.shared, emission.value(depth), emission.value(position))
            element.store(builder, product.type, value, address)
            emission.leave()

    def _store(
        self,
        emission: Emission,
        totals: Sequence[Sequence[Value]],
        batch: Index,
        sides: Sequence[_Side],
        place: Sequence[Index],
    ) -> None:
        """Store the thread's square, but for what lies beyond the result's edges."""
        builder = emission.builder
        for i, j in itertools.product(range(self.square), repeat=2):
            row, column = (
                side.start + at.times(self.square).plus(n) for side, at, n in zip(sides, place, (i, j), strict=True)
            )
            condition = inside(emission, ((row, sides[0].size), (column, sides[1].size)))
            with builder.when(condition or Value(I1, "true"), "inside"):
                emission.enter()
                row = emission.opaque(emission.value(row), sides[0].size)
                column = emission.opaque(emission.value(column), sides[1].size)
                self.product.store(emission, totals[i][j], batch, row, column)
                emission.leave()
