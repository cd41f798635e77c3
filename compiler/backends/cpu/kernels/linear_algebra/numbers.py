"""Real and complex numbers in vectors: what factorisations that are written for both calculate with.

A number is a tuple of its components, one or two, each a scalar or a vector.  In a workspace the imaginary parts of a
row lie behind its real parts, `pitch` elements away, so that each component is walked in vectors; in arrays of programs
components alternate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.reflections import LEAST, Reflections
from compiler.backends.cpu.kernels.linear_algebra.tiles import Tiles
from compiler.codegen.llvm_ir import Builder, Loop, Value, floating, integer, keep_rolled, zero

Number = tuple[Value, ...]
"""The real part, and the imaginary one of a complex number."""
_SHARED = 512
"""Bytes; rows that lie a multiple apart share few sets of a cache."""


class NumberReflection(NamedTuple):
    """`factor` is tau, `beta` what the head becomes, and the tail is divided by `divisor`."""

    factor: Number
    beta: Number
    divisor: Number


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of `components` components in rows of up to `length`."""

    tiles: Tiles
    components: int
    length: int

    @property
    def pitch(self) -> int:
        """From the real parts of a row to what follows them: whole vectors, the last of zeros."""
        t = self.tiles
        pitch = (-(-self.length // t.lanes) + 1) * t.lanes
        return pitch if pitch * self.components * t.bytes % _SHARED else pitch + t.lanes

    @property
    def row(self) -> int:
        """From row to row."""
        return self.components * self.pitch

    @property
    def _lengths(self) -> Reflections:
        return Reflections(self.tiles, self.pitch, self.row)

    def at(self, b: Builder, base: Value, row: Value) -> Value:
        """The address, by `b`, of row number `row` of the matrix at `base`."""
        return self.tiles.at(b, base, (row, self.row))

    def down(self, b: Builder, number: Value) -> Value:
        """The first element of the vector that holds an element."""
        return b.binary("and", number, integer(-self.tiles.lanes))

    def vectors(
        self, b: Builder, first: Value, stop: Value, carried: Sequence[Value] = ()
    ) -> AbstractContextManager[Loop]:
        """A loop over vectors, the last of which may reach behind the end.

        Args:
            b: where code is emitted.
            first: the first element.
            stop: the one behind the last.
            carried: values that the loop carries.
        """
        return self._lengths.vectors(b, first, stop, carried)

    # -- memory -------------------------------------------------------------------------------------------------------

    def _addresses(self, b: Builder, row: Value, at: Value) -> list[Value]:
        address = b.gep(self.tiles.type, row, at)
        return [
            b.gep(self.tiles.type, address, integer(component * self.pitch)) for component in range(self.components)
        ]

    def load(self, b: Builder, row: Value, at: Value) -> Number:
        """Load, by `b`, a vector of the row at the address `row`, from element `at` on."""
        return tuple(self.tiles.load(b, address) for address in self._addresses(b, row, at))

    def store(self, b: Builder, number: Number, row: Value, at: Value) -> None:
        """Write, by `b`, a vector, a `number`, of the row at the address `row`, from element `at` on."""
        for value, address in zip(number, self._addresses(b, row, at), strict=True):
            self.tiles.store(b, value, address)

    def element(self, b: Builder, row: Value, at: Value) -> Number:
        """Load, by `b`, element `at` of the row at the address `row`."""
        return tuple(b.load(self.tiles.type, address) for address in self._addresses(b, row, at))

    def put(self, b: Builder, number: Number, row: Value, at: Value) -> None:
        """Write, by `b`, a `number` to element `at` of the row at `row`; one that lacks components is real."""
        for component, address in enumerate(self._addresses(b, row, at)):
            b.store(number[component] if component < len(number) else floating(0.0, self.tiles.type), address)

    def clear(self, b: Builder, row: Value, first: Value, stop: Value) -> None:
        """Zeros from a vector up to one that may reach behind the end.

        Args:
            b: where code is emitted.
            row: the address of the row.
            first: the first element that becomes 0.
            stop: the one behind the last.
        """
        with self.vectors(b, first, stop) as at:
            self.store(b, self.zero(vector=True), row, at.index)

    def forget(self, b: Builder, row: Value, before: Value) -> None:
        """Write, by `b`, zeros to a `row` from where the vector of what is in front of element `before` begins."""
        first = self.down(b, b.sub(before, integer(1)))
        metadata = keep_rolled(self.tiles.module, scalar=True)
        with b.loop(first, before, name="forget", scalar=True, metadata=metadata) as at:
            self.put(b, self.zero(), row, at.index)

    def split(self, b: Builder, source: Value, target: Value, extent: tuple[int, int]) -> None:
        """Take a program's matrix of so many rows and columns into a workspace; zeros behind its rows.

        Args:
            b: where code is emitted.
            source: the matrix, row by row.
            target: the workspace, components apart.
            extent: rows and columns.
        """
        t, (rows, columns) = self.tiles, extent
        with b.loop(integer(0), integer(rows), name="split", scalar=True) as row:
            given, wanted = t.at(b, source, (row.index, self.components * columns)), self.at(b, target, row.index)
            b.clear_bytes(wanted, integer(self.row * t.bytes))
            self._each(b, (given, wanted), columns, joins=False)

    def join(self, b: Builder, source: Value, target: Value, extent: tuple[int, int]) -> None:
        """Give a program's matrix of so many rows and columns back.

        Args:
            b: where code is emitted.
            source: the workspace, components apart.
            target: the matrix, row by row.
            extent: rows and columns.
        """
        t, (rows, columns) = self.tiles, extent
        with b.loop(integer(0), integer(rows), name="join", scalar=True) as row:
            given, wanted = t.at(b, target, (row.index, self.components * columns)), self.at(b, source, row.index)
            self._each(b, (given, wanted), columns, joins=True)

    def _each(self, b: Builder, pair: tuple[Value, Value], columns: int, *, joins: bool) -> None:
        """Elements of a row, a vector of them at a time, between a program's array and a workspace."""
        t, (outside, inside) = self.tiles, pair
        whole = columns // t.lanes * t.lanes
        if self.components == 1:
            b.copy_bytes(*((inside, outside) if joins else pair), integer(columns * t.bytes))
            return
        for first, stop, step in ((0, whole, t.lanes), (whole, columns, 1)):
            with b.loop(integer(first), integer(stop), step=step, name="each", scalar=True) as at:
                address = b.gep(t.type, outside, b.mul(at.index, integer(self.components)))
                addresses = [b.gep(t.type, address, integer(n * step)) for n in range(self.components)]
                if step == 1 and joins:
                    for value, to in zip(self.element(b, inside, at.index), addresses, strict=True):
                        b.store(value, to)
                elif step == 1:
                    self.put(b, tuple(b.load(t.type, to) for to in addresses), inside, at.index)
                elif joins:
                    components = self.load(b, inside, at.index)
                    for n, to in enumerate(addresses):
                        lanes = [(n * step + lane) // 2 + (lane % 2) * step for lane in range(step)]
                        t.store(b, b.shuffle(components[0], components[1], lanes), to)
                else:
                    pairs = [t.load(b, to) for to in addresses]
                    components = tuple(
                        b.shuffle(pairs[0], pairs[1], range(component, 2 * step, 2)) for component in range(2)
                    )
                    self.store(b, components, inside, at.index)

    def turn(self, b: Builder, source: tuple[Value, int], target: tuple[Value, int]) -> None:
        """A square matrix transposed by components; matrices are given with the distances between their rows.

        Args:
            b: where code is emitted.
            source: a matrix, and elements from row to row.
            target: where the transposed one goes, and elements from row to row there.
        """
        t, size = self.tiles, integer(self.length)
        turn = t.turn()
        for component in range(self.components):
            addresses = [b.gep(t.type, base, integer(component * self.pitch)) for base, _ in (source, target)]
            b.call(turn, "void", [addresses[0], integer(source[1]), addresses[1], integer(target[1]), size, size])

    def greatest(self, b: Builder, matrix: Value, rows: int) -> Value:
        """The greatest magnitude, by `b`, in `rows` rows of a `matrix`, with zeros behind; NaN as infinity."""
        t, infinity = self.tiles, floating(math.inf, self.tiles.vector)
        with self.vectors(b, integer(0), integer(rows * self.row), [zero(t.vector)]) as at:
            value = self._magnitude(b, t.load(b, b.gep(t.type, matrix, at.index)))
            value = b.select(b.compare("olt", value, infinity), value, infinity)
            at.carry(b.select(b.compare("ogt", value, at.carried[0]), value, at.carried[0]))
        return b.overloaded("vector.reduce.fmax", list(at.results), result=t.type)

    def scale_rows(self, b: Builder, matrix: Value, rows: int, by: Value) -> None:
        """Multiply, by `b`, the first `rows` rows of a `matrix` by a real number, `by`."""
        t, spread = self.tiles, b.broadcast(by, self.tiles.lanes)
        with self.vectors(b, integer(0), integer(rows * self.row)) as at:
            address = b.gep(t.type, matrix, at.index)
            t.store(b, b.binary("fmul", t.load(b, address), spread), address)

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def zero(self, *, vector: bool = False) -> Number:
        """Nothing, in one lane or in all."""
        return (zero(self.tiles.vector) if vector else floating(0.0, self.tiles.type),) * self.components

    def spread(self, b: Builder, number: Number) -> Number:
        """A number in every lane."""
        return tuple(b.broadcast(component, self.tiles.lanes) for component in number)

    def negated(self, b: Builder, number: Number) -> Number:
        """The number `-x`."""
        return tuple(b.unary("fneg", component) for component in number)

    def conjugate(self, b: Builder, number: Number) -> Number:
        """The complex conjugate of x."""
        return (number[0], *(b.unary("fneg", component) for component in number[1:]))

    def subtract(self, b: Builder, left: Number, right: Number) -> Number:
        """The difference `x - y`.

        Args:
            b: where code is emitted.
            left: x.
            right: y.
        """
        return tuple(b.binary("fsub", *pair) for pair in zip(left, right, strict=True))

    def multiply(self, b: Builder, left: Number, right: Number) -> Number:
        """The product `x y`.

        Args:
            b: where code is emitted.
            left: x.
            right: y.
        """
        if self.components == 1:
            return (b.binary("fmul", left[0], right[0]),)
        crossed = b.binary("fmul", left[0], right[1])
        minus = b.unary("fneg", b.binary("fmul", left[1], right[1]))
        add = self.tiles.multiply_add
        return add(b, left[0], right[0], minus), add(b, left[1], right[0], crossed)

    def multiply_add(self, b: Builder, left: Number, right: Number, total: Number) -> Number:
        """X y + z.

        Args:
            b: where code is emitted.
            left: x.
            right: y.
            total: z.
        """
        add = self.tiles.multiply_add
        if self.components == 1:
            return (add(b, left[0], right[0], total[0]),)
        real = add(b, b.unary("fneg", left[1]), right[1], add(b, left[0], right[0], total[0]))
        return real, add(b, left[1], right[0], add(b, left[0], right[1], total[1]))

    def scaled(self, b: Builder, number: Number, by: Value) -> Number:
        """X r, for a real r.

        Args:
            b: where code is emitted.
            number: x.
            by: r.
        """
        return tuple(b.binary("fmul", component, by) for component in number)

    def sum(self, b: Builder, number: Number) -> Number:
        """The sum of all lanes."""
        return tuple(self._lengths.sum(b, component) for component in number)

    def divisor(self, b: Builder, number: Number) -> tuple[Value, Number]:
        """A divisor prepared for `divided`: a magnitude, and the inverse of the number divided by that."""
        if self.components == 1:
            return number[0], ()
        one = floating(1.0, number[0].type)
        scale = self._extremum(b, "maximum", *(self._magnitude(b, component) for component in number))
        scale = b.select(b.compare("oeq", scale, floating(0.0, scale.type)), one, scale)
        shares = tuple(b.binary("fdiv", component, scale) for component in number)
        square = self.tiles.multiply_add(b, shares[0], shares[0], b.binary("fmul", shares[1], shares[1]))
        return scale, tuple(b.binary("fdiv", component, square) for component in self.conjugate(b, shares))

    def divided(self, b: Builder, number: Number, by: tuple[Value, Number]) -> Number:
        """X / y, for a y of which `divisor` tells; also of vectors and `spread_divisor`.

        Args:
            b: where code is emitted.
            number: x.
            by: what `divisor` gave for y.
        """
        scale, inverse = by
        shares = tuple(b.binary("fdiv", component, scale) for component in number)
        return self.multiply(b, shares, inverse) if inverse else shares

    def spread_divisor(self, b: Builder, by: tuple[Value, Number]) -> tuple[Value, Number]:
        """A divisor for vectors."""
        return b.broadcast(by[0], self.tiles.lanes), self.spread(b, by[1])

    # -- lengths ------------------------------------------------------------------------------------------------------

    def _magnitude(self, b: Builder, value: Value) -> Value:
        return b.overloaded("fabs", [value])

    def _extremum(self, b: Builder, name: str, left: Value, right: Value) -> Value:
        return b.overloaded(name, [left, right])

    def hypot(self, b: Builder, left: Value, right: Value) -> Value:
        """The root of two squares, of values that are not negative, neither of which leaves the range.

        Args:
            b: where code is emitted.
            left: one value, 0 or more.
            right: the other.
        """
        larger, smaller = (self._extremum(b, name, left, right) for name in ("maximum", "minimum"))
        one = floating(1.0, left.type)
        share = b.binary("fdiv", smaller, b.select(b.compare("oeq", larger, floating(0.0, left.type)), one, larger))
        root = b.overloaded("sqrt", [b.binary("fadd", b.binary("fmul", share, share), one)])
        return b.binary("fmul", larger, root)

    def size(self, b: Builder, number: Number) -> Value:
        """The magnitude of x."""
        sizes = [self._magnitude(b, component) for component in number]
        return self.hypot(b, *sizes) if sizes[1:] else sizes[0]

    def norm(self, b: Builder, row: Value, first: Value, stop: Value) -> Value:
        """The length, by `b`, of elements `first` up to `stop` of a `row` behind which there are zeros."""
        function = self._lengths.norm()
        lengths = [
            b.call(function, self.tiles.type, [address, first, stop]) for address in self._addresses(b, row, integer(0))
        ]
        return self.hypot(b, *lengths) if lengths[1:] else lengths[0]

    def reflection(self, b: Builder, head: Number, length: Value) -> NumberReflection:
        """The reflection that leaves a column its head alone; of a tail that is nothing it changes nothing.

        Args:
            b: where code is emitted.
            head: the column's first element.
            length: the root of the squares of those behind it.
        """
        nothing = floating(0.0, length.type)
        whole = self.hypot(b, self.size(b, head), length)
        signed = b.select(b.compare("olt", head[0], nothing), whole, b.unary("fneg", whole))
        idle = b.compare("oeq", length, nothing)
        for component in head[1:]:
            idle = b.binary("and", idle, b.compare("oeq", component, nothing))
        idle = b.binary("or", idle, b.compare("olt", whole, floating(LEAST[length.type], length.type)))
        beta = (signed, *self.zero()[1:])
        difference = self.subtract(b, beta, head)
        one = (floating(1.0, length.type), *self.zero()[1:])
        return NumberReflection(
            self.select(b, idle, self.zero(), tuple(b.binary("fdiv", component, signed) for component in difference)),
            self.select(b, idle, head, beta),
            self.select(b, idle, one, self.negated(b, difference)),
        )

    def select(self, b: Builder, condition: Value, then: Number, otherwise: Number) -> Number:
        """One of two numbers.

        Args:
            b: where code is emitted.
            condition: an i1.
            then: what it is where that holds.
            otherwise: what it is where not.
        """
        return tuple(b.select(condition, *pair) for pair in zip(then, otherwise, strict=True))
