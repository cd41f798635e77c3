"""Multiplying slices on tensor cores: a warp's part of a tile in fragments of one form of `mma.sync`.

Fragments of 32-bit registers come by `ldmatrix`, four at a time: the rows of 16 bytes that it hands round are `4 * per`
elements along the depth, or, where elements of 16 bits lie across it, the same turned over.  Bytes that lie across it
are turned over in pairs, which then come apart: every second row (column) is in the one fragment, those between are in
the other.  What it cannot turn is loaded register by register.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.dot.matrix_product import Operand, Product, RunOfSums
from compiler.backends.nvptx.kernels.dot.mma import Mma
from compiler.backends.nvptx.kernels.dot.tile_slice import Layout, Prompt
from compiler.codegen.index import Emission, Index, reshape
from compiler.codegen.llvm_ir import I32, Builder, Value, integer, zero
from compiler.ir.types import ElementType

_SLICE_BYTES = 64
"""Bytes of a line of a slice: four words of 16 bytes, which `cp.async` copies and `ldmatrix` reads."""
_LONG_SLICE_BYTES = 128
"""The same of the largest tiles, as long as the lines of caches: 14 % faster than 64 where both operands lie along the
depth (bf16, 4096 by 4096, H100 SXM5).  Also of f64, of which a form multiplies four terms."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A block's tile of the result, how its warps lie on it, how many blocks find room, and the bytes of a line."""

    rows: int
    columns: int
    down: int
    across: int
    resident: int = 2
    line: int = _SLICE_BYTES

    @property
    def work(self) -> float:
        """What a sum takes for each term, in multiply-adds of ordinary arithmetic."""
        return _WORK

    @property
    def is_copied(self) -> bool:
        """Whether sums and fragments of a warp leave no registers for slices on their way: `cp.async` has to copy."""
        return self.rows // self.down * (self.columns // self.across) > _MOST_SUMS

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.down * self.across * grid.WARP


_WORK = 0.1
"""Tensor cores multiply some ten times as many as other units do at once, of 16 bits."""
_SHAPES = (
    Shape(128, 256, 2, 4, resident=1, line=_LONG_SLICE_BYTES),
    Shape(128, 256, 2, 4, resident=1),
    Shape(128, 128, 2, 2),
    Shape(128, 128, 2, 4),
    Shape(64, 64, 2, 2),
    Shape(32, 32, 2, 2),
)
_WIDE_SHAPES = (Shape(64, 128, 2, 4, resident=1), Shape(64, 64, 2, 4), Shape(32, 32, 2, 2))
_MOST_SUMS = 2048
"""Sums of a warp beside which slices have room in registers: half of the 128 that a thread of 512 may have."""
_LEAST_RUN = 4
"""Bytes side by side across the depth that are copied as they lie; fewer are put together along it."""
_EVEN, _ODD = 0x6420, 0x7531
"""Which bytes of two registers `prmt` takes: of the pairs in them the first ones, or the second ones."""
_FOUR = "{ i32, i32, i32, i32 }"


def shapes(form: Mma) -> tuple[Shape, ...]:
    """Tiles to choose from, the largest first; sums of two registers each leave room for half as many."""
    return _WIDE_SHAPES if form.result == "double" else _SHAPES


def layouts(form: Mma, product: Product, shape: Shape) -> tuple[Layout, Layout]:
    """The layouts of both operands' slices in shared memory.

    Args:
        form: the instruction of tensor cores.
        product: what is multiplied.
        shape: rows, columns and depth of a tile.
    """
    left, right = (
        _layout(form, side, type_, (width, shape.line))
        for side, type_, width in zip(product.sides, form.types, (shape.rows, shape.columns), strict=True)
    )
    return left, right


def _layout(form: Mma, side: Operand, type_: ElementType, extent: tuple[int, int]) -> Layout:
    """The layout of a slice, so wide and with lines of so many bytes."""
    size, (width, line) = type_.size_bytes, extent
    depth = (_LONG_SLICE_BYTES if size == 8 else line) // size
    is_deep = side.is_deep or (form.per > 2 and side.run < _LEAST_RUN)
    # So much that lanes of a warp, or the rows that `ldmatrix` fetches at once, begin in different banks.
    pad = 4 if size == 8 else 8 if size == 4 and not is_deep else 16 // size
    return Layout(type_, width, depth, is_deep, pad)


class _Matrices(NamedTuple):
    """Which of four matrices a lane names a row of: where they begin, 0 or 1 down by 8, and 0 or 1 along the depth."""

    start: Index
    down: Index
    far: Index


class TensorTile(Prompt):
    """A thread's share of a block's tile, and the arithmetic on it."""

    def __init__(self, emission: Emission, form: Mma, shape: Shape, both: tuple[Layout, Layout]) -> None:
        self.form = form
        self.layouts = both
        self.depth = both[0].depth
        self._down = shape.rows // shape.down // form.rows
        self._across = shape.columns // shape.across // 8
        thread = emission.opaque(grid.thread(emission.builder), shape.threads)
        sizes = (shape.down, shape.across, grid.WARP)
        found = reshape(emission, (thread,), (shape.threads,), sizes)
        row, column, lane = (emission.opaque(emission.value(i), size) for i, size in zip(found, sizes, strict=True))
        self._start = row.times(shape.rows // shape.down), column.times(shape.columns // shape.across)
        self._group, self._pair = emission.divide(lane, 4)
        self._quarter = reshape(emission, (lane,), (grid.WARP,), (2, 2, 8))
        self._row_pair = reshape(emission, (self._quarter[2],), (8,), (4, 2))

    @property
    def own_bytes(self) -> int:
        """Shared memory that is taken beside the slices: none."""
        return 0

    def start(self) -> list[Value]:
        """The sums before the first slice."""
        return [zero(self.form.result)] * (self.form.results * self._down * self._across)

    def multiply(self, emission: Emission, stages: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the slices at `stages`, left and right, to the sums.

        Args:
            emission: where code is emitted, with what is known there.
            stages: the addresses of both slices in shared memory.
            totals: a thread's sums so far.
        """
        found = list(totals)
        for step in range(self.steps):
            found = self.multiply_step(emission, self.load(emission, stages, step), found)
        return found

    @property
    def steps(self) -> int:
        """How often a slice is as deep as a fragment."""
        return self.depth // self.form.depth

    def load(self, emission: Emission, stages: Sequence[Value], step: int) -> list[Value]:
        """The thread's registers of all fragments of a step, the left operand's first.

        Args:
            emission: where code is emitted, with what is known there.
            stages: the addresses of both slices in shared memory.
            step: which part of the slices' depth.
        """
        depth = step * self.form.depth
        left = [self._left(emission, stages[0], block, depth) for block in range(self._down)]
        right = [two for pair in range(0, self._across, 2) for two in self._right(emission, stages[1], pair, depth)]
        return [register for fragment in (*left, *right) for register in fragment]

    def multiply_step(self, emission: Emission, registers: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """Add the products of the fragments that `load` returned to the sums.

        Args:
            emission: where code is emitted, with what is known there.
            registers: of all fragments.
            totals: a thread's sums so far.
        """
        count, found = self.form.results, list(totals)
        of_left = self.form.down * self.form.far
        left = [registers[of_left * row : of_left * (row + 1)] for row in range(self._down)]
        rest = registers[of_left * self._down :]
        for column in range(self._across):
            right = rest[self.form.far * column : self.form.far * (column + 1)]
            for row, fragment in enumerate(left):
                at = slice(count * (row * self._across + column), count * (row * self._across + column + 1))
                found[at] = self.form.multiply(emission.builder, fragment, right, found[at])
        return found

    def results(self, totals: Sequence[Value]) -> Iterator[RunOfSums]:
        """The sums with where they lie in the tile."""
        count, size = self.form.results, 2 if self._is_paired(1) else 1
        for number in range(0, len(totals), 2):
            block, of_lane = divmod(number, count)
            row, column = divmod(block, self._across)
            if column % size:
                continue
            start = self._start[0].plus(self.form.rows * row)
            which = self._group.times(2).plus(of_lane // 2) if self._is_paired(0) else self._group.plus(4 * of_lane)
            # What is beside a sum in a row is in the next fragment where columns came in pairs.
            sums = [totals[number + near + count * far] for near in range(2) for far in range(size)]
            yield RunOfSums(start + which, self._start[1].plus(8 * column) + self._pair.times(len(sums)), sums)

    def _left(self, emission: Emission, stage: Value, block: int, depth: int) -> list[Value]:
        """The fragment of some rows: registers 8 rows down, then further along the depth."""
        start = self._start[0].plus(self.form.rows * block)
        if self._is_paired(0):
            return [register for both in self._load_pairs(emission, 0, stage, start, depth) for register in both]
        if self._is_handed_round(0):
            far, down, _ = self._quarter
            return self._load_matrices(emission, 0, stage, _Matrices(start, down, far), depth)
        return [
            self._load(emission, 0, stage, start.plus(8 * down), depth + 4 * self.form.per * far)
            for far in range(self.form.far)
            for down in range(self.form.down)
        ]

    def _right(self, emission: Emission, stage: Value, pair: int, depth: int) -> list[list[Value]]:
        """The fragments of two times 8 columns."""
        start = self._start[1].plus(8 * pair)
        if self._is_paired(1):
            return [list(found) for found in zip(*self._load_pairs(emission, 1, stage, start, depth), strict=True)]
        if self._is_handed_round(1):
            down, far, _ = self._quarter
            found = self._load_matrices(emission, 1, stage, _Matrices(start, down, far), depth)
            return [found[:2], found[2:]]
        return [
            [
                self._load(emission, 1, stage, start.plus(8 * column), depth + 4 * self.form.per * far)
                for far in range(self.form.far)
            ]
            for column in range(2)
        ]

    def _is_handed_round(self, number: int) -> bool:
        """Whether `ldmatrix` can load an operand's fragments."""
        return self.form.per > 1 or (self.form.register == I32 and self.layouts[number].is_deep)

    def _is_paired(self, number: int) -> bool:
        """Whether an operand's elements are bytes that lie across the depth."""
        return self.form.per > 2 and not self.layouts[number].is_deep

    def _load_pairs(
        self, emission: Emission, number: int, stage: Value, start: Index, depth: int
    ) -> list[tuple[Value, Value]]:
        """The registers of 16 rows (columns), the even ones' and the odd ones', for each step along the depth."""
        builder, (far, near, _), (term, offset) = emission.builder, self._quarter, self._row_pair
        along = far.times(4 * self.form.per) + term.times(self.form.per) + near.times(2) + offset
        found = self._matrices(emission, number, stage, (start, along.plus(depth)))
        callee = builder.module.declare("llvm.nvvm.prmt", I32, [I32] * 3)
        first, second = (
            [builder.call(callee, I32, [*found[n : n + 2], integer(chosen, I32)]) for n in (0, 2)]
            for chosen in (_EVEN, _ODD)
        )
        return list(zip(first, second, strict=True))

    def _load_matrices(self, emission: Emission, number: int, stage: Value, at: _Matrices, depth: int) -> list[Value]:
        """Four registers: each quarter of the lanes names the rows of one matrix."""
        position, along = at.start + at.down.times(8), at.far.times(4 * self.form.per).plus(depth)
        row = self._quarter[2]
        position, along = (position + row, along) if self.layouts[number].is_deep else (position, along + row)
        found = self._matrices(emission, number, stage, (position, along))
        return [self._register(emission.builder, register) for register in found]

    def _matrices(self, emission: Emission, number: int, stage: Value, at: tuple[Index, Index]) -> list[Value]:
        """The lane's registers of four matrices, of which it names a row by where that begins."""
        builder, layout = emission.builder, self.layouts[number]
        address = builder.gep(layout.stored, stage, emission.value(layout.offset(*at)))
        turned = "" if layout.is_deep else ".trans"
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{turned}.b16.p3"
        callee = builder.module.declare(name, _FOUR, [address.type])
        found = builder.call(callee, _FOUR, [address], attributes="convergent")
        return [builder.emit(I32, f"extractvalue {found}, {n}") for n in range(4)]

    def _load(self, emission: Emission, number: int, stage: Value, start: Index, depth: int) -> Value:
        """One register from where it lies."""
        builder, layout = emission.builder, self.layouts[number]
        along = self._pair.times(self.form.per).plus(depth)
        address = builder.gep(layout.stored, stage, emission.value(layout.offset(start + self._group, along)))
        type_ = self.form.register
        return self._register(builder, builder.load(type_, address, align=8 if type_ == "double" else 4))

    def _register(self, builder: Builder, value: Value) -> Value:
        return self.form.rounded(builder, builder.cast("bitcast", value, self.form.register))
