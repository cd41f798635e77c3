"""Triangular systems for several right-hand sides at a time: a vector holds one unknown of each.

Sides are copied into the thread's workspace in f64, unknown by unknown, so that all arithmetic is on whole vectors and
the matrix is read along its rows: where it is not transposed, an unknown is what is given less all products with those
known; where it is, every unknown found is taken from all the others at once.
"""

from __future__ import annotations

from compiler.codegen.llvm_ir import Builder, Value, integer, zero
from compiler.codegen.triangular import Matrix, Substitution, transposed

_LANES = 8
_VECTOR = f"<{_LANES} x double>"
_FLAGS = "contract"
_STEP_NS = 1.5
_MOST_VECTORS = 4


class Sides:
    """The substitution for blocks of right-hand sides of a kernel."""

    def __init__(self, form: Substitution) -> None:
        self.form = form
        self.vectors = min(_MOST_VECTORS, max(1, form.columns // (2 * _LANES)))
        self.width = self.vectors * _LANES
        self.per_matrix = -(-form.columns // self.width)
        self.count = self.per_matrix * (form.sides // max(1, form.columns))

    @staticmethod
    def suits(form: Substitution) -> bool:
        """Whether there are enough right-hand sides."""
        return form.columns >= _LANES // 2 and form.size > 1

    @property
    def workspace_bytes(self) -> int:
        """A block's unknowns, for one thread."""
        return 8 * self.form.size * self.width

    @property
    def work(self) -> float:
        """The expected time for all of them."""
        return self.count * (_STEP_NS * self.form.size**2 / 2 + 2.0 * self.form.size * self.width)

    def solve(self, builder: Builder, block: Value, unknowns: Value) -> None:
        """Solve for the block of that number."""
        number, part = builder.udivrem(block, integer(self.per_matrix))
        first = builder.mul(part, integer(self.width))
        last = builder.intrinsic("smin.i64", [builder.add(first, integer(self.width)), integer(self.form.columns)])
        factor, right, solution = self.form.matrices(builder, number)
        self._load(builder, right, unknowns, (first, last))
        with builder.loop(integer(0), integer(self.form.size), name="unknown", nonempty=True) as step:
            row = step.index if self.form.is_lower else builder.sub(integer(self.form.size - 1), step.index)
            if self.form.is_transposed:
                self._take_from_others(builder, factor, unknowns, row)
            else:
                self._less_known(builder, factor, unknowns, row)
        width = integer(self.width)
        with builder.loop(integer(0), integer(self.form.size), name="row", nonempty=True) as row_loop:
            base = builder.sub(builder.mul(row_loop.index, width), first)
            with builder.loop(first, last, name="column") as column:
                value = builder.load(
                    "double", builder.gep("double", unknowns, builder.add(base, column.index)), align=8
                )
                solution.store(row_loop.index, column.index, value)

    def _load(self, builder: Builder, right: Matrix, unknowns: Value, part: tuple[Value, Value]) -> None:
        """The given sides; zeros where there are fewer than a block holds."""
        width = integer(self.width)
        with builder.loop(integer(0), integer(self.form.size), name="row", nonempty=True) as row:
            self._put(builder, unknowns, row.index, [zero(_VECTOR)] * self.vectors)
            base = builder.sub(builder.mul(row.index, width), part[0])
            with builder.loop(*part, name="column") as column:
                value = right.load(row.index, column.index)
                builder.store(value, builder.gep("double", unknowns, builder.add(base, column.index)), align=8)

    def _get(self, builder: Builder, unknowns: Value, row: Value) -> list[Value]:
        return [builder.load(_VECTOR, place, align=8) for place in self._places(builder, unknowns, row)]

    def _put(self, builder: Builder, unknowns: Value, row: Value, values: list[Value]) -> None:
        for value, place in zip(values, self._places(builder, unknowns, row), strict=True):
            builder.store(value, place, align=8)

    def _places(self, builder: Builder, unknowns: Value, row: Value) -> list[Value]:
        base = builder.mul(row, integer(self.vectors))
        return [builder.gep(_VECTOR, unknowns, builder.add(base, integer(v))) for v in range(self.vectors)]

    def _less(self, builder: Builder, values: list[Value], factor: Value, others: list[Value]) -> list[Value]:
        scale = builder.broadcast(factor, _LANES)
        products = [builder.binary("fmul", scale, other, _FLAGS) for other in others]
        return [builder.binary("fsub", v, p, _FLAGS) for v, p in zip(values, products, strict=True)]

    def _over_pivot(self, builder: Builder, factor: Matrix, row: Value, values: list[Value]) -> list[Value]:
        if self.form.unit_diagonal:
            return values
        pivot = builder.broadcast(factor.load(row, row), _LANES)
        return [builder.binary("fdiv", value, pivot) for value in values]

    def _less_known(self, builder: Builder, factor: Matrix, unknowns: Value, row: Value) -> None:
        start = self._get(builder, unknowns, row)
        known = (integer(0), row) if self.form.is_lower else (builder.add(row, integer(1)), integer(self.form.size))
        with builder.loop(*known, carried=start, name="known") as loop:
            others = self._get(builder, unknowns, loop.index)
            loop.carry(*self._less(builder, loop.carried, factor.load(row, loop.index), others))
        self._put(builder, unknowns, row, self._over_pivot(builder, factor, row, loop.results))

    def _take_from_others(self, builder: Builder, factor: Matrix, unknowns: Value, row: Value) -> None:
        found = self._over_pivot(builder, factor, row, self._get(builder, unknowns, row))
        self._put(builder, unknowns, row, found)
        given = transposed(factor)
        others = (builder.add(row, integer(1)), integer(self.form.size)) if self.form.is_lower else (integer(0), row)
        with builder.loop(*others, name="other") as loop:
            values = self._get(builder, unknowns, loop.index)
            left = self._less(builder, values, given.load(row, loop.index), found)
            self._put(builder, unknowns, loop.index, left)
