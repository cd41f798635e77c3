"""One pass of a Fourier transform on one line: by stages, or where a prime factor is too large, as a convolution.

Bluestein's way: with jk = (j^2 + k^2 - (k - j)^2) / 2 a transform of any length is a convolution of the elements, each
times its chirp, with the conjugate chirps; that is done by two transforms of a longer line of small prime factors.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from compiler.backends.cpu.kernels.fft_stages import Stages, radices, roots_of_unity, table
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import Pass, Transform
from compiler.codegen.llvm_ir import Builder, Value, floating, integer
from compiler.codegen.math.term import Term
from compiler.ir.numbers import Array


def stages_of(part: Pass, *, inverse: bool) -> Stages:
    """The stages that a pass needs: of its own length, or of one that holds the convolution."""
    wide = any(shape.element_type.name in ("f64", "c128") for shape in (part.source_shape, part.target_shape))
    type_ = "double" if wide else "float"
    if radices(part.length) is not None:
        return Stages(part.length, type_, inverse)
    needed = 2 * part.length - 1
    longer = min(odd << max(0, (-(-needed // odd) - 1).bit_length()) for odd in (1, 3, 5))
    return Stages(longer, type_, inverse=False)


class LineTransform(Transform):
    """Emits one pass of a kernel for CPUs; `here` and `there` have room for a line of the stages' length each."""

    @property
    def stages(self) -> Stages:
        """The stages of this pass."""
        return stages_of(self.part, inverse=self.inverse)

    def line(self, builder: Builder, number: Value, here: Value, there: Value) -> None:
        """Transform the line of that number."""
        self._load(builder, number, here, reversed_bits=False)
        stages = self.stages
        if stages.length == self.part.length:
            here, _ = stages.run(builder, here, there)
        else:
            here = self._convolve(builder, stages, here, there)
        self._store(builder, number, here)

    def _convolve(self, builder: Builder, stages: Stages, here: Value, there: Value) -> Value:
        """Bluestein's transform of the line in `here`; returns where the result is."""
        length, room = self.part.length, stages.length
        chirps, response = self._tables(builder, room)
        get = partial(_get, builder, self._type)
        with self.each(builder, length) as index:
            _put(builder, there, room, index, get(here, length, index) * get(chirps, length, index))
        with self.each(builder, room - length) as index:
            nothing = Term(builder, floating(0.0, self._type))
            _put(builder, there, room, builder.add(index, integer(length)), Complex(nothing, nothing))
        there, here = stages.run(builder, there, here)
        with self.each(builder, room) as index:
            product = get(there, room, index) * get(response, room, index)
            _put(builder, there, room, index, _conjugate(product))
        there, here = stages.run(builder, there, here)
        with self.each(builder, length) as index:
            value = _conjugate(get(there, room, index))
            _put(builder, here, length, index, value * get(chirps, length, index))
        return here

    def _tables(self, builder: Builder, room: int) -> tuple[Value, Value]:
        """The chirps, and the transform of their conjugates that the elements' transform is multiplied by."""
        length = self.part.length
        numbers = np.arange(length)
        chirps = roots_of_unity(2 * length, inverse=self.inverse)[numbers * numbers % (2 * length)]
        around = np.zeros(room, np.complex128)
        around[:length] = chirps.conj()
        around[room - length + 1 :] = chirps[:0:-1].conj()
        name = f"chirps.{self._type}.{'inverse' if self.inverse else 'forward'}.{length}"
        response = np.fft.fft(around) / room
        return self._split(builder, name, chirps), self._split(builder, f"{name}.response", response)

    def _split(self, builder: Builder, name: str, numbers: Array) -> Value:
        return table(builder, name, np.stack([numbers.real, numbers.imag]), self._type)

    def _get(self, builder: Builder, line: Value, number: Value) -> Complex:
        return _get(builder, self._type, line, self.part.length, number).converted("double")

    def _put(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        _put(builder, line, self.part.length, number, value.converted(self._type))

    @property
    def _type(self) -> str:
        return self.stages.type


def _get(builder: Builder, type_: str, line: Value, gap: int, number: Value) -> Complex:
    """An element of a line whose imaginary parts lie `gap` numbers behind the real ones."""
    real = builder.gep(type_, line, number)
    places = real, builder.gep(type_, real, integer(gap))
    return Complex(*(Term(builder, builder.load(type_, place)) for place in places))


def _put(builder: Builder, line: Value, gap: int, number: Value, value: Complex) -> None:
    real = builder.gep(value.re.type, line, number)
    for part, place in ((value.re, real), (value.im, builder.gep(value.re.type, real, integer(gap)))):
        builder.store(part.value, place)


def _conjugate(number: Complex) -> Complex:
    return Complex(number.re, -number.im)
