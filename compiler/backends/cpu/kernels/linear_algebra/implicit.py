"""Eigenvalues of symmetric tridiagonal matrices by implicit QL steps, and the rotations that make their vectors.

Steps work on two short arrays in f64, one number after the other; what each rotates are rows of a whole matrix.  So
rotations are noted down, those of many steps, and then applied together: a few vectors of columns after the other, each
of which stays in a near cache while all of them pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.cpu.kernels.linear_algebra.spectral import DOUBLE
from compiler.backends.cpu.kernels.linear_algebra.tiles import ATTRIBUTES, Tiles
from compiler.codegen.llvm_ir import I64, PTR, Builder, Value, floating, integer, keep_rolled
from compiler.codegen.workspace import whole_lines

_UNIT = {"float": 2.0**-24, "double": 2.0**-53}
"""Up to this share of its neighbours an off-diagonal element is taken for 0 (relative deflation threshold)."""
_LEAST = 2.0**-200
"""What is added to a bulge, in a matrix scaled to 1, so that there is always something to rotate."""
_NOTHING = 2.0**-190
"""Below this an off-diagonal element is taken for 0 whatever stands beside it (absolute deflation threshold)."""
_MOST_ITERATIONS = 30
"""Steps for each eigenvalue before it is given up."""
_STEPS = 32
"""Whole steps that are noted down."""
_MOST_STEPS = 4 * _STEPS
"""Steps, also ones of parts of a matrix, that are noted before they are applied (a quarter of them go through all of
it; flat from 32 to 512, `reports/measured/2026-11-26-constants`)."""
_VECTORS = 4
"""Vectors of columns that are rotated together: as many as hide that each rotation waits for the one before."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Addresses of noted rotations: pairs of cosine and sine; the first row and the number of each step; how many."""

    pairs: Value
    steps: Value
    counts: Value


class NoteBytes(NamedTuple):
    """Bytes that each of `Notes` takes."""

    pairs: int
    steps: int
    counts: int


@dataclass(frozen=True, slots=True)
class Implicit:
    """The iteration for matrices of `size`; vectors lie in rows of `width`, `pitch` apart, if there are any."""

    tiles: Tiles
    size: int
    width: int

    @property
    def pitch(self) -> int:
        """From row to row: whole groups of vectors, and off the distances that share sets of caches."""
        group = _VECTORS * self.tiles.lanes
        pitch = -(-self.width // group) * group
        return pitch if pitch * self.tiles.bytes % 1024 else pitch + group // 2 * (self.width > group)

    @property
    def vectors(self) -> bool:
        """Whether they are asked for."""
        return self.width > 0

    @property
    def note_bytes(self) -> NoteBytes:
        """The memory that a workspace has for notes."""
        return NoteBytes(whole_lines(2 * _STEPS * self.size * self.tiles.bytes), 16 * _MOST_STEPS, 64)

    def emit(self) -> str:
        """`i32 NAME(ptr diagonal, ptr beside, ptr rows, ptr pairs, ptr steps, ptr counts)`: how many did not converge.

        Diagonal and neighbours are f64; the diagonal becomes the eigenvalues, in no order.
        """
        t, last = self.tiles, integer(self.size - 1)
        step, rotate = self._step(), self._rotate() if self.vectors else ""
        parameters = [(PTR, n) for n in ("diagonal", "beside", "rows", "pairs", "steps", "counts")]
        function = t.module.function(f"{t.name}.implicit", "i32", parameters, linkage="internal", attributes=ATTRIBUTES)
        diagonal, beside, rows, *noted = function.arguments
        b, notes = Builder(function), Notes(*noted)
        at, iterations, used, steps = (b.gep(I64, notes.counts, integer(n)) for n in range(4))
        for address in (at, iterations, used, steps):
            b.store(integer(0), address)
        header, body, done = (b.new_label(name) for name in ("next", "iteration", "end"))
        b.branch(header)
        b.begin(header)
        first, number = b.load(I64, at), b.load(I64, iterations)
        goes_on = b.binary("and", b.compare("slt", first, last), b.compare("slt", number, self._most))
        b.branch_if(goes_on, body, done)
        b.begin(body)
        stop = self._end(b, (diagonal, beside), first)
        is_settled = b.compare("eq", stop, first)
        with b.when(is_settled, "settled"):
            b.store(b.add(first, integer(1)), at)
        with b.when(b.binary("xor", is_settled, Value("i1", "true")), "step"):
            b.store(b.add(number, integer(1)), iterations)
            if self.vectors:
                self._flush(b, rotate, rows, notes, b.sub(stop, first))
            pairs = b.gep(t.type, notes.pairs, b.mul(b.load(I64, used), integer(2)))
            b.call(step, "void", [diagonal, beside, pairs, first, stop])
            if self.vectors:
                self._end_step(b, notes, first, stop)
        b.branch(header)
        b.begin(done)
        if self.vectors:
            b.call(rotate, "void", [rows, notes.pairs, notes.steps, b.load(I64, steps)])
        b.ret(b.cast("trunc", b.sub(last, b.load(I64, at)), "i32"))
        return f"@{function.name}"

    @property
    def _most(self) -> Value:
        return integer(_MOST_ITERATIONS * self.size)

    def _end_step(self, b: Builder, notes: Notes, first: Value, stop: Value) -> None:
        used, steps = (b.gep(I64, notes.counts, integer(n)) for n in (2, 3))
        number, count = b.load(I64, steps), b.sub(stop, first)
        address = b.gep(I64, notes.steps, b.mul(number, integer(2)))
        b.store(first, address)
        b.store(count, b.gep(I64, address, integer(1)))
        b.store(b.add(number, integer(1)), steps)
        b.store(b.add(b.load(I64, used), count), used)

    def _flush(self, b: Builder, rotate: str, rows: Value, notes: Notes, coming: Value) -> None:
        """Apply what is noted where there is no room for more."""
        used, steps = (b.gep(I64, notes.counts, integer(n)) for n in (2, 3))
        after, number = b.add(b.load(I64, used), coming), b.load(I64, steps)
        full = b.compare("sgt", after, integer(_STEPS * self.size))
        with b.when(b.binary("or", full, b.compare("sge", number, integer(_MOST_STEPS))), "flush"):
            b.call(rotate, "void", [rows, notes.pairs, notes.steps, number])
            b.store(integer(0), used)
            b.store(integer(0), steps)

    def _end(self, b: Builder, given: tuple[Value, Value], first: Value) -> Value:
        """The first row from one on whose neighbour is nothing beside the diagonal; the last if there is none."""
        diagonal, beside = given
        last = integer(self.size - 1)
        size = b.overloaded("fabs", [_at(b, diagonal, first)])
        with b.loop(first, last, carried=[last, size], name="scan", nonempty=True, scalar=True) as row:
            following = b.overloaded("fabs", [_at(b, diagonal, b.add(row.index, integer(1)))])
            both = b.binary("fadd", row.carried[1], following)
            share = b.binary("fmul", both, floating(_UNIT[self.tiles.type], DOUBLE))
            limit = b.overloaded("maxnum", [share, floating(_NOTHING, DOUBLE)])
            small = b.compare("ole", b.overloaded("fabs", [_at(b, beside, row.index)]), limit)
            found = b.select(small, b.smin(row.index, row.carried[0]), row.carried[0])
            row.carry(found, following)
        return row.results[0]

    def _step(self) -> str:
        """`void NAME(ptr diagonal, ptr beside, ptr pairs, i64 first, i64 stop)`: one implicit step, upwards.

        What the next rotation waits for is one division: roots and quotients only scale what it is made of.
        """
        t = self.tiles
        parameters = [*((PTR, n) for n in ("diagonal", "beside", "pairs")), (I64, "first"), (I64, "stop")]
        function = t.module.function(f"{t.name}.step", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        diagonal, beside, pairs, first, stop = function.arguments
        b = Builder(function)
        one, last = floating(1.0, DOUBLE), b.sub(stop, integer(1))
        bulge, neighbour = self._shift(b, (diagonal, beside), (first, stop)), _at(b, beside, last)
        total = _fma(b, bulge, bulge, b.binary("fmul", neighbour, neighbour))
        start = [one, one, bulge, total, _at(b, diagonal, stop)]
        with b.loop(
            integer(0), b.sub(stop, first), carried=start, name="iteration", nonempty=True, scalar=True
        ) as iteration:
            sine, cosine, bulge, total, rest = iteration.carried
            row = b.sub(last, iteration.index)
            neighbour, here = _at(b, beside, row), _at(b, diagonal, row)
            far, near = b.binary("fmul", sine, neighbour), b.binary("fmul", cosine, neighbour)
            inverse, length = b.binary("fdiv", one, total), b.overloaded("sqrt", [total])
            scale = b.binary("fmul", length, inverse)
            cross = b.binary("fmul", near, bulge)
            mixed = _fma(b, b.binary("fsub", here, rest), far, b.binary("fadd", cross, cross))
            sine, cosine = b.binary("fmul", scale, far), b.binary("fmul", scale, bulge)
            taken = b.binary("fmul", inverse, b.binary("fmul", far, mixed))
            self._note(b, (pairs, iteration.index), (cosine, sine))
            _put(b, b.binary("fadd", rest, taken), diagonal, b.add(row, integer(1)))
            _put(b, length, beside, b.add(row, integer(1)))
            following = _fma(b, inverse, b.binary("fmul", bulge, mixed), b.unary("fneg", near))
            following = b.binary("fadd", following, floating(_LEAST, DOUBLE))
            ahead = _at(b, beside, b.smax(b.sub(row, integer(1)), integer(0)))
            squares = b.binary("fmul", b.binary("fmul", far, far), b.binary("fmul", ahead, ahead))
            total = _fma(b, following, following, b.binary("fmul", inverse, squares))
            iteration.carry(sine, cosine, following, total, b.binary("fsub", here, taken))
        _, _, bulge, _, rest = iteration.results
        _put(b, rest, diagonal, first)
        _put(b, bulge, beside, first)
        _put(b, floating(0.0, DOUBLE), beside, stop)
        b.ret()
        return f"@{function.name}"

    def _note(self, b: Builder, position: tuple[Value, Value], rotation: tuple[Value, Value]) -> None:
        """Keep a rotation, rounded to the vectors' type."""
        t, (pairs, number) = self.tiles, position
        for offset, value in enumerate(rotation if self.vectors else ()):
            at = b.add(b.mul(number, integer(2)), integer(offset))
            b.store(b.cast("fptrunc", value, t.type), b.gep(t.type, pairs, at))

    def _shift(self, b: Builder, given: tuple[Value, Value], ends: tuple[Value, Value]) -> Value:
        """Where the bulge starts: Wilkinson's shift, from the first two rows, taken from the last."""
        (diagonal, beside), (first, stop) = given, ends
        one, two = floating(1.0, DOUBLE), floating(2.0, DOUBLE)
        head, neighbour = _at(b, diagonal, first), _at(b, beside, first)
        distance = b.binary("fsub", _at(b, diagonal, b.add(first, integer(1))), head)
        ratio = b.binary("fdiv", distance, b.binary("fmul", two, neighbour))
        size = b.overloaded("fabs", [ratio])
        large = b.compare("ogt", size, floating(1e150, DOUBLE))
        root = b.overloaded("sqrt", [_fma(b, ratio, ratio, one)])
        signed = b.overloaded("copysign", [b.select(large, size, root), ratio])
        taken = b.binary("fdiv", neighbour, b.binary("fadd", ratio, signed))
        return b.binary("fadd", b.binary("fsub", _at(b, diagonal, stop), head), taken)

    def _rotate(self) -> str:
        """`void NAME(ptr rows, ptr pairs, ptr steps, i64 count)`: apply what is noted to the rows."""
        t = self.tiles
        parameters = [(f"{PTR} noalias", "rows"), *((f"{PTR} noalias", n) for n in ("pairs", "steps")), (I64, "count")]
        function = t.module.function(f"{t.name}.rotate", "void", parameters, linkage="internal", attributes=ATTRIBUTES)
        rows, pairs, steps, count = function.arguments
        b, rolled = Builder(function), keep_rolled(t.module)
        group = _VECTORS * t.lanes
        with (
            b.loop(integer(0), integer(self.width), step=group, name="columns", scalar=True) as columns,
            b.loop(integer(0), count, carried=[integer(0)], name="step", scalar=True) as step,
        ):
            address = b.gep(I64, steps, b.mul(step.index, integer(2)))
            first, length = b.load(I64, address), b.load(I64, b.gep(I64, address, integer(1)))
            end = t.at(b, b.gep(t.type, rows, columns.index), (b.add(first, length), self.pitch))
            carried = self._row(b, end)
            with b.loop(
                integer(0), length, carried=carried, name="iteration", nonempty=True, metadata=rolled
            ) as iteration:
                pair = b.gep(t.type, pairs, b.mul(b.add(step.carried[0], iteration.index), integer(2)))
                cosine, sine = (b.broadcast(b.load(t.type, b.gep(t.type, pair, integer(n))), t.lanes) for n in range(2))
                lower = b.gep(t.type, end, b.mul(iteration.index, integer(-self.pitch)))
                upper = b.gep(t.type, lower, integer(-self.pitch))
                turned, following = [], []
                for above, below in zip(self._row(b, upper), iteration.carried, strict=True):
                    turned.append(t.multiply_add(b, sine, above, b.binary("fmul", cosine, below)))
                    back = b.unary("fneg", b.binary("fmul", sine, below))
                    following.append(t.multiply_add(b, cosine, above, back))
                self._put_row(b, turned, lower)
                iteration.carry(*following)
            self._put_row(b, iteration.results, t.at(b, b.gep(t.type, rows, columns.index), (first, self.pitch)))
            step.carry(b.add(step.carried[0], length))
        b.ret()
        return f"@{function.name}"

    def _row(self, b: Builder, address: Value) -> list[Value]:
        t = self.tiles
        return [t.load(b, b.gep(t.type, address, integer(n * t.lanes))) for n in range(_VECTORS)]

    def _put_row(self, b: Builder, values: Sequence[Value], address: Value) -> None:
        t = self.tiles
        for number, value in enumerate(values):
            t.store(b, value, b.gep(t.type, address, integer(number * t.lanes)))


def _at(b: Builder, base: Value, index: Value) -> Value:
    return b.load(DOUBLE, b.gep(DOUBLE, base, index))


def _put(b: Builder, value: Value, base: Value, index: Value) -> None:
    b.store(value, b.gep(DOUBLE, base, index))


def _fma(b: Builder, left: Value, right: Value, total: Value) -> Value:
    return b.overloaded("fmuladd", [left, right, total])
