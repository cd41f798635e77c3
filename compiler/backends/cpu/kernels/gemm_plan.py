"""What a matrix product is, and how its generated kernel will go about it; nothing here emits code.

The plan depends on the shape, the operands' memory order and the target only, never on the number of threads: the order
in which one output element is summed is therefore fixed when the kernel is compiled, and results are bit-identical for
every split.  Block sizes follow the usual reasoning: a register tile wide enough to hide the latency of multiply-add, a
panel of the left operand in L1, a block of the right one in half of L2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import Builder, Value
from compiler.diagnostics import UnsupportedError

Load: TypeAlias = Callable[[Builder, Value, Value, Value], Value]
Store: TypeAlias = Callable[[Builder, Value, Value, Value, Value], None]
Form: TypeAlias = Literal["empty", "zero", "dot", "stream", "tile"]

ELEMENT_BYTES = {"float": 4, "double": 8, "i32": 4, "i64": 8}
_L1_LINES = 4096
_NARROW = 4
_DEPTH_BYTES = 2048
_RIGHT_BYTES = 1 << 20
_PARTIAL_BYTES = 1 << 19
_FMA_LATENCY = 4


@dataclass(frozen=True, slots=True)
class Array:
    """A matrix per batch that lies plainly in memory in the accumulation type.

    `base(builder, batch)` is the address of element (0, 0) of that batch; `row` and `column` are strides in elements.
    """

    base: Callable[[Builder, Value], Value]
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A factor: `load(builder, batch, row, column)` emits one element in the accumulation type.

    `row_major` says along which index neighbours are adjacent in memory (true: the column index); it steers loop
    order only.  `array` is given when `load` does no more than read such an array, which may then be read in vectors.
    """

    load: Load
    row_major: bool = True
    array: Array | None = None

    def transposed(self) -> Operand:
        """The same elements with row and column exchanged."""
        array = self.array and Array(self.array.base, self.array.column, self.array.row)
        return Operand(lambda b, batch, row, column: self.load(b, batch, column, row), not self.row_major, array)


@dataclass(frozen=True, slots=True)
class Gemm:
    """`store(b, i, j, sum over k of lhs(b, i, k) * rhs(b, k, j))` for every batch b < `batch`, i < `m`, j < `n`.

    `type` is the type of the accumulation, `float`, `double`, `i32` or `i64` (integers wrap).  `store(builder, batch,
    row, column, value)` is the epilogue and is called once per element.  `out` is given when `store` does no more than
    write a plain array, which must overlap neither operand: it may be written in vectors and hold partial sums.
    """

    batch: int
    m: int
    n: int
    k: int
    type: str
    lhs: Operand
    rhs: Operand
    store: Store
    out: Array | None = None

    def transposed(self) -> Gemm:
        """The product of the exchanged and transposed factors, stored to the same places."""
        out = self.out and Array(self.out.base, self.out.column, self.out.row)
        return Gemm(
            *(self.batch, self.n, self.m, self.k, self.type, self.rhs.transposed(), self.lhs.transposed()),
            store=lambda b, batch, row, column, value: self.store(b, batch, column, row, value),
            out=out,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Every decision about one product; extents are in elements, `*_panels` in register tiles.

    The forms are `dot` (few columns: a reduction along k per element), `stream` (few rows: rows of the right factor are
    read once, in order), `tile` (everything else) and, without any work, `zero` (k = 0) and `empty`.
    """

    gemm: Gemm
    form: Form
    lanes: int
    rows: int
    vectors: int
    depth: int
    row_block: int
    column_block: int
    lhs_direct: bool
    rhs_direct: bool
    out_direct: bool

    @property
    def columns(self) -> int:
        """Columns of a register tile."""
        return self.vectors * self.lanes

    @property
    def row_panels(self) -> int:
        """Register tiles down the rows, the last of which may be lower."""
        return -(-self.gemm.m // self.rows)

    @property
    def column_panels(self) -> int:
        """Register tiles along the columns, the last of which may be narrower."""
        return -(-self.gemm.n // self.columns)

    @property
    def last_rows(self) -> int:
        """Rows of the last register tile."""
        return self.gemm.m - (self.row_panels - 1) * self.rows

    @property
    def last_columns(self) -> int:
        """Columns of the last register tile."""
        return self.gemm.n - (self.column_panels - 1) * self.columns

    @property
    def depth_blocks(self) -> int:
        """Blocks that k is summed in."""
        return -(-self.gemm.k // self.depth)


def vector_bits(target: Target) -> int:
    """The width of the target's vector registers."""
    if target.has("avx512f"):
        return 512
    return 256 if target.has("avx2") else 128


def _registers(target: Target) -> int:
    return 32 if target.has("avx512f") or not target.triple.startswith("x86_64") else 16


def plan(gemm: Gemm, target: Target) -> Plan:
    """Decide how to compute the product; the plan's `gemm` may be the transposed one."""
    if gemm.type not in ELEMENT_BYTES:
        known = ", ".join(ELEMENT_BYTES)
        raise UnsupportedError(f"accumulation in {gemm.type}", "the matrix product kernel", f"known are {known}")
    gemm, form = _form(gemm)
    lanes = vector_bits(target) // 8 // ELEMENT_BYTES[gemm.type]
    rows, vectors = _register_tile(max(gemm.m, 1), max(gemm.n, 1), lanes, _registers(target))
    first = Plan(gemm, form, lanes, rows, vectors, max(gemm.k, 1), 1, 1, False, False, False)  # noqa: FBT003
    return _blocked(first) if form == "tile" else first


def _form(gemm: Gemm) -> tuple[Gemm, Form]:
    if 0 in (gemm.batch, gemm.m, gemm.n):
        return gemm, "empty"
    if gemm.k == 0:
        return gemm, "zero"
    if gemm.n <= _NARROW and gemm.lhs.row_major:
        return gemm, "dot"
    if gemm.m <= _NARROW:
        return (gemm, "stream") if gemm.rhs.row_major else (gemm.transposed(), "dot")
    if gemm.n <= _NARROW:
        return gemm.transposed(), "stream"
    return gemm, "tile"


def _register_tile(m: int, n: int, lanes: int, registers: int) -> tuple[int, int]:
    """The rows and vectors of the tile that takes the fewest cycles, by a count of multiply-adds, loads and latency."""

    def cycles(rows: int, vectors: int) -> float:
        return max(rows * vectors / 2, (rows + vectors) / 2, _FMA_LATENCY)

    def cost(tile: tuple[int, int]) -> tuple[float, float]:
        rows, vectors = tile
        full_rows, rest_rows = divmod(m, rows)
        full_columns, rest_columns = divmod(n, vectors * lanes)
        last_vectors = -(-rest_columns // lanes)
        total = sum(
            count * width_count * cycles(height, width)
            for count, height in ((full_rows, rows), (1, rest_rows))
            for width_count, width in ((full_columns, vectors), (1, last_vectors))
            if height and width
        )
        return total, (rows + vectors) / (rows * vectors)

    tiles = []
    for vectors in range(1, 5):
        highest = (registers - vectors - 1) // vectors
        # Tiles of equal height: a last tile of one row would wait for its multiply-adds.
        tiles.append((-(-m // -(-m // highest)), vectors))
    return min(tiles, key=cost)


def _blocked(plan: Plan) -> Plan:
    gemm, size = plan.gemm, ELEMENT_BYTES[plan.gemm.type]
    out_direct = gemm.out is not None and gemm.out.column == 1
    lhs_direct, rhs_direct = _reads_lhs_directly(plan), _reads_rhs_directly(plan)
    blocks = -(-gemm.k * size // _DEPTH_BYTES)
    depth = gemm.k if blocks == 1 else -(-gemm.k // blocks // plan.lanes) * plan.lanes
    plan = replace(plan, depth=depth, lhs_direct=lhs_direct, rhs_direct=rhs_direct, out_direct=out_direct)
    columns = max(1, _RIGHT_BYTES // (depth * plan.columns * size))
    columns = -(-plan.column_panels // -(-plan.column_panels // columns))
    rows = plan.row_panels
    if not out_direct:
        # Partial sums of a block wait in the workspace; with one block of k only one panel of them is alive.
        held = _PARTIAL_BYTES // (plan.rows * columns * plan.columns * size)
        rows = 1 if plan.depth_blocks == 1 else min(rows, max(1, held))
    return replace(plan, column_block=columns, row_block=rows)


def _reads_lhs_directly(plan: Plan) -> bool:
    array, gemm = plan.gemm.lhs.array, plan.gemm
    if array is None:
        return False
    size = ELEMENT_BYTES[gemm.type]
    collides = array.row * size % _L1_LINES == 0 and plan.rows > 8
    return plan.column_panels <= 2 or (gemm.m * gemm.k * size <= 1 << 18 and not collides)


def _reads_rhs_directly(plan: Plan) -> bool:
    array, gemm = plan.gemm.rhs.array, plan.gemm
    if array is None or array.column != 1:
        return False
    size = ELEMENT_BYTES[gemm.type]
    collides = array.row * size % _L1_LINES == 0
    return plan.row_panels <= 2 or (gemm.k * gemm.n * size <= 1 << 16 and not collides)
