"""Products with few rows, which are bound by reading the right factor once.

Plain loops over the caller's `load`, contiguous in the right factor, which LLVM vectorises; so conversions fused into
`load` are vectorised with them.  Where the operand knows how its neighbours are had as vectors, it is asked for those.
"""

from __future__ import annotations

from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.micro import multiply_add
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Gemm
from compiler.backends.cpu.kernels.gemm.share import Extent, Range, batches, blocks, share
from compiler.codegen.llvm_ir import Builder, Value, integer, vector_type, zero

_COLUMN_UNIT = 64
"""Columns that a thread takes at once: four cache lines of f32, so that no line has two writers."""
_UNITS_AT_ONCE = 16
"""Units whose sums are kept: 4 KiB for each row of f32, an eighth of an L1 cache."""
_ROWS_AT_ONCE = {1: 8, 2: 4, 3: 4, 4: 4}


def stream_scratch(gemm: Gemm) -> int:
    """Bytes of workspace per thread of `emit_stream`."""
    return gemm.m * _UNITS_AT_ONCE * _COLUMN_UNIT * ELEMENT_BYTES[gemm.type]


def emit_stream(b: Builder, gemm: Gemm, lanes: int, scratch: Value, threads: tuple[Value, Value]) -> None:
    """At most a few rows: several rows of the right factor at a time are added, scaled, to the rows of the result.

    Args:
        b: where code is emitted.
        gemm: the product.
        lanes: elements of a vector.
        scratch: the thread's workspace.
        threads: the thread's number, and how many there are.
    """
    units = -(-gemm.n // _COLUMN_UNIT)
    mine = share(b, Extent(gemm.batch, 1, units), *threads)
    with (
        batches(b, mine) as (batch, _),
        blocks(b, mine.columns, _UNITS_AT_ONCE, units, "columns") as block,
    ):
        start = b.mul(block.start, integer(_COLUMN_UNIT))
        past = b.mul(block.stop, integer(_COLUMN_UNIT))
        columns = Range(start, b.smin(past, integer(gemm.n)))
        _stream_block(b, gemm, lanes, (batch, columns), scratch)


def _stream_block(b: Builder, gemm: Gemm, lanes: int, what: tuple[Value, Range], scratch: Value) -> None:
    batch, columns = what
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
            _add_steps(b, gemm, _Factors(batch, steps, factors), columns, lines, lanes)
    with b.loop(columns.start, columns.stop, name="store") as column:
        for row, line in enumerate(lines):
            total = b.load(gemm.type, b.gep(gemm.type, line, b.sub(column.index, columns.start)))
            gemm.store(b, batch, integer(row), column.index, total)


class _Factors(NamedTuple):
    """Elements of the left factor: the numbers of steps along k, and by row what stands there."""

    batch: Value
    steps: list[Value]
    rows: list[list[Value]]


def _add_steps(
    b: Builder,
    gemm: Gemm,
    what: _Factors,
    columns: Range,
    lines: list[Value],
    lanes: int,
) -> None:
    """Add some steps to the sums of a range of columns, in vectors if the operand has some; LLVM makes others."""
    batch, steps, factors = what
    vector, whole = gemm.rhs.vector, columns.start

    def add(column: Value, count: int) -> None:
        addresses = [b.gep(gemm.type, line, b.sub(column, columns.start)) for line in lines]
        type_ = vector_type(gemm.type, count) if count > 1 else gemm.type
        totals = [b.load(type_, address, align=ELEMENT_BYTES[gemm.type]) for address in addresses]
        for position, k in enumerate(steps):
            if vector is not None and count > 1:
                right = vector(b, batch, k, column, count)
                spread = [b.broadcast(left[position], count) for left in factors]
            else:
                right = gemm.rhs.load(b, batch, k, column)
                spread = [left[position] for left in factors]
            pairs = zip(spread, totals, strict=True)
            totals = [multiply_add(b, left, right, total) for left, total in pairs]
        for total, address in zip(totals, addresses, strict=True):
            b.store(total, address, align=ELEMENT_BYTES[gemm.type])

    if vector is not None:
        size = b.sub(columns.stop, columns.start)
        whole = b.add(columns.start, b.binary("and", size, integer(-lanes)))
        with b.loop(columns.start, whole, step=lanes, name="vector") as column:
            add(column.index, lanes)
    with b.loop(whole, columns.stop, name="column") as column:
        add(column.index, 1)
