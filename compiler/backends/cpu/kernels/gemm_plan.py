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
# Rows or columns up to which a product counts as matrix times vector.
_NARROW = 4
# Steps along k that are summed in one go, in bytes of one row: all of them, blocks of them, and blocks when the right
# factor is read where it lies, far away, one page per step.
_WHOLE_DEPTH_BYTES = 2048
_DEPTH_BYTES = 1280
_DISTANT_DEPTH_BYTES = 384
# A packed block of the right factor, and a block of partial sums: half of L2 each.
_RIGHT_BYTES = 1 << 20
_PARTIAL_BYTES = 1 << 20
# Rows this far apart fall into the same sets of L1, which has room for fewer than a register tile has.
_COLLISION = 4096
_SAFE_ROWS = 8
_MOST_COLLIDING_ROWS = 16
# What is read a few times only, or stays near, is not worth packing.
_FEW_ROW_PANELS = 5
_FEW_COLUMN_PANELS = 2
_NEAR_BYTES = 640 << 10
_FMA_LATENCY = 4
_RHS_READS = 16


@dataclass(frozen=True, slots=True)
class Array:
    """A matrix per batch that lies plainly in memory in the accumulation type.

    `base(builder, batch)` is the address of element (0, 0) of that batch; `row` and `column` are strides in elements.
    """

    base: Callable[[Builder, Value], Value]
    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Narrow:
    """A factor before it is converted: elements of `type` (`bfloat` or `i8`), signed or not, and where they lie."""

    type: str
    load: Load
    signed: bool = True
    array: Array | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """A factor: `load(builder, batch, row, column)` emits one element in the accumulation type.

    `row_major` says along which index neighbours are adjacent in memory (true: the column index); it steers loop
    order only.  `array` is given when `load` does no more than read such an array, which may then be read in vectors.
    `narrow` is given when `load` converts, exactly, from a type that the CPU may have matrix instructions for.
    """

    load: Load
    row_major: bool = True
    array: Array | None = None
    narrow: Narrow | None = None

    def transposed(self) -> Operand:
        """The same elements with row and column exchanged."""
        array = self.array and Array(self.array.base, self.array.column, self.array.row)
        return Operand(lambda b, batch, row, column: self.load(b, batch, column, row), not self.row_major, array)


@dataclass(frozen=True, slots=True)
class Gemm:
    """`store(b, i, j, sum over k of lhs(b, i, k) * rhs(b, k, j))` for every batch b < `batch`, i < `m`, j < `n`.

    `type` is the type of the accumulation, `float`, `double`, `i32` or `i64` (integers wrap).  `store(builder, batch,
    row, column, value)` is the epilogue and is called once per element.  `out` is given when `store` writes element
    (row, column) of a plain array that overlaps neither operand: partial sums may be kept there, and when that write is
    all that `store` does (`plain_store`), it is not called at all.  `exchanged` says that neighbours in the result are
    adjacent in memory along rows; it steers loop order only.
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
    plain_store: bool = True
    exchanged: bool = False

    def transposed(self) -> Gemm:
        """The product of the exchanged and transposed factors, stored to the same places."""
        out = self.out and Array(self.out.base, self.out.column, self.out.row)
        return Gemm(
            *(self.batch, self.n, self.m, self.k, self.type, self.rhs.transposed(), self.lhs.transposed()),
            store=lambda b, batch, row, column, value: self.store(b, batch, column, row, value),
            out=out,
            plain_store=self.plain_store,
            exchanged=not self.exchanged,
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


def registers(target: Target) -> int:
    """How many vector registers the target has."""
    return 32 if target.has("avx512f") or not target.triple.startswith("x86_64") else 16


def plan(gemm: Gemm, target: Target) -> Plan:
    """Decide how to compute the product; the plan's `gemm` may be the transposed one."""
    if gemm.type not in ELEMENT_BYTES:
        known = ", ".join(ELEMENT_BYTES)
        raise UnsupportedError(f"accumulation in {gemm.type}", "the matrix product kernel", f"known are {known}")
    lanes = vector_bits(target) // 8 // ELEMENT_BYTES[gemm.type]
    gemm, form = _form(gemm, lanes)
    rows, vectors = _register_tile(max(gemm.m, 1), max(gemm.n, 1), lanes, registers(target))
    first = Plan(gemm, form, lanes, rows, vectors, max(gemm.k, 1), 1, 1, False, False, False)  # noqa: FBT003
    return _blocked(first) if form == "tile" else first


def _form(gemm: Gemm, lanes: int) -> tuple[Gemm, Form]:
    if 0 in (gemm.batch, gemm.m, gemm.n):
        return gemm, "empty"
    if gemm.k == 0:
        return gemm, "zero"
    if _prefers_transposed(gemm, lanes):
        gemm = gemm.transposed()
    if gemm.n <= _NARROW and gemm.lhs.row_major:
        return gemm, "dot"
    return gemm, "stream" if gemm.m <= _NARROW else "tile"


def _prefers_transposed(gemm: Gemm, lanes: int) -> bool:
    """Whether the rows of the left factor, or the columns of the right one, are better taken for the other's place."""
    if gemm.n <= _NARROW:
        return not gemm.lhs.row_major and gemm.m > _NARROW
    if gemm.m <= _NARROW:
        return not gemm.rhs.row_major
    # Vectors along the rows, which are adjacent, instead of along columns that fill less than one.
    return gemm.n <= lanes and not gemm.lhs.row_major


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
        total += -(-m // rows) * -(-n // lanes) / _RHS_READS
        return total, (rows + vectors) / (rows * vectors)

    tiles = []
    for vectors in range(1, 5):
        highest = (registers - vectors - 1) // vectors
        # Tiles of equal height: a last tile of one row would wait for its multiply-adds.
        tiles.append((-(-m // -(-m // highest)), vectors))
    return min(tiles, key=cost)


def _blocked(plan: Plan) -> Plan:
    gemm, size = plan.gemm, ELEMENT_BYTES[plan.gemm.type]
    plan = replace(
        plan,
        depth=_depth(plan),
        lhs_direct=_reads_lhs_directly(plan),
        rhs_direct=_reads_rhs_directly(plan),
        out_direct=gemm.out is not None and gemm.out.column == 1,
    )
    columns = max(1, _RIGHT_BYTES // (plan.depth * plan.columns * size))
    columns = -(-plan.column_panels // -(-plan.column_panels // columns))
    rows = plan.row_panels
    if not plan.out_direct and plan.depth_blocks > 1:
        # Tall and narrow: the right factor is packed again for every block of rows.
        columns = -(-columns // 2)
        rows = min(rows, max(1, _PARTIAL_BYTES // (plan.rows * columns * plan.columns * size)))
    elif not (plan.out_direct and gemm.plain_store) and plan.depth_blocks == 1:
        rows = 1
    return replace(plan, column_block=columns, row_block=rows)


def _depth(plan: Plan) -> int:
    """The block of k: all of it when that is little, else equal parts; few steps when rows are read from far away."""
    gemm, size = plan.gemm, ELEMENT_BYTES[plan.gemm.type]
    length = gemm.k * size
    if length <= _WHOLE_DEPTH_BYTES:
        return gemm.k
    distant = _reads_rhs_directly(plan) and length * gemm.n > _RIGHT_BYTES
    blocks = -(-length // (_DISTANT_DEPTH_BYTES if distant else _DEPTH_BYTES))
    return -(-gemm.k // blocks // plan.lanes) * plan.lanes


def _reads_lhs_directly(plan: Plan) -> bool:
    array, gemm = plan.gemm.lhs.array, plan.gemm
    if array is None:
        return False
    size = ELEMENT_BYTES[gemm.type]
    collides = array.row * size % _COLLISION == 0
    if plan.column_panels <= _FEW_COLUMN_PANELS:
        return not (collides and plan.rows > _MOST_COLLIDING_ROWS)
    return gemm.m * gemm.k * size <= _NEAR_BYTES and not (collides and plan.rows > _SAFE_ROWS)


def _reads_rhs_directly(plan: Plan) -> bool:
    array, gemm = plan.gemm.rhs.array, plan.gemm
    if array is None or array.column != 1:
        return False
    size = ELEMENT_BYTES[gemm.type]
    collides = array.row * size % (_COLLISION // 2) == 0
    return plan.row_panels <= _FEW_ROW_PANELS or (gemm.k * gemm.n * size <= _NEAR_BYTES and not collides)
