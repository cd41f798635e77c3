"""Symmetric matrices made tridiagonal by reflections from both sides, and the product of these.

Each reflection changes the whole rest of the matrix, by `v w' + w v'`, and the next one needs the product of that rest
with its own vector: both are done in one pass, since that vector follows from one row alone.  Only the upper triangle
is kept up, and stands for both.  Rows are walked from whole vectors on, as `v` and `w` are zero where they have not
begun.  The vectors stay in the rows that they come from, which makes these the panels of blocks
(`reflections`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.reflections import Reflections
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, PANEL, Tiles
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, floating, integer, keep_rolled, vector_type, zero

_NOTHING = {"float": 2.0**-90, "double": 2.0**-900}
"""Lengths that are taken for 0."""
_GROUP = 4
"""Rows that a pass changes together, from a multiple of as many on, so that all begin in the same vector."""


class _Vectors(NamedTuple):
    """Addresses of v, of its product with the matrix, and of where w goes."""

    new: Value
    products: Value
    by: Value


@dataclass(frozen=True, slots=True)
class Tridiagonal:
    """The reduction of a symmetric matrix of `size` rows, whole and `pitch` elements long."""

    tiles: Tiles
    size: int

    @property
    def pitch(self) -> int:
        """From row to row: whole strips, with a vector of zeros behind each row."""
        t = self.tiles
        return -(-(self.size + t.lanes) // t.width) * t.width

    @property
    def elements(self) -> int:
        """Of the matrix, with rows of zeros behind it that panels may reach into."""
        return (self.size + PANEL) * self.pitch

    @property
    def blocks(self) -> Reflections:
        """The reflections in blocks, for a matrix like this one."""
        return Reflections(self.tiles, self.pitch, self.pitch)

    @property
    def vectors(self) -> int:
        """Elements for the vectors of two steps and their products."""
        return 4 * self.pitch

    def reduce(self) -> str:
        """`void NAME(ptr matrix, ptr diagonal, ptr beside, ptr factors, ptr vectors)`; `vectors` holds zeros."""
        t, form = self.tiles, self.blocks
        norm, row_update, sweep = form.norm(), self._update(), self._pass()
        parameters = [(PTR, name) for name in ("matrix", "diagonal", "beside", "factors", "vectors")]
        function = t.module.function(f"{t.name}.reduce", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, diagonal, beside, factors, vectors = function.arguments
        b = Builder(function)
        addresses = [t.at(b, vectors, (integer(n), self.pitch)) for n in range(4)]
        products, size = addresses[3], integer(self.size)
        with b.loop(integer(0), integer(self.size - 2), carried=addresses[:3], name="step", scalar=True) as step:
            old, by, new = step.carried
            k, below = step.index, b.add(step.index, integer(1))
            row = t.at(b, matrix, (k, self.pitch))
            first = b.binary("and", below, integer(-t.lanes))
            b.call(row_update, "void", [row, k, old, by, b.binary("and", k, integer(-t.lanes))])
            address = b.gep(t.type, row, below)
            head = b.load(t.type, address)
            length = b.call(norm, t.type, [row, b.add(k, integer(2)), size])
            # So little is nothing beside a matrix scaled to 1, and rounding would spoil what reflects it.
            is_nothing = b.compare("olt", length, floating(_NOTHING[t.type], t.type))
            length = b.select(is_nothing, floating(0.0, t.type), length)
            factor, beta, divisor = form.reflection(b, head, length)
            b.store(b.load(t.type, b.gep(t.type, row, k)), b.gep(t.type, diagonal, k))
            b.store(beta, b.gep(t.type, beside, k))
            b.store(factor, b.gep(t.type, factors, k))
            self._vector(b, (row, new), (first, below), divisor)
            # The row's own share is done; a pass may come by again.
            for vector in (old, by):
                b.store(floating(0.0, t.type), b.gep(t.type, vector, k))
            form.clear(b, products, first, size)
            b.call(sweep, "void", [matrix, old, by, new, products, below])
            self._forget(b, products, (first, below))
            # What w becomes is kept where the products are, which take the place of the oldest vector.
            self._second(b, _Vectors(new, products, by), first, factor)
            step.carry(new, by, old)
        old, by, _ = step.results
        for number in (self.size - 2, self.size - 1):
            first = integer(number // t.lanes * t.lanes)
            row = t.at(b, matrix, (integer(number), self.pitch))
            b.call(row_update, "void", [row, integer(number), old, by, first])
            b.store(b.load(t.type, b.gep(t.type, row, integer(number))), b.gep(t.type, diagonal, integer(number)))
        row = t.at(b, matrix, (integer(self.size - 2), self.pitch))
        last = b.load(t.type, b.gep(t.type, row, integer(self.size - 1)))
        b.store(last, b.gep(t.type, beside, integer(self.size - 2)))
        b.ret()
        return f"@{function.name}"

    def _vector(self, b: Builder, given: tuple[Value, Value], rows: tuple[Value, Value], divisor: Value) -> None:
        """The reflection's vector, from a row of the matrix, and in it."""
        t, (row, new), (first, below) = self.tiles, given, rows
        spread = b.broadcast(divisor, t.lanes)
        with self.blocks.vectors(b, first, integer(self.size)) as at:
            value = b.binary("fdiv", t.load(b, b.gep(t.type, row, at.index)), spread)
            t.store(b, value, b.gep(t.type, new, at.index))
        self._forget(b, new, rows)
        b.store(floating(1.0, t.type), b.gep(t.type, new, below))
        with self.blocks.vectors(b, first, integer(self.size)) as at:
            t.store(b, t.load(b, b.gep(t.type, new, at.index)), b.gep(t.type, row, at.index))

    def _forget(self, b: Builder, vector: Value, rows: tuple[Value, Value]) -> None:
        """Zeros in place of what belongs to rows that are done."""
        t = self.tiles
        with b.loop(*rows, name="above", scalar=True, metadata=keep_rolled(t.module, scalar=True)) as at:
            b.store(floating(0.0, t.type), b.gep(t.type, vector, at.index))

    def _second(self, b: Builder, vectors: _Vectors, first: Value, factor: Value) -> None:
        """w: the products times tau, less so much of v that the update is right from both sides."""
        t, (new, products, by), size = self.tiles, vectors, integer(self.size)
        (total,) = self.blocks.dots(b, new, [products], first, size)
        half = b.binary("fmul", factor, floating(-0.5, t.type))
        share = b.broadcast(b.binary("fmul", half, b.binary("fmul", factor, total)), t.lanes)
        spread = b.broadcast(factor, t.lanes)
        with self.blocks.vectors(b, first, size) as at:
            product = b.binary("fmul", spread, t.load(b, b.gep(t.type, products, at.index)))
            value = t.multiply_add(b, share, t.load(b, b.gep(t.type, new, at.index)), product)
            t.store(b, value, b.gep(t.type, by, at.index))

    def _update(self) -> str:
        """`void NAME(ptr row, i64 number, ptr v, ptr w, i64 first)`: a row less its share of `v w' + w v'`."""
        t = self.tiles
        parameters = [(PTR, "row"), (I64, "number"), (PTR, "v"), (PTR, "w"), (I64, "first")]
        function = t.module.function(f"{t.name}.update", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        row, number, v, w, first = function.arguments
        b = Builder(function)
        shares = [self._share(b, base, number) for base in (v, w)]
        with self.blocks.vectors(b, first, integer(self.size)) as at:
            address = b.gep(t.type, row, at.index)
            others = [t.load(b, b.gep(t.type, base, at.index)) for base in (w, v)]
            t.store(b, self._less(b, t.load(b, address), shares, others), address)
        b.ret()
        return f"@{function.name}"

    def _share(self, b: Builder, base: Value, number: Value) -> Value:
        t = self.tiles
        return b.broadcast(b.unary("fneg", b.load(t.type, b.gep(t.type, base, number))), t.lanes)

    def _less(self, b: Builder, value: Value, shares: list[Value], others: list[Value]) -> Value:
        for share, other in zip(shares, others, strict=True):
            value = self.tiles.multiply_add(b, share, other, value)
        return value

    def _pass(self) -> str:
        """`void NAME(ptr matrix, ptr v, ptr w, ptr next, ptr products, i64 below)`: update, then times next."""
        t, form = self.tiles, self.blocks
        names = ("matrix", "v", "w", "next", "products")
        parameters = [*((f"{PTR} noalias", name) for name in names), (I64, "below")]
        function = t.module.function(f"{t.name}.pass", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, v, w, new, products, below = function.arguments
        b, group = Builder(function), min(_GROUP, t.lanes)
        with b.loop(
            b.binary("and", below, integer(-group)),
            integer(self.size),
            step=group,
            name="row",
            nonempty=True,
            scalar=True,
        ) as row:
            numbers = [b.add(row.index, integer(n)) for n in range(group)]
            lines = [t.at(b, matrix, (number, self.pitch)) for number in numbers]
            shares = [[self._share(b, base, number) for base in (v, w)] for number in numbers]
            factors = [b.broadcast(b.load(t.type, b.gep(t.type, new, number)), t.lanes) for number in numbers]
            corner = b.binary("and", row.index, integer(-t.lanes))

            def change(at: Value, totals: Sequence[Value], number: Value | None = None) -> list[Value]:
                """A vector of each row; the products below the diagonal are those beside it."""
                others = [t.load(b, b.gep(t.type, base, at)) for base in (w, v)]
                times, address = t.load(b, b.gep(t.type, new, at)), b.gep(t.type, products, at)
                below_, following = t.load(b, address), []
                for offset, line in enumerate(lines):
                    value = self._less(b, t.load(b, b.gep(t.type, line, at)), shares[offset], others)
                    t.store(b, value, b.gep(t.type, line, at))
                    right, beyond = self._beyond(b, value, number, offset)
                    following.append(t.multiply_add(b, right, times, totals[offset]))
                    below_ = t.multiply_add(b, beyond, factors[offset], below_)
                t.store(b, below_, address)
                return following

            start = change(corner, [zero(t.vector)] * group, b.sub(row.index, corner))
            with form.vectors(b, b.add(corner, integer(t.lanes)), integer(self.size), start) as at:
                at.carry(*change(at.index, at.carried))
            for number, total in zip(numbers, at.results, strict=True):
                address = b.gep(t.type, products, number)
                b.store(b.binary("fadd", b.load(t.type, address), form.sum(b, total)), address)
        b.ret()
        return f"@{function.name}"

    def _beyond(self, b: Builder, value: Value, number: Value | None, offset: int) -> tuple[Value, Value]:
        """A vector's elements from the diagonal on, and those behind it, where it begins at a lane `number`."""
        if number is None:
            return value, value
        t = self.tiles
        lanes = Value(vector_type(I64, t.lanes), "<" + ", ".join(f"i64 {lane}" for lane in range(t.lanes)) + ">")
        diagonal = b.broadcast(b.add(number, integer(offset)), t.lanes)
        chosen = [b.select(b.compare(by, lanes, diagonal), value, zero(t.vector)) for by in ("sge", "sgt")]
        return chosen[0], chosen[1]

    def product(self) -> str:
        """`void NAME(ptr matrix, ptr factors, ptr product, ptr work)`: all reflections on what is the identity."""
        t, form = self.tiles, self.blocks
        compact, apply = form.compact(), form.apply(t.width, transposed=False)
        parameters = [(PTR, "matrix"), (PTR, "factors"), (PTR, "product"), (PTR, "work")]
        name = f"{t.name}.reflections"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, factors, product, triangle = function.arguments
        b = Builder(function)
        products = b.gep(t.type, triangle, integer(PANEL * PANEL))
        count, steps = -(-(self.size - 2) // PANEL), self.size - 2
        with b.loop(integer(0), integer(count), name="block", nonempty=True, scalar=True) as block:
            start = b.mul(b.sub(integer(count - 1), block.index), integer(PANEL))
            behind = b.add(start, integer(1))
            width = b.smin(integer(PANEL), b.sub(integer(steps), start))
            height = b.sub(integer(self.size), behind)
            panel = b.gep(t.type, t.at(b, matrix, (start, self.pitch)), behind)
            b.call(compact, "void", [panel, b.gep(t.type, factors, start), triangle, height, width])
            address = t.at(b, product, (behind, self.pitch))
            first = b.binary("and", behind, integer(-t.width))
            with b.loop(first, integer(self.size), step=t.width, name="strip", scalar=True) as column:
                b.call(apply, "void", [b.gep(t.type, address, column.index), panel, triangle, products, height])
        b.ret()
        return f"@{function.name}"
