"""QR by blocks of reflections: LAPACK's geqrf, and orgqr, which makes the orthogonal factor of what geqrf leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.reflections import Reflections
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, PANEL, Tiles
from compiler.codegen.llvm_ir import PTR, Builder, Value, floating, integer


def _strips(tiles: Tiles, columns: int, apply: Reflections, *, transposed: bool) -> dict[int, str]:
    return {width: apply.apply(width, transposed=transposed) for width in tiles.strips(columns) if width}


class _Columns(NamedTuple):
    """Columns to which a block is applied: the first, up to which, and how many of them are no whole strip."""

    first: Value
    stop: int
    left: int


def _apply(
    b: Builder, tiles: Tiles, strips: dict[int, str], address: Value, extent: _Columns, given: list[Value]
) -> None:
    """Apply a block to the strips of rows at a place."""
    first, columns, left = extent
    for width, function in strips.items():
        whole = width == tiles.width
        begin, stop = (first, integer(columns - left)) if whole else (integer(columns - left), integer(columns))
        with b.loop(begin, stop, step=tiles.width, name="strip", scalar=True) as column:
            b.call(function, "void", [b.gep(tiles.type, address, column.index), *given])


@dataclass(frozen=True, slots=True)
class Qr:
    """The factorisation of a matrix of `rows` x `columns`.

    The first panel takes the columns that are left over, so that strips behind it are whole.
    """

    tiles: Tiles
    rows: int
    columns: int

    @property
    def blocks(self) -> Reflections:
        """The panels that a matrix is factored by."""
        return Reflections(self.tiles, self.tiles.pitch(self.rows), self.columns)

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr factors, ptr workspace)`: factor a matrix where it lies."""
        t, form = self.tiles, self.blocks
        steps = min(self.rows, self.columns)
        first = steps % PANEL or PANEL
        behind_first = self.columns - first
        factor, turn = form.panel(), t.turn()
        compact, strips = (
            (form.compact(), _strips(t, behind_first, form, transposed=True)) if behind_first else ("", {})
        )
        parameters = [(PTR, "matrix"), (PTR, "factors"), (PTR, "workspace")]
        function = t.module.function(f"{t.name}.qr", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, factors, work = function.arguments
        b = Builder(function)
        panel, triangle, products = form.regions(b, work)
        stride, pitch = integer(self.columns), integer(form.pitch)
        with b.loop(
            integer(0), integer(1 + (steps - first) // PANEL), name="panel", nonempty=True, scalar=True
        ) as block:
            is_first = b.compare("eq", block.index, integer(0))
            start = b.add(b.mul(block.index, integer(PANEL)), integer(first - PANEL))
            start = b.select(is_first, integer(0), start)
            width = b.select(is_first, integer(first), integer(PANEL))
            height, corner = b.sub(integer(self.rows), start), t.at(b, matrix, (start, self.columns + 1))
            scales = b.gep(t.type, factors, start)
            form.load(b, corner, panel, height, width)
            b.call(factor, "void", [panel, scales, height, width])
            b.call(turn, "void", [panel, pitch, corner, stride, width, height])
            behind = b.add(start, width)
            if strips:
                with b.when(b.compare("slt", behind, stride), "apply"):
                    b.call(compact, "void", [panel, scales, triangle, height, width])
                    address = t.at(b, matrix, (start, self.columns))
                    given = [panel, triangle, products, height]
                    _apply(b, t, strips, address, _Columns(behind, self.columns, behind_first % t.width), given)
        b.ret()
        return f"@{function.name}"


@dataclass(frozen=True, slots=True)
class Product:
    """The first `columns` of the product of `steps` reflections, the last block of them applied first."""

    tiles: Tiles
    rows: int
    columns: int
    steps: int

    @property
    def blocks(self) -> Reflections:
        """The panels of vectors."""
        return Reflections(self.tiles, self.tiles.pitch(self.rows), self.columns)

    def emit(self) -> str:
        """`void NAME(ptr vectors, ptr factors, ptr product, ptr workspace)`; the product's memory holds zeros."""
        t, form = self.tiles, self.blocks
        compact, strips = form.compact(), _strips(t, self.columns, form, transposed=False)
        parameters = [(PTR, "vectors"), (PTR, "factors"), (PTR, "product"), (PTR, "workspace")]
        name = f"{t.name}.reflections"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        vectors, factors, product, work = function.arguments
        b = Builder(function)
        panel, triangle, products = form.regions(b, work)
        with b.loop(integer(0), integer(self.columns), name="one", scalar=True) as one:
            b.store(floating(1.0, t.type), t.at(b, product, (one.index, self.columns + 1)))
        count = -(-self.steps // PANEL)
        with b.loop(integer(0), integer(count), name="block", nonempty=True, scalar=True) as block:
            start = b.mul(b.sub(integer(count - 1), block.index), integer(PANEL))
            width = b.smin(integer(PANEL), b.sub(integer(self.steps), start))
            height, corner = b.sub(integer(self.rows), start), t.at(b, vectors, (start, self.columns + 1))
            scales = b.gep(t.type, factors, start)
            form.load(b, corner, panel, height, width)
            b.call(compact, "void", [panel, scales, triangle, height, width])
            address = t.at(b, product, (start, self.columns))
            given = [panel, triangle, products, height]
            _apply(b, t, strips, address, _Columns(start, self.columns, self.columns % t.width), given)
        b.ret()
        return f"@{function.name}"
