"""Products whose elements are summed along vectors of k: those with few columns, which would fill no vector.

With very few columns this is bound by reading the left factor once, whatever that takes: a plain loop over the caller's
`load`, which LLVM vectorises with the conversions fused into it.  Where rows are plain memory, vectors of some rows are
multiplied with those of some columns, as many as there are registers for sums, and the lanes of all of those are added
up together.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.micro import load_lanes, multiply_add
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Gemm
from compiler.backends.cpu.kernels.gemm.share import Extent, batches, share
from compiler.codegen.llvm_ir import FLOAT_TYPES, PTR, Builder, Value, integer, keep_rolled, vector_type, zero

_SUMS = 32
"""Elements of the workspace for the sums of a group of rows."""
_ACCUMULATORS = 16
"""Sums in registers at once: half of AVX-512's 32, the rest is for factors."""
_UNROLLED = 4
"""Columns up to which code is written for each."""


class _Sums(NamedTuple):
    """The sums of a row of a product for some of its columns."""

    batch: Value
    row: Value
    columns: range


class _Factor(NamedTuple):
    """An element of the right factor."""

    batch: Value
    step: Value
    column: int


def dot_scratch(gemm: Gemm) -> int:
    """Bytes of workspace per thread of `emit_dot`."""
    columns = 0 if _reads_in_place(gemm) else gemm.n * gemm.k
    return (_SUMS + columns) * ELEMENT_BYTES[gemm.type]


class GroupShape(NamedTuple):
    """The lanes of a vector along k, and the rows and columns whose products are summed at a time."""

    lanes: int
    rows: int
    columns: int


def emit_dot(b: Builder, gemm: Gemm, shape: GroupShape, scratch: Value, threads: tuple[Value, Value]) -> None:
    """Each element is a reduction along k.

    Args:
        b: where code is emitted.
        gemm: the product.
        shape: what is summed at a time where rows are plain memory.
        scratch: the thread's workspace, of `dot_scratch` bytes.
        threads: the thread's number, and how many there are.
    """
    if sums_vectors(gemm, shape.lanes):
        _emit_groups(b, gemm, shape, scratch, threads)
        return
    mine = share(b, Extent(gemm.batch, gemm.m, 1), *threads)
    columns = b.gep(gemm.type, scratch, integer(_SUMS))
    with batches(b, mine) as (batch, rows):
        if not _reads_in_place(gemm):
            _gather_columns(b, gemm, batch, columns)
        with b.loop(rows.start, rows.stop, name="row") as row:
            with b.loop(
                integer(0), integer(gemm.k), carried=[zero(gemm.type)] * gemm.n, name="dot", nonempty=True
            ) as step:
                left = gemm.lhs.load(b, batch, row.index, step.index)
                factors = [_column(b, gemm, _Factor(batch, step.index, column), columns) for column in range(gemm.n)]
                pairs = zip(factors, step.carried, strict=True)
                step.carry(*(_reduce(b, left, factor, total) for factor, total in pairs))
            # Frozen, since LLVM's vectoriser asks about what is one number in all rows along every path of its uses.
            for column, total in enumerate(step.results):
                gemm.store(b, batch, row.index, integer(column), b.unary("freeze", total))


def sums_vectors(gemm: Gemm, lanes: int) -> bool:
    """Whether rows are plain memory, so that vectors of them can be multiplied as they are."""
    array = gemm.lhs.array
    return array is not None and array.column == 1 and gemm.k >= lanes and gemm.type in FLOAT_TYPES


def _emit_groups(b: Builder, gemm: Gemm, shape: GroupShape, scratch: Value, threads: tuple[Value, Value]) -> None:
    """Call a function for the sums of each group of rows, and of each piece of the columns, and store them.

    Groups have `shape.rows` rows; pieces of the columns differ by one at most.
    """
    rows = shape.rows
    left = gemm.lhs.array
    if left is None:
        raise AssertionError("only plain rows are grouped")
    groups = -(-gemm.m // rows)
    mine = share(b, Extent(gemm.batch, groups, 1), *threads)
    pieces = -(-gemm.n // shape.columns)
    starts = [gemm.n * piece // pieces for piece in range(pieces + 1)]
    with batches(b, mine) as (batch, chunk):
        right = gemm.rhs.array
        if right is not None and _reads_in_place(gemm):
            base, stride = right.base(b, batch), right.column
        else:
            base, stride = b.gep(gemm.type, scratch, integer(_SUMS)), gemm.k
            _gather_columns(b, gemm, batch, base)
        with b.loop(chunk.start, chunk.stop, name="group", nonempty=True) as group:
            wanted = b.mul(group.index, integer(rows))  # the first row of the group, if it did not reach beyond the end
            first = wanted if gemm.m % rows == 0 else b.smin(wanted, integer(gemm.m - rows))
            for columns in itertools.starmap(range, itertools.pairwise(starts)):
                lines = b.gep(gemm.type, left.base(b, batch), b.mul(first, integer(left.row)))
                held = b.gep(gemm.type, base, integer(columns.start * stride))
                callee = _group_sums(b, gemm, shape._replace(columns=len(columns)), stride)
                b.call(callee, "void", [lines, held, scratch])
                # The last group overlaps the one before, and `store` is called once per element.
                with b.loop(b.sub(wanted, first), integer(rows), name="store", nonempty=True) as row:
                    _store_row(b, gemm, _Sums(batch, b.add(first, row.index), columns), row.index, scratch)


def _store_row(b: Builder, gemm: Gemm, where: _Sums, number: Value, scratch: Value) -> None:
    """Store a row of a group: where there are more than very few columns, by a loop, so that its code is short."""
    batch, row, columns = where
    line = b.gep(gemm.type, scratch, b.mul(number, integer(len(columns))))
    if gemm.n <= _UNROLLED:
        for number_, column in enumerate(columns):
            value = b.load(gemm.type, b.gep(gemm.type, line, integer(number_)))
            gemm.store(b, batch, row, integer(column), value)
        return
    # Vectors that are stored element by element are slower than elements.
    metadata = keep_rolled(b.module, scalar=gemm.exchanged)
    with b.loop(integer(0), integer(len(columns)), name="column", nonempty=True, metadata=metadata) as other:
        value = b.load(gemm.type, b.gep(gemm.type, line, other.index))
        gemm.store(b, batch, row, b.add(other.index, integer(columns.start)), value)


def _group_sums(b: Builder, gemm: Gemm, shape: GroupShape, stride: int) -> str:
    """`void NAME(ptr rows, ptr columns, ptr sums)`: the sums of a group; columns lie `stride` elements apart.

    It is a function of its own because LLVM's passes, which the epilogue needs, take their time with vectors.
    """
    lanes, rows, wanted = shape
    name = f"{b.function.name}.sums.{rows}x{wanted}"
    left = gemm.lhs.array
    if b.module.has_function(name) or left is None:
        return f"@{name}"
    pointers = [(f"{PTR} noalias readonly", "rows"), (f"{PTR} noalias readonly", "columns"), (f"{PTR} noalias", "sums")]
    function = b.module.function(name, "void", pointers, linkage="internal", attributes="noinline nounwind")
    origin, base, sums = function.arguments
    inner = Builder(function)
    lines = [inner.gep(gemm.type, origin, integer(row * left.row)) for row in range(rows)]
    columns = [inner.gep(gemm.type, base, integer(column * stride)) for column in range(wanted)]
    totals = _totals(inner, gemm, lanes, lines, columns)
    for start in range(0, len(totals), lanes):
        address = inner.gep(gemm.type, sums, integer(start))
        inner.store(fold(inner, totals[start : start + lanes]), address, align=ELEMENT_BYTES[gemm.type])
    inner.ret()
    return f"@{name}"


def _totals(b: Builder, gemm: Gemm, lanes: int, lines: list[Value], columns: list[Value]) -> list[Value]:
    """A vector of partial sums for every row and every column."""

    def step(k: Value, inside: int, totals: list[Value]) -> list[Value]:
        factors = [load_lanes(b, gemm.type, b.gep(gemm.type, c, k), lanes, inside) for c in columns]
        sums: list[Value] = []
        for number, line in enumerate(lines):
            values = load_lanes(b, gemm.type, b.gep(gemm.type, line, k), lanes, inside)
            held = totals[number * len(columns) : (number + 1) * len(columns)]
            sums += [multiply_add(b, values, factor, total) for factor, total in zip(factors, held, strict=True)]
        return sums

    # Several sums per row and column, so that none waits for itself.
    count = len(lines) * len(columns)
    sets = 1 << (max(1, min(_ACCUMULATORS // count, gemm.k // lanes)).bit_length() - 1)
    width = sets * lanes
    whole = gemm.k - gemm.k % width
    start = [zero(vector_type(gemm.type, lanes))] * (sets * count)
    with b.loop(
        integer(0), integer(whole), step=width, carried=start, name="dot", nonempty=True, metadata=keep_rolled(b.module)
    ) as loop:
        following: list[Value] = []
        for number in range(sets):
            k = b.add(loop.index, integer(number * lanes))
            following += step(k, lanes, loop.carried[number * count : (number + 1) * count])
        loop.carry(*following)
    totals = loop.results
    for number, rest in enumerate(range(whole, gemm.k, lanes)):
        region = slice(number * count, (number + 1) * count)
        totals[region] = step(integer(rest), min(lanes, gemm.k - rest), totals[region])
    while len(totals) > count:
        half = len(totals) // 2
        totals = [b.binary("fadd", one, other) for one, other in zip(totals[:half], totals[half:], strict=True)]
    return totals


def fold(b: Builder, vectors: list[Value]) -> Value:
    """The sums of the lanes of some vectors, as a vector with one for each (and zeros up to a power of two of them).

    Each round joins vectors in pairs, the sums of two halves of one beside those of the other.
    """
    lanes = int(vectors[0].type[1:].split(" ")[0])
    count = 1 << (len(vectors) - 1).bit_length()
    values, size = [*vectors, *[zero(vectors[0].type)] * (count - len(vectors))], lanes
    while len(values) > 1:
        half, size = len(values) // 2, size // 2
        starts = [base + side for base in range(0, lanes, 2 * size) for side in (0, lanes)]
        low = [start + lane for start in starts for lane in range(size)]
        high = [lane + size for lane in low]
        values = [
            b.binary("fadd", b.shuffle(one, other, low), b.shuffle(one, other, high))
            for one, other in zip(values[:half], values[half:], strict=True)
        ]
    total = values[0]
    while lanes > count:
        lanes //= 2
        even = [2 * lane for lane in range(lanes)]
        total = b.binary("fadd", b.shuffle(total, None, even), b.shuffle(total, None, [lane + 1 for lane in even]))
    return total


def _reads_in_place(gemm: Gemm) -> bool:
    array = gemm.rhs.array
    return array is not None and array.row == 1


def _gather_columns(b: Builder, gemm: Gemm, batch: Value, scratch: Value) -> None:
    with b.loop(integer(0), integer(gemm.n), name="column", nonempty=True, metadata=keep_rolled(b.module)) as column:
        line = b.gep(gemm.type, scratch, b.mul(column.index, integer(gemm.k)))
        with b.loop(integer(0), integer(gemm.k), name="gather", nonempty=True) as step:
            value = gemm.rhs.load(b, batch, step.index, column.index)
            b.store(value, b.gep(gemm.type, line, step.index))


def _column(b: Builder, gemm: Gemm, where: _Factor, scratch: Value) -> Value:
    batch, step, column = where
    if _reads_in_place(gemm):
        return gemm.rhs.load(b, batch, step, integer(column))
    return b.load(gemm.type, b.gep(gemm.type, scratch, b.add(integer(column * gemm.k), step)))


def _reduce(b: Builder, left: Value, right: Value, total: Value) -> Value:
    if left.type not in FLOAT_TYPES:
        return multiply_add(b, left, right, total)
    product = b.binary("fmul", left, right, "contract")
    return b.binary("fadd", total, product, "reassoc contract")
