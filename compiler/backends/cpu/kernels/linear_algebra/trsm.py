"""Triangular systems for several right-hand sides: strips of them, in groups of rows.

A strip of right-hand sides is copied into the thread's workspace.  A group of its rows loses what all rows solved
before contribute, by the register tiles of matrix products, and is then solved by the small triangle beside it.  The
workspace holds solutions negated, so that tiles, which add, take away.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.analysis.decision import Decision, no, unless
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, Factors, Tiles
from compiler.codegen.llvm_ir import I1, PTR, Builder, Value, integer, keep_rolled
from compiler.codegen.signature import arguments
from compiler.codegen.triangular import Substitution
from compiler.codegen.workspace import whole_lines
from compiler.ir.types import F32, F64

_FEWEST = 4
"""Right-hand sides from which on a register tile is worth its code: the smallest is so wide."""
_FMA_NS = 0.01
"""Nanoseconds of a multiply-add in tiles: 100 a nanosecond, three quarters of what `codegen.cost` takes products to
reach (11-22)."""
_ELEMENT_NS = 0.2
"""Nanoseconds for each element that is packed and stored again (11-22)."""


@dataclass(frozen=True, slots=True)
class Trsm:
    """The substitution for strips of right-hand sides of a kernel."""

    form: Substitution
    tiles: Tiles

    @staticmethod
    def suits(form: Substitution) -> Decision:
        """Whether there are enough right-hand sides, of a type that is calculated in."""
        if form.columns < _FEWEST or form.size < 2:
            return no(f"fewer than {_FEWEST} right-hand sides, or a single unknown")
        return unless(form.element_type not in (F32, F64), f"nothing is calculated in {form.element_type.name}")

    @property
    def per_matrix(self) -> int:
        """Strips of a matrix of right-hand sides."""
        return -(-self.form.columns // self.tiles.width)

    @property
    def count(self) -> int:
        """Strips of right-hand sides in the whole batch."""
        return self.per_matrix * (self.form.sides // self.form.columns)

    @property
    def workspace_bytes(self) -> int:
        """A strip, for one thread."""
        return whole_lines(self.tiles.bytes * self.form.size * self.tiles.width)

    @property
    def work(self) -> float:
        """The expected time for all of them."""
        elements = self.form.size * self.tiles.width
        return self.count * (_FMA_NS * self.form.size * elements / 2 + _ELEMENT_NS * elements)

    def emit(self) -> list[str]:
        """The functions for whole strips and for the last: `void NAME(ptr matrix, ptr given, ptr sought, ptr work)`."""
        return [self._strip(columns) for columns in self.tiles.strips(self.form.columns)]

    def call(self, b: Builder, functions: list[str], strip: Value, work: Value) -> None:
        """Solve for the strip of that number.

        Args:
            b: where code is emitted.
            functions: names of the functions that solve a strip of each width.
            strip: its number among all matrices'.
            work: the address of workspace.
        """
        form, t = self.form, self.tiles
        number = b.binary("udiv", strip, integer(self.per_matrix))
        inside = b.binary("urem", strip, integer(self.per_matrix))
        first = b.mul(inside, integer(t.width * (1 if form.left_side else form.size)))
        output = arguments(form.kernel).outputs[0]
        matrix = t.at(b, form.pointers[0], (number, form.size * form.size))
        sides = [
            b.gep(t.type, t.at(b, base, (number, form.size * form.columns)), first)
            for base in (form.pointers[1], output)
        ]
        if len(functions) == 1:
            b.call(functions[0], "void", [matrix, *sides, work])
            return
        is_whole = b.compare("ne", inside, integer(self.per_matrix - 1))
        for function, condition in zip(
            functions, (is_whole, b.binary("xor", is_whole, Value(I1, "true"))), strict=True
        ):
            with b.when(condition, "strip"):
                b.call(function, "void", [matrix, *sides, work])

    def _strip(self, columns: int) -> str:
        form, t = self.form, self.tiles
        parameters = [(PTR, name) for name in ("matrix", "given", "sought", "work")]
        name = f"{t.name}.strip.{columns}"
        function = t.module.function(name, "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        matrix, given, sought, work = function.arguments
        b = Builder(function)
        size, width, across = integer(form.size), integer(t.width), integer(columns)
        if form.left_side:
            t.copy_rows(b, (size, columns), (given, form.columns), (work, t.width))
        else:
            b.call(t.turn(), "void", [given, size, work, width, across, size])
        last = form.size % t.rows
        self._groups(b, (matrix, work), columns)
        if last:
            first = integer(form.size - last if form.is_lower else 0)
            self._group(b, (matrix, work), (first, last), columns)
        if form.left_side:
            t.put_negated(b, (size, columns), (work, t.width), (sought, form.columns))
        else:
            self._negate(b, work)
            b.call(t.turn(), "void", [work, width, sought, size, size, across])
        b.ret()
        return f"@{function.name}"

    def _groups(self, b: Builder, given: tuple[Value, Value], columns: int) -> None:
        """All whole groups: downwards from the first row, or upwards from the last."""
        form, t = self.form, self.tiles
        whole = form.size // t.rows * t.rows
        with b.loop(integer(0), integer(whole), step=t.rows, name="group", scalar=True) as group:
            upwards = b.sub(integer(form.size - t.rows), group.index)
            self._group(b, given, (group.index if form.is_lower else upwards, t.rows), columns)

    def _group(self, b: Builder, given: tuple[Value, Value], group: tuple[Value, int], columns: int) -> None:
        """Solve for a group of rows, given by its first and how many there are."""
        form, t, (matrix, work), (first, rows) = self.form, self.tiles, given, group
        strides = (1, form.size) if form.is_transposed else (form.size, 1)
        product = t.product(Factors(*strides, t.width), columns)
        triangle = t.triangle(rows, strides, lower=form.is_lower, unit=form.unit_diagonal)
        behind = b.add(first, integer(rows))
        start, depth = (integer(0), first) if form.is_lower else (behind, b.sub(integer(form.size), behind))
        lines = t.at(b, work, (first, t.width))
        row = t.at(b, matrix, (first, strides[0]))
        with b.when(b.compare("ne", depth, integer(0)), "known"):
            factors = [t.at(b, row, (start, strides[1])), t.at(b, work, (start, t.width)), lines]
            b.call(product, "void", [*factors, integer(rows), depth])
        b.call(triangle, "void", [t.at(b, row, (first, strides[1])), lines])

    def _negate(self, b: Builder, work: Value) -> None:
        t = self.tiles
        stop = integer(self.form.size * t.width)
        with b.loop(integer(0), stop, step=t.lanes, name="negate", metadata=keep_rolled(t.module)) as at:
            address = b.gep(t.type, work, at.index)
            t.store(b, b.unary("fneg", t.load(b, address)), address)
