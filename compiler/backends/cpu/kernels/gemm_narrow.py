"""Products with few rows or few columns, which are bound by reading the large factor once.

Both forms are plain loops over the caller's `load`, contiguous in the large factor, which LLVM vectorises; so
conversions fused into `load` are vectorised with them.  Where rows are plain memory, a few of them are multiplied with
the columns at a time, in vectors, whose lanes are added up for all of them together.
"""

from __future__ import annotations

from compiler.backends.cpu.kernels.gemm_micro import load_lanes, multiply_add
from compiler.backends.cpu.kernels.gemm_product import ELEMENT_BYTES, Gemm
from compiler.backends.cpu.kernels.gemm_share import Extent, Range, batches, blocks, minimum, share
from compiler.codegen.llvm_ir import FLOAT_TYPES, Builder, Value, integer, vector_type, zero

_COLUMN_UNIT = 64
_UNITS_AT_ONCE = 16
# Places for the sums of a group of rows.
_SUMS = 16
_ROWS = 4
_CHAINS = 16
_ROWS_AT_ONCE = {1: 8, 2: 4, 3: 4, 4: 4}


def dot_scratch(gemm: Gemm) -> int:
    """Bytes of workspace per thread of `emit_dot`."""
    columns = 0 if _reads_in_place(gemm) else gemm.n * gemm.k
    return (_SUMS + columns) * ELEMENT_BYTES[gemm.type]


def emit_dot(b: Builder, gemm: Gemm, lanes: int, scratch: Value, threads: tuple[Value, Value]) -> None:
    """At most a few columns, and rows along k: each element is a reduction."""
    array = gemm.lhs.array
    if array is not None and array.column == 1 and gemm.k >= lanes and gemm.type in FLOAT_TYPES:
        _emit_groups(b, gemm, lanes, scratch, threads)
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
                factors = [_column(b, gemm, (batch, step.index, column), columns) for column in range(gemm.n)]
                pairs = zip(factors, step.carried, strict=True)
                step.carry(*(_reduce(b, left, factor, total) for factor, total in pairs))
            for column, total in enumerate(step.results):
                gemm.store(b, batch, row.index, integer(column), total)


def _emit_groups(b: Builder, gemm: Gemm, lanes: int, scratch: Value, threads: tuple[Value, Value]) -> None:
    """Some rows at a time, as many as give a sum each without running out of registers."""
    rows = min(gemm.m, max(1, min(lanes, _ROWS) // gemm.n))
    groups = -(-gemm.m // rows)
    mine = share(b, Extent(gemm.batch, groups, 1), *threads)
    with b.when(mine.present(b), "present"), batches(b, mine) as (batch, part):
        if not _reads_in_place(gemm):
            _gather_columns(b, gemm, batch, b.gep(gemm.type, scratch, integer(_SUMS)))
        with b.loop(part.start, part.stop, name="group", nonempty=True) as group:
            wanted = b.mul(group.index, integer(rows))
            first = wanted if gemm.m % rows == 0 else minimum(b, wanted, gemm.m - rows)
            sums = fold(b, _group_sums(b, gemm, lanes, (batch, first, rows), scratch))
            b.store(sums, scratch, align=ELEMENT_BYTES[gemm.type])
            # The last group overlaps the one before.
            with b.loop(b.sub(wanted, first), integer(rows), name="store", nonempty=True) as row:
                for column in range(gemm.n):
                    place = b.add(b.mul(row.index, integer(gemm.n)), integer(column))
                    value = b.load(gemm.type, b.gep(gemm.type, scratch, place))
                    gemm.store(b, batch, b.add(first, row.index), integer(column), value)


def _group_sums(b: Builder, gemm: Gemm, lanes: int, where: tuple[Value, Value, int], scratch: Value) -> list[Value]:
    """A vector of partial sums for every row of a group and every column."""
    batch, first, rows = where
    left, right = gemm.lhs.array, gemm.rhs.array
    if left is None:
        raise AssertionError("only plain rows are grouped")
    origin = b.gep(gemm.type, left.base(b, batch), b.mul(first, integer(left.row)))
    lines = [b.gep(gemm.type, origin, integer(row * left.row)) for row in range(rows)]
    if right is not None and _reads_in_place(gemm):
        base = right.base(b, batch)
        columns = [b.gep(gemm.type, base, integer(column * right.column)) for column in range(gemm.n)]
    else:
        columns = [b.gep(gemm.type, scratch, integer(_SUMS + column * gemm.k)) for column in range(gemm.n)]

    def step(k: Value, count: int, totals: list[Value]) -> list[Value]:
        factors = [load_lanes(b, gemm.type, b.gep(gemm.type, c, k), lanes, count) for c in columns]
        sums: list[Value] = []
        for number, line in enumerate(lines):
            values = load_lanes(b, gemm.type, b.gep(gemm.type, line, k), lanes, count)
            held = totals[number * gemm.n : (number + 1) * gemm.n]
            sums += [multiply_add(b, values, factor, total) for factor, total in zip(factors, held, strict=True)]
        return sums

    # Several sums per row and column, so that none waits for itself.
    count = rows * gemm.n
    sets = 1 << (min(_CHAINS // count, gemm.k // lanes).bit_length() - 1)
    turn = sets * lanes
    whole = gemm.k - gemm.k % turn
    start = [zero(vector_type(gemm.type, lanes))] * (sets * count)
    with b.loop(integer(0), integer(whole), step=turn, carried=start, name="dot", nonempty=True) as loop:
        following: list[Value] = []
        for number in range(sets):
            k = b.add(loop.index, integer(number * lanes))
            following += step(k, lanes, loop.carried[number * count : (number + 1) * count])
        loop.carry(*following)
    totals = loop.results
    for number, rest in enumerate(range(whole, gemm.k, lanes)):
        part = slice(number * count, (number + 1) * count)
        totals[part] = step(integer(rest), min(lanes, gemm.k - rest), totals[part])
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
        low = [lane for base in range(0, lanes, 2 * size) for side in (0, lanes) for lane in _run(base + side, size)]
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


def _run(start: int, count: int) -> range:
    return range(start, start + count)


def _reads_in_place(gemm: Gemm) -> bool:
    array = gemm.rhs.array
    return array is not None and array.row == 1


def _gather_columns(b: Builder, gemm: Gemm, batch: Value, scratch: Value) -> None:
    for column in range(gemm.n):
        line = b.gep(gemm.type, scratch, integer(column * gemm.k))
        with b.loop(integer(0), integer(gemm.k), name="gather", nonempty=True) as step:
            value = gemm.rhs.load(b, batch, step.index, integer(column))
            b.store(value, b.gep(gemm.type, line, step.index))


def _column(b: Builder, gemm: Gemm, where: tuple[Value, Value, int], scratch: Value) -> Value:
    batch, step, column = where
    if _reads_in_place(gemm):
        return gemm.rhs.load(b, batch, step, integer(column))
    return b.load(gemm.type, b.gep(gemm.type, scratch, b.add(integer(column * gemm.k), step)))


def _reduce(b: Builder, left: Value, right: Value, total: Value) -> Value:
    if left.type not in FLOAT_TYPES:
        return multiply_add(b, left, right, total)
    product = b.binary("fmul", left, right, "contract")
    return b.binary("fadd", total, product, "reassoc contract")


def stream_scratch(gemm: Gemm) -> int:
    """Bytes of workspace per thread of `emit_stream`."""
    return gemm.m * _UNITS_AT_ONCE * _COLUMN_UNIT * ELEMENT_BYTES[gemm.type]


def emit_stream(b: Builder, gemm: Gemm, scratch: Value, threads: tuple[Value, Value]) -> None:
    """At most a few rows: several rows of the right factor at a time are added, scaled, to the rows of the result."""
    units = -(-gemm.n // _COLUMN_UNIT)
    mine = share(b, Extent(gemm.batch, 1, units), *threads)
    with (
        b.when(mine.present(b), "present"),
        batches(b, mine) as (batch, _),
        blocks(b, mine.columns, _UNITS_AT_ONCE, units, "columns") as block,
    ):
        start = b.mul(block.start, integer(_COLUMN_UNIT))
        past = b.mul(block.stop, integer(_COLUMN_UNIT))
        columns = Range(start, b.intrinsic("smin.i64", [past, integer(gemm.n)]))
        _stream_block(b, gemm, batch, columns, scratch)


def _stream_block(b: Builder, gemm: Gemm, batch: Value, columns: Range, scratch: Value) -> None:
    pitch = _UNITS_AT_ONCE * _COLUMN_UNIT
    lines = [b.gep(gemm.type, scratch, integer(row * pitch)) for row in range(gemm.m)]
    with b.loop(columns.start, columns.stop, name="clear") as column:
        for line in lines:
            b.store(zero(gemm.type), b.gep(gemm.type, line, b.sub(column.index, columns.start)))
    at_once = min(_ROWS_AT_ONCE[gemm.m], gemm.k)
    whole = gemm.k - gemm.k % at_once
    for start, stop, height in ((0, whole, at_once), (whole, gemm.k, 1)):
        if start == stop:
            continue
        with b.loop(integer(start), integer(stop), step=height, name="step", nonempty=True) as step:
            steps = [b.add(step.index, integer(offset)) for offset in range(height)]
            factors = [[gemm.lhs.load(b, batch, integer(row), k) for k in steps] for row in range(gemm.m)]
            with b.loop(columns.start, columns.stop, name="column") as column:
                addresses = [b.gep(gemm.type, line, b.sub(column.index, columns.start)) for line in lines]
                totals = [b.load(gemm.type, address) for address in addresses]
                for position, k in enumerate(steps):
                    right = gemm.rhs.load(b, batch, k, column.index)
                    pairs = zip(factors, totals, strict=True)
                    totals = [multiply_add(b, left[position], right, total) for left, total in pairs]
                for total, address in zip(totals, addresses, strict=True):
                    b.store(total, address)
    with b.loop(columns.start, columns.stop, name="store") as column:
        for row, line in enumerate(lines):
            total = b.load(gemm.type, b.gep(gemm.type, line, b.sub(column.index, columns.start)))
            gemm.store(b, batch, integer(row), column.index, total)
