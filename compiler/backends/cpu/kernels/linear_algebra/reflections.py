"""Householder's reflections in blocks: a panel made triangular, and its reflections applied together.

A product of reflections is `1 - V T V'`, where the columns of V are the vectors and T is upper triangular (Schreiber
and Van Loan, "A storage-efficient WY representation for products of Householder transformations", 1989): to apply it
is three products of matrices.  A panel is kept transposed; `-T'` is what is kept of T.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, PANEL, Factors, Tiles
from compiler.codegen.llvm_ir import (
    I64,
    PTR,
    Builder,
    Function,
    Loop,
    Value,
    floating,
    integer,
    keep_rolled,
    mangled,
    zero,
)

_GROUP = 4
"""Columns that are multiplied by a vector together."""
LEAST = {kind: float(np.finfo(number).tiny) for kind, number in (("float", np.float32), ("double", np.float64))}
"""Below this a length has so few digits that no reflection made of it keeps lengths."""
_SAFE = {"float": (1e-30, 1e30, 2.0**90), "double": (1e-280, 1e280, 2.0**900)}
"""Sums of squares that have lost nothing, and what makes values too small (or too great) for that great (or small)."""


class Workspace(NamedTuple):
    """Addresses of a panel, of its triangle, and of a strip's products with them."""

    panel: Value
    triangle: Value
    products: Value


class Reflection(NamedTuple):
    """`factor` is tau, `beta` what the head becomes, and the tail is divided by `divisor`."""

    factor: Value
    beta: Value
    divisor: Value


class _Rows(NamedTuple):
    """The row of a reflection's head, the first of its tail, and the one behind the last."""

    head: Value
    below: Value
    stop: Value


@dataclass(frozen=True, slots=True)
class Reflections:
    """Panels whose columns lie `pitch` apart, for matrices whose rows lie `stride` apart."""

    tiles: Tiles
    pitch: int
    stride: int

    @property
    def workspace_elements(self) -> int:
        """A panel, its triangle, and a strip's products with them."""
        return (PANEL + 1) * self.pitch + PANEL * PANEL + 2 * PANEL * self.tiles.width

    def regions(self, b: Builder, work: Value) -> Workspace:
        """The regions of a workspace."""
        triangle = b.gep(self.tiles.type, work, integer((PANEL + 1) * self.pitch))
        return Workspace(work, triangle, b.gep(self.tiles.type, triangle, integer(PANEL * PANEL)))

    def _function(self, name: str, *parameters: tuple[str, str], result: str = "void") -> Function:
        full = f"{self.tiles.name}.{name}"
        return self.tiles.module.function(full, result, parameters, linkage="internal", attributes=ATTRIBUTES)

    def load(self, b: Builder, source: Value, panel: Value, height: Value, width: Value) -> None:
        """Take a panel from the matrix; zeros behind its columns, and in place of those that are missing.

        Args:
            b: where code is emitted.
            source: the address of the panel's first element in the matrix.
            panel: the address that it is copied to, transposed.
            height: its rows.
            width: its columns, `PANEL` at most.
        """
        t, pitch = self.tiles, integer(self.pitch)
        b.call(t.turn(), "void", [source, integer(self.stride), panel, pitch, height, width])
        with b.loop(integer(0), width, name="pad", nonempty=True, scalar=True) as column:
            t.store(b, zero(t.vector), b.gep(t.type, t.at(b, panel, (column.index, self.pitch)), height))
        self.clear(b, panel, b.mul(width, pitch), integer(PANEL * self.pitch))

    def clear(self, b: Builder, base: Value, first: Value, stop: Value) -> None:
        """Zeros from one element up to another, a multiple of vectors behind it.

        Args:
            b: where code is emitted.
            base: the address of a row.
            first: the first element that becomes 0.
            stop: the one behind the last.
        """
        t = self.tiles
        with b.loop(first, stop, step=t.lanes, name="clear", metadata=keep_rolled(t.module)) as at:
            t.store(b, zero(t.vector), b.gep(t.type, base, at.index))

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
        metadata = keep_rolled(self.tiles.module)
        return b.loop(first, stop, step=self.tiles.lanes, carried=carried, name="rows", metadata=metadata)

    def dots(self, b: Builder, vector: Value, columns: Sequence[Value], first: Value, stop: Value) -> list[Value]:
        """The products of columns with a vector, from one row to another.

        Args:
            b: where code is emitted.
            vector: the address of the vector's row 0.
            columns: addresses of the columns' rows 0.
            first: the first row.
            stop: the one behind the last.
        """
        t = self.tiles
        with self.vectors(b, first, stop, [zero(t.vector)] * len(columns)) as row:
            one = t.load(b, b.gep(t.type, vector, row.index))
            others = [t.load(b, b.gep(t.type, column, row.index)) for column in columns]
            row.carry(*(t.multiply_add(b, one, *pair) for pair in zip(others, row.carried, strict=True)))
        return [self.sum(b, total) for total in row.results]

    def sum(self, b: Builder, vector: Value) -> Value:
        """The sum of a vector's lanes."""
        arguments = [floating(-0.0, self.tiles.type), vector]
        return b.intrinsic(f"vector.reduce.fadd.{mangled(vector.type)}", arguments, flags="reassoc")

    # -- a panel ------------------------------------------------------------------------------------------------------

    def panel(self) -> str:
        """`void NAME(ptr panel, ptr factors, i64 height, i64 width)`: make a panel triangular, vectors below."""
        t = self.tiles
        norm = self.norm()
        function = self._function("panel", (PTR, "panel"), (PTR, "factors"), (I64, "height"), (I64, "width"))
        panel, factors, height, width = function.arguments
        b = Builder(function)
        with b.loop(integer(0), width, name="column", nonempty=True, scalar=True) as step:
            at, below = step.index, b.add(step.index, integer(1))
            column = t.at(b, panel, (at, self.pitch))
            address = b.gep(t.type, column, at)
            head = b.load(t.type, address)
            length = b.call(norm, t.type, [column, below, height])
            factor, beta, divisor = self.reflection(b, head, length)
            b.store(beta, address)
            b.store(factor, b.gep(t.type, factors, at))
            spread = b.broadcast(divisor, t.lanes)
            with self.vectors(b, below, height) as row:
                here = b.gep(t.type, column, row.index)
                t.store(b, b.binary("fdiv", t.load(b, here), spread), here)
            count = b.sub(width, below)
            grouped = b.add(below, b.binary("and", count, integer(-_GROUP)))
            for first, stop, group in ((below, grouped, _GROUP), (grouped, width, 1)):
                with b.loop(first, stop, step=group, name="others", scalar=True) as other:
                    lines = [t.at(b, panel, (b.add(other.index, integer(n)), self.pitch)) for n in range(group)]
                    self._reflect(b, column, lines, _Rows(at, below, height), factor)
        b.ret()
        return f"@{function.name}"

    def reflection(self, b: Builder, head: Value, length: Value) -> Reflection:
        """The reflection that leaves a column nothing but its head.

        A column that is no more than a denormal number is left as it is.

        Args:
            b: where code is emitted.
            head: the column's first element.
            length: the root of the squares of those behind it.
        """
        type_ = head.type
        zero_, one = floating(0.0, type_), floating(1.0, type_)
        size = b.overloaded("fabs", [head])
        larger, smaller = (b.overloaded(name, [size, length]) for name in ("maximum", "minimum"))
        share = b.binary("fdiv", smaller, b.select(b.compare("oeq", larger, zero_), one, larger))
        root = b.overloaded("sqrt", [b.binary("fadd", b.binary("fmul", share, share), one)])
        whole = b.binary("fmul", larger, root)
        signed = b.select(b.compare("olt", head, zero_), whole, b.unary("fneg", whole))
        is_tiny = b.compare("olt", whole, floating(LEAST[type_], type_))
        idle = b.binary("or", b.compare("oeq", length, zero_), is_tiny)
        beta = b.select(idle, head, signed)
        quotient = b.binary("fdiv", b.binary("fsub", signed, head), signed)
        return Reflection(b.select(idle, zero_, quotient), beta, b.select(idle, one, b.binary("fsub", head, beta)))

    def _reflect(self, b: Builder, column: Value, lines: list[Value], rows: _Rows, factor: Value) -> None:
        """Reflect other columns of the panel by the vector in one."""
        t, (at, below, height) = self.tiles, rows
        tops = [b.gep(t.type, line, at) for line in lines]
        heads = [b.load(t.type, top) for top in tops]
        scales = []
        for head, top, product in zip(heads, tops, self.dots(b, column, lines, below, height), strict=True):
            scale = b.unary("fneg", b.binary("fmul", factor, b.binary("fadd", head, product)))
            b.store(b.binary("fadd", head, scale), top)
            scales.append(b.broadcast(scale, t.lanes))
        with self.vectors(b, below, height) as row:
            one = t.load(b, b.gep(t.type, column, row.index))
            for line, scale in zip(lines, scales, strict=True):
                here = b.gep(t.type, line, row.index)
                t.store(b, t.multiply_add(b, one, scale, t.load(b, here)), here)

    def norm(self) -> str:
        """`T NAME(ptr column, i64 first, i64 stop)`: a length; squares that would leave the range are taken scaled."""
        t = self.tiles
        if t.module.has_function(f"{t.name}.norm"):
            return f"@{t.name}.norm"
        function = self._function("norm", (PTR, "column"), (I64, "first"), (I64, "stop"), result=t.type)
        column, first, stop = function.arguments
        b = Builder(function)
        least, most, scale = _SAFE[t.type]

        def length(by: Value | None) -> Value:
            spread = b.broadcast(by, t.lanes) if by else None
            with self.vectors(b, first, stop, [zero(t.vector)]) as row:
                value = t.load(b, b.gep(t.type, column, row.index))
                value = b.binary("fmul", value, spread) if spread else value
                row.carry(t.multiply_add(b, value, value, row.carried[0]))
            return self.sum(b, row.results[0])

        def root(value: Value) -> Value:
            return b.overloaded("sqrt", [value])

        total = length(None)
        above, under = b.compare("ogt", total, floating(least, t.type)), b.compare("olt", total, floating(most, t.type))

        def rescaled() -> Value:
            by = b.select(above, floating(1 / scale, t.type), floating(scale, t.type))
            return b.binary("fdiv", root(length(by)), by)

        b.ret(b.choose(b.binary("and", above, under), lambda: root(total), rescaled))
        return f"@{function.name}"

    # -- a block ------------------------------------------------------------------------------------------------------

    def compact(self) -> str:
        """`void NAME(ptr panel, ptr factors, ptr triangle, i64 height, i64 width)`: the vectors alone, and -T'."""
        t = self.tiles
        parameters = [(PTR, "panel"), (PTR, "factors"), (PTR, "triangle"), (I64, "height"), (I64, "width")]
        function = self._function("compact", *parameters)
        panel, factors, triangle, height, width = function.arguments
        b = Builder(function)
        self.clear(b, triangle, integer(0), integer(PANEL * PANEL))
        with b.loop(integer(0), width, name="column", nonempty=True, scalar=True) as step:
            column = t.at(b, panel, (step.index, self.pitch))
            with b.loop(integer(0), step.index, name="above", scalar=True, metadata=keep_rolled(t.module)) as row:
                b.store(floating(0.0, t.type), b.gep(t.type, column, row.index))
            b.store(floating(1.0, t.type), b.gep(t.type, column, step.index))
        lines = [integer(first) for first in range(0, PANEL, t.lanes)]
        with b.loop(integer(0), width, name="column", nonempty=True, scalar=True) as step:
            column = t.at(b, panel, (step.index, self.pitch))
            factor = b.unary("fneg", b.load(t.type, b.gep(t.type, factors, step.index)))
            with b.loop(
                integer(0), step.index, step=_GROUP, carried=[zero(t.vector)] * len(lines), name="known", scalar=True
            ) as known:
                numbers = [b.add(known.index, integer(n)) for n in range(_GROUP)]
                others = [t.at(b, panel, (number, self.pitch)) for number in numbers]
                totals = list(known.carried)
                for number, product in zip(numbers, self.dots(b, column, others, step.index, height), strict=True):
                    # Those that are not known yet have rows of zeros.
                    spread, before = b.broadcast(product, t.lanes), t.at(b, triangle, (number, PANEL))
                    given = [t.load(b, b.gep(t.type, before, line)) for line in lines]
                    totals = [t.multiply_add(b, spread, *pair) for pair in zip(given, totals, strict=True)]
                known.carry(*totals)
            address = t.at(b, triangle, (step.index, PANEL))
            spread = b.broadcast(factor, t.lanes)
            for line, total in zip(lines, known.results, strict=True):
                t.store(b, b.binary("fmul", spread, total), b.gep(t.type, address, line))
            b.store(factor, b.gep(t.type, address, step.index))
        b.ret()
        return f"@{function.name}"

    def apply(self, columns: int, *, transposed: bool) -> str:
        """`void NAME(ptr strip, ptr panel, ptr triangle, ptr products, i64 height)`: strip -= V T V' strip, or T'."""
        t = self.tiles
        projected = t.product(Factors(self.pitch, 1, t.width), columns, rhs_step=self.stride, accumulates=False)
        strides = (PANEL, 1) if transposed else (1, PANEL)
        turned = t.product(Factors(*strides, t.width), t.width, accumulates=False)
        added = t.product(Factors(1, self.pitch, self.stride), columns)
        parameters = [*((PTR, name) for name in ("strip", "panel", "triangle", "products")), (I64, "height")]
        function = self._function(f"apply.{columns}", *parameters)
        strip, panel, triangle, products, height = function.arguments
        b = Builder(function)
        depth = integer(PANEL)
        second = b.gep(t.type, products, integer(PANEL * t.width))
        b.call(projected, "void", [panel, strip, products, depth, height])
        b.call(turned, "void", [triangle, products, second, depth, depth])
        b.call(added, "void", [panel, second, strip, height, depth])
        b.ret()
        return f"@{function.name}"
