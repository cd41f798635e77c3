"""A matrix product to be planned and emitted: factors and epilogue as callbacks that emit code, strides where known.

Nothing here decides anything; `plan` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import I32, Builder, Value, integer, vector_type

Base: TypeAlias = Callable[[Builder, Value], Value]
Load: TypeAlias = Callable[[Builder, Value, Value, Value], Value]
VectorLoad: TypeAlias = Callable[[Builder, Value, Value, Value, int], Value]
Store: TypeAlias = Callable[[Builder, Value, Value, Value, Value], None]

ELEMENT_BYTES = {"float": 4, "double": 8, "i32": 4, "i64": 8}


class ColumnRange(NamedTuple):
    """Neighbours in a row of the result: its batch and number, the first column, and the one behind the last."""

    batch: Value
    row: Value
    first: Value
    stop: Value


StoreRow: TypeAlias = Callable[[LaneBuilder, Lanes, ColumnRange, Value], None]


@dataclass(frozen=True, slots=True)
class Array:
    """A matrix per batch that lies plainly in memory in the accumulation type.

    `base(builder, batch)` is the address of element (0, 0) of that batch; `row` and `column` are strides in elements.
    """

    base: Base
    row: int
    column: int

    def transposed(self) -> Array:
        """The same memory with row and column exchanged."""
        return Array(self.base, self.column, self.row)

    def offset(self, b: Builder, row: Value, column: Value) -> Value:
        """Elements from (0, 0) to (row, column).

        Args:
            b: where code is emitted.
            row: an i64.
            column: an i64.
        """
        return b.add(b.mul(row, integer(self.row)), b.mul(column, integer(self.column)))


@dataclass(frozen=True, slots=True)
class ToldArray(Array):
    """A matrix of which code is told how far its lines lie `apart`; the elements of a line are neighbours.

    Of `row` and `column` only that counts which is 1.
    """

    apart: Value

    def transposed(self) -> ToldArray:
        """The same memory with row and column exchanged."""
        return ToldArray(self.base, self.column, self.row, self.apart)

    def offset(self, b: Builder, row: Value, column: Value) -> Value:
        """Elements from (0, 0) to (row, column).

        Args:
            b: where code is emitted.
            row: an i64.
            column: an i64.
        """
        line, element = (row, column) if self.column == 1 else (column, row)
        return b.add(b.mul(line, self.apart), element)


@dataclass(frozen=True, slots=True)
class Narrow:
    """A factor before it is converted: elements of `type` (`bfloat`, `i8`, `i16`), signed or not, and their place."""

    type: str
    load: Load
    signed: bool = True
    array: Array | None = None

    def transposed(self) -> Narrow:
        """The same elements with row and column exchanged."""
        return Narrow(self.type, _exchanged(self.load), self.signed, self.array and self.array.transposed())


class Source(NamedTuple):
    """What a factor is read from in vectors: a matrix in memory, along its rows or not, and a factor of another one.

    `form` names what is made of the elements, if it is anything.
    """

    array: Array
    row_major: bool
    made: Callable[[Array], Operand]
    form: str = ""

    @property
    def apart(self) -> int:
        """Elements from one line of neighbours to the next."""
        return self.array.row if self.row_major else self.array.column

    def told(self, start: Value, apart: Value) -> Operand:
        """The factor where code is told what lies where.

        Args:
            start: the address of element (0, 0).
            apart: elements from one line of neighbours to the next, an i64.
        """
        row, column = (0, 1) if self.row_major else (1, 0)
        return self.made(ToldArray(lambda _b, _batch: start, row, column, apart))

    def transposed(self) -> Source:
        """The same with row and column exchanged."""
        return Source(
            self.array.transposed(),
            not self.row_major,
            lambda array: self.made(array.transposed()).transposed(),
            self.form,
        )


@dataclass(frozen=True, slots=True)
class Operand:
    """A factor: `load(builder, batch, row, column)` emits one element in the accumulation type.

    `row_major` says along which index neighbours are adjacent in memory (true: the column index).  `array` is given
    when `load` does no more than read such an array, which may then be read in vectors; `vector(builder, batch, row,
    column, lanes)`, when it does more, but neighbours can be had as a vector: of a right factor from even places on.
    With a `run`, only so many neighbours are adjacent, from every multiple of it on: vectors must not reach beyond.
    `narrow` is given when `load` converts, exactly, from a type that the CPU may have instructions for.
    `converted` is given with such a `vector` as reads nothing but a matrix in memory.
    """

    load: Load
    row_major: bool = True
    array: Array | None = None
    narrow: Narrow | None = None
    vector: VectorLoad | None = None
    run: int = 0
    converted: Source | None = None

    @property
    def source(self) -> Source | None:
        """What it is read from in vectors, where that is one matrix in memory; None where it is not."""
        array = self.array
        if self.vector is not None or array is None:
            return self.converted
        if self.adjacent("") is None:
            return None
        return Source(array, self.row_major, lambda other: Operand(_only_vectors, self.row_major, other))

    def transposed(self) -> Operand:
        """The same elements with row and column exchanged."""
        vector = self.vector
        return Operand(
            _exchanged(self.load),
            not self.row_major,
            self.array and self.array.transposed(),
            self.narrow and self.narrow.transposed(),
            vector and (lambda b, batch, row, column, lanes: vector(b, batch, column, row, lanes)),
            self.run,
            self.converted and self.converted.transposed(),
        )

    def in_turn(self) -> Operand:
        """The operand for the other factor's place, which has vectors only if they begin at multiples of a `run`."""
        return self if self.run else replace(self, vector=None, converted=None)

    def adjacent(self, type_: str) -> VectorLoad | None:
        """A load of neighbours in memory, elements of `type_`, as a vector; None where there is none."""
        array = self.array
        if self.vector is not None or array is None or (array.column if self.row_major else array.row) != 1:
            return self.vector

        def load(b: Builder, batch: Value, row: Value, column: Value, lanes: int) -> Value:
            address = b.gep(type_, array.base(b, batch), array.offset(b, row, column))
            return b.load(vector_type(type_, lanes), address, align=ELEMENT_BYTES[type_])

        return load


def _only_vectors(_b: Builder, *_where: Value) -> Value:
    raise AssertionError("what is told where a factor lies reads it in vectors")


def _exchanged(load: Load) -> Load:
    return lambda b, batch, row, column: load(b, batch, column, row)


@dataclass(frozen=True, slots=True)
class VnniOperands:
    """Factors packed as words of 32 bits, `group` elements along k in each; one instruction multiplies words and adds.

    `instruction` is `bf16` (two bf16), `u8s8` (four bytes, one factor's unsigned and the other's signed) or `s16`
    (two signed 16-bit integers).  `unsigned_right` says which factor's bytes are the unsigned ones.  `flip` is
    what the left factor's words were changed by to get such bytes, 0 if nothing: every byte is 128 away from the
    element that it stands for, so 128 times the sum of the right factor's column must be taken off again.
    """

    instruction: str
    group: int
    unsigned_right: bool = False
    flip: int = 0


class InVectors:
    """A register tile by the vectors that cover its columns.

    Attributes:
        type: LLVM's type of its sums.
        lanes: of a vector.
        columns: how many it has.
        words: what makes words of the factors, if they are multiplied by words.
    """

    type: str
    lanes: int
    columns: int
    words: VnniOperands | None

    @property
    def factor(self) -> str:
        """The type of the factors' elements."""
        return I32 if self.words else self.type

    @property
    def vectors(self) -> int:
        """Vectors that cover the columns."""
        return -(-self.columns // self.lanes)


@dataclass(frozen=True, slots=True)
class Gemm:
    """`store(b, i, j, sum over k of lhs(b, i, k) * rhs(b, k, j))` for every batch b < `batch`, i < `m`, j < `n`.

    `type` is the type of the accumulation, `float`, `double`, `i32` or `i64` (integers wrap).  `store(builder, batch,
    row, column, value)` is the epilogue and is called once per element, in whose place it may read what it writes over;
    `store_row(builder, lanes, columns, sums)`, where there is one, does the same by vectors for neighbours of a row
    whose sums are in memory.  `out` is given when all that `store` does is to write element (row,
    column) of a plain array that overlaps neither operand: it need not be called at all.  With an `addend`, it writes
    the sum and the element of that array, which is `out` itself if it `accumulates`.  `exchanged` says that neighbours
    in the result are adjacent in memory along rows; it steers loop order only.  `interleave` is how many vectors the
    epilogue should be computed for at once, 0 for as many as LLVM likes.  With `words`, k counts words, and factors
    load them.
    """

    batch: int
    m: int
    n: int
    k: int
    type: str
    lhs: Operand
    rhs: Operand
    store: Store
    store_row: StoreRow | None = None
    out: Array | None = None
    exchanged: bool = False
    interleave: int = 0
    words: VnniOperands | None = None
    addend: Array | None = None
    accumulates: bool = False

    @property
    def factor_type(self) -> str:
        """The type of what factors load: words, or elements of the type of the accumulation."""
        return I32 if self.words else self.type

    def transposed(self) -> Gemm:
        """The product of the exchanged and transposed factors, stored to the same places."""
        return replace(
            self,
            m=self.n,
            n=self.m,
            lhs=self.rhs.transposed().in_turn(),
            rhs=self.lhs.transposed().in_turn(),
            store=lambda b, batch, row, column, value: self.store(b, batch, column, row, value),
            store_row=None,
            out=self.out and self.out.transposed(),
            exchanged=not self.exchanged,
            addend=self.addend and self.addend.transposed(),
        )
