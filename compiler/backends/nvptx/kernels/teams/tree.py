"""A block's threads putting their values together: by shuffles within warps, through shared memory between them.

The tree's shape depends on the number of threads alone, so results are the same every time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import WARP, Combine
from compiler.codegen import element
from compiler.codegen.index import Emission
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.ir.types import ElementType


@dataclass(frozen=True, slots=True)
class Block:
    """Accumulators of these types, one set for each of a power of two of threads; `name` keeps shared arrays apart."""

    name: str
    threads: int
    types: Sequence[ElementType]

    def reduce(self, emission: Emission, values: Sequence[Value], combine: Combine) -> list[Value]:
        """Combine the accumulators of all threads in their order; right in the first, and once for each name.

        Args:
            emission: where code is emitted, with what is known there.
            values: the thread's accumulators.
            combine: what makes one of two.
        """
        builder = emission.builder
        if self.threads <= WARP:
            return grid.reduce_lanes(emission, values, combine, self.threads, self.threads)
        within, warps = grid.reduce_lanes(emission, values, combine, WARP), self.threads // WARP
        lane = builder.binary("and", grid.thread(builder), integer(WARP - 1))
        with builder.when(builder.compare("eq", lane, integer(0)), "first"):
            self._store(builder, within, builder.binary("lshr", grid.thread(builder), integer(5)))
        grid.barrier(builder)
        # Every warp does the rest by itself: there is nothing to be handed back.
        found = self._load(builder, builder.binary("and", lane, integer(warps - 1)))
        return grid.reduce_lanes(emission, found, combine, warps)

    def reduce_strips(self, emission: Emission, values: Sequence[Value], combine: Combine) -> list[Value]:
        """Combine the accumulators of threads that have the same lane, in the order of warps; right in the first.

        Args:
            emission: where code is emitted, with what is known there.
            values: the thread's accumulators.
            combine: what makes one of two.
        """
        builder, result, distance = emission.builder, list(values), WARP
        while distance < self.threads:
            result = combine(emission, result, self._from(builder, result, distance))
            distance *= 2
        return result

    def _from(self, builder: Builder, values: Sequence[Value], distance: int) -> list[Value]:
        """What the thread `distance` further on holds, around the block's end."""
        mine = grid.thread(builder)
        self._store(builder, values, mine)
        grid.barrier(builder)
        other = builder.binary("and", builder.add(mine, integer(distance)), integer(self.threads - 1))
        found = self._load(builder, other)
        grid.barrier(builder)
        return found

    def _store(self, builder: Builder, values: Sequence[Value], position: Value) -> None:
        for type_, value, (stored, array) in zip(self.types, values, self._arrays(builder), strict=True):
            element.store(builder, type_, value, builder.gep(stored, array, position))

    def _load(self, builder: Builder, position: Value) -> list[Value]:
        return [
            element.load(builder, type_, builder.gep(stored, array, position))
            for type_, (stored, array) in zip(self.types, self._arrays(builder), strict=True)
        ]

    def _arrays(self, builder: Builder) -> list[tuple[str, Value]]:
        """A shared array for each accumulator, with its element's LLVM type."""
        found = []
        for number, type_ in enumerate(self.types):
            name, stored = f"shared.{self.name}.{number}.{type_.name}", element.storage_type(type_)
            found.append((stored, grid.shared_array(builder, name, type_, self.threads)))
        return found


def spread(builder: Builder, values: Sequence[Value], threads: int, lanes: int = WARP) -> list[Value]:
    """What is right in the first of so many threads once they are reduced, in each; `lanes` of a warp take part.

    Args:
        builder: where code is emitted.
        values: of the thread.
        threads: of the team.
        lanes: of a warp that take part.
    """
    # Every warp of a block has it in the first of as many lanes as there are warps.
    return grid.spread_lanes(builder, values, threads if threads <= WARP else threads // WARP, lanes)


def power_of_two(number: int) -> int:
    """The greatest power of two up to a number."""
    return 1 << (number.bit_length() - 1)
