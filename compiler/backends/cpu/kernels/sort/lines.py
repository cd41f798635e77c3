"""The lines of a sort: how many, how long, and how their elements are read and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.codegen import nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel, computed
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.signature import arguments, elemental_of, store
from compiler.codegen.sort_key import SortKey
from compiler.codegen.sort_prefix import SortResults
from compiler.ir.types import ElementType

Elements = Sequence[Value] | Mapping[int, Value]
"""One element of each operand, or of some, by the operand's number."""


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
        """The elements of that number of every operand's line.

        Args:
            builder: where code is emitted.
            line: the line's number, an i64.
            number: the element's, an i64.
        """
        emission, every = Emission(builder), range(len(self.types))
        return list(self.elements(emission, line, emission.opaque(number, self.length), every).values())

    def keyed(self, emission: Emission, line: Value, number: Index, key: SortKey) -> dict[int, Value]:
        """The elements of that number that a key looks at, by operand.

        Args:
            emission: where code is emitted.
            line: the line's number, an i64.
            number: the element's.
            key: what the order is decided by.
        """
        return self.elements(emission, line, number, key.operands)

    def elements(self, emission: Emission, line: Value, number: Index, operands: Iterable[int]) -> dict[int, Value]:
        """The elements at an index in the lines of some operands, by operand; with lanes, those of neighbours.

        Args:
            emission: where code is emitted.
            line: the line's number, an i64.
            number: the element's, or that of the first lane.
            operands: numbers of the sort's operands.
        """
        values = elemental_of(self.kernel, emission)
        indices = self._indices(emission, line, number)
        return {operand: values.value(self.sort.operands[operand], indices) for operand in operands}

    @property
    def results_have_lanes(self) -> bool:
        """Whether elements of results are known by their numbers, none in memory, and have a form on vectors."""
        leaves = {leaf for leaf, _ in self.kernel.leaves}
        wanted = [self.sort.operands[operand] for operand in self.results.numbers]
        made = list(computed(wanted, ()))
        return leaves.isdisjoint(made) and fits(made, wanted)

    def has_lanes(self, key: SortKey) -> bool:
        """Whether what elements are ordered by has a form on vectors."""
        leaves = [leaf for leaf, _ in self.kernel.leaves]
        operands = [self.sort.operands[operand] for operand in key.operands]
        return fits(computed(operands, leaves), operands) and fits(key.body, ())

    def lanes(self, key: SortKey, has: Callable[[str], bool]) -> Lanes | None:
        """Neighbours in a line whose keys are made at a time, on a target with features; None where none are."""
        arrays = [self.sort.operands[operand].array for operand in key.operands]
        return Lanes.choose(has, arrays, self.length) if self.inner == 1 and self.has_lanes(key) else None

    def store(self, builder: Builder, line: Value, number: Value, elements: Elements) -> None:
        """Write the elements of that number of every result's line, as far as that is stored.

        Args:
            builder: where code is emitted.
            line: the line's number, an i64.
            number: the element's, an i64.
            elements: by operand.
        """
        emission = Emission(builder)
        self.write(emission, line, emission.opaque(number, self.length), elements)

    def write(self, emission: Emission, line: Value, number: Index, elements: Elements) -> None:
        """Write the elements at an index in every result's line, as far as that is stored.

        Args:
            emission: where code is emitted.
            line: the line's number, an i64.
            number: the element's.
            elements: by operand.
        """
        if self.results.stored == self.length:
            self._write(emission, line, number, elements)
            return
        builder = emission.builder
        with builder.when(builder.compare("slt", emission.value(number), integer(self.results.stored)), "stored"):
            self._write(Emission(builder), line, number, elements)

    def _write(self, emission: Emission, line: Value, number: Index, elements: Elements) -> None:
        outputs = arguments(self.kernel).outputs
        outer, inner = self._split(emission.builder, line)
        row = emission.opaque(outer, self.outer).times(self.results.stored) + number
        at = row.times(self.inner) + emission.opaque(inner, self.inner)
        for shape, result, output in zip(self.kernel.outputs, self.results.numbers, outputs, strict=True):
            store(emission, shape, elements[result], output, at)

    def _split(self, builder: Builder, line: Value) -> tuple[Value, Value]:
        inner = integer(self.inner)
        return builder.udivrem(line, inner)

    def _indices(self, emission: Emission, line: Value, number: Index) -> tuple[Index, ...]:
        outer, inner = self._split(emission.builder, line)
        before, after = self.dims[: self.dimension], self.dims[self.dimension + 1 :]
        return (
            *nest.coordinates(emission, emission.opaque(outer, self.outer), before),
            number,
            *nest.coordinates(emission, emission.opaque(inner, self.inner), after),
        )
