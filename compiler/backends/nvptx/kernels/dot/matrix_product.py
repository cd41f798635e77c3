"""A batch of matrix products as every form of product kernel sees it: what is multiplied, and where results go.

A dot is one as it stands; `convolution` makes another of convolutions.  Rows, columns and the depth are linear indices;
what they mean in the operands is each operand's own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from compiler.codegen import element, scalar
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import ZERO, Emission, Index, linear, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, integer, zero
from compiler.codegen.movement import Indices, Values
from compiler.codegen.product import Factor, accumulation_type, factor
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType

_LONGEST_RUN = 16
"""Elements that lie side by side at most: a word of 16 bytes of the narrowest type."""


class FactorPosition(NamedTuple):
    """An element of an operand: its batch, its row or column, and the term of the sums that it is in."""

    batch: Index
    free: Index
    depth: Index


class ResultPosition(NamedTuple):
    """An element of the results."""

    batch: Index
    row: Index
    column: Index


class RunOfSums(NamedTuple):
    """Sums of neighbours along a row of a tile: the row, the column of the first, and what they are."""

    row: Index
    column: Index
    sums: list[Value]


class Operand(Protocol):
    """One operand of a batch of matrix products."""

    @property
    def instruction(self) -> Instruction:
        """The instruction that it is read from."""

    @property
    def count(self) -> int:
        """Its rows or columns, whichever it has."""

    @property
    def divides(self) -> bool:
        """Whether divisions and comparisons find where an element lies, so many that it pays to do them in 32 bits."""

    @property
    def is_deep(self) -> bool:
        """Whether neighbours in memory are neighbours along the depth, and not along the rows or columns."""

    @property
    def run(self) -> int:
        """How many elements lie side by side in that direction, and aligned, from each multiple of that number on."""

    def at(self, values: Values, position: FactorPosition) -> tuple[Indices, list[Value | None]]:
        """The indices of an element, and under which conditions there is one; None always holds."""


def run_of(size: int) -> int:
    """The greatest power of two, as far as it helps, that divides a size."""
    return min(size & -size, _LONGEST_RUN)


@dataclass(frozen=True, slots=True)
class DotOperand:
    """An operand of a dot."""

    factor: Factor
    divides: bool = False

    @property
    def instruction(self) -> Instruction:
        """What it is read from."""
        return self.factor.instruction

    @property
    def count(self) -> int:
        """Its rows or columns."""
        return self.factor.count(self.factor.free)

    @property
    def is_deep(self) -> bool:
        """Whether the last dimension is summed over."""
        return self.instruction.array.rank - 1 in self.factor.depth

    @property
    def run(self) -> int:
        """How many elements lie side by side, aligned."""
        group = self.factor.depth if self.is_deep else self.factor.free
        last = self.instruction.array.rank - 1
        return run_of(self.instruction.array.dims[last]) if group and group[-1] == last else 1

    def at(self, values: Values, position: FactorPosition) -> tuple[Indices, list[Value | None]]:
        """The indices of an element."""
        side, found = self.factor, dict[int, Index]()
        for dims, index in zip((side.batch, side.free, side.depth), position, strict=True):
            found.update(zip(dims, taken_apart(values.emission, index, side.sizes(dims)), strict=True))
        return tuple(found.get(d, ZERO) for d in range(self.instruction.array.rank)), []


@dataclass(frozen=True, slots=True)
class Product:
    """A batch of matrix products, each of `rows` by `depth` and `depth` by `columns`.

    Attributes:
        kernel: what computes it.
        owner: the instruction inside whose value the products are.
        sides: the left operand, with rows, and the right one, with columns.
        batch: how many products.
        depth: how many terms each sum has.
        output_indices: the indices of `owner`'s element by batch, row and column.
    """

    kernel: Kernel
    owner: Instruction
    sides: tuple[Operand, Operand]
    batch: int
    depth: int
    output_indices: Callable[[Emission, ResultPosition], Indices]

    @property
    def type(self) -> ElementType:
        """The type in which products are summed."""
        return accumulation_type(self.owner)

    @property
    def value_type(self) -> str:
        """The LLVM type of a sum."""
        return element.value_type(self.type)

    @property
    def rows(self) -> int:
        """The rows of each result."""
        return self.sides[0].count

    @property
    def columns(self) -> int:
        """The columns of each result."""
        return self.sides[1].count

    @property
    def size(self) -> int:
        """The elements of all results."""
        return self.batch * self.rows * self.columns

    def source(self, side: Operand) -> Instruction:
        """An operand before it is converted to the accumulation type."""
        source = side.instruction
        if (
            source.opcode == "convert"
            and source not in dict(self.kernel.leaves)
            and source.array.element_type is self.type
        ):
            (source,) = source.operands
        return source

    def load(self, emission: Emission, side: Operand, position: FactorPosition) -> Value:
        """An element of an operand in the accumulation type; 0 where there is none.

        Args:
            emission: where code is emitted, with what is known there.
            side: the operand.
            position: which element.
        """
        before, emission.narrow = emission.narrow, side.divides
        value = self._load(emission, side, position)
        emission.narrow = before
        return value

    def _load(self, emission: Emission, side: Operand, position: FactorPosition) -> Value:
        values, source = elemental_of(self.kernel, emission), side.instruction
        at, conditions = side.at(values, position)
        inside = all_of(emission.builder, conditions)

        def load(at: Indices) -> Value:
            emission.enter()
            value = values.value(source, at)
            emission.leave()
            return element.convert(emission.builder, value, source.array.element_type, self.type)

        if inside is None:
            return load(at)
        if not source.array.size:
            return zero(self.value_type)
        # Another element stands for one that is not there: loads without branches are on their way together.
        indices = [emission.builder.select(inside, emission.value(index), integer(0)) for index in at]
        found = load(tuple(emission.opaque(i, size) for i, size in zip(indices, source.array.dims, strict=True)))
        return emission.builder.select(inside, found, zero(self.value_type))

    def multiply_add(self, builder: Builder, left: Value, right: Value, total: Value) -> Value:
        """`left * right + total`.

        Args:
            builder: where code is emitted.
            left: a factor.
            right: a factor.
            total: a sum.
        """
        return scalar.multiply_add(builder, self.type, left, right, total)

    def add(self, builder: Builder, left: Value, right: Value) -> Value:
        """`left + right`, of chunks of a sum.

        Args:
            builder: where code is emitted.
            left: the sum of a chunk.
            right: that of another.
        """
        if self.type.is_complex:
            return (Complex.of(builder, left) + Complex.of(builder, right)).value
        return builder.binary("fadd" if self.type.is_float else "add", left, right)

    def store(self, emission: Emission, total: Value, position: ResultPosition) -> None:
        """Store the root's element that a sum belongs to.

        Args:
            emission: where code is emitted, with what is known there.
            total: the sum.
            position: which sum.
        """
        (root,) = self.kernel.roots
        at = self.output_indices(emission, position)
        result = element.convert(emission.builder, total, self.type, self.owner.array.element_type)
        values = Elemental(emission, {**elemental_of(self.kernel, emission).leaves, self.owner: lambda _: result})
        stored = result if root is self.owner else values.value(root, at)
        store(emission, root.array, stored, arguments(self.kernel).outputs[0], linear(at, root.array.dims))

    def position(self, emission: Emission, number: Value) -> ResultPosition:
        """An element by its number in the results."""
        sizes = (self.batch, self.rows, self.columns)
        return ResultPosition(*reshape(emission, (emission.opaque(number, self.size),), (self.size,), sizes))


def of_dot(kernel: Kernel, dot: Instruction, factors: tuple[Factor, Factor] | None = None) -> Product:
    """A dot, or what amounts to one with those factors, as a batch of matrix products.

    Dimensions of one element may be missing from factors, and one of them may be the same for the whole batch.

    Args:
        kernel: that the dot is in.
        dot: the instruction.
        factors: left and right; None for its operands.
    """
    lhs, rhs = factors or (factor(dot, 0), factor(dot, 1))
    many = lhs if lhs.batch else rhs

    def output_indices(emission: Emission, at: ResultPosition) -> Indices:
        groups = ((many, many.batch), (lhs, lhs.free), (rhs, rhs.free))
        index_groups = [
            taken_apart(emission, index, side.sizes(dims)) for index, (side, dims) in zip(at, groups, strict=True)
        ]
        return tuple(index for group_ in index_groups for index in group_)

    sides = DotOperand(lhs), DotOperand(rhs)
    return Product(kernel, dot, sides, many.count(many.batch), lhs.count(lhs.depth), output_indices)


def taken_apart(emission: Emission, index: Index, sizes: Sequence[int]) -> list[Index]:
    """A linear index over dimensions of these sizes as one index each.

    Args:
        emission: where code is emitted.
        index: linear.
        sizes: of the dimensions.
    """
    total = 1
    for size in sizes:
        total *= size
    return reshape(emission, (index,), (total,), sizes)


def inside(emission: Emission, bounds: Sequence[tuple[Index, int]]) -> list[Value | None]:
    """For each index whether it is below its bound; None where that is known."""
    builder = emission.builder
    return [
        builder.compare("slt", emission.value(index), integer(bound)) if index.bounds()[1] >= bound else None
        for index, bound in bounds
    ]


def all_of(builder: Builder, conditions: Sequence[Value | None]) -> Value | None:
    """Whether all conditions hold; None where that is known."""
    total: Value | None = None
    for condition in conditions:
        if condition is not None:
            total = condition if total is None else builder.binary("and", total, condition)
    return total
