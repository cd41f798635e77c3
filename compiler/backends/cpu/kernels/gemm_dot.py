"""Products whose elements are summed along vectors of k: those with few columns, which would fill no vector.

With very few columns this is bound by reading the left factor once, whatever that takes: a plain loop over the caller's
`load`, which LLVM vectorises with the conversions fused into it.  Where rows are plain memory, vectors of some rows are
multiplied with those of some columns, as many as there are registers for sums, and the lanes of all of those are added
up together.
"""

from __future__ import annotations

import itertools

from compiler.backends.cpu.kernels.gemm_micro import load_lanes, multiply_add
from compiler.backends.cpu.kernels.gemm_product import ELEMENT_BYTES, Gemm
from compiler.backends.cpu.kernels.gemm_share import Extent, batches, minimum, share
from compiler.codegen.llvm_ir import FLOAT_TYPES, Builder, Value, integer, vector_type, zero

# Places for the sums of a group of rows.
_SUMS = 32
_CHAINS = 16


def dot_scratch(gemm: Gemm) -> int:
    """Bytes of workspace per thread of `emit_dot`."""
    columns = 0 if _reads_in_place(gemm) else gemm.n * gemm.k
    return (_SUMS + columns) * ELEMENT_BYTES[gemm.type]


def emit_dot(b: Builder, gemm: Gemm, shape: tuple[int, int, int], scratch: Value, threads: tuple[Value, Value]) -> None:
    """Each element is a reduction along k; `shape` is lanes, and the rows and columns that are summed at a time."""
    if sums_vectors(gemm, shape[0]):
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
                factors = [_column(b, gemm, (batch, step.index, column), columns) for column in range(gemm.n)]
                pairs = zip(factors, step.carried, strict=True)
                step.carry(*(_reduce(b, left, factor, total) for factor, total in pairs))
            for column, total in enumerate(step.results):
                gemm.store(b, batch, row.index, integer(column), total)


def sums_vectors(gemm: Gemm, lanes: int) -> bool:
    """Whether rows are plain memory, so that vectors of them can be multiplied as they are."""
    array = gemm.lhs.array
    return array is not None and array.column == 1 and gemm.k >= lanes and gemm.type in FLOAT_TYPES


def _emit_groups(
    b: Builder, gemm: Gemm, shape: tuple[int, int, int], scratch: Value, threads: tuple[Value, Value]
) -> None:
    """Some rows at a time, and of the columns pieces of equal size, or one more."""
    lanes, rows, most = shape
    groups = -(-gemm.m // rows)
    mine = share(b, Extent(gemm.batch, groups, 1), *threads)
    pieces = -(-gemm.n // most)
    starts = [gemm.n * piece // pieces for piece in range(pieces + 1)]
    with b.when(mine.present(b), "present"), batches(b, mine) as (batch, part):
        if not _reads_in_place(gemm):
            _gather_columns(b, gemm, batch, b.gep(gemm.type, scratch, integer(_SUMS)))
        with b.loop(part.start, part.stop, name="group", nonempty=True) as group:
            wanted = b.mul(group.index, integer(rows))
            first = wanted if gemm.m % rows == 0 else minimum(b, wanted, gemm.m - rows)
            for columns in itertools.starmap(range, itertools.pairwise(starts)):
                totals = _group_sums(b, gemm, lanes, (batch, first, rows, columns), scratch)
                for start in range(0, len(totals), lanes):
                    place = b.gep(gemm.type, scratch, integer(start))
                    b.store(fold(b, totals[start : start + lanes]), place, align=ELEMENT_BYTES[gemm.type])
                # The last group overlaps the one before.
                with b.loop(b.sub(wanted, first), integer(rows), name="store", nonempty=True) as row:
                    for number, column in enumerate(columns):
                        place = b.add(b.mul(row.index, integer(len(columns))), integer(number))
                        value = b.load(gemm.type, b.gep(gemm.type, scratch, place))
                        gemm.store(b, batch, b.add(first, row.index), integer(column), value)


def _group_sums(
    b: Builder, gemm: Gemm, lanes: int, where: tuple[Value, Value, int, range], scratch: Value
) -> list[Value]:
    """A vector of partial sums for every row of a group and every one of some columns."""
    batch, first, rows, wanted = where
    left, right = gemm.lhs.array, gemm.rhs.array
    if left is None:
        raise AssertionError("only plain rows are grouped")
    origin = b.gep(gemm.type, left.base(b, batch), b.mul(first, integer(left.row)))
    lines = [b.gep(gemm.type, origin, integer(row * left.row)) for row in range(rows)]
    if right is not None and _reads_in_place(gemm):
        base = right.base(b, batch)
        columns = [b.gep(gemm.type, base, integer(column * right.column)) for column in wanted]
    else:
        columns = [b.gep(gemm.type, scratch, integer(_SUMS + column * gemm.k)) for column in wanted]

    def step(k: Value, count: int, totals: list[Value]) -> list[Value]:
        factors = [load_lanes(b, gemm.type, b.gep(gemm.type, c, k), lanes, count) for c in columns]
        sums: list[Value] = []
        for number, line in enumerate(lines):
            values = load_lanes(b, gemm.type, b.gep(gemm.type, line, k), lanes, count)
            held = totals[number * len(wanted) : (number + 1) * len(wanted)]
            sums += [multiply_add(b, values, factor, total) for factor, total in zip(factors, held, strict=True)]
        return sums

    # Several sums per row and column, so that none waits for itself.
    count = rows * len(wanted)
    sets = 1 << (max(1, min(_CHAINS // count, gemm.k // lanes)).bit_length() - 1)
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
