"""Lines that a block transforms in shared memory, in stages of small factors that leave elements in order.

A stage is Stockham's: with `done` the product of the factors before it and `after` what is left of the length behind
it, butterfly t = within * after + column takes the elements (within * factor + i) * after + column, each times a power
of the root of unity, and its results are those of numbers t + i * done * after.  A thread holds some butterflies in
registers, and all wait between reading and writing, so that one array does.  A factor too large for registers is
summed up term by term, a thread for each element.

Numbers are padded by one in eight, so that eight lanes with any stride that a stage has meet eight different banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.fft.butterfly import transformed
from compiler.codegen import element
from compiler.codegen.complex_numbers import Complex
from compiler.codegen.fourier import roots_of_unity
from compiler.codegen.llvm_ir import I32, I64, Builder, Value, floating, integer, keep_rolled
from compiler.codegen.math.term import Term
from compiler.ir.numbers import Array
from compiler.ir.types import C128

_LARGEST_IN_REGISTERS = 13
"""The largest prime factor whose elements a thread holds in registers: twice so many doubles."""
_EACH = 8
"""Elements of a thread, for which it has registers with those of a butterfly on their way."""
_MOST_THREADS = 512
"""Threads of a block, each with 128 registers."""
_PADDED_LEVELS = 3
"""One of 2^3 numbers of 16 bytes is left out: so many are all banks of shared memory."""
_AHEAD = 8
"""Terms that a thread loads together, where it sums them up one by one."""

Load = Callable[[Builder, Value, Value], Complex]
"""Emits the element of a line at a position, both of 64 bits."""
Store = Callable[[Builder, Value, Value, Complex], None]
"""Emits what is done with the element of a line at a position."""
_Result = tuple[Value | None, list[tuple[Value, Value, Complex]]]
"""What a butterfly comes to, by line and position, and whether there is one."""


def factors(length: int) -> list[int]:
    """The factors of the stages of a transform: eights and fours, nines, and primes."""
    found, rest = [], length
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    while twos:
        # Two fours are better than an eight and a two.
        levels = 2 if twos in (2, 4) else min(twos, 3)
        found.append(1 << levels)
        twos -= levels
    factor = 3
    while rest > 1:
        if rest % 9 == 0:
            found.append(9)
            rest //= 9
        elif rest % factor == 0:
            found.append(factor)
            rest //= factor
        else:
            factor += 2
    return found


@dataclass(frozen=True)
class Tile:
    """Lines that a block transforms together.

    Attributes:
        length: elements of each.
        lines: how many.
        across: whether the lines' elements of one number lie side by side, rather than a line's elements.
        inverse: whether the exponent is positive.
    """

    length: int
    lines: int
    across: bool
    inverse: bool

    @property
    def elements(self) -> int:
        """Of all lines."""
        return self.length * self.lines

    @property
    def threads(self) -> int:
        """Of the block."""
        return min(_MOST_THREADS, -(-self.elements // _EACH // grid.WARP) * grid.WARP or grid.WARP)

    @property
    def room(self) -> int:
        """Elements of shared memory."""
        return self.elements + (self.elements >> _PADDED_LEVELS)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory."""
        return self.room * C128.size_bytes

    @cached_property
    def stages(self) -> list[tuple[int, int]]:
        """The factor of each stage, and the product of those before it."""
        found, done = [], 1
        for factor in factors(self.length):
            found.append((factor, done))
            done *= factor
        return found


@dataclass(frozen=True)
class Block:
    """A block that transforms a tile.

    Attributes:
        builder: of its function.
        tile: what it transforms.
        memory: shared memory for the tile.
    """

    builder: Builder
    tile: Tile
    memory: Value

    def load(self, value: Load, *, across: bool) -> None:
        """Bring the tile's elements to shared memory, a few of each thread together.

        Args:
            value: emits an element, by its line in the tile and position.
            across: whether neighbouring lanes have neighbouring lines, rather than neighbours of one.
        """
        numbers = list(self._numbers(self.tile.elements))
        for begin in range(0, len(numbers), _EACH):
            found = []
            for number, is_inside in numbers[begin : begin + _EACH]:
                line, position = self._split(number, self.tile.length, across=across)
                at = [self.builder.cast("zext", index, I64) for index in (line, position)]
                found.append((self._address(line, position), value(self.builder, *at), is_inside))
            for address, one, is_inside in found:
                self._guarded(is_inside, partial(self._put, address, one))
        grid.barrier(self.builder)

    def run(self) -> None:
        """All stages."""
        for factor, done in self.tile.stages:
            form = self._summed if is_wide(factor) else self._butterflies
            found = list(form(factor, done))
            grid.barrier(self.builder)
            for is_inside, results in found:
                self._guarded(is_inside, partial(self._put_all, results))
            grid.barrier(self.builder)

    def store(self, use: Store, count: int, *, across: bool) -> None:
        """Hand on the elements.

        Args:
            use: emits what is done with one, by its line in the tile and position.
            count: elements of each line that are asked for, the first ones.
            across: whether neighbouring lanes have neighbouring lines.
        """
        for number, is_inside in self._numbers(count * self.tile.lines):
            line, position = self._split(number, count, across=across)
            value = self._get(self._address(line, position))
            at = [self.builder.cast("zext", index, I64) for index in (line, position)]
            self._guarded(is_inside, partial(use, self.builder, at[0], at[1], value))

    def _numbers(self, count: int) -> Iterator[tuple[Value, Value | None]]:
        """What a thread has of so many, and whether it is one of them; if not, its number is the last one's."""
        builder, threads = self.builder, self.tile.threads
        own = builder.cast("trunc", grid.thread(builder), I32)
        for begin in range(0, count, threads):
            number = builder.add(own, integer(begin, I32))
            if begin + threads <= count:
                yield number, None
            else:
                is_inside = builder.compare("slt", number, integer(count, I32))
                yield builder.smin(number, integer(count - 1, I32)), is_inside

    def _guarded(self, is_inside: Value | None, emit: Callable[[], None]) -> None:
        if is_inside is None:
            emit()
            return
        with self.builder.when(is_inside, "inside"):
            emit()

    def _split(self, number: Value, length: int, *, across: bool) -> tuple[Value, Value]:
        """The line and the position of a number among those of lines of a length."""
        if across:
            position, line = self.builder.udivrem(number, integer(self.tile.lines, I32))
        else:
            line, position = self.builder.udivrem(number, integer(length, I32))
        return line, position

    def _address(self, line: Value, position: Value) -> Value:
        builder, tile = self.builder, self.tile
        strides = (1, tile.lines) if tile.across else (tile.length, 1)
        number = builder.add(
            *(builder.mul(i, integer(stride, I32)) for i, stride in zip((line, position), strides, strict=True))
        )
        padded = builder.add(number, builder.binary("lshr", number, integer(_PADDED_LEVELS, I32)))
        return builder.gep(element.storage_type(C128), self.memory, padded)

    def _get(self, address: Value) -> Complex:
        return Complex.of(self.builder, element.load(self.builder, C128, address))

    def _put(self, address: Value, value: Complex) -> None:
        element.store(self.builder, C128, value.value, address)

    def _put_all(self, results: list[tuple[Value, Value, Complex]]) -> None:
        for line, position, value in results:
            self._put(self._address(line, position), value)

    def _butterflies(self, factor: int, done: int) -> Iterator[_Result]:
        """What a thread's butterflies come to, and where to."""
        builder, tile = self.builder, self.tile
        apart = tile.length // factor
        after = apart // done
        for number, is_inside in self._numbers(tile.elements // factor):
            line, butterfly = self._split(number, apart, across=tile.across)
            within, column = builder.udivrem(butterfly, integer(after, I32))
            first = builder.add(builder.mul(within, integer(factor * after, I32)), column)
            values = []
            for i in range(factor):
                value = self._get(self._address(line, builder.add(first, integer(i * after, I32))))
                values.append(value * self._root(factor, done, i, within) if i and done > 1 else value)
            results = transformed(values, inverse=tile.inverse)
            targets = (builder.add(butterfly, integer(i * apart, I32)) for i in range(factor))
            yield is_inside, [(line, *found) for found in zip(targets, results, strict=True)]

    def _root(self, factor: int, done: int, number: int, within: Value) -> Complex:
        """The power that an element of that number is multiplied by; neighbours lie side by side in the table."""
        powers = np.arange(1, factor)[:, None] * np.arange(done)[None, :]
        roots = roots_of_unity(factor * done, inverse=self.tile.inverse)[powers].ravel()
        table = root_table(self.builder, f"roots.{factor}.after.{done}", roots, inverse=self.tile.inverse)
        at = self.builder.add(within, integer((number - 1) * done, I32))
        return self._get(self.builder.gep(element.storage_type(C128), table, at))

    def _summed(self, factor: int, done: int) -> Iterator[_Result]:
        """The elements of a thread behind a stage whose factor is too large for registers."""
        builder, tile = self.builder, self.tile
        after, limit = tile.length // factor // done, integer(done * factor, I32)
        roots = roots_of_unity(done * factor, inverse=tile.inverse)
        table = root_table(builder, f"roots.{done * factor}", roots, inverse=tile.inverse)
        for number, is_inside in self._numbers(tile.elements):
            line, position = self._split(number, tile.length, across=tile.across)
            step, column = builder.udivrem(position, integer(after, I32))
            within = builder.binary("urem", step, integer(done, I32))
            first = builder.add(builder.mul(within, integer(factor * after, I32)), column)

            def term(index: Value, power: Value, line: Value = line, first: Value = first) -> Complex:
                at = builder.add(first, builder.mul(index, integer(after, I32)))
                root = self._get(builder.gep(element.storage_type(C128), table, power))
                return self._get(self._address(line, at)) * root

            zero, rolled = floating(0.0, "double"), keep_rolled(builder.module)
            start = [zero, zero, integer(0, I32)]
            ends = [0, factor // _AHEAD * _AHEAD, factor]
            for (begin, end), together in zip(pairwise(ends), (_AHEAD, 1), strict=True):
                bounds = integer(begin, I32), integer(end, I32)
                with builder.loop(*bounds, step=together, carried=start, name="term", metadata=rolled) as loop:
                    power, terms = loop.carried[2], []
                    for more in range(together):
                        terms.append(term(builder.add(loop.index, integer(more, I32)), power))
                        following = builder.add(power, step)
                        wraps = builder.compare("sge", following, limit)
                        power = builder.select(wraps, builder.sub(following, limit), following)
                    total = Complex(*(Term(builder, component) for component in loop.carried[:2]))
                    for one in terms:
                        total = total + one
                    loop.carry(total.re.value, total.im.value, power)
                start = loop.results
            total = Complex(*(Term(builder, component) for component in start[:2]))
            yield is_inside, [(line, position, total)]


def is_wide(factor: int) -> bool:
    """Whether a stage of a prime factor sums elements up one by one."""
    return factor > _LARGEST_IN_REGISTERS


def root_table(builder: Builder, name: str, roots: Array, *, inverse: bool) -> Value:
    """A constant array of roots of unity, written once.

    Args:
        builder: of a function of the module that it goes to.
        name: of the array, which says which roots they are.
        roots: their values.
        inverse: whether they are those of an inverse transform, a part of the name.
    """
    numbers = np.stack([roots.real, roots.imag], axis=1).ravel()
    literals = ", ".join(str(floating(float(component), "double")) for component in numbers)
    way = "inverse" if inverse else "forward"
    definition = f"internal constant [{len(numbers)} x double] [{literals}], align 64"
    return builder.module.define_global(f"{name}.{way}", definition)
