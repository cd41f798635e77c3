"""Fourier transforms of lines of a power of two elements: stages of radix 4 that leave the elements in order.

A stage reads one line and writes another (Stockham's way), so nothing is ever put in order for itself, and its inner
loop runs over neighbours in both.  Real and imaginary parts lie apart in the workspace, as vectors want them.
"""

from __future__ import annotations

from compiler.codegen import fourier
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import Transform
from compiler.codegen.llvm_ir import PTR, Builder, Value, integer, keep_rolled
from compiler.codegen.math.term import Term

_SHORTEST = 4


class Stages(Transform):
    """Emits one pass of a kernel by stages where its lines are of a power of two elements."""

    @property
    def is_split(self) -> bool:
        """Whether a line's parts lie apart."""
        return fourier.is_power_of_two(self.part.length) and self.part.length >= _SHORTEST

    def line(self, builder: Builder, number: Value, here: Value, there: Value) -> None:
        """Transform the line of that number, with room for two lines of c128."""
        if not self.is_split:
            super().line(builder, number, here, there)
            return
        self._load(builder, number, here, reversed_bits=False)
        stride = 1
        while stride < self.part.length:
            radix = 4 if self.part.length // stride >= _SHORTEST else 2
            builder.call(f"@{self._stage(builder, radix, stride)}", "void", [here, there])
            here, there, stride = there, here, stride * radix
        self._store(builder, number, here)

    def _stage(self, builder: Builder, radix: int, stride: int) -> str:
        """`void stage(ptr from, ptr to)`: the butterflies of one stage, whose inner loop is over `stride` elements."""
        direction = "inverse" if self.inverse else "forward"
        name = f"fft.{direction}.{self.part.length}.{stride}"
        if builder.module.has_function(name):
            return name
        parameters = [(f"{PTR} noalias", "from"), (f"{PTR} noalias", "to")]
        function = builder.module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
        inside = Builder(function)
        butterflies = self.part.length // stride // radix
        rolled = keep_rolled(builder.module)
        with (
            inside.loop(integer(0), integer(butterflies), name="root", nonempty=True, metadata=rolled) as root,
            inside.loop(integer(0), integer(stride), name="element", nonempty=True, metadata=rolled) as at,
        ):
            self._butterfly(inside, radix, stride, root.index, at.index)
        inside.ret()
        return name

    def _butterfly(self, builder: Builder, radix: int, stride: int, root: Value, at: Value) -> None:
        source, target = (Value(PTR, name) for name in ("%from", "%to"))
        apart = self.part.length // radix
        first = builder.add(builder.mul(root, integer(stride)), at)
        values = [self._get(builder, source, builder.add(first, integer(n * apart))) for n in range(radix)]
        place = builder.add(builder.mul(root, integer(stride * radix)), at)
        results = _two(values) if radix == 2 else self._four(values)
        for number, result in enumerate(results):
            if number and radix == 4:
                power = builder.mul(root, integer(number * stride))
                result = result * super()._get(builder, self._roots(builder), power)
            self._put(builder, target, builder.add(place, integer(number * stride)), result)

    def _four(self, values: list[Complex]) -> list[Complex]:
        first, second, third, fourth = values
        even, odd = _two([first, third])
        low, high = _two([second, fourth])
        ahead = Complex(odd.re - high.im, odd.im + high.re)
        behind = Complex(odd.re + high.im, odd.im - high.re)
        quarters = (ahead, behind) if self.inverse else (behind, ahead)
        return [even + low, quarters[0], even - low, quarters[1]]

    def _get(self, builder: Builder, line: Value, number: Value) -> Complex:
        if not self.is_split:
            return super()._get(builder, line, number)
        parts = (builder.load("double", place, align=8) for place in self._places(builder, line, number))
        return Complex(*(Term(builder, part) for part in parts))

    def _put(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        if not self.is_split:
            super()._put(builder, line, number, value)
            return
        for part, place in zip((value.re, value.im), self._places(builder, line, number), strict=True):
            builder.store(part.value, place, align=8)

    def _places(self, builder: Builder, line: Value, number: Value) -> list[Value]:
        imaginary = builder.gep("double", line, integer(self.part.length))
        return [builder.gep("double", part, number) for part in (line, imaginary)]


def _two(values: list[Complex]) -> list[Complex]:
    return [values[0] + values[1], values[0] - values[1]]
