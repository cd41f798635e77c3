"""Splitting deep products along k: few elements, each of a long sum, leave nothing else to share among threads.

The chunks are a batch of products of their own, whose results lie in the workspace one behind the other; when all are
done, a second function adds them up, in order, and stores.  How many there are follows from the shape, so sums are the
same to the bit on any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compiler.analysis.decision import Decision, no, unless
from compiler.backends.cpu.kernels.gemm.micro import multiply_add
from compiler.backends.cpu.kernels.gemm.plan import Plan
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Array, Gemm, Load, Narrow, Operand, VectorLoad
from compiler.backends.cpu.kernels.gemm.share import Extent, batches, share
from compiler.codegen.llvm_ir import FLOAT_TYPES, I64, PTR, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.workspace import whole_lines

_CHUNK_COUNTS = range(16, 7, -1)
_DEEP = 64 * max(_CHUNK_COUNTS)
"""Terms of a sum from which on it may be split: four lines of f32 for each chunk."""
# Fewer pieces than this are not shared out evenly; results are this much smaller than what is read; bytes worth it.
_UNITS = 12
_SMALLER = 16
"""What is read beside the results: each chunk writes them once more, which so is an eighth at most."""
_WORTH_BYTES = 1 << 18
"""Bytes of factors, which one thread reads at some 120 a nanosecond in twice `cost.PARALLEL_NS`."""
_COLUMN_UNIT = 64
"""Columns that a thread takes at once: four cache lines of f32, so that no line has two writers."""
# Vectors of pairs start at even positions, those within runs of neighbours at multiples of what no vector is longer
# than.
_PAIR, _VECTOR = 2, 16


def pays(gemm: Gemm, decided: Plan) -> Decision:
    """Whether a product, for which there is a plan, is better split."""
    read = gemm.k * (gemm.m + gemm.n)
    if gemm.k < _DEEP:
        return no(f"sums have fewer than {_DEEP} terms")
    if gemm.batch * read * 4 < _WORTH_BYTES:
        return no(f"factors have fewer than {_WORTH_BYTES} bytes")
    if gemm.m * gemm.n * _SMALLER > read:
        return no(f"results are more than 1/{_SMALLER} of what is read")
    units = _units(gemm, decided)
    return unless(units >= _UNITS, f"{units} pieces are enough for threads to share")


def chunk_count(gemm: Gemm) -> int:
    """The number of chunks of k that a product is split into."""
    return min(_CHUNK_COUNTS, key=lambda count: gemm.k - count * _size(gemm, count))


def _units(gemm: Gemm, decided: Plan) -> int:
    """How many pieces threads may share without splitting."""
    if decided.form == "tile":
        return decided.gemm.batch * decided.row_panels * decided.column_panels
    if decided.form == "dot":
        return gemm.batch * -(-decided.gemm.m // decided.rows)
    return gemm.batch * -(-decided.gemm.n // _COLUMN_UNIT)


def _size(gemm: Gemm, count: int) -> int:
    """Steps of a chunk, where vectors may start; what is left is added in the end."""
    return gemm.k // count & -(_VECTOR if gemm.lhs.run or gemm.rhs.run else _PAIR)


def partial_bytes(gemm: Gemm, count: int) -> int:
    """The memory that the chunks' results take."""
    return whole_lines(count * gemm.batch * gemm.m * gemm.n * ELEMENT_BYTES[gemm.type])


def partial(gemm: Gemm, count: int) -> Gemm:
    """The batch of chunks, with results at the start of `%workspace`."""
    size = _size(gemm, count)

    def base(b: Builder, batch: Value) -> Value:
        return b.gep(gemm.type, Value(PTR, "%workspace"), b.mul(batch, integer(gemm.m * gemm.n)))

    def store(b: Builder, batch: Value, row: Value, column: Value, value: Value) -> None:
        b.store(value, b.gep(gemm.type, base(b, batch), b.add(b.mul(row, integer(gemm.n)), column)))

    chunks = _Chunks(gemm.batch, count, size)
    return Gemm(
        batch=gemm.batch * count,
        m=gemm.m,
        n=gemm.n,
        k=size,
        type=gemm.type,
        lhs=chunks.operand(gemm.lhs, gemm.type, down=False),
        rhs=chunks.operand(gemm.rhs, gemm.type, down=True),
        store=store,
        out=Array(base, gemm.n, 1),
    )


class _Position(NamedTuple):
    """An element of a factor."""

    batch: Value
    row: Value
    column: Value


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Factors seen from a chunk: a batch's number counts chunks within batches, and positions begin at the chunk's."""

    batch: int
    count: int
    size: int

    def _start(self, b: Builder, number: Value) -> tuple[Value, Value]:
        """The batch of a chunk, and its first step along k."""
        if self.batch == 1:
            return integer(0), b.mul(number, integer(self.size))
        batch, chunk = b.udivrem(number, integer(self.count))
        return batch, b.mul(chunk, integer(self.size))

    def _position(self, b: Builder, at: _Position, *, down: bool) -> _Position:
        """The batch, row and column of the whole factor that are those of a chunk."""
        number, row, column = at
        batch, start = self._start(b, number)
        return _Position(batch, b.add(row, start), column) if down else _Position(batch, row, b.add(column, start))

    def operand(self, operand: Operand, type_: str, *, down: bool) -> Operand:
        """A factor; `down` says that k is its first index."""
        narrow, vector = operand.narrow, operand.vector
        along = operand.row_major is not down
        return Operand(
            self._load(operand.load, down=down),
            operand.row_major,
            self._array(operand.array, type_, down=down),
            narrow
            and Narrow(
                narrow.type,
                self._load(narrow.load, down=down),
                narrow.signed,
                self._array(narrow.array, narrow.type, down=down),
            ),
            vector and self._vector(vector, down=down),
            math.gcd(operand.run, self.size) if operand.run and along else operand.run,
        )

    def _load(self, load: Load, *, down: bool) -> Load:
        return lambda b, *at: load(b, *self._position(b, _Position(*at), down=down))

    def _vector(self, vector: VectorLoad, *, down: bool) -> VectorLoad:
        return lambda b, number, row, column, lanes: vector(
            b, *self._position(b, _Position(number, row, column), down=down), lanes
        )

    def _array(self, array: Array | None, type_: str, *, down: bool) -> Array | None:
        if array is None:
            return None
        stride = array.row if down else array.column

        def base(b: Builder, number: Value) -> Value:
            batch, start = self._start(b, number)
            return b.gep(type_, array.base(b, batch), b.mul(start, integer(stride)))

        return replace(array, base=base)


def emit_sum(module: Module, name: str, gemm: Gemm, count: int, parameters: Sequence[tuple[str, str]]) -> None:
    """Define the function that adds up the chunks: its parameters are those of the one that computes them.

    Args:
        module: where it is defined.
        name: of the function.
        gemm: the whole product, whose `store` takes the sums.
        count: chunks that k was split into.
        parameters: of the function that computes the chunks: type with attributes, and name.
    """
    own = [(f"{PTR} noalias", "workspace"), (I64, "thread"), (I64, "threads")]
    function = module.function(name, "void", [*parameters, *own], attributes="nounwind")
    workspace, *threads = function.arguments[-3:]
    b = Builder(function)
    mine = share(b, Extent(gemm.batch, gemm.m, 1), threads[0], threads[1])
    matrix = gemm.m * gemm.n
    metadata = keep_rolled(module, interleave=gemm.interleave) if gemm.interleave else ""
    with (
        batches(b, mine) as (batch, rows),
        b.loop(rows.start, rows.stop, name="row", nonempty=True) as row,
        b.loop(integer(0), integer(gemm.n), name="column", nonempty=True, metadata=metadata) as column,
    ):
        offset = b.add(b.mul(row.index, integer(gemm.n)), column.index)
        first = b.gep(gemm.type, workspace, b.add(b.mul(batch, integer(count * matrix)), offset))
        total = b.load(gemm.type, first)
        for number in range(1, count):
            added = b.load(gemm.type, b.gep(gemm.type, first, integer(number * matrix)))
            total = b.binary("fadd" if gemm.type in FLOAT_TYPES else "add", total, added)
        for k in map(integer, range(count * _size(gemm, count), gemm.k)):
            factors = gemm.lhs.load(b, batch, row.index, k), gemm.rhs.load(b, batch, k, column.index)
            total = multiply_add(b, *factors, total)
        gemm.store(b, batch, row.index, column.index, total)
    b.ret()
