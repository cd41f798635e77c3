"""Fourier transform kernels: per dimension one launch on lines in shared memory, or for longer ones one per stage.

A line is transformed in stages, one for each factor of its length, that leave elements in order (Stockham's way).
After some of them, with `done` the product of their factors and `rest` what is left of the length, element k * rest + q
is that of number k in the transform of every rest-th element of the line from q on.  A stage makes every element by
itself, as the sum of as many as its factor times powers of the root of unity: all threads work alike, whatever the
factor.

Elements are c128 on the way.  Short lines share a block; a line too long for shared memory is read into the workspace
first, since the array that it comes from may be the one that its transform goes to.

A long line whose length has a large prime factor would take as many steps for each element.  It is a convolution with
chirps instead (Bluestein's way): with jk = (j^2 + k^2 - (k - j)^2) / 2 the elements, each times its chirp, are
convolved with the conjugate chirps by transforms of a longer line of small factors.  The chirps to convolve with are
transformed along with the lines, as one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Launches, Plan, Strategy, planned
from compiler.codegen import element, fourier
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import Pass, Transform
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, floating, integer
from compiler.codegen.math.term import Term
from compiler.codegen.signature import arguments
from compiler.ir.numbers import Array
from compiler.ir.types import C128, F64

_ELEMENT_BYTES = 16
"""Bytes of an element of the workspace, which is c128 for all."""
_LONGEST_SHARED = 1024
"""Elements of a line that fit in two copies in the 48 KiB of shared memory of a block, as c128."""
_RADICES = {True: (4, 2, 3, 5, 7), False: (16, 8, 4, 2, 9, 3, 5, 7)}
"""Factors of lines in shared memory, where a stage costs little, and of others, where it moves everything."""
_LONGEST_TABLE = 4096
"""Roots up to so many are all in a table; of more, two tables hold those whose products they are."""

_AHEAD = 8
"""Terms that a thread loads together: memory answers after hundreds of cycles."""
_LARGEST_FACTOR = 127
"""A stage of a larger prime takes longer than the transforms of a convolution."""

Read = Callable[[Builder, Value], Complex]


def _passes(given: Given) -> Plan:
    """The plan of a pass for each dimension, short lines in shared memory and long ones in the workspace."""
    kernel, passes = given.kernel, fourier.passes(given.kernel)
    long = [fft_pass for fft_pass in passes if fft_pass.length > _LONGEST_SHARED]
    half_bytes = _ELEMENT_BYTES * max(map(_elements, long), default=0)

    def emit(module: Module) -> Launches:
        launches: list[Launch] = []
        for number, fft_pass in enumerate(passes):
            form = _Convolution if _is_convolved(fft_pass) else _Lines
            line = form(module, kernel, fft_pass, f"_{number}", half_bytes)
            launches += line.in_workspace() if fft_pass in long else [line.in_shared()]
        return tuple(launches)

    workspace = fourier.between_bytes(kernel) + 2 * half_bytes
    lengths = {
        "lengths": [fft_pass.length for fft_pass in passes],
        "in_workspace": [fft_pass.length for fft_pass in long],
    }
    return planned(emit, workspace_bytes=workspace, details=lengths)


FFT = Kind((Strategy("passes", _passes),), Given)
"""Fourier transform kernels."""


def _is_convolved(fft_pass: Pass) -> bool:
    return (
        fft_pass.length > _LONGEST_SHARED and max(stage.factor for stage in _stages(fft_pass.length)) > _LARGEST_FACTOR
    )


def _elements(fft_pass: Pass) -> int:
    """How many elements a pass in the workspace works on."""
    return (
        (fft_pass.lines + 1) * fourier.convolution_length(fft_pass.length)
        if _is_convolved(fft_pass)
        else fft_pass.lines * fft_pass.length
    )


@dataclass(frozen=True, slots=True)
class _Stage:
    """A step of a transform of `length` elements: `done` of it is done before, a `factor` of what is left comes now."""

    length: int
    done: int
    factor: int

    @property
    def rest(self) -> int:
        """What is left of the length before."""
        return self.length // self.done

    def element(self, builder: Builder, number: Value, read: Read, root: Read) -> Complex:
        """An element behind the stage from those before it and the powers of the root of unity."""
        after = self.rest // self.factor
        line, column = builder.udivrem(number, integer(after))
        within = builder.binary("urem", line, integer(self.done))
        first = builder.add(builder.mul(within, integer(self.rest)), column)
        limit = integer(self.done * self.factor)

        def terms(index: Value, power: Value, some: int, total: Complex) -> tuple[Complex, Value]:
            """A sum with some more terms, all of which are loaded before any is added; and the next root's power."""
            found = []
            for more in range(some):
                value = read(
                    builder, builder.add(first, builder.mul(builder.add(index, integer(more)), integer(after)))
                )
                found.append((value, root(builder, builder.mul(power, integer(after)))))
                following = builder.add(power, line)
                wraps = builder.compare("sge", following, limit)
                power = builder.select(wraps, builder.sub(following, limit), following)
            for value, of_unity in found:
                total = total + value * of_unity
            return total, power

        whole, zero = self.factor // _AHEAD * _AHEAD, floating(0.0, "double")
        start = [zero, zero, integer(0)]
        with builder.loop(integer(0), integer(whole), step=_AHEAD, carried=start, name="term") as term:
            total = Complex(*(Term(builder, component) for component in term.carried[:2]))
            total, power = terms(term.index, term.carried[2], _AHEAD, total)
            term.carry(total.re.value, total.im.value, power)
        total = Complex(*(Term(builder, component) for component in term.results[:2]))
        return terms(integer(whole), term.results[2], self.factor - whole, total)[0]


def _stages(length: int) -> Iterator[_Stage]:
    """The stages of a transform; a large prime is a factor like any other."""
    done, rest, radices = 1, length, _RADICES[length <= _LONGEST_SHARED]
    while rest > 1:
        factor = next((radix for radix in radices if rest % radix == 0), 0) or _least_factor(rest)
        yield _Stage(length, done, factor)
        done, rest = done * factor, rest // factor


def _least_factor(number: int) -> int:
    """The least prime factor of a number without factors up to 7."""
    return next((factor for factor in range(11, int(number**0.5) + 1, 2) if number % factor == 0), number)


class _Lines(Transform):
    """The lines of one pass."""

    def __init__(self, module: Module, kernel: Kernel, fft_pass: Pass, suffix: str, half_bytes: int) -> None:
        super().__init__(kernel, fft_pass, arguments(kernel).workspace)
        self.module, self.suffix = module, suffix
        self.half_bytes = half_bytes
        self.stored = fft_pass.target_shape.dims[fft_pass.dimension]

    def in_shared(self) -> Launch:
        """Lines by blocks, as many as have a thread for each element."""
        length, lines = self.fft_pass.length, self.fft_pass.lines
        together = max(1, min(grid.BLOCK // length, lines))
        threads = min(grid.BLOCK, -(-together * length // grid.WARP) * grid.WARP)
        builder = grid.begin(self.module, self.kernel, threads, self.suffix, talks=True)
        size = together * length
        name = f"line.{self.kernel.name}{self.suffix}"
        halves = [grid.shared_array(builder, f"{name}.{n}", F64, 2 * size) for n in range(2)]
        first = builder.mul(grid.block(builder), integer(together))
        end = builder.smin(builder.sub(integer(lines), first), integer(together))
        count = builder.mul(end, integer(length))
        with grid.strided(builder, integer(0), count, threads) as position:
            line, number = builder.udivrem(position, integer(length))
            self._put(builder, halves[0], position, self._given(builder, builder.add(first, line), number))
        for stage in _stages(length):
            grid.barrier(builder)
            with grid.strided(builder, integer(0), count, threads) as position:
                self._put(builder, halves[1], position, self._after(builder, stage, position, self._from(halves[0])))
            halves.reverse()
        grid.barrier(builder)
        with grid.strided(builder, integer(0), builder.mul(end, integer(self.stored)), threads) as position:
            line, number = builder.udivrem(position, integer(self.stored))
            source = builder.add(builder.mul(line, integer(length)), number)
            self._deliver(builder, builder.add(first, line), number, self._get(builder, halves[0], source))
        builder.ret()
        return Launch(builder.function.name, -(-lines // together), threads)

    def in_workspace(self) -> Iterator[Launch]:
        """All lines at once, a thread for each element: first as they are given, then stage by stage."""
        length, lines = self.fft_pass.length, self.fft_pass.lines

        def load(builder: Builder, position: Value) -> None:
            line, number = builder.udivrem(position, integer(length))
            self._put(builder, self._half(builder, 0), position, self._given(builder, line, number))

        yield self._for_each(lines * length, load, "load")
        *stages, last = _stages(length)
        step_number = 0
        for step_number, stage in enumerate(stages, 1):

            def step(builder: Builder, position: Value, step_number: int = step_number, stage: _Stage = stage) -> None:
                value = self._after(builder, stage, position, self._from(self._half(builder, step_number - 1)))
                self._put(builder, self._half(builder, step_number), position, value)

            yield self._for_each(lines * length, step, f"stage{step_number}")

        def finish(builder: Builder, position: Value) -> None:
            line, number = builder.udivrem(position, integer(self.stored))
            at = builder.add(builder.mul(line, integer(length)), number)
            value = self._after(builder, last, at, self._from(self._half(builder, step_number)))
            self._deliver(builder, line, number, value)

        yield self._for_each(lines * self.stored, finish, "last")

    def _for_each(self, count: int, body: Callable[[Builder, Value], None], name: str) -> Launch:
        return grid.for_each(self.module, self.kernel, count, body, f"{self.suffix}_{name}", talks=True)

    def _half(self, builder: Builder, step_number: int) -> Value:
        offset = fourier.between_bytes(self.kernel) + step_number % 2 * self.half_bytes
        return builder.gep("i8", arguments(self.kernel).workspace, integer(offset))

    def _from(self, source: Value) -> Read:
        """Elements as they are in memory."""
        return lambda builder, position: self._get(builder, source, position)

    def _after(self, builder: Builder, stage: _Stage, position: Value, given: Read) -> Complex:
        """The element of a place behind a stage, from what is at places before it."""
        line, number = builder.udivrem(position, integer(stage.length))
        start = builder.mul(line, integer(stage.length))

        def read(builder: Builder, at: Value) -> Complex:
            return given(builder, builder.add(start, at))

        def root(builder: Builder, power: Value) -> Complex:
            return self._root(builder, power, stage.length)

        return stage.element(builder, number, read, root)

    def _root(self, builder: Builder, power: Value, length: int) -> Complex:
        """A power of the primitive root of unity of that order."""
        roots = fourier.roots_of_unity(length, inverse=self.inverse)
        way = "inverse" if self.inverse else "forward"
        if length <= _LONGEST_TABLE:
            return self._get(builder, _table(builder, f"roots.{length}.{way}", roots), power)
        low = 1 << length.bit_length() // 2
        fine = _table(builder, f"roots.{length}.{way}.fine", roots[:low])
        coarse = _table(builder, f"roots.{length}.{way}.coarse", roots[::low])
        upper, lower = builder.udivrem(power, integer(low))
        return self._get(builder, coarse, upper) * self._get(builder, fine, lower)

    def _get(self, builder: Builder, line: Value, number: Value) -> Complex:
        return Complex.of(builder, element.load(builder, C128, builder.gep(element.storage_type(C128), line, number)))

    def _put(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        element.store(builder, C128, value.value, builder.gep(element.storage_type(C128), line, number))


class _Convolution(_Lines):
    """Lines of a length with a large prime factor; behind them, in the workspace, the chirps to convolve them with."""

    def in_workspace(self) -> Iterator[Launch]:
        """Elements times chirps, a transform of them and of the chirps, and one of their products."""
        lines, room = self.fft_pass.lines, fourier.convolution_length(self.fft_pass.length)
        yield self._for_each((lines + 1) * room, self._load, "load")
        stages = list(_stages(room))
        for step_number, stage in enumerate(stages, 1):
            yield self._step(stage, step_number, (lines + 1) * room, self._at)
        *inner, last = stages
        for step_number, stage in enumerate(inner, len(stages) + 1):
            yield self._step(
                stage, step_number, lines * room, self._at if step_number > len(stages) + 1 else self._products
            )
        step_number = 2 * len(stages) - 1

        def finish(builder: Builder, position: Value) -> None:
            line, number = builder.udivrem(position, integer(self.stored))
            at = builder.add(builder.mul(line, integer(room)), number)
            value = _conjugate(self._after(builder, last, at, self._at(builder, step_number)))
            self._deliver(builder, line, number, value * self._chirp(builder, number))

        yield self._for_each(lines * self.stored, finish, "last")

    def _load(self, builder: Builder, position: Value) -> None:
        length, lines, room = (
            self.fft_pass.length,
            self.fft_pass.lines,
            fourier.convolution_length(self.fft_pass.length),
        )
        line, number = builder.udivrem(position, integer(room))
        target = self._half(builder, 0)
        nothing = Term(builder, floating(0.0, "double"))
        self._put(builder, target, position, Complex(nothing, nothing))
        # Chirps stand around the first one, backwards from the end too.
        distance = builder.smin(number, builder.sub(integer(room), number))
        within = builder.compare("slt", distance, integer(length))
        with builder.when(builder.binary("and", builder.compare("eq", line, integer(lines)), within), "chirp"):
            self._put(builder, target, position, _conjugate(self._chirp(builder, distance)))
        within = builder.compare("slt", number, integer(length))
        with builder.when(builder.binary("and", builder.compare("slt", line, integer(lines)), within), "element"):
            value = self._given(builder, line, number) * self._chirp(builder, number)
            self._put(builder, target, position, value)

    def _step(self, stage: _Stage, step_number: int, count: int, given: Callable[[Builder, int], Read]) -> Launch:
        def step(builder: Builder, position: Value) -> None:
            value = self._after(builder, stage, position, given(builder, step_number - 1))
            self._put(builder, self._half(builder, step_number), position, value)

        return self._for_each(count, step, f"stage{step_number}")

    def _at(self, builder: Builder, step_number: int) -> Read:
        """Elements as they are after so many stages."""
        return self._from(self._half(builder, step_number))

    def _products(self, builder: Builder, step_number: int) -> Read:
        """Conjugates of transformed lines times transformed chirps: a transform of these is, conjugated, an inverse."""
        room, source = fourier.convolution_length(self.fft_pass.length), self._half(builder, step_number)

        def product(builder: Builder, position: Value) -> Complex:
            _, number = builder.udivrem(position, integer(room))
            chirps = self._get(builder, source, builder.add(integer(self.fft_pass.lines * room), number))
            return _conjugate(self._get(builder, source, position) * chirps).scaled(1 / room)

        return product

    def _chirp(self, builder: Builder, number: Value) -> Complex:
        order = 2 * self.fft_pass.length
        power = builder.binary("urem", builder.mul(number, number), integer(order))
        return self._root(builder, power, order)


def _conjugate(number: Complex) -> Complex:
    return Complex(number.re, -number.im)


def _table(builder: Builder, name: str, values: Array) -> Value:
    """A constant array of complex numbers, written once."""
    literals = ", ".join(
        str(floating(component, "double")) for value in values for component in (value.real, value.imag)
    )
    return builder.module.define_global(name, f"internal constant [{2 * len(values)} x double] [{literals}], align 64")
