"""A slice of an operand on its way into shared memory: by `cp.async` where it is copied as it lies, else by registers.

A slice is as wide as a block's tile and a few terms deep.  In shared memory elements lie side by side either along the
depth or along the rows (columns), whichever the multiplier wants; lines are padded so that the lanes of a warp use
different banks.  Threads that are neighbours read what are neighbours in memory, in pieces of up to 16 bytes.

Pieces that go by registers are loaded before a slice is multiplied and stored after it, so that their way takes as
long as the arithmetic.  What lies beyond an operand's edges, or in a window's padding, is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import FactorPosition, Operand, Product, all_of, inside, run_of
from compiler.codegen import element
from compiler.codegen.index import Emission, Index, linear, reshape
from compiler.codegen.llvm_ir import I32, Builder, Value, integer, vector_type, zero
from compiler.codegen.signature import arguments, elemental_of
from compiler.ir.types import ElementType

_WORD_BYTES = 16
"""The widest load and copy of a thread, in bytes."""
_LEAST_COPY_BYTES = 4
"""`cp.async` copies 4, 8 or 16 bytes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A slice in shared memory: `width` by `depth` elements, neighbours along the depth or across it."""

    type: ElementType
    width: int
    depth: int
    is_deep: bool
    pad: int

    @property
    def pitch(self) -> int:
        """Elements from one line to the next."""
        return (self.depth if self.is_deep else self.width) + self.pad

    @property
    def size(self) -> int:
        """Elements of a slice, padding included."""
        return self.pitch * (self.width if self.is_deep else self.depth)

    @property
    def stored(self) -> str:
        """The LLVM type of an element."""
        return element.storage_type(self.type)

    @property
    def alignment(self) -> int:
        """The bytes that a slice begins at a multiple of."""
        return _WORD_BYTES

    def offset(self, position: Index, depth: Index) -> Index:
        """The number of an element in the slice, as `number` where words are not exchanged."""
        line, along = (position, depth) if self.is_deep else (depth, position)
        return line.times(self.pitch) + along

    def number(self, emission: Emission, position: Index, depth: Index) -> Value:
        """The number of an element in the slice.

        Args:
            emission: where code is emitted, with what is known there.
            position: its row or column.
            depth: its term.
        """
        return emission.value(self.offset(position, depth))


class Prompt:
    """A multiplier that has read a slice when the code behind goes on, as others may not have."""

    @property
    def unfinished(self) -> int:
        """Slices that may still be read when the next one is multiplied."""
        return 0

    def meet(self, builder: Builder) -> None:
        """Emit what a thread does before it meets the others ahead of a slice."""

    def finished(self, builder: Builder, totals: list[Value]) -> list[Value]:
        """The sums when all slices are multiplied."""
        del builder
        return totals


class Slice:
    """Brings slices of one operand into the stages of its shared array."""

    def __init__(self, product: Product, side: Operand, layout: Layout, threads: int, capability: int) -> None:
        self.product = product
        self.side = side
        self.layout = layout
        self.threads = threads
        self._source = product.source(side)
        size = layout.type.size_bytes
        along = side.run if layout.is_deep == side.is_deep else 1
        self._run = max(1, min(along, _WORD_BYTES // size, layout.width * layout.depth // threads))
        is_copied = self._source in dict(product.kernel.leaves) and self._source.array.element_type is layout.type
        self.is_asynchronous = capability >= 80 and is_copied and self._run * size >= _LEAST_COPY_BYTES
        if not self.is_asynchronous and layout.type.is_complex:
            # There are no vectors of pairs.
            self._run = 1
        elif not self.is_asynchronous and layout.is_deep != side.is_deep:
            # Elements that are strangers in memory still go to shared memory in words.
            along = run_of(product.depth if layout.is_deep else side.count)
            self._run = max(1, min(along, _LEAST_COPY_BYTES // size))
        self._pieces = layout.width * layout.depth // self._run
        self.trip_count = self._pieces // threads

    @property
    def is_whole(self) -> bool:
        """Whether whole words are copied by `cp.async`."""
        return self.is_asynchronous and self._run * self.layout.type.size_bytes == _WORD_BYTES

    @property
    def is_narrow(self) -> bool:
        """Whether pieces go by registers, and fill none."""
        return not self.is_asynchronous and self._run * self.layout.type.size_bytes < _LEAST_COPY_BYTES

    def fetch(self, emission: Emission, start: FactorPosition, stage: Value) -> list[Value]:
        """Start to bring in the slice whose first element is at `start`; what lies in registers is returned.

        Args:
            emission: where code is emitted, with what is known there.
            start: the position of that element in the operand.
            stage: the address of the slice in shared memory.
        """
        if self.is_asynchronous:
            for iteration in range(self.trip_count):
                emission.enter()
                self._copy(emission, self._position(emission, iteration), start, stage)
                emission.leave()
            return []
        return [
            self._load(emission, self._position(emission, iteration), start) for iteration in range(self.trip_count)
        ]

    def put(self, emission: Emission, values: list[Value], stage: Value) -> None:
        """Store what `fetch` returned.

        Args:
            emission: where code is emitted, with what is known there.
            values: a thread's elements.
            stage: the address of the slice in shared memory.
        """
        builder, size = emission.builder, self.layout.type.size_bytes
        for iteration, value in enumerate(values):
            emission.enter()
            at = self.layout.number(emission, *self._position(emission, iteration))
            builder.store(value, builder.gep(self.layout.stored, stage, at), align=self._run * size)
            emission.leave()

    def _position(self, emission: Emission, iteration: int) -> tuple[Index, Index]:
        """Where in the slice a piece of the thread's begins: position and depth."""
        layout = self.layout
        number = emission.opaque(grid.thread(emission.builder), self.threads).plus(iteration * self.threads)
        across, deep = (1, self._run) if layout.is_deep else (self._run, 1)
        sizes = (layout.width // across, layout.depth // deep)
        if not self.side.is_deep:
            sizes = sizes[::-1]
        found = reshape(emission, (number,), (self._pieces,), sizes)
        position, depth = found if self.side.is_deep else reversed(found)
        return position.times(across), depth.times(deep)

    def _where(
        self, emission: Emission, at: tuple[Index, Index], start: FactorPosition
    ) -> tuple[FactorPosition, list[Value | None]]:
        """An element of the operand by its place in the slice, and whether it is inside the operand."""
        bounds = [(start.free + at[0], self.side.count), (start.depth + at[1], self.product.depth)]
        conditions = inside(emission, bounds)
        # In range wherever it is used, which the index arithmetic may rely on.
        row, depth = (emission.opaque(emission.value(index), bound) for index, bound in bounds)
        return FactorPosition(start.batch, row, depth), conditions

    def _copy(self, emission: Emission, at: tuple[Index, Index], start: FactorPosition, stage: Value) -> None:
        """Copy a piece by `cp.async`; one that is not inside reads nothing, wherever its address is, and is zeros."""
        builder, layout = emission.builder, self.layout
        values = elemental_of(self.product.kernel, emission)
        emission.narrow = self.side.divides
        position, conditions = self._where(emission, at, start)
        indices, more = self.side.at(values, position)
        condition = all_of(builder, [*conditions, *more])
        offset = emission.value(linear(indices, self._source.array.dims))
        emission.narrow = False
        leaf = arguments(self.product.kernel).inputs[dict(self.product.kernel.leaves)[self._source]]
        source = builder.cast("addrspacecast", builder.gep(layout.stored, leaf, offset), "ptr addrspace(1)")
        target = builder.gep(layout.stored, stage, layout.number(emission, *at))
        size = self._run * layout.type.size_bytes
        # Only whole words can go around the first cache, in which nobody looks for them again.
        name = f"llvm.nvvm.cp.async.{'cg' if size == _WORD_BYTES else 'ca'}.shared.global.{size}"
        given = [target, source]
        if condition is not None:
            # Frozen it stays one value: LLVM would make a select of each condition, and compares combine for nothing.
            has_several = sum(one is not None for one in (*conditions, *more)) > 1
            whole = builder.unary("freeze", condition) if has_several else condition
            given.append(builder.select(whole, integer(size, I32), integer(0, I32)))
            name += ".s"
        builder.call(builder.module.declare(name, "void", [value.type for value in given]), "void", given)

    def _load(self, emission: Emission, at: tuple[Index, Index], start: FactorPosition) -> Value:
        """A piece in one register, or one vector of them."""
        builder, layout = emission.builder, self.layout
        position, conditions = self._where(emission, at, start)
        type_ = layout.stored if self._run == 1 else vector_type(layout.stored, self._run)

        def load() -> Value:
            emission.enter()
            found = [self._element(emission, position, number) for number in range(self._run)]
            emission.leave()
            return _joined(builder, found, type_)

        return _where(builder, all_of(builder, conditions), load, type_)

    def _element(self, emission: Emission, position: FactorPosition, number: int) -> Value:
        """An element of a piece, in the form in which it lies in shared memory."""
        builder, layout = emission.builder, self.layout
        if layout.is_deep:
            position = position._replace(depth=position.depth.plus(number))
        else:
            position = position._replace(free=position.free.plus(number))
        values = elemental_of(self.product.kernel, emission)
        indices, conditions = self.side.at(values, position)

        def load() -> Value:
            emission.enter()
            value = values.value(self._source, indices)
            emission.leave()
            value = element.convert(builder, value, self._source.array.element_type, layout.type)
            return element.stored(builder, layout.type, value)

        return _where(builder, all_of(builder, conditions), load, layout.stored)


def _where(builder: Builder, condition: Value | None, load: Callable[[], Value], type_: str) -> Value:
    return load() if condition is None else builder.choose(condition, load, lambda: zero(type_))


def _joined(builder: Builder, values: list[Value], type_: str) -> Value:
    if len(values) == 1:
        return values[0]
    joined = Value(type_, "poison")
    for number, value in enumerate(values):
        joined = builder.insert(joined, value, number)
    return joined
