"""A matrix less a few outer products, and the products of what it becomes with vectors, all in one pass.

Reductions by reflections that are not blocked change the whole rest of a matrix in each step, and the next reflection
wants that rest multiplied by its vector.  The vector follows from one column alone, so it is known before, and every
element is loaded and stored once in a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, integer

_MOST_ROWS = 8
"""Rows that are swept together: as many sums as hide the latency of a multiply-add on two units of 4 cycles."""


class _Memory(NamedTuple):
    """Addresses: of the matrix, of the changes' columns and rows, and of x, y, z and u."""

    matrix: Value
    changes: Value
    factors: Value


@dataclass(frozen=True, slots=True)
class Sweep:
    """`A += sum of c_j r_j`, and with `left` `y += x A`, with `right` `u = A z` of the new A.

    Columns c, rows r, the vectors x and z and the products y and u lie in rows of the same form.
    """

    numbers: Numbers
    rank: int
    left: bool = False
    right: bool = False

    @property
    def group(self) -> int:
        """Rows that are changed together: as many as there are registers for."""
        n = self.numbers
        held = n.components * (self.rank + self.left + self.right)
        free = n.tiles.machine.vector_registers - n.components * (2 + self.rank)
        group = _MOST_ROWS
        while group > 1 and group * held > free:
            group //= 2
        return group

    def emit(self) -> str:
        """`void NAME(ptr matrix, ptr changes, ptr factors, i64 row, i64 rows, i64 first, i64 stop)`.

        `changes` are c and r in turn, one behind the other, `factors` are x, y, z and u; not all need be there.
        Rows and columns are those from `row` and `first` on; the last vector of columns may reach behind the end.
        """
        n = self.numbers
        name = f"{n.tiles.name}.sweep.{self.rank}.{int(self.left)}{int(self.right)}"
        if n.tiles.module.has_function(name):
            return f"@{name}"
        pointers = [(f"{PTR} noalias", parameter) for parameter in ("matrix", "changes", "factors")]
        extents = [(I64, parameter) for parameter in ("row", "rows", "first", "stop")]
        attributes = {"linkage": "internal", "attributes": ATTRIBUTES}
        function = n.tiles.module.function(name, "void", [*pointers, *extents], **attributes)
        matrix, changes, factors, row, rows, first, stop = function.arguments
        b = Builder(function)
        whole = b.add(row, b.binary("and", b.sub(rows, row), integer(-self.group)))
        for start, end, group in ((row, whole, self.group), *([(whole, rows, 1)] if self.group > 1 else [])):
            with b.loop(start, end, step=group, name="row", scalar=True) as line:
                self._rows(b, _Memory(matrix, changes, factors), line.index, group, (first, stop))
        b.ret()
        return f"@{name}"

    def _rows(self, b: Builder, memory: _Memory, row: Value, group: int, columns: tuple[Value, Value]) -> None:
        n, (matrix, changes, factors) = self.numbers, memory
        factor_rows = [n.at(b, factors, integer(number)) for number in range(4)]
        c, r = ([n.at(b, changes, integer(2 * j + kind)) for j in range(self.rank)] for kind in range(2))
        numbers = [b.add(row, integer(at)) for at in range(group)]
        lines = [n.at(b, matrix, number) for number in numbers]
        by = [[n.spread(b, n.element(b, column, number)) for column in c] for number in numbers]
        shares = [n.spread(b, n.element(b, factor_rows[0], number)) for number in numbers] if self.left else []
        totals = [value for _ in numbers for value in n.zero(vector=True)] if self.right else []
        with n.vectors(b, *columns, totals) as at:
            rows = [n.load(b, line, at.index) for line in r]
            product = n.load(b, factor_rows[1], at.index) if self.left else ()
            beside = n.load(b, factor_rows[2], at.index) if self.right else ()
            following: list[Value] = []
            for k, line in enumerate(lines):
                value = n.load(b, line, at.index)
                for factor, other in zip(by[k], rows, strict=True):
                    value = n.multiply_add(b, factor, other, value)
                n.store(b, value, line, at.index)
                if self.left:
                    product = n.multiply_add(b, shares[k], value, product)
                if self.right:
                    held: Number = tuple(at.carried[k * n.components : (k + 1) * n.components])
                    following += n.multiply_add(b, value, beside, held)
            if self.left:
                n.store(b, product, factor_rows[1], at.index)
            if self.right:
                at.carry(*following)
        if self.right:
            for k, number in enumerate(numbers):
                n.put(b, n.sum(b, tuple(at.results[k * n.components : (k + 1) * n.components])), factor_rows[3], number)
