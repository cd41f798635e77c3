"""Lines of a Fourier transform in the workspace: by stages, or where a prime factor is too large, as a convolution.

Bluestein's way: with jk = (j^2 + k^2 - (k - j)^2) / 2 a transform of any length is a convolution of the elements, each
times its chirp, with the conjugate chirps; that is done by two transforms of a longer line of small prime factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compiler.backends.cpu.kernels.fft.stages import Stages, radices, splat, table
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import convolution_length, roots_of_unity
from compiler.codegen.llvm_ir import Builder, Value, integer, vector_type, zero
from compiler.codegen.math.term import Term
from compiler.codegen.workspace import whole_lines
from compiler.ir.numbers import Array


@dataclass(frozen=True)
class Lines:
    """Lines of one length that are transformed together, side by side element by element.

    Attributes:
        length: of each.
        type: `float` or `double`: what is computed in.
        inverse: the sign of the exponent; nothing is divided by the length.
        together: how many; the elements of one number are one vector, of a single line a number.
    """

    length: int
    type: str
    inverse: bool
    together: int = 1

    @cached_property
    def stages(self) -> Stages:
        """The stages that are needed: of the lines' own length, or of one that holds the convolution."""
        if radices(self.length) is not None:
            return Stages(self.length, self.type, self.inverse, self.together)
        return Stages(convolution_length(self.length), self.type, inverse=False, together=self.together)

    @property
    def bytes(self) -> int:
        """The room for two of what `run` works on, in whole cache lines."""
        return whole_lines(4 * self.stages.size_bytes * self.stages.size)

    @property
    def element(self) -> str:
        """The type of the real parts of one number's elements."""
        return vector_type(self.type, self.together) if self.together > 1 else self.type

    def run(self, builder: Builder, here: Value, there: Value) -> Value:
        """Transform the lines in `here`, real parts before imaginary ones; returns where the results are.

        Args:
            builder: where code is emitted.
            here: the address of the lines.
            there: that of as much room, which is overwritten.
        """
        stages = self.stages
        if stages.length != self.length:
            return self._convolve(builder, here, there)
        here, _ = stages.run(builder, here, there)
        return here

    def get(self, builder: Builder, lines: Value, number: Value, *, length: int = 0) -> Complex:
        """The elements of a number, of lines of that length if not their own.

        Args:
            builder: where code is emitted.
            lines: the address of the lines, real parts before imaginary ones.
            number: of the element in each line.
            length: of the lines, 0 for their own.
        """
        size = self.stages.size_bytes
        addresses = self._addresses(builder, lines, number, length or self.length)
        return Complex(*(Term(builder, builder.load(self.element, address, align=size)) for address in addresses))

    def put(self, builder: Builder, lines: Value, number: Value, value: Complex, *, length: int = 0) -> None:
        """Write the elements of a number.

        Args:
            builder: where code is emitted.
            lines: the address of the lines, real parts before imaginary ones.
            number: of the element in each line.
            value: an element of each line.
            length: of the lines, 0 for their own.
        """
        addresses = self._addresses(builder, lines, number, length or self.length)
        for component, address in zip((value.re, value.im), addresses, strict=True):
            builder.store(component.value, address, align=self.stages.size_bytes)

    def _addresses(self, builder: Builder, lines: Value, number: Value, length: int) -> tuple[Value, Value]:
        real = builder.gep(self.element, lines, number)
        return real, builder.gep(self.element, real, integer(length))

    # -- Bluestein's transform ----------------------------------------------------------------------------------
    def _convolve(self, builder: Builder, here: Value, there: Value) -> Value:
        stages, length = self.stages, self.length
        room = stages.length
        chirps, response = self._tables(builder)
        with each(builder, 0, length) as number:
            value = self.get(builder, here, number) * self._factor(builder, chirps, length, number)
            self.put(builder, there, number, value, length=room)
        with each(builder, length, room) as number:
            nothing = Term(builder, zero(self.element))
            self.put(builder, there, number, Complex(nothing, nothing), length=room)
        there, here = stages.run(builder, there, here)
        with each(builder, 0, room) as number:
            factor = self._factor(builder, response, room, number)
            product = self.get(builder, there, number, length=room) * factor
            self.put(builder, there, number, conjugate(product), length=room)
        there, here = stages.run(builder, there, here)
        with each(builder, 0, length) as number:
            value = conjugate(self.get(builder, there, number, length=room))
            self.put(builder, here, number, value * self._factor(builder, chirps, length, number))
        return here

    def _factor(self, builder: Builder, numbers: Value, count: int, number: Value) -> Complex:
        """A number of a table, for all lines."""
        real = builder.gep(self.type, numbers, number)
        addresses = real, builder.gep(self.type, real, integer(count))
        components = (splat(builder, builder.load(self.type, address), self.element) for address in addresses)
        return Complex(*(Term(builder, component) for component in components))

    def _tables(self, builder: Builder) -> tuple[Value, Value]:
        """The chirps, and the transform of their conjugates that the elements' transform is multiplied by."""
        length, room = self.length, self.stages.length
        numbers = np.arange(length)
        chirps = roots_of_unity(2 * length, inverse=self.inverse)[numbers * numbers % (2 * length)]
        around = np.zeros(room, np.complex128)
        around[:length] = chirps.conj()
        around[room - length + 1 :] = chirps[:0:-1].conj()
        name = f"chirps.{self.type}.{'inverse' if self.inverse else 'forward'}.{length}"
        response = np.fft.fft(around) / room
        return split(builder, name, chirps, self.type), split(builder, f"{name}.response", response, self.type)


@contextmanager
def each(builder: Builder, start: int, stop: int) -> Iterator[Value]:
    """A loop over numbers, of which there is one at least.

    Args:
        builder: where code is emitted.
        start: the first number.
        stop: the one behind the last.
    """
    with builder.loop(integer(start), integer(stop), nonempty=True) as loop:
        yield loop.index


def split(builder: Builder, name: str, numbers: Array, type_: str) -> Value:
    """A table of complex numbers, real parts before imaginary ones.

    Args:
        builder: where code is emitted.
        name: of the table in the module.
        numbers: complex, of any shape.
        type_: LLVM's, of a component.
    """
    return table(builder, name, np.stack([numbers.real, numbers.imag]), type_)


def conjugate(number: Complex) -> Complex:
    """The conjugate of a number."""
    return Complex(number.re, -number.im)
