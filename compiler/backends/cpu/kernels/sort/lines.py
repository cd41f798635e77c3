"""The lines of a sort: how many, how long, and how their elements are read and written."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel, computed
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.sort_key import SortKey
from compiler.codegen.sort_prefix import SortResults
from compiler.ir.module import Instruction
from compiler.ir.types import ElementType


class Lines:
    """The lines along the sorted dimension of a sort kernel's operands."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.results = SortResults.of(kernel)
        self.sort = self.results.sort
        (self.dimension,) = self.sort.attributes["dimensions"]
        self.dims: tuple[int, ...] = tuple(self.sort.operands[0].array.dims)
        self.length: int = self.dims[self.dimension]
        self.inner = math.prod(self.dims[self.dimension + 1 :])
        self.outer = math.prod(self.dims[: self.dimension])
        self.count = self.outer * self.inner
        self.types: list[ElementType] = [operand.array.element_type for operand in self.sort.operands]

    def load(self, builder: Builder, line: Value, number: Value) -> list[Value]:
        """The elements of that number of every operand's line."""
        emission = Emission(builder)
        return self.elements(emission, line, emission.opaque(number, self.length), self.sort.operands)

    def keyed(self, emission: Emission, line: Value, number: Index, key: SortKey) -> Value:
        """The bits that the element of that number is ordered by; of an emission with lanes, those of neighbours."""
        operands = {operand: self.sort.operands[operand] for operand in key.operands}
        elements = self.elements(emission, line, number, list(operands.values()))
        return key.bits(emission.builder, key.value(emission, dict(zip(operands, elements, strict=True))))

    def has_lanes(self, key: SortKey) -> bool:
        """Whether what elements are ordered by has a form on vectors."""
        leaves = [leaf for leaf, _ in self.kernel.leaves]
        operands = [self.sort.operands[operand] for operand in key.operands]
        return fits(computed(operands, leaves), operands) and fits(key.body, ())

    def elements(
        self, emission: Emission, line: Value, number: Index, operands: Sequence[Instruction]
    ) -> list[Value]:
        """The elements at an index in the lines of some operands."""
        values = elemental_of(self.kernel, emission)
        indices = self._indices(emission, line, number)
        return [values.value(operand, indices) for operand in operands]

    def store(self, builder: Builder, line: Value, number: Value, elements: Sequence[Value]) -> None:
        """Write the elements of that number of every result's line, as far as that is stored."""
        if self.results.stored == self.length:
            self._store(builder, line, number, elements)
            return
        with builder.when(builder.compare("slt", number, integer(self.results.stored)), "stored"):
            self._store(builder, line, number, elements)

    def _store(self, builder: Builder, line: Value, number: Value, elements: Sequence[Value]) -> None:
        emission, outputs = Emission(builder), arguments(self.kernel).outputs
        at = emission.opaque(self._linear(builder, line, number), self.kernel.outputs[0].size)
        for shape, result, output in zip(self.kernel.outputs, self.results.numbers, outputs, strict=True):
            store(emission, shape, elements[result], output, at)

    def _split(self, builder: Builder, line: Value) -> tuple[Value, Value]:
        inner = integer(self.inner)
        return builder.udivrem(line, inner)

    def _linear(self, builder: Builder, line: Value, number: Value) -> Value:
        outer, inner = self._split(builder, line)
        row = builder.add(builder.mul(outer, integer(self.results.stored)), number)
        return builder.add(builder.mul(row, integer(self.inner)), inner)

    def _indices(self, emission: Emission, line: Value, number: Index) -> tuple[Index, ...]:
        outer, inner = self._split(emission.builder, line)
        before, after = self.dims[: self.dimension], self.dims[self.dimension + 1 :]
        return (
            *nest.coordinates(emission, emission.opaque(outer, self.outer), before),
            number,
            *nest.coordinates(emission, emission.opaque(inner, self.inner), after),
        )
