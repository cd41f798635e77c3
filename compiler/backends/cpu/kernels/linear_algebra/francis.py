"""Schur's form of Hessenberg matrices by Francis's double steps, with the steps of `expansion.schur` in one function.

An iteration takes the last block of a matrix that has not fallen apart.  One row is done; two are made triangular, or
given equal diagonal elements where their eigenvalues are a pair; through more a bulge of three rows is chased.  All are
reflections of three rows and columns.  The vectors are kept as rows, so that what turns columns of theirs walks rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.numbers import Number, Numbers
from compiler.backends.cpu.kernels.linear_algebra.shifts import LastRows, magnitude, nonzero
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES
from compiler.codegen.llvm_ir import I32, I64, PTR, Builder, Value, floating, integer

MOST_ITERATIONS = 30
"""Iterations for each eigenvalue before the rest are given up."""
_PATIENCE = 10
"""Steps without a deflation after which an exceptional shift is taken (LAPACK's dlahqr takes as many)."""
_BULGE = 3
"""Rows of the bulge that a double shift chases: its reflectors have so many elements (Golub and Van Loan, 7.5)."""
_EPS = {"float": 2.0**-23, "double": 2.0**-52}
_TINY = {"float": 2.0**-126, "double": 2.0**-1022}
STATE = 4
"""Integers: the last row that is not done, iterations, iterations in this block, and the block's first row."""


class _Reflection(NamedTuple):
    """`x - tau (x l) r`, where l and r begin with 1: tau, and the elements behind it."""

    factor: Number
    left: list[Number]
    right: list[Number]


class _Reflector(NamedTuple):
    """What zeroes a column below its head: tau, what the head becomes, and the elements of the vector behind its 1."""

    factor: Number
    beta: Number
    vector: list[Number]


class _Bounds(NamedTuple):
    """Where rows are reflected: the first of the three, and their columns from `first` up to `stop`."""

    row: Value
    first: Value
    stop: Value


@dataclass(frozen=True, slots=True)
class Francis:
    """The iteration for matrices of `numbers.length` rows, with a row of zeros behind them.

    `whole` asks for the triangle and not for its diagonal alone, `vectors` for the vectors too.
    """

    numbers: Numbers
    whole: bool
    vectors: bool

    def emit(self) -> str:
        """`i32 NAME(ptr form, ptr rows, ptr pairs, ptr state)`: how many of the first eigenvalues were not found.

        `pairs` are i64: whether a row and the next hold a pair of eigenvalues; zeros at first.
        """
        n = self.numbers
        t, step = n.tiles, self._step()
        parameters = [(PTR, name) for name in ("form", "rows", "pairs", "state")]
        function = t.module.function(f"{t.name}.francis", I32, parameters, linkage="internal", attributes=ATTRIBUTES)
        form, rows, pairs, state = function.arguments
        b = Builder(function)
        bottom, iterations, age, top = (b.gep(I64, state, integer(number)) for number in range(STATE))
        for address, value in ((bottom, n.length - 1), (iterations, 0), (age, 0)):
            b.store(integer(value), address)
        header, body, done = (b.new_label(name) for name in ("next", "iteration", "end"))
        b.branch(header)
        b.begin(header)
        last, number = b.load(I64, bottom), b.load(I64, iterations)
        most = integer(MOST_ITERATIONS * max(n.length, _PATIENCE))
        goes_on = b.binary("and", b.compare("sge", last, integer(0)), b.compare("slt", number, most))
        b.branch_if(goes_on, body, done)
        b.begin(body)
        b.store(b.add(number, integer(1)), iterations)
        self._top(b, form, last, top)
        first = b.load(I64, top)
        length = b.add(b.sub(last, first), integer(1))
        with b.when(b.compare("sgt", length, integer(1)), "step"):
            b.call(step, "void", [form, rows, pairs, first, last, b.load(I64, age)])
        is_done = b.compare("sle", length, integer(2))
        b.store(b.select(is_done, b.sub(last, length), last), bottom)
        b.store(b.select(is_done, integer(0), b.add(b.load(I64, age), integer(1))), age)
        b.branch(header)
        b.begin(done)
        b.ret(b.cast("trunc", b.add(last, integer(1)), I32))
        return f"@{function.name}"

    def _top(self, b: Builder, form: Value, last: Value, top: Value) -> None:
        """The first row of the block that ends at the last: below it there is something all the way."""
        n = self.numbers
        t = n.tiles
        header, body, done = (b.new_label(name) for name in ("above", "look", "found"))
        b.store(last, top)
        b.branch(header)
        b.begin(header)
        row = b.load(I64, top)
        b.branch_if(b.compare("sgt", row, integer(0)), body, done)
        b.begin(body)
        line, before = n.at(b, form, row), b.sub(row, integer(1))
        below = magnitude(b, n.element(b, line, before))
        own = [n.element(b, n.at(b, form, number), number) for number in (before, row)]
        around = nonzero(b, b.binary("fadd", *[magnitude(b, value) for value in own]))  # type: ignore[arg-type]
        allowed = [b.binary("fmul", around, floating(_EPS[t.type], t.type)), floating(self._nothing, t.type)]
        splits = b.compare("ole", below, b.overloaded("maximum", allowed))
        further = b.new_label("further")
        b.branch_if(splits, done, further)
        b.begin(further)
        b.store(before, top)
        b.branch(header)
        b.begin(done)

    @property
    def _nothing(self) -> float:
        """What is nothing beside 1, the greatest element: steps among less round to nothing (LAPACK's lahqr)."""
        n = self.numbers
        return _TINY[n.tiles.type] * n.length / _EPS[n.tiles.type]

    def _step(self) -> str:
        """`void NAME(ptr form, ptr rows, ptr pairs, i64 top, i64 bottom, i64 age)`: one step in a block."""
        n = self.numbers
        t, chase = n.tiles, self._chase()
        parameters = [(PTR, "form"), (PTR, "rows"), (PTR, "pairs"), (I64, "top"), (I64, "bottom"), (I64, "age")]
        function = t.module.function(f"{t.name}.step", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        form, rows, pairs, top, bottom, age = function.arguments
        b = Builder(function)

        def at(row: Value, column: Value) -> Number:
            return n.element(b, n.at(b, form, row), column)

        above, one, two = b.sub(bottom, integer(1)), b.add(top, integer(1)), b.add(top, integer(2))
        last = LastRows(b, n, at(above, above), at(above, bottom), at(bottom, above), at(bottom, bottom))
        head = [at(top, top), at(top, one), at(one, top), at(one, one), at(two, one)]
        is_late = b.compare("eq", b.binary("urem", age, integer(_PATIENCE)), integer(_PATIENCE - 1))
        longer = last.bulge(head, *last.shifts(is_late))
        shorter = last.direction()
        is_two = b.compare("eq", one, bottom)
        start = [n.select(b, is_two, *pair) for pair in zip([*shorter, n.zero()], longer, strict=True)]
        is_pair = b.binary("and", is_two, last.is_pair)
        b.store(b.cast("zext", is_pair, I64), b.gep(I64, pairs, top))
        with b.loop(top, bottom, name="chase", nonempty=True, scalar=True) as k:
            is_start = b.compare("eq", k.index, top)
            before = b.smax(b.sub(k.index, integer(1)), integer(0))
            lines = [b.add(k.index, integer(number)) for number in range(_BULGE)]
            column = [n.select(b, is_start, given, at(line, before)) for given, line in zip(start, lines, strict=True)]
            factor, beta, vector = self._reflection(b, column)
            with b.when(b.binary("xor", is_start, Value("i1", "true")), "made"):
                for value, line in zip((beta, n.zero(), n.zero()), lines, strict=True):
                    n.put(b, value, n.at(b, form, line), before)
            numbers = [component for number in (factor, *vector) for component in number]
            b.call(chase, "void", [form, rows, k.index, top, bottom, *numbers])
        b.ret()
        return f"@{function.name}"

    def _reflection(self, b: Builder, column: list[Number]) -> _Reflector:
        """What zeroes a column below its head."""
        n = self.numbers
        head, *tail = column
        length = n.hypot(b, *(n.size(b, value) for value in tail))
        factor, beta, divisor = n.reflection(b, head, length)
        by = n.divisor(b, divisor)
        return _Reflector(factor, beta, [n.divided(b, value, by) for value in tail])

    def _chase(self) -> str:
        """`void NAME(ptr form, ptr rows, i64 k, i64 top, i64 bottom, tau, v1, v2)`: reflect three rows and columns."""
        n = self.numbers
        t = n.tiles
        names = [f"{name}.{component}" for name in ("tau", "first", "second") for component in range(n.components)]
        parameters = [(PTR, "form"), (PTR, "rows"), *((I64, name) for name in ("k", "top", "bottom"))]
        parameters += [(t.type, name) for name in names]
        function = t.module.function(f"{t.name}.chase", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        form, rows, k, top, bottom, *given = function.arguments
        b = Builder(function)
        factor, *vector = (tuple(given[start : start + n.components]) for start in range(0, len(given), n.components))
        stop = integer(n.length) if self.whole else b.add(bottom, integer(1))
        turned = [n.conjugate(b, value) for value in vector]
        self._rows(b, form, _Bounds(k, k, stop), _Reflection(n.conjugate(b, factor), turned, vector))
        first = integer(0) if self.whole else top
        last = b.add(b.smin(b.add(k, integer(_BULGE)), bottom), integer(1))
        with b.loop(first, last, name="row", nonempty=True, scalar=True) as row:
            line = n.at(b, form, row.index)
            columns = [b.add(k, integer(number)) for number in range(_BULGE)]
            values = [n.element(b, line, column) for column in columns]
            for value, column in zip(
                self._turned(b, values, _Reflection(factor, vector, turned)), columns, strict=True
            ):
                n.put(b, value, line, column)
        if self.vectors:
            self._rows(b, rows, _Bounds(k, integer(0), integer(n.length)), _Reflection(factor, vector, turned))
        b.ret()
        return f"@{function.name}"

    def _rows(
        self,
        b: Builder,
        matrix: Value,
        bounds: _Bounds,
        reflection: _Reflection,
    ) -> None:
        """Three rows reflected, from a column up to another, or to the end of the vector that it is in."""
        n, (k, first, stop) = self.numbers, bounds
        factor, left, right = reflection
        spread = _Reflection(
            n.spread(b, factor),
            [n.spread(b, value) for value in left],
            [n.spread(b, value) for value in right],
        )
        lines = [n.at(b, matrix, b.add(k, integer(number))) for number in range(_BULGE)]
        with n.vectors(b, first, stop) as at:
            values = [n.load(b, line, at.index) for line in lines]
            for value, line in zip(self._turned(b, values, spread), lines, strict=True):
                n.store(b, value, line, at.index)

    def _turned(self, b: Builder, values: list[Number], reflection: _Reflection) -> list[Number]:
        """What `x - tau (x l) r` is, where l and r begin with 1."""
        n, (factor, left, right) = self.numbers, reflection
        total = values[0]
        for value, share in zip(values[1:], left, strict=True):
            total = n.multiply_add(b, value, share, total)
        total = n.negated(b, n.multiply(b, factor, total))
        one = tuple(b.binary("fadd", *pair) for pair in zip(values[0], total, strict=True))
        return [one, *(n.multiply_add(b, total, share, value) for value, share in zip(values[1:], right, strict=True))]
