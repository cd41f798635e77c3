"""One pass of a Fourier transform kernel: how lines come into the workspace and back.

Along the last dimension a line lies in memory as it is read.  Along any other, neighbouring lines are transformed
together, one to a lane: memory is read and written in vectors, and every stage computes on whole ones.  A real line of
even length is read as a complex one of half the length, whose transform is that of its even elements and of its odd
ones in one; they are told apart by symmetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from compiler.backends.cpu.kernels.fft.line import Lines, conjugate, each, split
from compiler.codegen import element
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import Pass, Transform, roots_of_unity
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I32, Builder, Value, floating, integer, mangled, vector_type, zero
from compiler.codegen.math.term import Term
from compiler.ir.shape import ArrayShape
from compiler.ir.types import C128, F64

_MOST_BYTES = 1 << 21
"""Room for lines that are transformed together: beyond, they fall out of the caches near a core."""


class LinePass(Transform):
    """A pass that transforms one line at a time."""

    @cached_property
    def lines(self) -> Lines:
        """The lines that are transformed at a time."""
        return Lines(self.fft_pass.length, self.type, self.inverse)

    @property
    def units(self) -> int:
        """The number of transforms."""
        return self.fft_pass.lines

    @property
    def type(self) -> str:
        """LLVM's type of the numbers that are computed with."""
        shapes = self.fft_pass.source_shape, self.fft_pass.target_shape
        return "double" if any(shape.element_type in (F64, C128) for shape in shapes) else "float"

    def unit(self, builder: Builder, number: Value, here: Value, there: Value) -> None:
        """Transform what has a number, with room for the lines in two places.

        Args:
            builder: where code is emitted.
            number: of the lines that are transformed together.
            here: the address of room for them.
            there: that of as much room more.
        """
        self._load(builder, number, here)
        self._store(builder, number, self.lines.run(builder, here, there))

    def _load(self, builder: Builder, line: Value, target: Value) -> None:
        with each(builder, 0, self.fft_pass.length) as index:
            self.lines.put(builder, target, index, self._given(builder, line, index).converted(self.type))

    def _store(self, builder: Builder, line: Value, source: Value) -> None:
        with each(builder, 0, self.fft_pass.target_shape.dims[self.fft_pass.dimension]) as index:
            value = self.lines.get(builder, source, index).converted("double")
            self._deliver(builder, line, index, value)


class ColumnPass(LinePass):
    """A pass along a dimension that is not the last, over complex elements: a unit is neighbouring lines."""

    @cached_property
    def lines(self) -> Lines:
        """As many lines as a vector has lanes, or as there are."""
        lanes = min(64 // (8 if self.type == "double" else 4), 1 << (self.fft_pass.inner - 1).bit_length())
        while lanes > 1 and Lines(self.fft_pass.length, self.type, self.inverse, lanes).bytes > _MOST_BYTES:
            lanes //= 2
        return Lines(self.fft_pass.length, self.type, self.inverse, lanes)

    @property
    def _blocks(self) -> int:
        return -(-self.fft_pass.inner // self.lines.together)

    @property
    def units(self) -> int:
        """The number of groups of neighbouring lines."""
        return self.fft_pass.lines // self.fft_pass.inner * self._blocks

    def unit(self, builder: Builder, number: Value, here: Value, there: Value) -> None:
        """Transform a group of lines.

        Args:
            builder: where code is emitted.
            number: of the group.
            here: scratch memory for its lines.
            there: as much again.
        """
        blocks, together = integer(self._blocks), integer(self.lines.together)
        outer, block = builder.udivrem(number, blocks)
        first = builder.mul(block, together)
        line = builder.add(builder.mul(outer, integer(self.fft_pass.inner)), first)
        mask = self._mask(builder, builder.sub(integer(self.fft_pass.inner), first))
        with each(builder, 0, self.fft_pass.length) as index:
            self.lines.put(builder, here, index, self._fetch(builder, (line, index), mask))
        here = self.lines.run(builder, here, there)
        with each(builder, 0, self.fft_pass.length) as index:
            value = self.lines.get(builder, here, index)
            scaled = value.scaled(1 / self.fft_pass.length) if self.inverse else value
            self._keep(builder, (line, index), scaled, mask)

    def _mask(self, builder: Builder, inside: Value) -> Value | None:
        """Which parts of elements of neighbouring lines lie inside; None where all do."""
        together = self.lines.together
        if self.fft_pass.inner % together == 0:
            return None
        type_ = vector_type(I32, 2 * together)
        numbers = ", ".join(f"i32 {lane // 2}" for lane in range(2 * together))
        limit = builder.broadcast(builder.cast("trunc", inside, I32), 2 * together)
        return builder.compare("ult", Value(type_, f"<{numbers}>"), limit)

    @property
    def _vector(self) -> str:
        return vector_type(self.type, 2 * self.lines.together)

    def _fetch(self, builder: Builder, at: tuple[Value, Value], mask: Value | None) -> Complex:
        address = self._address(builder, self.fft_pass.source_shape, self.fft_pass.source, at)
        size, lanes = self.lines.stages.size_bytes, 2 * self.lines.together
        if mask is None:
            found = builder.load(self._vector, address, align=size)
        else:
            arguments = [address, integer(size, I32), mask, zero(self._vector)]
            found = builder.intrinsic(f"masked.load.{mangled(self._vector)}.p0", arguments, result=self._vector)
        components = [self._lanes(builder, found, None, range(first, lanes, 2)) for first in (0, 1)]
        return Complex(*(Term(builder, component) for component in components))

    def _keep(self, builder: Builder, at: tuple[Value, Value], value: Complex, mask: Value | None) -> None:
        address = self._address(builder, self.fft_pass.target_shape, self.fft_pass.target, at)
        size, together = self.lines.stages.size_bytes, self.lines.together
        order = [lane // 2 + lane % 2 * together for lane in range(2 * together)]
        found = self._lanes(builder, value.re.value, value.im.value, order)
        if mask is None:
            builder.store(found, address, align=size)
            return
        arguments = [found, address, integer(size, I32), mask]
        builder.intrinsic(f"masked.store.{mangled(self._vector)}.p0", arguments, result="void")

    def _lanes(self, builder: Builder, left: Value, right: Value | None, order: range | list[int]) -> Value:
        if self.lines.together > 1:
            return builder.shuffle(left, right, order)
        if right is None:
            return builder.extract(left, order[0])
        both = builder.insert(Value(self._vector, "poison"), left, 0)
        return builder.insert(both, right, 1)


class _Block(NamedTuple):
    """A vector of a line: the number of its first element, where that lies, and where lines of both parts begin."""

    first: Value
    address: Value
    components: list[Value]


class ComplexPass(LinePass):
    """A pass over complex lines as they lie in memory, whose parts are told apart and laid side by side in vectors."""

    @property
    def _lanes(self) -> int:
        return min(self.lines.stages.lanes, 1 << (self.fft_pass.length.bit_length() - 1))

    @property
    def _both(self) -> str:
        return vector_type(self.type, 2 * self._lanes)

    @property
    def _one(self) -> str:
        return vector_type(self.type, self._lanes)

    def _load(self, builder: Builder, line: Value, target: Value) -> None:
        for index, address, components in self._blocks(builder, line, target, self.fft_pass.source):
            both = builder.load(self._both, address, align=self.lines.stages.size_bytes)
            for number, component in enumerate(components):
                lanes = builder.shuffle(both, None, range(number, 2 * self._lanes, 2))
                builder.store(lanes, builder.gep(self.type, component, index), align=self.lines.stages.size_bytes)

    def _store(self, builder: Builder, line: Value, source: Value) -> None:
        for index, address, components in self._blocks(builder, line, source, self.fft_pass.target):
            size, lanes = self.lines.stages.size_bytes, self._lanes
            real, imaginary = (
                builder.load(self._one, builder.gep(self.type, component, index), align=size)
                for component in components
            )
            if self.inverse:
                real, imaginary = self._scaled(builder, real), self._scaled(builder, imaginary)
            order = [lane // 2 + lane % 2 * lanes for lane in range(2 * lanes)]
            builder.store(builder.shuffle(real, imaginary, order), address, align=size)

    def _blocks(self, builder: Builder, line: Value, parted: Value, pointer: Value | None) -> Iterator[_Block]:
        """Elements a vector at a time, of which the last may be some of those before."""
        length, lanes = self.fft_pass.length, self._lanes
        components = [parted, builder.gep(self.type, parted, integer(length))]
        with builder.loop(integer(0), integer(length), step=lanes, name="block", nonempty=True) as block:
            index = builder.smin(block.index, integer(length - lanes)) if length % lanes else block.index
            address = self._address(builder, self.fft_pass.source_shape, pointer, (line, index))
            yield _Block(index, address, components)

    def _scaled(self, builder: Builder, component: Value) -> Value:
        """Divided by the length, rounded once."""
        wide = vector_type("double", self._lanes)
        product = builder.binary(
            "fmul", builder.cast("fpext", component, wide), floating(1 / self.fft_pass.length, wide)
        )
        return builder.cast("fptrunc", product, self._one)


class HalfPass(LinePass):
    """A pass over real lines of even length 2m as complex ones of length m.

    With E and O the transforms of even and odd elements, Z = E + iO is what a complex line gives, E(k) is half the sum
    of Z(k) and the conjugate of Z(m - k), iO(k) half the difference, and the result E(k) + w^k O(k).
    """

    @cached_property
    def lines(self) -> Lines:
        """One of half the length."""
        return Lines(self.fft_pass.length // 2, self.type, self.inverse)

    def _load(self, builder: Builder, line: Value, target: Value) -> None:
        if self.inverse:
            self._joined(builder, line, target)
            return
        with each(builder, 0, self.lines.length) as index:
            even, odd = self._real_addresses(builder, line, index, self.fft_pass.source_shape, self.fft_pass.source)
            components = (Term(builder, builder.load(self.type, address)) for address in (even, odd))
            self.lines.put(builder, target, index, Complex(*components))

    def _store(self, builder: Builder, line: Value, source: Value) -> None:
        if not self.inverse:
            self._parted(builder, line, source)
            return
        with each(builder, 0, self.lines.length) as index:
            value = self.lines.get(builder, source, index).scaled(1 / self.fft_pass.length)
            addresses = self._real_addresses(builder, line, index, self.fft_pass.target_shape, self.fft_pass.target)
            for component, address in zip((value.re, value.im), addresses, strict=True):
                builder.store(component.value, address)

    def _parted(self, builder: Builder, line: Value, source: Value) -> None:
        """The results out of what the complex line gave; those behind m + 1 are others' conjugates."""
        half, lines = self.lines.length, self.lines
        ends = lines.get(builder, source, integer(0))
        nothing = ends.re.literal(0.0)
        self._write(builder, (line, integer(0)), Complex(ends.re + ends.im, nothing))
        self._write(builder, (line, integer(half)), Complex(ends.re - ends.im, nothing))
        if half == 1:
            return
        factors = self._factors(builder, -0.5j)
        with each(builder, 1, half) as index:
            value = lines.get(builder, source, index)
            mirrored = conjugate(lines.get(builder, source, builder.sub(integer(half), index)))
            factor = lines.get(builder, factors, index)
            self._write(builder, (line, index), (value + mirrored).scaled(0.5) + (value - mirrored) * factor)

    def _joined(self, builder: Builder, line: Value, target: Value) -> None:
        """The complex line whose transform is the real one; where a real line has no imaginary parts, none are read."""
        half, lines = self.lines.length, self.lines
        first, last = (self._element(builder, (line, integer(number))) for number in (0, half))
        lines.put(builder, target, integer(0), Complex(first.re + last.re, first.re - last.re))
        if half == 1:
            return
        factors = self._factors(builder, 1j)
        with each(builder, 1, half) as index:
            value = self._element(builder, (line, index))
            mirrored = conjugate(self._element(builder, (line, builder.sub(integer(half), index))))
            factor = lines.get(builder, factors, index)
            lines.put(builder, target, index, value + mirrored + (value - mirrored) * factor)

    def _factors(self, builder: Builder, factor: complex) -> Value:
        """The powers of the whole line's root of unity, times a number."""
        roots = roots_of_unity(self.fft_pass.length, inverse=self.inverse)[: self.lines.length] * factor
        return split(builder, f"halves.{self.lines.stages.name}.{self.lines.length}", roots, self.type)

    def _element(self, builder: Builder, at: tuple[Value, Value]) -> Complex:
        shape = self.fft_pass.source_shape
        address = self._address(builder, shape, self.fft_pass.source, at)
        return Complex.of(builder, element.load(builder, shape.element_type, address))

    def _write(self, builder: Builder, at: tuple[Value, Value], value: Complex) -> None:
        shape = self.fft_pass.target_shape
        element.store(builder, shape.element_type, value.value, self._address(builder, shape, self.fft_pass.target, at))

    def _real_addresses(
        self, builder: Builder, line: Value, index: Value, shape: ArrayShape, pointer: Value | None
    ) -> tuple[Value, Value]:
        """Where an even element of a real line lies, and the next one."""
        even = builder.mul(index, integer(2))
        address = self._address(builder, shape, pointer, (line, even))
        return address, builder.gep(self.type, address, integer(1))


def pass_of(kernel: Kernel, fft_pass: Pass, between: Value) -> LinePass:
    """The form of a pass.

    Args:
        kernel: the transform.
        fft_pass: what is transformed, along which dimension.
        between: memory between two passes.
    """
    real = any(not shape.element_type.is_complex for shape in (fft_pass.source_shape, fft_pass.target_shape))
    if fft_pass.inner > 1:
        return ColumnPass(kernel, fft_pass, between)
    if not real and fft_pass.source_shape == fft_pass.target_shape and fft_pass.length > 1:
        return ComplexPass(kernel, fft_pass, between)
    return (
        HalfPass(kernel, fft_pass, between)
        if real and fft_pass.length % 2 == 0
        else LinePass(kernel, fft_pass, between)
    )
