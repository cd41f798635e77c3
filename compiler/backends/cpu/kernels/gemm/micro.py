"""The innermost loop of a matrix product: one register tile over a block of k.

Each variant is a function of its own, shared by every place that needs it and never inlined, because LLVM's time goes
where the vector instructions are.  Strides are constants, so that an address is one register and an offset.  Where a
tile has few rows these have registers of their own, and what they lie apart is told: such a tile is the same in most
programs, a routine that a process compiles once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from compiler.backends.cpu.kernels.gemm.product import ELEMENT_BYTES, InVectors, VnniOperands
from compiler.backends.cpu.kernels.gemm.vnni import multiply_add_words
from compiler.codegen.llvm_ir import (
    FLOAT_TYPES,
    I1,
    I32,
    I64,
    PTR,
    Builder,
    Module,
    Value,
    element_of,
    integer,
    keep_rolled,
    mangled,
    vector_type,
    write_once,
    zero,
)

_ATTRIBUTES = "noinline nounwind"

_LONG = 16
"""Steps beside which computing where a tile's rows lie is little, where the right factor is packed: from 12 on tiles
take as long as with constants, with 8 some a twentieth longer (Zen 4, over shapes)."""
_LONG_WHERE_IT_LIES = 64
"""The same where the right factor is read where it lies, and its rows are told, too: with 16 and 48 steps some take a
fiftieth longer."""
OWN_REGISTERS = 8
"""Rows whose addresses leave registers to what else a tile's loop needs: half of the 16 that x86-64 has."""


def may_be_told(rows: int, depth: int, *, packed: bool) -> bool:
    """Whether register tiles lose nothing by being told what rows lie apart.

    Args:
        rows: of the tile.
        depth: its steps.
        packed: whether the right factor is packed.
    """
    return rows <= OWN_REGISTERS and depth >= (_LONG if packed else _LONG_WHERE_IT_LIES)


def multiply_add(b: Builder, left: Value, right: Value, total: Value) -> Value:
    """`left * right + total`, fused where the target can; integers wrap.

    Args:
        b: where code is emitted.
        left: a scalar, or a vector.
        right: one of the same type.
        total: one of the same type.
    """
    element = element_of(left.type)
    if element not in FLOAT_TYPES:
        return b.binary("add", total, b.binary("mul", left, right))
    return b.overloaded("fmuladd", [left, right, total])


def load_lanes(b: Builder, type_: str, address: Value, lanes: int, inside: int) -> Value:
    """Load a vector of which only the first lanes may be touched; the others are zero.

    Args:
        b: where code is emitted.
        type_: of an element.
        address: of the first lane.
        lanes: of the vector.
        inside: lanes that there is memory for.
    """
    vector, size = vector_type(type_, lanes), ELEMENT_BYTES[type_]
    if inside >= lanes:
        return b.load(vector, address, align=size)
    arguments = [address, integer(size, I32), _mask(inside, lanes), zero(vector)]
    return b.intrinsic(f"masked.load.{mangled(vector)}.p0", arguments, result=vector)


def store_lanes(b: Builder, value: Value, address: Value, lanes: int, inside: int) -> None:
    """Store the first lanes of a vector.

    Args:
        b: where code is emitted.
        value: the vector.
        address: of the first lane.
        lanes: of the vector.
        inside: lanes that there is memory for.
    """
    size = ELEMENT_BYTES[element_of(value.type)]
    if inside >= lanes:
        b.store(value, address, align=size)
        return
    arguments = [value, address, integer(size, I32), _mask(inside, lanes)]
    b.intrinsic(f"masked.store.{mangled(value.type)}.p0", arguments, result="void")


@dataclass(frozen=True, slots=True)
class Tile(InVectors):
    """A register tile of `rows` x `columns`, and the constant strides (in elements) of what it reads and writes.

    The columns are covered by vectors of `lanes`; where they end within a vector, `partial_load` and `partial_store`
    say whether the lanes behind the end may not be touched in the right factor and in the result.  With `words`,
    factors are words; sums start from minus what lies one step before the right factor where words were flipped.
    With `addend_row`, the distance of its rows, elements of another array are added to the sums that are stored.
    One that `may_be_told` what rows lie apart loses nothing by it.
    """

    type: str
    lanes: int
    rows: int
    columns: int
    lhs_row: int
    lhs_step: int
    rhs_step: int
    out_row: int
    partial_load: bool
    partial_store: bool
    accumulates: bool
    words: VnniOperands | None = None
    corrected: bool = False
    addend_row: int | None = None
    may_be_told: bool = False

    @property
    def vector(self) -> str:
        """The type of one of them."""
        return vector_type(self.type, self.lanes)

    @property
    def routine(self) -> str:
        """Its name where it is told how far rows lie apart and so is the same in other programs, else empty."""
        adds, is_partial = self.addend_row is not None, self.columns % self.lanes
        if not self.may_be_told or adds or is_partial or self.lhs_step > 1:
            return ""
        form = f"{'.accumulates' * self.accumulates}{'.repeats' * (not self.lhs_step)}"
        if self.words:
            form += f".{self.words.instruction}{'.right' * self.words.unsigned_right}{'.corrected' * self.corrected}"
        step = "wide" if self._is_wide else self.rhs_step
        return f"gemm.tile.{self.type}x{self.lanes}.{self.rows}x{self.columns}.{step}{form}"

    @property
    def _is_wide(self) -> bool:
        """Whether the right factor lies in rows that are not those of the tile, as they are where it is packed."""
        return self.partial_load and self.rhs_step != self.columns

    @property
    def told(self) -> list[Value]:
        """What a shared routine is told: what rows lie apart in the left factor, the result and maybe the right one."""
        return [integer(self.strides[name]) for name in self.told_strides]

    @property
    def told_strides(self) -> list[str]:
        """The names of these strides."""
        return ["lhs_row", "out_row", *["rhs_step"] * self._is_wide] if self.routine else []

    @property
    def strides(self) -> dict[str, int]:
        """By name, elements between rows of a factor or of the result."""
        return {"lhs_row": self.lhs_row, "out_row": self.out_row, "rhs_step": self.rhs_step}

    @property
    def of_one_word(self) -> Tile:
        """What multiplies one word by all that this tile's right factor holds, with nothing added."""
        return replace(
            self,
            lhs_row=0,
            lhs_step=0,
            partial_store=False,
            accumulates=False,
            corrected=False,
            addend_row=None,
        )


def _mask(inside: int, lanes: int) -> Value:
    bits = ", ".join(f"i1 {'true' if lane < inside else 'false'}" for lane in range(lanes))
    return Value(vector_type(I1, lanes), f"<{bits}>")


def micro_kernel(module: Module, name: str, tile: Tile) -> Value:
    """`void NAME(ptr lhs, ptr rhs, ptr out, i64 depth, i1 accumulate)`: one register tile over `depth` >= 1 steps.

    It is defined where the module has no function of that name.

    With `accumulate` (only in tiles that were made for it) the sums start from what `out` holds.  Behind that come what
    the tile is `told`, and a pointer to the addend, if it has one, which may be `out` itself.

    Args:
        module: where it is defined.
        name: of the function.
        tile: its sizes, and how operands and sums lie.
    """
    if module.has_function(name):
        return Value(PTR, f"@{name}")
    if tile.routine:
        write_once(module, (name, tile.routine), lambda other: _write(other, name, tile))
    else:
        _write(module, name, tile)
    return Value(PTR, f"@{name}")


def _write(module: Module, name: str, tile: Tile) -> None:
    adds, told = tile.addend_row is not None, tile.told_strides
    parameters = [
        *((f"{PTR} noalias readonly", "lhs"), (f"{PTR} noalias readonly", "rhs")),
        *((PTR if adds else f"{PTR} noalias", "out"), (I64, "depth"), (I1, "accumulate")),
        *((I64, name) for name in told),
        *([(f"{PTR} readonly", "addend")] if adds else []),
    ]
    function = module.function(name, "void", parameters, linkage="internal", attributes=_ATTRIBUTES)
    function.routine = tile.routine
    lhs, rhs, out, depth, accumulate, *others = function.arguments
    b = Builder(function)
    apart = {name: integer(stride) for name, stride in tile.strides.items()} | dict(zip(told, others, strict=False))
    addends = others[len(told) :]
    lefts = _rows(b, tile.factor, lhs, tile.rows, apart["lhs_row"])
    outs = partial(_rows, b, tile.type, out, tile.rows, apart["out_row"])
    totals = _corrected(b, tile, rhs, _initial(b, tile, outs, accumulate))
    with b.loop(integer(0), depth, carried=totals, name="depth", nonempty=True, metadata=keep_rolled(module)) as loop:
        step = b.mul(loop.index, integer(tile.lhs_step))
        here = {base: b.gep(tile.factor, base, step) for base in dict.fromkeys(row.base for row in lefts)}
        right = b.gep(tile.factor, rhs, b.mul(loop.index, apart["rhs_step"]))
        factors = [
            _load(b, tile, tile.factor, _Vector(_Row(right, 0), v), masked=tile.partial_load)
            for v in range(tile.vectors)
        ]
        sums: list[Value] = []
        for row, at in enumerate(lefts):
            element = b.load(tile.factor, b.gep(tile.factor, here[at.base], integer(at.offset)))
            spread = b.broadcast(element, tile.lanes)
            held = loop.carried[row * tile.vectors : (row + 1) * tile.vectors]
            sums += [_step(b, tile, spread, factor, total) for factor, total in zip(factors, held, strict=True)]
        loop.carry(*sums)
    rows = outs()
    for position, total in enumerate(loop.results):
        row, vector = divmod(position, tile.vectors)
        for addend in addends:
            beside = _Row(addend, row * (tile.addend_row or 0))
            other = _load(b, tile, tile.type, _Vector(beside, vector), masked=tile.partial_store)
            total = b.binary("fadd" if tile.type in FLOAT_TYPES else "add", total, other)
        _store(b, tile, _Vector(rows[row], vector), total)
    b.ret()


def _step(b: Builder, tile: Tile, left: Value, right: Value, total: Value) -> Value:
    if tile.words:
        return multiply_add_words(b, tile.words, left, right, total)
    return multiply_add(b, left, right, total)


def _corrected(b: Builder, tile: Tile, rhs: Value, totals: list[Value]) -> list[Value]:
    if not tile.corrected:
        return totals
    before = _Row(rhs, -tile.rhs_step)
    taken = [_load(b, tile, I32, _Vector(before, vector), masked=False) for vector in range(tile.vectors)]
    return [b.binary("sub", total, taken[number % tile.vectors]) for number, total in enumerate(totals)]


def _initial(b: Builder, tile: Tile, outs: Callable[[], list[_Row]], accumulate: Value) -> list[Value]:
    count = tile.rows * tile.vectors
    if not tile.accumulates:
        return [zero(tile.vector)] * count
    entry, resume, start = b.block, b.new_label("resume"), b.new_label("start")
    b.branch_if(accumulate, resume, start)
    b.begin(resume)
    loaded = [
        _load(b, tile, tile.type, _Vector(row, vector), masked=tile.partial_store)
        for row in outs()
        for vector in range(tile.vectors)
    ]
    b.branch(start)
    b.begin(start)
    return [b.phi(tile.vector, [(value, resume), (zero(tile.vector), entry)]) for value in loaded]


class _Row(NamedTuple):
    """A row: a pointer, and elements from there to its first."""

    base: Value
    offset: int


def _rows(b: Builder, type_: str, base: Value, count: int, apart: Value) -> list[_Row]:
    """Rows of elements of a type that lie so far apart: each from a pointer of its own where that is not known."""
    if apart.literal is not None:
        return [_Row(base, number * apart.literal) for number in range(count)]
    rows = [_Row(base, 0)]
    while len(rows) < count:
        rows.append(_Row(b.gep(type_, rows[-1].base, apart), 0))
    return rows


class _Vector(NamedTuple):
    """A vector of a row, and its number in it."""

    row: _Row
    number: int


def _load(b: Builder, tile: Tile, type_: str, where: _Vector, *, masked: bool) -> Value:
    first = where.number * tile.lanes
    address = b.gep(type_, where.row.base, integer(where.row.offset + first))
    return load_lanes(b, type_, address, tile.lanes, tile.columns - first if masked else tile.lanes)


def _store(b: Builder, tile: Tile, where: _Vector, value: Value) -> None:
    first = where.number * tile.lanes
    address = b.gep(tile.type, where.row.base, integer(where.row.offset + first))
    store_lanes(b, value, address, tile.lanes, tile.columns - first if tile.partial_store else tile.lanes)
