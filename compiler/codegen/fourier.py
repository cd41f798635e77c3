"""The pieces that Fourier transform kernels are emitted from on either back end: one pass per dimension.

How a line is transformed is each back end's affair; how its elements are read and written is not.  Of a real transform
one half is not stored, or is filled in by symmetry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from compiler.codegen import complex_numbers, element
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Value, integer
from compiler.codegen.math.term import Term
from compiler.codegen.signature import arguments
from compiler.diagnostics import UnsupportedError
from compiler.ir.numbers import Array
from compiler.ir.shape import ArrayShape
from compiler.ir.types import C128, F64, ElementType
from compiler.ops.linear_algebra import check_lengths


@dataclass(frozen=True, slots=True)
class Pass:
    """A transform along one dimension: from where to where, and how long its lines are.

    `source` and `target` name arguments of the kernel; what is None lies between the passes, in the workspace.
    """

    source: Value | None
    source_shape: ArrayShape
    target: Value | None
    target_shape: ArrayShape
    dimension: int
    length: int

    @property
    def inner(self) -> int:
        """Elements between neighbours of a line."""
        return math.prod(self.target_shape.dims[self.dimension + 1 :])

    @property
    def lines(self) -> int:
        """The number of lines."""
        return math.prod(self.target_shape.dims[: self.dimension]) * self.inner


def is_inverse(kernel: Kernel) -> bool:
    """Whether the exponent is positive and the sums are divided by the length."""
    return kernel.roots[0].attributes["fft_type"] in ("IFFT", "IRFFT")


def between_bytes(kernel: Kernel) -> int:
    """The room for what goes from one pass to the next."""
    (fft,) = kernel.roots
    inverse_real = fft.attributes["fft_type"] == "IRFFT" and len(fft.attributes["fft_length"]) > 1
    return fft.operands[0].array.size_bytes if inverse_real else 0


def passes(kernel: Kernel) -> list[Pass]:
    """The last dimension first; for an inverse real transform last, after the others in the workspace.

    Raises:
        UnsupportedError: the transform has length 0.
    """
    (fft,) = kernel.roots
    if fft.array.size == 0 or fft.operands[0].array.size == 0:
        return []
    given, length = arguments(kernel), tuple(fft.attributes["fft_length"])
    check_lengths(fft)
    if 0 in length:
        raise UnsupportedError("fft of length 0", "code generation", kernel.name)
    source, target = fft.operands[0].array, fft.array
    rank = target.rank
    last = Pass(given.inputs[0], source, given.outputs[0], target, rank - 1, length[-1])
    others = [(rank - len(length) + number, size) for number, size in enumerate(length[:-1])]
    if fft.attributes["fft_type"] != "IRFFT" or not others:
        out = given.outputs[0]
        return [last, *(Pass(out, target, out, target, dimension, size) for dimension, size in reversed(others))]
    passes = [
        Pass(None if number else given.inputs[0], source, None, source, dimension, size)
        for number, (dimension, size) in enumerate(others)
    ]
    return [*passes, Pass(None, source, given.outputs[0], target, rank - 1, length[-1])]


class Transform:
    """One pass of a kernel: its lines' elements as they are read and written.

    Args:
        kernel: the kernel.
        part: the pass.
        between: where the array lies that goes from one pass to the next.
    """

    def __init__(self, kernel: Kernel, fft_pass: Pass, between: Value) -> None:
        self.kernel = kernel
        self.fft_pass = fft_pass
        self.between = between
        self.inverse = is_inverse(kernel)

    def _address(self, builder: Builder, shape: ArrayShape, pointer: Value | None, at: tuple[Value, Value]) -> Value:
        """The address of an element of a line of an array."""
        line, number = at
        inner = integer(self.fft_pass.inner)
        outer, rest = builder.udivrem(line, inner)
        row = builder.add(builder.mul(outer, integer(shape.dims[self.fft_pass.dimension])), number)
        offset = builder.add(builder.mul(row, inner), rest)
        return builder.gep(element.storage_type(shape.element_type), pointer or self.between, offset)

    def _given(self, builder: Builder, line: Value, number: Value) -> Complex:
        """The element of that number of a line; where that is not stored, the conjugate of the other half's."""
        fft_pass, mirrored = self.fft_pass, None
        stored = fft_pass.source_shape.dims[fft_pass.dimension]
        if stored < fft_pass.length:
            mirrored = builder.compare("sge", number, integer(stored))
            number = builder.select(mirrored, builder.sub(integer(fft_pass.length), number), number)
        value = self._read(builder, fft_pass.source_shape, (line, number))
        if mirrored is None:
            return value
        imaginary = builder.select(mirrored, builder.unary("fneg", value.im.value), value.im.value)
        return Complex(value.re, Term(builder, imaginary))

    def _read(self, builder: Builder, shape: ArrayShape, at: tuple[Value, Value]) -> Complex:
        address = self._address(builder, shape, self.fft_pass.source, at)
        value = element.load(builder, shape.element_type, address)
        wide = element.convert(builder, value, shape.element_type, C128)
        return Complex.of(builder, wide)

    def _deliver(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        """Write the element of that number of a transformed line."""
        fft_pass, shape = self.fft_pass, self.fft_pass.target_shape
        scaled = value.scaled(1 / fft_pass.length if self.inverse else 1.0)
        address = self._address(builder, shape, fft_pass.target, (line, number))
        element.store(builder, shape.element_type, _narrow(builder, scaled, shape.element_type), address)


def convolution_length(length: int) -> int:
    """The least length, a power of two times 1, 3 or 5, of a convolution that a transform can be done by."""
    needed = 2 * length - 1
    return min(odd << max(0, (-(-needed // odd) - 1).bit_length()) for odd in (1, 3, 5))


def roots_of_unity(length: int, *, inverse: bool) -> Array:
    """Powers of the primitive root of that order, each right to the last bit of c128 or nearly, quarters exact."""
    eighth = np.arange(length) * 8 // length if length else np.arange(0)
    # The angle is taken from the nearest quarter turn, so that symmetric roots have equal parts.
    quarter = (eighth + 1) // 2
    offset = np.arange(length) - quarter * length / 4
    angle = 2 * np.pi * offset / max(length, 1)
    turned = (np.cos(angle) + 1j * np.sin(angle)) * np.array([1, 1j, -1, -1j, 1])[quarter]
    return np.asarray(turned if inverse else turned.conj())


def _narrow(builder: Builder, value: Complex, element_type: ElementType) -> Value:
    if element_type.is_complex:
        return element.convert(
            builder, complex_numbers.pair(builder, value.re.value, value.im.value), C128, element_type
        )
    return element.convert(builder, value.re.value, F64, element_type)
