"""A block's threads putting their values together: through shared memory between warps, by shuffles within one.

The tree's shape depends on the number of threads alone, so results are the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.codegen import element
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Builder, Module, Value, integer
from compiler.ir.types import ElementType

Combine = Callable[[Emission, Sequence[Value], Sequence[Value]], list[Value]]


@dataclass(frozen=True, slots=True)
class Block:
    """Accumulators of these types, one set for each of a power of two of threads; `name` keeps shared arrays apart."""

    module: Module
    name: str
    threads: int
    types: Sequence[ElementType]

    def reduce(
        self, emission: Emission, values: Sequence[Value], combine: Combine, *, remaining: int = 1
    ) -> list[Value]:
        """Combine the accumulators of all threads into those of the first; of the first `remaining`, each by itself.

        Then thread number n gets what the threads have whose number modulo `remaining` is n.
        """
        builder, result = emission.builder, list(values)
        distance = self.threads // 2
        while distance >= remaining:
            if distance >= grid.WARP:
                others = self._from_shared(builder, result, distance)
            else:
                others = [grid.shuffle_down(builder, value, distance, self.threads) for value in result]
            result = combine(emission, result, others)
            distance //= 2
        return result

    def spread(self, emission: Emission, values: Sequence[Value]) -> list[Value]:
        """Give every thread the values of thread 0."""
        builder = emission.builder
        zero = integer(0)
        with builder.when(builder.compare("eq", grid.thread(builder), zero), "first"):
            for type_, value, (stored, array) in zip(self.types, values, self._arrays(), strict=True):
                element.store(builder, type_, value, builder.gep(stored, array, zero))
        grid.barrier(builder)
        found = [
            element.load(builder, type_, builder.gep(stored, array, zero))
            for type_, (stored, array) in zip(self.types, self._arrays(), strict=True)
        ]
        grid.barrier(builder)
        return found

    def _from_shared(self, builder: Builder, values: Sequence[Value], distance: int) -> list[Value]:
        """What the thread `distance` further on holds, around the block's end."""
        mine = grid.thread(builder)
        other = builder.binary("and", builder.add(mine, integer(distance)), integer(self.threads - 1))
        for type_, value, (stored, array) in zip(self.types, values, self._arrays(), strict=True):
            element.store(builder, type_, value, builder.gep(stored, array, mine))
        grid.barrier(builder)
        found = [
            element.load(builder, type_, builder.gep(stored, array, other))
            for type_, (stored, array) in zip(self.types, self._arrays(), strict=True)
        ]
        grid.barrier(builder)
        return found

    def _arrays(self) -> list[tuple[str, Value]]:
        """A shared array for each accumulator, with its element's LLVM type."""
        types = [element.storage_type(type_) for type_ in self.types]
        return [
            (stored, grid.shared_array(self.module, f"shared.{self.name}.{number}.{stored}", stored, grid.BLOCK))
            for number, stored in enumerate(types)
        ]


def power_of_two(number: int) -> int:
    """The greatest power of two up to a number."""
    return 1 << (number.bit_length() - 1)
