"""An HLO dot as a batch of matrix products, for every form of dot kernel: its operands and where its results go."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen import element, scalar
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, integer, zero
from compiler.codegen.product import Factor, accumulation_type, factor
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction


class Product:
    """A dot as a batch of matrix products, each of `rows` by `depth` and `depth` by `columns`."""

    def __init__(self, kernel: Kernel, dot: Instruction) -> None:
        self.kernel = kernel
        self.dot = dot
        self.type = accumulation_type(dot)
        self.value_type = element.value_type(self.type)
        self.lhs, self.rhs = factor(dot, 0), factor(dot, 1)
        self.batch = self.lhs.count(self.lhs.batch)
        self.rows = self.lhs.count(self.lhs.free)
        self.columns = self.rhs.count(self.rhs.free)
        self.depth = self.lhs.count(self.lhs.depth)
        self.size = self.batch * self.rows * self.columns

    def load(self, emission: Emission, side: Factor, batch: Index, free: Index, depth: Index) -> Value:
        """An element of an operand in the accumulation type, by its linear index in each group of dimensions."""
        value = self.source(emission, side, side.instruction, (batch, free, depth))
        return element.convert(emission.builder, value, side.instruction.array.element_type, self.type)

    def source(self, emission: Emission, side: Factor, source: Instruction, place: tuple[Index, Index, Index]) -> Value:
        """An element of an instruction that has an operand's dimensions: its batch, free and depth index."""
        at: dict[int, Index] = {}
        for dims, index in zip((side.batch, side.free, side.depth), place, strict=True):
            at.update(zip(dims, _taken_apart(emission, side, dims, index), strict=True))
        indices = tuple(at[d] for d in range(len(at)))
        return elemental_of(self.kernel, emission).value(source, indices)

    def load_where(
        self, emission: Emission, condition: Value | None, side: Factor, at: tuple[Index, Index, Index]
    ) -> Value:
        """An element of an operand where a condition holds (None always does), else 0."""
        if condition is None:
            return self.load(emission, side, *at)

        def load() -> Value:
            emission.enter()
            value = self.load(emission, side, *at)
            emission.leave()
            return value

        return emission.builder.choose(condition, load, lambda: zero(self.value_type))

    def multiply_add(self, builder: Builder, left: Value, right: Value, total: Value) -> Value:
        """`left * right + total`."""
        return scalar.multiply_add(builder, self.type, left, right, total)

    def store(self, emission: Emission, total: Value, batch: Index, row: Index, column: Index) -> None:
        """Store the root's element that the sum belongs to."""
        (root,) = self.kernel.roots
        at = [
            *_taken_apart(emission, self.lhs, self.lhs.batch, batch),
            *_taken_apart(emission, self.lhs, self.lhs.free, row),
            *_taken_apart(emission, self.rhs, self.rhs.free, column),
        ]
        result = element.convert(emission.builder, total, self.type, self.dot.array.element_type)
        values = Elemental(emission, {**elemental_of(self.kernel, emission).leaves, self.dot: lambda _: result})
        stored = result if root is self.dot else values.value(root, tuple(at))
        linear = (batch.times(self.rows) + row).times(self.columns) + column
        store(emission, root.array, stored, arguments(self.kernel).outputs[0], linear)

    def position(self, emission: Emission, number: Value) -> tuple[Index, Index, Index]:
        """Batch, row and column of an element by its number in the result."""
        sizes = (self.batch, self.rows, self.columns)
        batch, row, column = reshape(emission, (emission.opaque(number, self.size),), (self.size,), sizes)
        return batch, row, column


def _taken_apart(emission: Emission, side: Factor, dims: Sequence[int], index: Index) -> list[Index]:
    return reshape(emission, (index,), (side.count(dims),), side.sizes(dims))


def inside(emission: Emission, bounds: Sequence[tuple[Index, int]]) -> Value | None:
    """Whether all indices are below their bounds; None where that is known."""
    builder = emission.builder
    total: Value | None = None
    for index, bound in bounds:
        if index.bounds()[1] >= bound:
            below = builder.compare("slt", emission.value(index), integer(bound))
            total = below if total is None else builder.binary("and", total, below)
    return total
