"""Plans of matrix products: form, register tile and blocks, chosen by a model of cycles; nothing here emits code.

The plan depends on the shape, the operands' memory order and the target only, never on the number of threads: the order
in which one output element is summed is therefore fixed when the kernel is compiled, and results are bit-identical for
every split.  Block sizes follow the usual reasoning: a register tile wide enough to hide the latency of multiply-add, a
panel of the left operand in L1, a block of the right one in half of a small L2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from compiler.backends.cpu.kernels.gemm.dot import sums_vectors
from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, Gemm
from compiler.backends.cpu.kernels.gemm.vnni import narrowed
from compiler.backends.cpu.machine import Machine
from compiler.codegen.workspace import LINE_BYTES
from compiler.diagnostics import UnsupportedError

Form: TypeAlias = Literal["empty", "zero", "dot", "stream", "tile"]

# Rows or columns up to which a product counts as matrix times vector.
_NARROW = 4
# Steps along k that are summed in one go, in bytes of one row: all of them, blocks of them, and blocks when the right
# factor is read where it lies, far away, one page per step.
_WHOLE_DEPTH_BYTES = 4096
_DEPTH_BYTES = 2048
"""Bytes of a row that are summed in one go where the whole is longer (over shapes, 11-21; flat within a tenth from 512
to 8192, `reports/measured/2026-11-26-constants`)."""
_DISTANT_DEPTH_BYTES = 512
"""The same where each step of the right factor is a page of its own (over shapes, 11-21; flat within a fifth from 128
to 2048, `reports/measured/2026-11-26-constants`)."""
# With few steps along k it is storing the sums that takes the time: a small left factor is read again for blocks of the
# right one as small as L1, at no loss, and threads need little room for them.
_SHALLOW_DEPTH_BYTES = 128
# Rows this far apart fall into the same sets of L1, which has room for fewer than a register tile has.
_COLLISION = 4096
"""Bytes at multiples of which rows lie in the same sets of the L1 cache."""
_MOST_ROWS = 16
"""Rows of a register tile: with a vector of sums for each and two of factors, 32 registers have no room for more."""
# What is read a few times only, or stays near, is not worth packing.  For the right factor: up to how many rows of the
# product, by what the distance between its own rows is a multiple of.
_FEW_COLUMN_PANELS = 2
# So many times what L2 holds is near enough to be read by all threads; measured.
_CACHED_RIGHT = 2.5
_PARTLY_COLLIDES = _COLLISION // 2
"""Half of it: rows lie in two sets by turns."""
_DIRECT_ROWS = {_COLLISION: 32, _PARTLY_COLLIDES: 64, 1: 320}
# Steps along k before which what is packed from far away is asked for, measured.
_FETCHED_STEPS = 32
# How many vectors of rows that collide are best read at a time, measured.
_COLLIDING_VECTORS = 3
# Cycles that are lost by a load of the left factor, from L1, and of the right one, from farther away.
_L1_LOAD = 0.03
_L2_LOAD = 0.1
"""Cycles that are lost by a load from L2, beside multiply-adds that hide most of its 14 (fitted to measurements over
shapes, 11-21)."""
# Cycles that a register tile takes beside its multiply-adds, and for every row that it stores beside one per vector.
_TILE_CYCLES = 20
_ROW_CYCLES = 2  # its address and its loop (fitted, 11-21)
_MOST_VECTORS = 7
"""Vectors of columns of a register tile: beyond, 32 registers leave fewer than three rows."""
# Rows of the left factor that must be adjacent for register tiles to be cut so that each is packed in vectors.
_LEAST_RUN = 4
_SHARED_LINE_CYCLES = 100
"""Cycles in which a line that another core has written comes over."""
# Sums along k: columns up to which they are looked at and, of how many registers there are, taken at a time; rows.
_MOST_SUMMED = 24
_SUM_SHARE = 4
"""Columns of sums at a time, as one part of so many of the registers: rows take the others."""
_MOST_SUMMED_ROWS = 8
"""Rows of sums at a time, where there are several columns: 4 to 8 of two columns are a third faster than 2 or 10
(`reports/measured/2026-11-26-constants`)."""
# Cycles to add up the lanes of a sum and store it, to load a vector of a column from L2, and to turn an element around
# while it is packed.
_FOLD_CYCLES = 4
_L2_VECTOR = 2
"""Cycles to load a vector of a column from L2: 64 bytes at 32 a cycle."""
_TURNED = 0.7
"""Cycles to transpose an element while it is packed (fitted to measurements over shapes, 11-21)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Every decision about one product; extents are in elements, `*_panels` in register tiles.

    The forms are `dot` (few columns: a reduction along k per element, of `rows` and `vectors` columns at a time),
    `stream` (few rows: rows of the right factor are read once, in order), `tile` (everything else) and, without any
    work, `zero` (k = 0) and `empty`; `why` says why it is this form and no other.
    """

    gemm: Gemm
    machine: Machine
    form: Form
    why: str
    lanes: int
    rows: int
    vectors: int
    depth: int
    row_block: int = 1
    column_block: int = 1
    lhs_direct: bool = False
    rhs_direct: bool = False
    out_direct: bool = False

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
    def overlaps(self) -> bool:
        """Whether the last register tiles overlap those before, and so are as large: not where that spoils sums."""
        return self.depth_blocks == 1 and not (self.out_direct and self.gemm.accumulates)

    @property
    def last_rows(self) -> int:
        """Rows of the last register tile."""
        return self.rows if self.overlaps else self.gemm.m - (self.row_panels - 1) * self.rows

    @property
    def last_columns(self) -> int:
        """Columns of the last register tile, of which there are less only where they overlap none before."""
        if self.overlaps and self.column_panels > 1:
            return self.columns
        return self.gemm.n - (self.column_panels - 1) * self.columns

    @property
    def most_row(self) -> int | None:
        """Behind which row no register tile starts; None where that follows from how many there are."""
        return self.gemm.m - self.rows if self.overlaps and self.gemm.m % self.rows else None

    @property
    def most_column(self) -> int | None:
        """Behind which column no register tile starts; None where that follows from how many there are."""
        partial = self.gemm.n % self.columns and self.column_panels > 1
        return self.gemm.n - self.columns if self.overlaps and partial else None

    @property
    def edge(self) -> int:
        """The cost of false sharing at a tile on the edge of a thread's part, in half the time of computing a tile."""
        gemm = self.gemm
        size = ELEMENT_BYTES[gemm.type] if gemm.out else 1
        if not (gemm.n * size % LINE_BYTES or self.columns * size % LINE_BYTES):
            return 0
        cycles = self.rows * self.vectors * gemm.k // 2 + _TILE_CYCLES + self.rows * (_ROW_CYCLES + self.vectors)
        return 2 * _SHARED_LINE_CYCLES * (self.columns if gemm.exchanged else self.rows) // cycles

    @property
    def ahead(self) -> int:
        """Steps along k before which the right factor is asked for; 0 where it may lie near when it is packed."""
        return (
            _FETCHED_STEPS if self.gemm.n * self.gemm.k * ELEMENT_BYTES[self.gemm.type] > self.machine.l2_bytes else 0
        )

    @property
    def depth_blocks(self) -> int:
        """Blocks that k is summed in."""
        return -(-self.gemm.k // self.depth)


def plan(gemm: Gemm, machine: Machine) -> Plan:
    """The plan of a product (UnsupportedError for a type it has not); its `gemm` may be the transposed one."""
    if gemm.type not in ELEMENT_BYTES:
        known = ", ".join(ELEMENT_BYTES)
        raise UnsupportedError(f"accumulation in {gemm.type}", "the matrix product kernel", f"known are {known}")
    lanes = machine.vector_bits // 8 // ELEMENT_BYTES[gemm.type]
    gemm, form, why = _form(gemm, lanes, machine)
    gemm = _within_runs(gemm, lanes, packs=form == "tile")
    if form == "dot":
        rows, vectors = _sums(gemm, machine)
    else:
        gemm = narrowed(gemm, machine) if form == "tile" else gemm
        if form == "tile" and not gemm.words and gemm.n * 2 <= lanes:
            # Half a vector that is stored whole is faster than a vector of which half is.
            lanes //= 2
        rows, vectors = _register_tile(gemm, lanes, machine)
    first = Plan(
        gemm=gemm, machine=machine, form=form, why=why, lanes=lanes, rows=rows, vectors=vectors, depth=max(gemm.k, 1)
    )
    return _blocked(first) if form == "tile" else first


def _within_runs(gemm: Gemm, lanes: int, *, packs: bool) -> Gemm:
    """Without the vectors that would reach beyond a run of neighbours.

    Register tiles are as high as rows of the left factor allow that are adjacent (`_register_tile`); all else begins
    at whole vectors.  Where it is packed, the right factor is read in shorter ones.
    """
    lhs, rhs = gemm.lhs, gemm.rhs
    if lhs.run % (lanes if lhs.row_major else _LEAST_RUN):
        lhs = replace(lhs, vector=None, run=0)
    if rhs.run % lanes:
        shorter = math.gcd(rhs.run, lanes)
        fits = packs and rhs.row_major and shorter >= _LEAST_RUN
        rhs = replace(rhs, run=shorter) if fits else replace(rhs, vector=None, run=0)
    return replace(gemm, lhs=lhs, rhs=rhs)


class _Formed(NamedTuple):
    """The product, or the transposed one, the form that it gets, and why."""

    gemm: Gemm
    form: Form
    why: str


def _form(gemm: Gemm, lanes: int, machine: Machine) -> _Formed:
    """The form of a product."""
    if 0 in (gemm.batch, gemm.m, gemm.n):
        return _Formed(gemm, "empty", "there is no result")
    if gemm.k == 0:
        return _Formed(gemm, "zero", "nothing is summed")
    if _prefers_transposed(gemm, lanes):
        gemm = gemm.transposed()
    if gemm.n <= _NARROW and gemm.lhs.row_major:
        return _Formed(gemm, "dot", f"there are {_NARROW} columns at most")
    if gemm.m <= _NARROW and (gemm.rhs.row_major or gemm.rhs.vector is None):
        return _Formed(gemm, "stream", f"there are {_NARROW} rows at most")
    return _cheaper(gemm, lanes, machine)


def _cheaper(gemm: Gemm, lanes: int, machine: Machine) -> _Formed:
    """The cheaper of register tiles and sums along k."""
    summed = min((gemm, gemm.transposed()), key=lambda product: _summed_cycles(product, lanes, machine))
    sums, tiles = _summed_cycles(summed, lanes, machine), _tiled_cycles(gemm, lanes, machine)
    if sums < tiles:
        return _Formed(summed, "dot", f"sums along k take {sums:.0f} cycles, register tiles {tiles:.0f}")
    if sums == math.inf:
        return _Formed(gemm, "tile", "rows are not read in vectors, or there are too many columns, or few rows")
    return _Formed(gemm, "tile", f"register tiles take {tiles:.0f} cycles, sums along k {sums:.0f}")


def _tiled_cycles(gemm: Gemm, lanes: int, machine: Machine) -> float:
    """What the best register tile takes, with the packing that it cannot do without."""
    tile = _register_tile(gemm, lanes, machine)
    packed = 0.0 if gemm.rhs.row_major else _TURNED * gemm.n * gemm.k
    return _tile_cycles(gemm, machine, lanes, *tile) + packed


def _summed_cycles(gemm: Gemm, lanes: int, machine: Machine) -> float:
    """What sums along vectors of k take, if they are possible; infinitely long if not."""
    if not sums_vectors(gemm, lanes) or gemm.n > _MOST_SUMMED or gemm.m <= _NARROW:
        return math.inf
    rows, columns = _sums(gemm, machine)
    pieces = -(-gemm.n // columns)
    fits_l1 = gemm.n * gemm.k * ELEMENT_BYTES[gemm.type] <= machine.l1_bytes
    columns = -(-gemm.n // pieces)
    step = max(rows * columns / 2 + (rows + columns) * _L1_LOAD, 0 if fits_l1 else columns * _L2_VECTOR)
    piece = -(-gemm.k // lanes) * step + rows * columns * _FOLD_CYCLES + _TILE_CYCLES
    in_place = gemm.rhs.array is not None and gemm.rhs.array.row == 1
    return -(-gemm.m // rows) * pieces * piece + (0 if in_place else gemm.n * gemm.k)


def _sums(gemm: Gemm, machine: Machine) -> tuple[int, int]:
    """Rows and columns whose sums, with as many vectors of a row as there are rows and one more, fit into registers."""
    columns = min(gemm.n, machine.vector_registers // _SUM_SHARE)
    columns = -(-gemm.n // -(-gemm.n // columns))
    return min(
        gemm.m, _MOST_SUMMED_ROWS if columns > 1 else _NARROW, (machine.vector_registers - 1) // (columns + 1)
    ), columns


def _prefers_transposed(gemm: Gemm, lanes: int) -> bool:
    """Whether the rows of the left factor, or the columns of the right one, are better taken for the other's place."""
    if gemm.n <= _NARROW:
        return not gemm.lhs.row_major and gemm.m > _NARROW
    if gemm.m <= _NARROW:
        return not gemm.rhs.row_major
    # Vectors along the rows, where enough are adjacent, instead of along columns that fill less than one.
    return gemm.n <= lanes and not gemm.lhs.row_major and gemm.lhs.run % lanes == 0


def _register_tile(gemm: Gemm, lanes: int, machine: Machine) -> tuple[int, int]:
    """The rows and vectors of the tile that takes the fewest cycles.

    All tiles are of one size, so that there is one kernel: sizes that divide the product well do the least twice.
    """
    most = machine.l1_ways if _lhs_collides(gemm) else _MOST_ROWS
    widest = min(_MOST_VECTORS, -(-max(gemm.n, 1) // lanes))
    widths = [_COLLIDING_VECTORS] if _reads_colliding_rhs(gemm, machine) else range(1, widest + 1)
    tiles = [
        (rows, vectors)
        for vectors in widths
        for rows in range(1, min(max(gemm.m, 1), most, (machine.vector_registers - vectors - 1) // vectors) + 1)
        if gemm.lhs.row_major or gemm.lhs.run % rows == 0
    ]
    return min(tiles, key=lambda tile: (_tile_cycles(gemm, machine, lanes, *tile), tile[1]))


def _tile_cycles(gemm: Gemm, machine: Machine, lanes: int, rows: int, vectors: int) -> float:
    """The cycles that a product takes in tiles of a size, by a count of multiply-adds, loads and latency."""
    m, n, k = max(gemm.m, 1), max(gemm.n, 1), max(gemm.k, 1)
    step = max(rows * vectors / 2, (rows + vectors) / 2, machine.multiply_add_cycles)
    step += rows * _L1_LOAD + vectors * _L2_LOAD
    return -(-m // rows) * -(-n // (vectors * lanes)) * (k * step + _TILE_CYCLES + rows * (_ROW_CYCLES + vectors))


def _blocked(plan: Plan) -> Plan:
    size = ELEMENT_BYTES[plan.gemm.type]
    plan = replace(plan, depth=_depth(plan))
    plan = replace(
        plan,
        lhs_direct=_reads_lhs_directly(plan),
        rhs_direct=_reads_rhs_directly(plan.gemm, plan.machine),
        out_direct=_writes_directly(plan),
    )
    columns = max(1, _right_block_bytes(plan) // (plan.depth * plan.columns * size))
    columns = -(-plan.column_panels // -(-plan.column_panels // columns))
    rows = plan.row_panels
    if not plan.out_direct and plan.depth_blocks > 1:
        # Tall and narrow: the right factor is packed again for every block of rows.
        columns = -(-columns // 2)
        rows = min(rows, max(1, plan.machine.l2_bytes // (plan.rows * columns * plan.columns * size)))
    elif not plan.out_direct and plan.depth_blocks == 1:
        rows = 1
    return replace(plan, column_block=columns, row_block=rows)


def _right_bytes(machine: Machine) -> int:
    """A packed block of the right factor: half of L2; larger blocks are not faster where L2 is larger."""
    return machine.l2_bytes // 2


def _right_block_bytes(plan: Plan) -> int:
    """How much of the right factor is packed at a time.

    Where the left factor lies in L2 too, it is no loss to read that more often, for smaller blocks.
    """
    gemm, machine = plan.gemm, plan.machine
    size, small = ELEMENT_BYTES[gemm.type], machine.l2_bytes // 4
    left = gemm.m * plan.depth * size
    if plan.depth * size <= _SHALLOW_DEPTH_BYTES and left <= small:
        return machine.l1_bytes
    return small if left <= machine.l2_bytes else _right_bytes(machine)


def _depth(plan: Plan) -> int:
    """The block of k: all of it when that is little, else equal parts; few steps when rows are read from far away."""
    gemm, size = plan.gemm, ELEMENT_BYTES[plan.gemm.type]
    length = gemm.k * size
    once = plan.column_panels <= _FEW_COLUMN_PANELS and length * plan.columns <= _right_bytes(plan.machine) // 2
    if once or length <= _WHOLE_DEPTH_BYTES:
        return gemm.k
    distant = _reads_colliding_rhs(gemm, plan.machine) and length * gemm.n > _right_bytes(plan.machine)
    blocks = -(-length // (_DISTANT_DEPTH_BYTES if distant else _DEPTH_BYTES))
    return -(-gemm.k // blocks // plan.lanes) * plan.lanes


def _reads_lhs_directly(plan: Plan) -> bool:
    """Whether rows that are read side by side along k, or elements that stay near anyway, are left where they are."""
    array, gemm = plan.gemm.lhs.array, plan.gemm
    if array is None or (_lhs_collides(gemm) and plan.rows > plan.machine.l1_ways):
        return False
    fits_l2 = gemm.m * gemm.k * ELEMENT_BYTES[gemm.type] <= plan.machine.l2_bytes
    return array.column == 1 or plan.column_panels <= _FEW_COLUMN_PANELS or fits_l2


def _writes_directly(plan: Plan) -> bool:
    """Whether sums go to the result from registers, together with what is added once they are complete."""
    out, addend = plan.gemm.out, plan.gemm.addend
    adds = addend is None or (addend.column == 1 and plan.depth_blocks == 1)
    return out is not None and out.column == 1 and adds


def _lhs_collides(gemm: Gemm) -> bool:
    """Whether rows of the left factor lie so far apart that they fall into the same sets of L1."""
    array = gemm.lhs.array
    return array is not None and array.row * ELEMENT_BYTES[gemm.type] % _COLLISION == 0


def _reads_colliding_rhs(gemm: Gemm, machine: Machine) -> bool:
    """Whether the right factor is read where it lies, in rows that fall into the same sets of L1."""
    array = gemm.rhs.array
    collides = array is not None and array.row * ELEMENT_BYTES[gemm.type] % _COLLISION == 0
    return collides and _reads_rhs_directly(gemm, machine)


def _reads_rhs_directly(gemm: Gemm, machine: Machine) -> bool:
    """Whether the right factor is read too seldom to be worth packing, or lies near enough anyway."""
    array = gemm.rhs.array
    if array is None or array.column != 1 or gemm.words:
        return False
    row = array.row * ELEMENT_BYTES[gemm.type]
    is_cached = (
        gemm.k * gemm.n * ELEMENT_BYTES[gemm.type] <= _CACHED_RIGHT * machine.l2_bytes and row % _PARTLY_COLLIDES
    )
    return gemm.m <= next(most for stride, most in _DIRECT_ROWS.items() if row % stride == 0) or bool(is_cached)
