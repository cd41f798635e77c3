"""Operands of dots as `gemm` takes them: matrices whose rows and columns count through groups of their dimensions.

What lies in memory with one stride per group is an array, whatever moved it there; what lies there otherwise has
vectors of neighbours; what is computed is loaded element by element while it is packed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.analysis.views import View, view
from compiler.backends.cpu.kernels.dot import addresses
from compiler.backends.cpu.kernels.dot.narrow import unconverted
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Array, Narrow, Operand, VectorLoad
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, vector_type
from compiler.codegen.product import Factor
from compiler.codegen.signature import elemental_of
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType


@dataclass(frozen=True, slots=True)
class DotOperand:
    """A factor of a dot that sums in a type, and the groups of its dimensions that are the rows and the columns."""

    kernel: Kernel
    factor: Factor
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    type: ElementType

    def operand(self) -> Operand:
        """The operand as the matrix that packing and kernels read."""
        instruction, narrow = self.factor.instruction, self._narrow()
        array = self.array()
        plain = array if narrow is None else array or narrow.array
        if plain is not None and 1 in (plain.row, plain.column):
            return Operand(self.load, plain.column == 1, array, narrow)
        seen = self._seen(instruction, self.type)
        if plain is None and seen is not None:
            down, along = seen.run(self.rows), seen.run(self.columns)
            if (run := max(down, along)) > 1:
                return Operand(self.load, along > down, None, narrow, self._vector(seen), run)
        return Operand(self.load, instruction.array.rank - 1 not in self.rows, array, narrow)

    def load(self, builder: Builder, batch: Value, row: Value, column: Value) -> Value:
        """One element, in the type of the sum.

        Args:
            builder: where code is emitted.
            batch: the number of the batch.
            row: the free index.
            column: the index along what is summed.
        """
        emission, instruction = Emission(builder), self.factor.instruction
        value = elemental_of(self.kernel, emission).value(instruction, self._indices(emission, batch, row, column))
        return element.convert(builder, value, instruction.array.element_type, self.type)

    def array(self) -> Array | None:
        """The matrix as it lies in an input, where it is one of the type of the sum with one stride per group."""
        return self._array(self.factor.instruction, self.type)

    def _array(self, source: Instruction, element_type: ElementType) -> Array | None:
        seen = self._seen(source, element_type)
        if seen is None:
            return None
        row, column = seen.joint_stride(self.rows), seen.joint_stride(self.columns)
        if row is None or column is None:
            return None
        return Array(addresses.of_view(self.kernel, seen, self.factor.batch), row, column)

    def _narrow(self) -> Narrow | None:
        """The matrix before it is converted to the type of the sum, where the CPU may multiply that directly."""
        found = unconverted(self.kernel, self.factor.instruction, self.type)
        if found is None:
            return None

        def load(builder: Builder, batch: Value, row: Value, column: Value) -> Value:
            emission = Emission(builder)
            return found.load(self.kernel, emission, self._indices(emission, batch, row, column))

        return Narrow(found.llvm, load, found.type.is_signed, self._array(found.source, found.type))

    def _vector(self, seen: View) -> VectorLoad:
        """Loads of neighbours in memory."""
        start, type_ = addresses.of_view(self.kernel, seen, ()), element.value_type(self.type)

        def load(builder: Builder, batch: Value, row: Value, column: Value, lanes: int) -> Value:
            emission, address = Emission(builder), start(builder, batch)
            for index, stride in zip(self._indices(emission, batch, row, column), seen.strides, strict=True):
                address = builder.gep(type_, address, emission.value(index.times(stride)))
            return builder.load(vector_type(type_, lanes), address, align=ELEMENT_BYTES[type_])

        return load

    def _seen(self, source: Instruction, element_type: ElementType) -> View | None:
        """`source`, which has the factor's dimensions, in an input of that type, where it is not computed."""
        return view(source, dict(self.kernel.leaves)) if source.array.element_type is element_type else None

    def _indices(self, emission: Emission, *positions: Value) -> tuple[Index, ...]:
        """The factor's indices from linear ones of its batch, its row and its column."""
        at: dict[int, Index] = {}
        for group, position in zip((self.factor.batch, self.rows, self.columns), positions, strict=True):
            sizes = self.factor.sizes(group)
            size = math.prod(sizes)
            at.update(zip(group, reshape(emission, (emission.opaque(position, size),), (size,), sizes), strict=True))
        return tuple(at[d] for d in range(len(at)))
