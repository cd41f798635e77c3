"""The pieces that Fourier transform kernels are emitted from on either back end: one pass per dimension, lines in f64.

A line whose length is a power of two is transformed by radix-2 steps on bit-reversed elements, any other by the sum
that defines the transform.  Of a real transform one half is not stored, or is filled in by symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from compiler.codegen import complex_numbers, element
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I64, Builder, Value, floating, integer
from compiler.codegen.math.term import Term
from compiler.codegen.signature import arguments
from compiler.diagnostics import UnsupportedError
from compiler.ir.shape import ArrayShape
from compiler.ir.types import C128, F64, ElementType

Each = Callable[[Builder, int], AbstractContextManager[Value]]
"""A loop over the numbers below one that is not 0."""


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


def is_power_of_two(number: int) -> bool:
    """Whether a number is a power of two."""
    return number & (number - 1) == 0


def is_inverse(kernel: Kernel) -> bool:
    """Whether the exponent is positive and the sums are divided by the length."""
    return kernel.roots[0].attributes["fft_type"] in ("IFFT", "IRFFT")


def line_bytes(kernel: Kernel) -> int:
    """The room for two lines of c128, for the longest transform of a kernel."""
    longest: int = max(kernel.roots[0].attributes["fft_length"])
    return 2 * 16 * longest


def between_bytes(kernel: Kernel) -> int:
    """The room for what goes from one pass to the next."""
    (fft,) = kernel.roots
    inverse_real = fft.attributes["fft_type"] == "IRFFT" and len(fft.attributes["fft_length"]) > 1
    return fft.operands[0].array.size_bytes if inverse_real else 0


def passes(kernel: Kernel) -> list[Pass]:
    """The last dimension first; for an inverse real transform last, after the others in the workspace."""
    (fft,) = kernel.roots
    if not kernel.inputs:
        raise UnsupportedError("fft of a constant of one element", "code generation", kernel.name)
    if fft.array.size == 0 or fft.operands[0].array.size == 0:
        return []
    given, length = arguments(kernel), tuple(fft.attributes["fft_length"])
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
    """Emits one pass of a kernel, a line at a time.

    Args:
        kernel: the kernel.
        part: the pass.
        between: where the array lies that goes from one pass to the next.
        each: a loop over so many numbers, all of which this thread, or the threads that work on a line together, do.
        sync: waits for those threads.
    """

    def __init__(self, kernel: Kernel, part: Pass, between: Value, each: Each, sync: Callable[[Builder], None]) -> None:
        self.kernel = kernel
        self.part = part
        self.between = between
        self.each = each
        self.sync = sync
        self.inverse = is_inverse(kernel)

    def line(self, builder: Builder, number: Value, here: Value, there: Value) -> None:
        """Transform the line of that number, with room for two lines of c128."""
        fast = is_power_of_two(self.part.length)
        self._load(builder, number, here, reversed_bits=fast)
        self.sync(builder)
        if fast:
            self._radix_2(builder, here)
        else:
            self._by_definition(builder, here, there)
        self._store(builder, number, here if fast else there)

    def _address(self, builder: Builder, shape: ArrayShape, pointer: Value | None, at: tuple[Value, Value]) -> Value:
        """The address of an element of a line of an array."""
        line, number = at
        inner = integer(self.part.inner)
        outer, rest = builder.binary("udiv", line, inner), builder.binary("urem", line, inner)
        row = builder.add(builder.mul(outer, integer(shape.dims[self.part.dimension])), number)
        offset = builder.add(builder.mul(row, inner), rest)
        return builder.gep(element.storage_type(shape.element_type), pointer or self.between, offset)

    def _load(self, builder: Builder, line: Value, target: Value, *, reversed_bits: bool) -> None:
        part, length = self.part, self.part.length
        bits = length.bit_length() - 1
        stored = part.source_shape.dims[part.dimension]
        with self.each(builder, length) as index:
            number, mirrored = index, None
            if stored < length:
                # The half that is not stored is the conjugate of the other.
                mirrored = builder.compare("sge", number, integer(stored))
                number = builder.select(mirrored, builder.sub(integer(length), number), number)
            value = self._read(builder, part.source_shape, (line, number))
            if mirrored is not None:
                number_im = builder.select(mirrored, builder.unary("fneg", value.im.value), value.im.value)
                value = Complex(value.re, Term(builder, number_im))
            place = index
            if reversed_bits and bits:
                place = builder.intrinsic("bitreverse.i64", [place])
                place = builder.binary("lshr", place, integer(64 - bits))
            self._put(builder, target, place, value)

    def _read(self, builder: Builder, shape: ArrayShape, at: tuple[Value, Value]) -> Complex:
        address = self._address(builder, shape, self.part.source, at)
        value = element.load(builder, shape.element_type, address)
        wide = element.convert(builder, value, shape.element_type, C128)
        return Complex.of(builder, wide)

    def _store(self, builder: Builder, line: Value, source: Value) -> None:
        part, shape = self.part, self.part.target_shape
        scale = 1 / part.length if self.inverse else 1.0
        with self.each(builder, shape.dims[part.dimension]) as index:
            value = self._get(builder, source, index).scaled(scale)
            address = self._address(builder, shape, part.target, (line, index))
            element.store(builder, shape.element_type, _narrow(builder, value, shape.element_type), address)

    def _get(self, builder: Builder, line: Value, number: Value) -> Complex:
        return Complex.of(builder, element.load(builder, C128, builder.gep(element.storage_type(C128), line, number)))

    def _put(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        element.store(builder, C128, value.value, builder.gep(element.storage_type(C128), line, number))

    def _roots(self, builder: Builder) -> Value:
        """A table of the powers of the primitive root of unity."""
        length, sign = self.part.length, 1 if self.inverse else -1
        numbers = []
        for power in range(length):
            angle = sign * 2 * math.pi * power / length
            numbers += [_exact(math.cos(angle)), _exact(math.sin(angle))]
        literals = ", ".join(str(floating(number, "double")) for number in numbers)
        definition = f"internal constant [{2 * length} x double] [{literals}], align 64"
        return builder.module.define_global(f"roots.{length}.{'inverse' if self.inverse else 'forward'}", definition)

    def _radix_2(self, builder: Builder, line: Value) -> None:
        """Butterflies of halves of 1, 2, 4, ... elements."""
        length, roots = self.part.length, self._roots(builder)
        if length == 1:
            return
        with builder.loop(integer(0), integer(length.bit_length() - 1), name="stage", nonempty=True) as stage:
            half = builder.binary("shl", integer(1), stage.index)
            stride = builder.binary("lshr", integer(length // 2), stage.index)
            with self.each(builder, length // 2) as index:
                block = builder.binary("lshr", index, stage.index)
                within = builder.binary("and", index, builder.sub(half, integer(1)))
                low = builder.add(builder.mul(block, builder.binary("shl", half, integer(1))), within)
                high = builder.add(low, half)
                root = self._get(builder, roots, builder.mul(within, stride))
                first, second = self._get(builder, line, low), self._get(builder, line, high) * root
                self._put(builder, line, low, first + second)
                self._put(builder, line, high, first - second)
            self.sync(builder)

    def _by_definition(self, builder: Builder, line: Value, target: Value) -> None:
        """Every element as the sum of all, each times its power of the root."""
        length, roots = self.part.length, self._roots(builder)
        zero = floating(0.0, "double")
        with self.each(builder, length) as index:
            with builder.loop(
                integer(0), integer(length), carried=[zero, zero, Value(I64, "0")], nonempty=True
            ) as term:
                real, imaginary, power = term.carried
                product = self._get(builder, line, term.index) * self._get(builder, roots, power)
                total = Complex(Term(builder, real), Term(builder, imaginary)) + product
                following = builder.add(power, index)
                wraps = builder.compare("sge", following, integer(length))
                following = builder.select(wraps, builder.sub(following, integer(length)), following)
                term.carry(total.re.value, total.im.value, following)
            real, imaginary, _ = term.results
            self._put(builder, target, index, Complex(Term(builder, real), Term(builder, imaginary)))


def _exact(number: float) -> float:
    """Quarter turns have no rounding error."""
    return float(round(number)) if abs(number - round(number)) < 1e-15 else number


def _narrow(builder: Builder, value: Complex, element_type: ElementType) -> Value:
    if element_type.is_complex:
        return element.convert(
            builder, complex_numbers.pair(builder, value.re.value, value.im.value), C128, element_type
        )
    return element.convert(builder, value.re.value, F64, element_type)
