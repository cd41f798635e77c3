"""Fourier transform kernels: per dimension one launch on lines in shared memory, or for longer ones a few.

A line that shared memory holds is transformed by a block, with others where they are short.  The length of a longer
one is split into two factors or three, each a launch: with `done` the product of the factors before it and `after`
what is left of the length behind it, column t = within * after + column of a pass over `factor` has the elements
(within * factor + i) * after + column, each times a power of the root of unity; its transform goes to elements
t + i * done * after of the other half of the workspace.  That is a stage of a tile (`tile`), whose butterflies are
columns, of which a block takes some neighbours: what it reads and writes are whole sectors of memory.

Elements are c128 on the way.  The first pass reads the operand and the last one writes the result, which may be one
array.

A length with a large prime factor would take as many steps for each element.  Its transform is a convolution with
chirps instead (Bluestein's way): with jk = (j^2 + k^2 - (k - j)^2) / 2 the elements, each times its chirp, are
convolved with the conjugate chirps by transforms of a longer line of small factors.  The chirps to convolve with are
transformed along with the lines, as one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.fft.tile import Block, Load, Store, Tile, is_wide, root_table
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Launches, Plan, Strategy, planned
from compiler.codegen import element, fourier
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import Pass, Transform
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, floating, integer
from compiler.codegen.math.term import Term
from compiler.codegen.signature import arguments
from compiler.ir.types import C128

_LONGEST_WHOLE = 4096
"""Elements that a block transforms as a whole: 72 KiB of shared memory; twice as many in butterflies of eight, which
leave registers for them, or of fewer lines than make a sector, where there are lines for all multiprocessors; half as
many where a thread's are sums."""
_LONGEST_FACTOR = 1024
"""The same of the columns of a pass."""
_LEAST_LINES, _MANY_LINES, _SHORT = 4, 8, 256
"""Neighbours that a block transforms: a sector of 32 bytes of c64; two of them where lines are shorter than so much."""
_ELEMENTS_TOGETHER, _LEAST_ELEMENTS = 1024, 256
"""Elements of short lines that a block transforms together: each thread has 8 of them; and a warp's."""
_LONGEST_TABLE = 4096
"""Roots up to so many are all in a table; of more, two tables hold those whose products they are."""
_LARGEST_FACTOR = 127
"""A stage of a larger prime takes longer than the transforms of a convolution."""
_BUSY_BLOCKS, _SOME_LINES = 132, 32
"""Blocks that keep a GPU busy; lines from which on one launch that leaves some of it idle is better than two."""


def _passes(given: Given) -> Plan:
    """The plan of a pass for each dimension, short lines in shared memory and long ones in the workspace."""
    kernel, passes = given.kernel, fourier.passes(given.kernel)
    half_bytes = C128.size_bytes * max(map(_elements, passes), default=0)

    def emit(module: Module) -> Launches:
        launches: list[Launch] = []
        for number, fft_pass in enumerate(passes):
            form = _Convolution if _is_convolved(fft_pass) else _Lines
            launches += form(module, kernel, fft_pass, f"_{number}", half_bytes).launches()
        return tuple(launches)

    workspace = fourier.between_bytes(kernel) + 2 * half_bytes
    lengths = {
        "lengths": [fft_pass.length for fft_pass in passes],
        "in_workspace": [fft_pass.length for fft_pass in passes if _elements(fft_pass)],
    }
    return planned(emit, workspace_bytes=workspace, details=lengths)


FFT = Kind((Strategy("passes", _passes),), Given)
"""Fourier transform kernels."""


def _is_convolved(fft_pass: Pass) -> bool:
    return _largest_factor(fft_pass.length) > _LARGEST_FACTOR


def _largest_factor(number: int) -> int:
    """The largest prime factor."""
    largest, factor = 1, 2
    while factor * factor <= number:
        while number % factor == 0:
            largest, number = factor, number // factor
        factor += 1
    return max(largest, number)


def _elements(fft_pass: Pass) -> int:
    """How many elements a pass works on in the workspace."""
    if _is_convolved(fft_pass):
        return (fft_pass.lines + 1) * fourier.convolution_length(fft_pass.length)
    is_whole = fft_pass.length <= longest_whole(fft_pass.length, fft_pass.lines, lies_across=fft_pass.inner > 1)
    return 0 if is_whole else fft_pass.lines * fft_pass.length


def longest_whole(length: int, lines: int, *, lies_across: bool) -> int:
    """Elements of a line that a block transforms as a whole.

    Args:
        length: of the line, without a prime factor above `_LARGEST_FACTOR`.
        lines: how many there are.
        lies_across: whether a line's elements lie apart, so that a block takes as many lines as make a sector.
    """
    most = _LONGEST_WHOLE
    if is_wide(_largest_factor(length)):
        most //= 2
    elif length & (length - 1) == 0 and lines >= _SOME_LINES * _LEAST_LINES:
        return most // 2 if lies_across else 2 * most
    return most // _LEAST_LINES if lies_across else most


def split(length: int, *, longest: int) -> tuple[int, ...]:
    """The factors of the passes over a length: itself where it is no longer than that, else some of about one size.

    Args:
        length: without a prime factor above `_LARGEST_FACTOR`.
        longest: up to which one pass does.
    """
    if length <= longest:
        return (length,)
    count = 2
    while (found := _factors(length, count)) is None:
        count += 1
    return found


@lru_cache(maxsize=256)
def _factors(length: int, count: int) -> tuple[int, ...] | None:
    """So many factors, the largest as small as may be; None where one would be too large."""
    if count == 1:
        return (length,) if length <= _LONGEST_FACTOR else None
    best: tuple[int, ...] | None = None
    for factor in range(min(_LONGEST_FACTOR, length), 0, -1):
        if length % factor == 0 and (rest := _factors(length // factor, count - 1)) is not None:
            found = (factor, *rest)
            best = found if best is None or max(found) < max(best) else best
    return best


@dataclass(frozen=True, slots=True)
class _Step:
    """A pass over one factor of a length: `done` is the product of those before it."""

    length: int
    done: int
    factor: int

    @property
    def after(self) -> int:
        """What is left of the length behind it."""
        return self.length // self.done // self.factor

    @property
    def columns(self) -> int:
        """Columns of a line."""
        return self.length // self.factor


class _Lines(Transform):
    """The lines of one pass."""

    def __init__(self, module: Module, kernel: Kernel, fft_pass: Pass, suffix: str, half_bytes: int) -> None:
        super().__init__(kernel, fft_pass, arguments(kernel).workspace)
        self.module, self.suffix = module, suffix
        self.half_bytes = half_bytes
        self.stored = fft_pass.target_shape.dims[fft_pass.dimension]
        self.lies_across = fft_pass.inner > 1

    def launches(self) -> Iterator[Launch]:
        """All launches, in order."""
        lines, length = self.fft_pass.lines, self.fft_pass.length
        yield from self.transform(lines, length, (self._given, self._deliver), self.stored)

    def transform(
        self, lines: int, length: int, ends: tuple[Load | None, Store | None], stored: int, first: int = 0
    ) -> Iterator[Launch]:
        """Transform some lines.

        Args:
            lines: how many.
            length: of each.
            ends: what emits elements before, by line and number, and what is done with those behind; None where they
                lie in a half of the workspace.
            stored: elements of each line that are asked for.
            first: the number of the first pass: it reads that half of the workspace, by parity, and writes the other.
        """
        *inner, last = self.split(lines, length)
        done, load, store = 1, *ends
        for number, factor in enumerate([*inner, last], first):
            step = _Step(length, done, factor)
            is_first, is_last = done == 1, step.after == 1
            name = f"{self.suffix}_{number}"
            reads = load if is_first and load else self._from(number, lines, length)
            writes = store if is_last and store else self._to(number + 1, lines, length)
            yield self._pass(step, lines, (reads, writes), stored if is_last else length, name)
            done *= factor

    def split(self, lines: int, length: int) -> tuple[int, ...]:
        """The factors of the passes over so many lines of a length."""
        return split(length, longest=longest_whole(length, lines, lies_across=self.lies_across))

    def _pass(self, step: _Step, lines: int, ends: tuple[Load, Store], stored: int, name: str) -> Launch:
        """One launch, whose blocks transform some neighbouring columns of all lines."""
        count, is_whole = lines * step.columns, step.columns == 1
        loads_across = self.lies_across or step.after > 1
        stores_across = self.lies_across or not is_whole
        together = min(count, _together(step.factor, count, is_across=stores_across))
        tile = Tile(step.factor, together, stores_across, self.inverse)
        builder = grid.begin(self.module, self.kernel, tile.threads, name, talks=True)
        is_own = tile.shared_bytes <= grid.OWN_SHARED_BYTES
        array = f"tile.{self.kernel.name}{name}"
        memory = grid.shared_array(builder, array, C128, tile.room) if is_own else grid.asked_memory(self.module)
        start = builder.mul(grid.block(builder), integer(together))

        def column(builder: Builder, number: Value) -> tuple[Value, Value]:
            """The line and the number in it of a column of the tile; behind the last one that."""
            found = builder.add(start, number)
            if count % together:
                found = builder.smin(found, integer(count - 1))
            if self.lies_across:
                in_line, line = builder.udivrem(found, integer(lines))
            else:
                line, in_line = builder.udivrem(found, integer(step.columns))
            return line, in_line

        def load(builder: Builder, number: Value, position: Value) -> Complex:
            line, in_line = column(builder, number)
            if step.done == 1:
                offset = builder.mul(position, integer(step.after))
                return ends[0](builder, line, builder.add(offset, in_line))
            within, rest = builder.udivrem(in_line, integer(step.after))
            row = builder.add(builder.mul(within, integer(step.factor)), position)
            value = ends[0](builder, line, builder.add(builder.mul(row, integer(step.after)), rest))
            return value * self._root(builder, builder.mul(within, position), step.done * step.factor)

        def store(builder: Builder, number: Value, position: Value, value: Complex) -> None:
            line, in_line = column(builder, number)
            target = builder.add(in_line, builder.mul(position, integer(step.columns)))
            exists = builder.compare("slt", builder.add(start, number), integer(count))
            is_stored = builder.compare("slt", target, integer(stored))
            with builder.when(builder.binary("and", exists, is_stored), "stored"):
                ends[1](builder, line, target, value)

        block = Block(builder, tile, memory)
        block.load(load, across=loads_across)
        block.run()
        block.store(store, min(step.factor, -(-stored // step.columns)), across=stores_across)
        builder.ret()
        asked = 0 if is_own else tile.shared_bytes
        return Launch(builder.function.name, -(-count // together), tile.threads, shared_bytes=asked)

    def _half(self, builder: Builder, number: int) -> Value:
        offset = fourier.between_bytes(self.kernel) + number % 2 * self.half_bytes
        return builder.gep("i8", arguments(self.kernel).workspace, integer(offset))

    def _at(self, builder: Builder, half: int, where: tuple[Value, Value], sizes: tuple[int, int]) -> Value:
        """The address of an element in a half of the workspace, by line and number, with so many of either."""
        (line, number), (lines, length) = where, sizes
        if self.lies_across:
            offset = builder.add(builder.mul(number, integer(lines)), line)
        else:
            offset = builder.add(builder.mul(line, integer(length)), number)
        return builder.gep(element.storage_type(C128), self._half(builder, half), offset)

    def _from(self, half: int, lines: int, length: int) -> Load:
        """Elements as they are in a half of the workspace."""
        return lambda builder, line, number: self._get(
            builder, self._at(builder, half, (line, number), (lines, length))
        )

    def _to(self, half: int, lines: int, length: int) -> Store:
        """Puts elements to a half of the workspace."""

        def store(builder: Builder, line: Value, number: Value, value: Complex) -> None:
            element.store(builder, C128, value.value, self._at(builder, half, (line, number), (lines, length)))

        return store

    def _root(self, builder: Builder, power: Value, length: int) -> Complex:
        """A power of the primitive root of unity of that order."""
        roots, stored = fourier.roots_of_unity(length, inverse=self.inverse), element.storage_type(C128)
        name = f"roots.{length}"
        if length <= _LONGEST_TABLE:
            table = root_table(builder, name, roots, inverse=self.inverse)
            return self._get(builder, builder.gep(stored, table, power))
        low = 1 << length.bit_length() // 2
        fine = root_table(builder, f"{name}.fine", roots[:low], inverse=self.inverse)
        coarse = root_table(builder, f"{name}.coarse", roots[::low], inverse=self.inverse)
        upper, lower = builder.udivrem(power, integer(low))
        return self._get(builder, builder.gep(stored, coarse, upper)) * self._get(
            builder, builder.gep(stored, fine, lower)
        )

    def _get(self, builder: Builder, address: Value) -> Complex:
        return Complex.of(builder, element.load(builder, C128, address))


class _Convolution(_Lines):
    """Lines of a length with a large prime factor; behind them, in the workspace, the chirps to convolve them with."""

    def launches(self) -> Iterator[Launch]:
        """Elements times chirps and their transform, with the chirps' own; and the transform of the products."""
        lines, room = self.fft_pass.lines, self.room
        count = len(self.split(lines + 1, room))
        yield from self.transform(lines + 1, room, (self._chirped, None), room)
        yield from self.transform(lines, room, (self._products(count), self._finish), self.stored, count)

    @property
    def room(self) -> int:
        """The length of the convolution."""
        return fourier.convolution_length(self.fft_pass.length)

    def _chirped(self, builder: Builder, line: Value, number: Value) -> Complex:
        """An element times its chirp, or of the last line a conjugate chirp; zeros fill the line."""
        length, lines = integer(self.fft_pass.length), integer(self.fft_pass.lines)
        is_chirp = builder.compare("eq", line, lines)
        # Chirps stand around the first one, backwards from the end too.
        distance = builder.select(is_chirp, builder.smin(number, builder.sub(integer(self.room), number)), number)
        within = builder.compare("slt", distance, length)
        at = builder.select(within, distance, integer(0))
        chirp = self._chirp(builder, at)
        given = self._given(builder, builder.select(is_chirp, integer(0), line), at) * chirp
        zero = floating(0.0, "double")
        components = (
            builder.select(within, builder.select(is_chirp, conjugate.value, value.value), zero)
            for conjugate, value in ((chirp.re, given.re), (-chirp.im, given.im))
        )
        return Complex(*(Term(builder, value) for value in components))

    def _products(self, half: int) -> Load:
        """Conjugates of transformed lines times transformed chirps: a transform of these is, conjugated, an inverse."""
        sizes = (self.fft_pass.lines + 1, self.room)

        def product(builder: Builder, line: Value, number: Value) -> Complex:
            chirps = self._get(builder, self._at(builder, half, (integer(self.fft_pass.lines), number), sizes))
            value = self._get(builder, self._at(builder, half, (line, number), sizes))
            return _conjugate(value * chirps).scaled(1 / self.room)

        return product

    def _finish(self, builder: Builder, line: Value, number: Value, value: Complex) -> None:
        self._deliver(builder, line, number, _conjugate(value) * self._chirp(builder, number))

    def _chirp(self, builder: Builder, number: Value) -> Complex:
        order = 2 * self.fft_pass.length
        power = builder.binary("urem", builder.mul(number, number), integer(order))
        return self._root(builder, power, order)


def _together(length: int, count: int, *, is_across: bool) -> int:
    """Lines, or columns, that a block transforms together, of so many of that length."""
    if not is_across:
        most = max(1, _ELEMENTS_TOGETHER // length)
        return max(1, min(most, max(_LEAST_ELEMENTS // length, count // _BUSY_BLOCKS)))
    is_busy = count // _MANY_LINES >= _BUSY_BLOCKS
    few = _MANY_LINES if length <= _SHORT and is_busy else _LEAST_LINES
    return max(min(few, _LONGEST_WHOLE // length), _LEAST_ELEMENTS // length, 1)


def _conjugate(number: Complex) -> Complex:
    return Complex(number.re, -number.im)
