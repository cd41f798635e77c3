"""Dots of bf16 and f16 on tensor cores: `mma.sync` of 16 by 8 by 16, products exact, sums in f32.

A block makes 64 by 64 elements, each of its eight warps 16 by 32.  Slices of both operands lie in shared memory,
depth side by side as the instruction wants it, in rows padded so that the lanes of a warp read different banks.
In every fragment lane `4 g + t` holds row (or column) `g` and the elements `2 t` and `2 t + 1` along the depth; of the
result it holds columns `2 t` and `2 t + 1` of rows `g` and `g + 8` (PTX ISA, "Matrix fragments for mma.m16n8k16").
"""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot_product import Product, inside
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, Variable, reshape, whole
from compiler.codegen.llvm_ir import I1, I32, Builder, Module, Value, integer, zero
from compiler.codegen.product import Factor
from compiler.ir.module import Instruction
from compiler.ir.types import BF16, F16, F32, ElementType

_SIDE = 64
_DEPTH = 32
_STEP = 16
_PITCH = _DEPTH + 8
_THREADS = 256
_BLOCKS_ACROSS = 4
"""Pieces of 8 columns that a warp makes."""
_CAPABILITY = 80
_LEAST = 16
_FLOATS = "{ float, float, float, float }"
_INTRINSICS = {BF16: ("bf16", I32), F16: ("f32.f32", "<2 x half>")}


def is_possible(product: Product, capability: int) -> bool:
    """Whether a product is one for tensor cores, and the GPU has them."""
    least = min(product.rows, product.columns, product.depth)
    return capability >= _CAPABILITY and least >= _LEAST and _type(product) is not None


def _source(product: Product, side: Factor) -> Instruction:
    """An operand before it is converted to the accumulation type."""
    source = side.instruction
    if source.opcode == "convert" and source not in dict(product.kernel.leaves):
        (source,) = source.operands
    return source


def _type(product: Product) -> ElementType | None:
    """The type that is multiplied."""
    left, right = (_source(product, side).array.element_type for side in (product.lhs, product.rhs))
    return left if left is right and left in _INTRINSICS and product.type is F32 else None


def emit(module: Module, product: Product) -> Launch:
    """Emit a dot kernel."""
    builder = grid.begin(module, product.kernel, _THREADS)
    tile = _Tile(module, builder, product)
    start = [zero("float")] * (4 * _BLOCKS_ACROSS)
    slices = -(-product.depth // _DEPTH)
    with builder.loop(integer(0), integer(slices), carried=start, name="slice", nonempty=True) as loop:
        first = whole(Variable(loop.index, slices)).times(_DEPTH)
        for side, shared, free in zip((product.lhs, product.rhs), tile.shared, tile.start, strict=True):
            tile.fill(side, shared, free, first)
        grid.barrier(builder)
        totals = loop.carried
        for depth in range(0, _DEPTH, _STEP):
            totals = tile.multiply(totals, depth)
        grid.barrier(builder)
        loop.carry(*totals)
    tile.store(loop.results)
    builder.ret()
    return Launch(builder.function.name, tile.blocks, _THREADS)


class _Tile:
    """A block's tile; `row` and `column` are where the thread's fragments begin in it, `along` where in the depth."""

    def __init__(self, module: Module, builder: Builder, product: Product) -> None:
        self.builder = builder
        self.product = product
        element_type = _type(product)
        assert element_type is not None
        self.type: ElementType = element_type
        down, across = -(-product.rows // _SIDE), -(-product.columns // _SIDE)
        self.blocks = product.batch * down * across
        emission = Emission(builder)
        sizes = (product.batch, down, across)
        found = reshape(emission, (emission.opaque(grid.block(builder), self.blocks),), (self.blocks,), sizes)
        self.batch, row, column = (
            emission.opaque(emission.value(index), size) for index, size in zip(found, sizes, strict=True)
        )
        self.start = row.times(_SIDE), column.times(_SIDE)
        thread = emission.opaque(grid.thread(builder), _THREADS)
        # Eight warps, four down and two across; in each, lane 4 g + t.
        parts = reshape(emission, (thread,), (_THREADS,), (2, 4, 8, 4))
        right, lower, group, self.pair = (
            emission.opaque(emission.value(part), size) for part, size in zip(parts, (2, 4, 8, 4), strict=True)
        )
        self.row = lower.times(16) + group
        self.first_column = right.times(8 * _BLOCKS_ACROSS)
        self.group = group
        self.shared = tuple(
            grid.shared_array(module, f"tensor.{product.kernel.name}.{name}", "i16", _SIDE * _PITCH)
            for name in ("lhs", "rhs")
        )

    def fill(self, side: Factor, shared: Value, start: Index, first: Index) -> None:
        """Bring a slice of an operand into shared memory, zeros beyond its edges; neighbours read neighbours."""
        builder, product = self.builder, self.product
        count = side.count(side.free)
        along_depth = side.instruction.array.rank - 1 in side.depth
        for turn in range(_SIDE * _DEPTH // _THREADS):
            emission = Emission(builder)
            number = emission.opaque(grid.thread(builder), _THREADS).plus(turn * _THREADS)
            sizes = (_SIDE, _DEPTH) if along_depth else (_DEPTH, _SIDE)
            found = reshape(emission, (number,), (_SIDE * _DEPTH,), sizes)
            position, depth = found if along_depth else reversed(found)
            condition = inside(emission, ((start + position, count), (first + depth, product.depth)))
            free = emission.opaque(emission.value(start + position), count)
            deep = emission.opaque(emission.value(first + depth), product.depth)

            def load(emission: Emission = emission, free: Index = free, deep: Index = deep) -> Value:
                emission.enter()
                value = product.source(emission, side, _source(product, side), (self.batch, free, deep))
                bits = builder.cast("bitcast", element.stored(builder, self.type, value), "i16")
                emission.leave()
                return bits

            bits = builder.choose(condition, load, lambda: zero("i16")) if condition else load()
            place = emission.value(position.times(_PITCH) + depth)
            builder.store(bits, builder.gep("i16", shared, place), align=2)

    def multiply(self, totals: list[Value], depth: int) -> list[Value]:
        """Add the products of one step along the depth to the thread's sums."""
        left = [self._pair(0, self.row.plus(down), depth + far) for far in (0, 8) for down in (0, 8)]
        result: list[Value] = []
        for block in range(_BLOCKS_ACROSS):
            column = self.first_column.plus(8 * block) + self.group
            right = [self._pair(1, column, depth + far) for far in (0, 8)]
            result += self._mma(left, right, totals[4 * block : 4 * block + 4])
        return result

    def _pair(self, operand: int, position: Index, depth: int) -> Value:
        """Two elements that lie side by side along the depth."""
        builder, emission = self.builder, Emission(self.builder)
        place = emission.value(position.times(_PITCH) + self.pair.times(2).plus(depth))
        both = builder.load(I32, builder.gep("i16", self.shared[operand], place), align=4)
        return builder.cast("bitcast", both, _INTRINSICS[self.type][1])

    def _mma(self, left: list[Value], right: list[Value], totals: list[Value]) -> list[Value]:
        builder = self.builder
        name, type_ = _INTRINSICS[self.type]
        parameters = [type_] * 6 + ["float"] * 4
        callee = builder.module.declare(f"llvm.nvvm.mma.m16n8k16.row.col.{name}", _FLOATS, parameters)
        answer = builder.call(callee, _FLOATS, [*left, *right, *totals])
        return [builder.emit("float", f"extractvalue {answer}, {number}") for number in range(4)]

    def store(self, totals: list[Value]) -> None:
        """Store the thread's sums, but for what lies beyond the result's edges."""
        builder, product = self.builder, self.product
        for number, total in enumerate(totals):
            emission = Emission(builder)
            block, place = divmod(number, 4)
            row = self.start[0] + self.row.plus(8 * (place // 2))
            column = self.start[1] + self.first_column.plus(8 * block + place % 2) + self.pair.times(2)
            condition = inside(emission, ((row, product.rows), (column, product.columns)))
            with builder.when(condition or Value(I1, "true"), "inside"):
                row = emission.opaque(emission.value(row), product.rows)
                column = emission.opaque(emission.value(column), product.columns)
                product.store(emission, total, self.batch, row, column)
