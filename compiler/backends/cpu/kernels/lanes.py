"""A row reduced in lanes, for reducers that LLVM does not vectorise by itself: argmax and whatever else is written.

Lane `k` combines elements k, k + LANES, k + 2 LANES, ...; the lanes' accumulators lie in a small tile, so that the loop
over lanes carries nothing from turn to turn and becomes vectors.  The lanes are combined in order at the end.  Every
lane starts from its own first element: no identity of the reducer is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen import element, nest
from compiler.codegen.index import Emission, Index, Variable, constant, whole
from compiler.codegen.llvm_ir import PTR, Builder, Value
from compiler.ir.types import ElementType

LANES = 64

Elements = Callable[[Index], list[Value]]
Combine = Callable[[Emission, Sequence[Value], Sequence[Value]], list[Value]]


def pays(count: int) -> bool:
    """Whether a row of that many elements is long enough for lanes."""
    return count >= 2 * LANES


@dataclass(frozen=True, slots=True)
class Lanes:
    """Accumulators of these types, one tile each."""

    types: Sequence[ElementType]
    tiles: Sequence[Value]

    @staticmethod
    def allocate(builder: Builder, types: Sequence[ElementType]) -> Lanes:
        """Put the tiles on the stack; to be called in the function's first block."""
        tiles = [builder.emit(PTR, f"alloca [{LANES} x {element.storage_type(type_)}], align 64") for type_ in types]
        return Lanes(types, tiles)

    def reduce(
        self, emission: Emission, count: int, elements: Elements, combine: Combine, start: Sequence[Value]
    ) -> list[Value]:
        """Reduce `count` elements, given by their position, and the start values."""
        blocks, rest = divmod(count, LANES)
        self._each(emission, LANES, lambda lane: self._save(emission, lane, elements(lane)))

        def add(base: Index) -> Callable[[Index], None]:
            def step(lane: Index) -> None:
                values = combine(emission, self._load(emission, lane), elements(base + lane))
                self._save(emission, lane, values)

            return step

        def block(counters: list[Value], _: list[Value]) -> list[Value]:
            number = whole(Variable(counters[0], blocks - 1)).plus(1)
            self._each(emission, LANES, add(number.times(LANES)))
            return []

        nest.nested(emission, [nest.all_of(blocks - 1)], [], block)
        if rest:
            self._each(emission, rest, add(constant(blocks * LANES)))

        def fold(counters: list[Value], carried: list[Value]) -> list[Value]:
            return combine(emission, carried, self._load(emission, whole(Variable(counters[0], LANES))))

        return nest.nested(emission, [nest.all_of(LANES)], start, fold)

    @staticmethod
    def _each(emission: Emission, count: int, body: Callable[[Index], None]) -> None:
        def step(counters: list[Value], _: list[Value]) -> list[Value]:
            body(whole(Variable(counters[0], count)))
            return []

        nest.nested(emission, [nest.all_of(count)], [], step)

    def _addresses(self, emission: Emission, lane: Index) -> list[Value]:
        at = emission.value(lane)
        return [
            emission.builder.gep(element.storage_type(type_), tile, at)
            for type_, tile in zip(self.types, self.tiles, strict=True)
        ]

    def _load(self, emission: Emission, lane: Index) -> list[Value]:
        addresses = self._addresses(emission, lane)
        return [element.load(emission.builder, t, a) for t, a in zip(self.types, addresses, strict=True)]

    def _save(self, emission: Emission, lane: Index, values: Sequence[Value]) -> None:
        for type_, address, value in zip(self.types, self._addresses(emission, lane), values, strict=True):
            element.store(emission.builder, type_, value, address)
