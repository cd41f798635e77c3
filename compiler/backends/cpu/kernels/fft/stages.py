"""Fourier transforms in O(n log n) steps of any length: stages of small radix that leave the elements in order.

A stage reads one line and writes another (Stockham's way), so nothing is ever put in order for itself, and its inner
loop runs over neighbours in both.  Real and imaginary parts lie apart, as vectors want them.  Where fewer neighbours
than a vector's lanes belong to one root of unity, a vector holds several roots, and the results are interleaved in
registers before they are stored.

Several lines may lie side by side, element by element: the stages of one line of all their elements but the first
ones, which would have taken the lines apart, are theirs.

A stage by vectors is told how long lines are, so that it is the same function for all lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backends.cpu.machine import WIDEST_VECTOR_BYTES
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import roots_of_unity
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, integer, keep_rolled, vector_type
from compiler.codegen.math.term import Term
from compiler.ir.numbers import Array

_RADICES = (4, 2, 3, 5, 7, 11, 13, 17, 19, 23)
"""Factors that have stages of their own, in the order in which they are taken out: four does in one pass what two twos
do in two; greater primes take Bluestein's way."""
_CONTRACT = "contract"


def radices(length: int) -> list[int] | None:
    """The radices of a transform's stages, in order; None for a length that has a larger prime factor."""
    found, rest = [], length
    for radix in _RADICES:
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    return found if rest == 1 else None


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of transforms of one length.

    Attributes:
        length: a product of small primes.
        type: `float` or `double`: what is computed in.
        inverse: the sign of the exponent; nothing is divided by the length.
        together: how many lines lie side by side.
    """

    length: int
    type: str
    inverse: bool
    together: int = 1

    @property
    def size_bytes(self) -> int:
        """Bytes of a real number."""
        return 4 if self.type == "float" else 8

    @property
    def lanes(self) -> int:
        """Numbers in a vector."""
        return WIDEST_VECTOR_BYTES // self.size_bytes

    def run(self, builder: Builder, here: Value, there: Value) -> tuple[Value, Value]:
        """Transform the lines in `here`, real parts before imaginary ones; returns where they are and the other.

        Args:
            builder: where code is emitted.
            here: the address of the lines.
            there: that of as much room, which is overwritten.
        """
        stride = self.together
        for radix in radices(self.length) or ():
            roots = self.size // stride // radix
            sizes = [integer(number) for number in (stride * roots, stride, roots)]
            function = self._function(builder, radix, stride)
            builder.call(f"@{function}", "void", [here, there, self._table(builder, radix, stride), *sizes])
            here, there, stride = there, here, stride * radix
        return here, there

    @property
    def name(self) -> str:
        """The name with which those of its functions and tables begin."""
        return f"fft.{self.type}.{'inverse' if self.inverse else 'forward'}"

    @property
    def size(self) -> int:
        """Numbers in all lines."""
        return self.length * self.together

    def _function(self, builder: Builder, radix: int, stride: int) -> str:
        """`void stage(ptr from, ptr to, ptr table, i64 apart, i64 stride, i64 roots)`, defined once in a module."""
        form = self._form(radix, stride)
        roots = self.size // stride // radix
        name = f"{self.name}.{radix}.{form}{'' if roots > 1 else '.last'}"
        if builder.module.has_function(name):
            return name
        pointers = [(f"{PTR} noalias", "from"), (f"{PTR} noalias", "to"), (f"{PTR} noalias readonly", "table")]
        parameters = [*pointers, *((I64, size) for size in ("apart", "stride", "roots"))]
        function = builder.module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
        function.routine = "" if form.startswith("numbers") else self.name
        inside = Builder(function)
        _Stage(self, inside, radix, stride).emit(form)
        inside.ret()
        return name

    def _form(self, radix: int, stride: int) -> str:
        """What a stage computes on, and what else its code depends on."""
        lanes, roots = self.lanes, self.size // stride // radix
        fits = stride < lanes and lanes % stride == 0 and stride * roots % lanes == 0
        if fits and radix in (2, 4):
            return f"mixed.{stride}"
        return "vectors" if stride % lanes == 0 else f"numbers.{stride}x{roots}"

    def _table(self, builder: Builder, radix: int, stride: int) -> Value:
        """Powers of the primitive root: for each multiple, the real parts for each root, then the imaginary ones."""
        roots = self.size // stride // radix
        if roots == 1:
            return Value(PTR, "null")
        step = stride // self.together
        powers = np.arange(1, radix)[:, None] * np.arange(roots)[None, :] * step % self.length
        values = roots_of_unity(self.length, inverse=self.inverse)[powers]
        data = np.stack([values.real, values.imag], axis=1)
        return table(builder, f"roots.{self.name}.{self.length}x{self.together}.{stride}", data, self.type)


class _Stage:
    """One stage: `root` counts the roots of unity that are multiplied by, `at` the neighbours that share one.

    Vectors take all sizes from the parameters; single numbers, which LLVM makes vectors of, and vectors that mix roots
    know theirs.
    """

    def __init__(self, stages: Stages, builder: Builder, radix: int, stride: int) -> None:
        self.stages = stages
        self.builder = builder
        self.radix = radix
        self.neighbours = stride
        self.is_last = stages.size == stride * radix
        *_, self.table, self.apart, self.stride, self.roots = builder.function.arguments

    def emit(self, form: str) -> None:
        """All butterflies of the stage, in a form of `Stages._form`.

        Roots share vectors where it is mixed, and else the neighbours of one root do; `numbers` go one by one.
        """
        builder, lanes = self.builder, self.stages.lanes
        rolled = keep_rolled(builder.module)
        if form.startswith("mixed"):
            with builder.loop(integer(0), self.apart, step=lanes, name="roots", nonempty=True, metadata=rolled) as loop:
                self._mixed(loop.index)
            return
        step, type_ = lanes, vector_type(self.stages.type, lanes)
        if form != "vectors":
            # Sizes that LLVM knows, so that it makes vectors of its own.
            step, type_, roots = 1, self.stages.type, self.stages.size // self.neighbours // self.radix
            self.apart, self.stride, self.roots = (
                integer(size) for size in (self.neighbours * roots, self.neighbours, roots)
            )
        with builder.loop(integer(0), self.roots, name="root", nonempty=True, metadata=rolled) as root:
            twiddles = self._all(lambda number: self._twiddle(number, root.index, type_))
            with builder.loop(integer(0), self.stride, step=step, name="element", nonempty=True, metadata=rolled) as at:
                start = builder.mul(root.index, self.stride)
                first = builder.add(start, at.index)
                position = builder.add(builder.mul(start, integer(self.radix)), at.index)
                for number, result in enumerate(self._butterfly(type_, first, twiddles)):
                    self._put(builder.add(position, builder.mul(self.stride, integer(number))), result)

    def _mixed(self, first: Value) -> None:
        builder, lanes = self.builder, self.stages.lanes
        type_ = vector_type(self.stages.type, lanes)
        root = builder.binary("udiv", first, integer(self.neighbours))
        twiddles = self._all(lambda number: self._spread(number, root))
        results = self._butterfly(type_, first, twiddles)
        components = [
            self._interleaved([getattr(value, component).value for value in results]) for component in ("re", "im")
        ]
        position = builder.mul(first, integer(self.radix))
        for number, (real, imaginary) in enumerate(zip(*components, strict=True)):
            result = Complex(Term(builder, real), Term(builder, imaginary))
            self._put(builder.add(position, integer(number * lanes)), result)

    def _interleaved(self, vectors: Sequence[Value]) -> list[Value]:
        """Groups of `stride` lanes taken from each vector in turn."""
        if len(vectors) == 1:
            return list(vectors)
        even, odd = self._interleaved(vectors[::2]), self._interleaved(vectors[1::2])
        return [half for left, right in zip(even, odd, strict=True) for half in self._zipped(left, right)]

    def _zipped(self, left: Value, right: Value) -> list[Value]:
        """The two vectors that hold `stride` lanes of each side in turn."""
        lanes, stride = self.stages.lanes, self.neighbours
        pairs = [
            side + lane
            for start in range(0, lanes, stride)
            for side in (start, lanes + start)
            for lane in range(stride)
        ]
        return [self._shuffled(left, right, half) for half in (pairs[:lanes], pairs[lanes:])]

    def _shuffled(self, left: Value, right: Value, lanes: Sequence[int]) -> Value:
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        type_ = vector_type(self.stages.type, len(lanes))
        return self.builder.emit(type_, f"shufflevector {left}, {right}, <{len(lanes)} x i32> <{mask}>")

    # -- butterflies --------------------------------------------------------------------------------------------
    def _butterfly(self, type_: str, first: Value, twiddles: Sequence[Complex]) -> list[Complex]:
        """The transform of elements n / radix apart, each but the first multiplied by its power of the root."""
        numbers = [self.builder.add(first, self.builder.mul(self.apart, integer(n))) for n in range(self.radix)]
        values = [self._get(type_, number) for number in numbers]
        results = self._combined(values)
        if not twiddles:
            return results
        turned = (self._product(value, twiddle) for value, twiddle in zip(results[1:], twiddles, strict=True))
        return [results[0], *turned]

    def _combined(self, values: list[Complex]) -> list[Complex]:
        if self.radix == 2:
            return _two(values)
        return self._four(values) if self.radix == 4 else self._odd(values)

    def _four(self, values: list[Complex]) -> list[Complex]:
        first, second, third, fourth = values
        even, odd = _two([first, third])
        low, high = _two([second, fourth])
        ahead = Complex(odd.re - high.im, odd.im + high.re)
        behind = Complex(odd.re + high.im, odd.im - high.re)
        quarters = (ahead, behind) if self.stages.inverse else (behind, ahead)
        return [even + low, quarters[0], even - low, quarters[1]]

    def _odd(self, values: list[Complex]) -> list[Complex]:
        """By sums and differences of elements that stand opposite each other, whose roots are conjugates."""
        radix = self.radix
        sign = 1.0 if self.stages.inverse else -1.0
        pairs = [_two([values[n], values[radix - n]]) for n in range(1, radix // 2 + 1)]
        total = values[0]
        for sums, _ in pairs:
            total = total + sums
        results = [total, *values[1:]]
        for k in range(1, radix // 2 + 1):
            even, odd = values[0], None
            for n, (sums, differences) in enumerate(pairs, start=1):
                angle = 2 * math.pi * (k * n % radix) / radix
                even = self._plus_scaled(even, sums, math.cos(angle))
                odd = self._plus_scaled(odd, differences, sign * math.sin(angle))
            assert odd is not None
            results[k] = Complex(even.re - odd.im, even.im + odd.re)
            results[radix - k] = Complex(even.re + odd.im, even.im - odd.re)
        return results

    def _plus_scaled(self, start: Complex | None, value: Complex, factor: float) -> Complex:
        if start is None:
            return value.scaled(factor)
        components = ((start.re, value.re), (start.im, value.im))
        return Complex(*(Term(self.builder, self._fused(b, b.literal(factor), "fadd", a)) for a, b in components))

    def _product(self, left: Complex, right: Complex) -> Complex:
        """A product whose parts are each rounded twice where the machine multiplies and adds at once."""
        real = self._fused(left.re, right.re, "fsub", left.im * right.im, ahead=True)
        imaginary = self._fused(left.im, right.re, "fadd", left.re * right.im)
        return Complex(Term(self.builder, real), Term(self.builder, imaginary))

    def _fused(self, left: Term, right: Term, opcode: str, other: Term, *, ahead: bool = False) -> Value:
        """`other +- left * right`, or with `ahead` `left * right - other`, contracted where that is one operation."""
        product = self.builder.binary("fmul", left.value, right.value, _CONTRACT)
        operands = (product, other.value) if ahead else (other.value, product)
        return self.builder.binary(opcode, *operands, _CONTRACT)

    # -- memory -------------------------------------------------------------------------------------------------
    def _get(self, type_: str, number: Value) -> Complex:
        components = (
            self.builder.load(type_, address, align=self.stages.size_bytes)
            for address in self._addresses("%from", number)
        )
        return Complex(*(Term(self.builder, component) for component in components))

    def _put(self, number: Value, value: Complex) -> None:
        for component, address in zip((value.re, value.im), self._addresses("%to", number), strict=True):
            self.builder.store(component.value, address, align=self.stages.size_bytes)

    def _addresses(self, line: str, number: Value) -> list[Value]:
        builder, type_ = self.builder, self.stages.type
        real = builder.gep(type_, Value(PTR, line), number)
        return [real, builder.gep(type_, real, builder.mul(self.apart, integer(self.radix)))]

    def _all(self, one: Callable[[int], Complex]) -> list[Complex]:
        """What the results but the first are multiplied by; nothing where that is 1 throughout."""
        return [] if self.is_last else [one(number) for number in range(1, self.radix)]

    def _twiddles(self, number: int, root: Value) -> list[Value]:
        """Where the parts of the root to the power of a multiple lie."""
        start = self.builder.add(root, self.builder.mul(self.roots, integer(2 * (number - 1))))
        real = self.builder.gep(self.stages.type, self.table, start)
        return [real, self.builder.gep(self.stages.type, real, self.roots)]

    def _twiddle(self, number: int, root: Value, type_: str) -> Complex:
        """One root for all lanes."""
        components = [self.builder.load(self.stages.type, address) for address in self._twiddles(number, root)]
        return Complex(*(Term(self.builder, splat(self.builder, component, type_)) for component in components))

    def _spread(self, number: int, root: Value) -> Complex:
        """Several roots, each for `stride` lanes."""
        builder, stages = self.builder, self.stages
        count = stages.lanes // self.neighbours
        type_ = vector_type(stages.type, count)
        lanes = [lane // self.neighbours for lane in range(stages.lanes)]
        components = [builder.load(type_, address, align=stages.size_bytes) for address in self._twiddles(number, root)]
        return Complex(*(Term(builder, self._shuffled(component, component, lanes)) for component in components))


def table(builder: Builder, name: str, data: Array, type_: str) -> Value:
    """A constant array of real numbers in the module, written once.

    Args:
        builder: of a function in the module.
        name: what the array is called in the module.
        data: its numbers.
        type_: LLVM's type of them, float or double.
    """
    raw = np.ascontiguousarray(data, np.float32 if type_ == "float" else np.float64).tobytes()
    return builder.module.define_bytes(name, raw, alignment=64)


def splat(builder: Builder, value: Value, type_: str) -> Value:
    """A value in every lane, where the type is a vector's.

    Args:
        builder: where code is emitted.
        value: a scalar, or a value of that type already.
        type_: LLVM's.
    """
    if value.type == type_:
        return value
    one = builder.emit(type_, f"insertelement {type_} poison, {value}, i32 0")
    return builder.emit(type_, f"shufflevector {one}, {type_} poison, {type_.split(' x ')[0]} x i32> zeroinitializer")


def _two(values: list[Complex]) -> list[Complex]:
    return [values[0] + values[1], values[0] - values[1]]
