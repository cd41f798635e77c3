"""The innermost loop of a matrix product: one register tile over a block of k.

Each variant is a function of its own, shared by every place that needs it and never inlined, because LLVM's time goes
where the vector instructions are.  All strides are constants, so that an address is one register and an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    vector_type,
    zero,
)

_ATTRIBUTES = "noinline nounwind"


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
    return b.intrinsic(f"fmuladd.{_mangled(left.type)}", [left, right, total])


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
    return b.intrinsic(f"masked.load.{_mangled(vector)}.p0", arguments, result=vector)


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
    b.intrinsic(f"masked.store.{_mangled(value.type)}.p0", arguments, result="void")


@dataclass(frozen=True, slots=True)
class Tile(InVectors):
    """A register tile of `rows` x `columns`, and the constant strides (in elements) of what it reads and writes.

    The columns are covered by vectors of `lanes`; where they end within a vector, `partial_load` and `partial_store`
    say whether the lanes behind the end may not be touched in the right factor and in the result.  With `words`,
    factors are words; sums start from minus what lies one step before the right factor where words were flipped.
    With `addend_row`, the distance of its rows, elements of another array are added to the sums that are stored.
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

    @property
    def vector(self) -> str:
        """The type of one of them."""
        return vector_type(self.type, self.lanes)


def _mask(inside: int, lanes: int) -> Value:
    bits = ", ".join(f"i1 {'true' if lane < inside else 'false'}" for lane in range(lanes))
    return Value(vector_type(I1, lanes), f"<{bits}>")


def micro_kernel(module: Module, name: str, tile: Tile) -> Value:
    """`void NAME(ptr lhs, ptr rhs, ptr out, i64 depth, i1 accumulate)`: one register tile over `depth` >= 1 steps.

    With `accumulate` (only in tiles that were made for it) the sums start from what `out` holds.  A tile with an addend
    takes a pointer to that behind, which may be `out` itself.

    Args:
        module: where it is defined.
        name: of the function.
        tile: its sizes, and how operands and sums lie.
    """
    adds = tile.addend_row is not None
    parameters = [
        *((f"{PTR} noalias readonly", "lhs"), (f"{PTR} noalias readonly", "rhs")),
        *((PTR if adds else f"{PTR} noalias", "out"), (I64, "depth"), (I1, "accumulate")),
    ]
    if adds:
        parameters.append((f"{PTR} readonly", "addend"))
    function = module.function(name, "void", parameters, linkage="internal", attributes=_ATTRIBUTES)
    lhs, rhs, out, depth, accumulate, *addends = function.arguments
    b = Builder(function)
    totals = _corrected(b, tile, rhs, _initial(b, tile, out, accumulate))
    with b.loop(integer(0), depth, carried=totals, name="depth", nonempty=True, metadata=keep_rolled(module)) as loop:
        left = b.gep(tile.factor, lhs, b.mul(loop.index, integer(tile.lhs_step)))
        right = b.gep(tile.factor, rhs, b.mul(loop.index, integer(tile.rhs_step)))
        factors = [
            _load(b, tile, tile.factor, _Vector(right, 0, v), masked=tile.partial_load) for v in range(tile.vectors)
        ]
        sums: list[Value] = []
        for row in range(tile.rows):
            element = b.load(tile.factor, b.gep(tile.factor, left, integer(row * tile.lhs_row)))
            spread = b.broadcast(element, tile.lanes)
            held = loop.carried[row * tile.vectors : (row + 1) * tile.vectors]
            sums += [_step(b, tile, spread, factor, total) for factor, total in zip(factors, held, strict=True)]
        loop.carry(*sums)
    for position, total in enumerate(loop.results):
        row, vector = divmod(position, tile.vectors)
        for addend in addends:
            other = _load(
                b, tile, tile.type, _Vector(addend, row * (tile.addend_row or 0), vector), masked=tile.partial_store
            )
            total = b.binary("fadd" if tile.type in FLOAT_TYPES else "add", total, other)
        _store(b, tile, out, row, vector, total)
    b.ret()
    return Value(PTR, f"@{name}")


def _step(b: Builder, tile: Tile, left: Value, right: Value, total: Value) -> Value:
    if tile.words:
        return multiply_add_words(b, tile.words, left, right, total)
    return multiply_add(b, left, right, total)


def _corrected(b: Builder, tile: Tile, rhs: Value, totals: list[Value]) -> list[Value]:
    if not tile.corrected:
        return totals
    taken = [_load(b, tile, I32, _Vector(rhs, -tile.rhs_step, vector), masked=False) for vector in range(tile.vectors)]
    return [b.binary("sub", total, taken[number % tile.vectors]) for number, total in enumerate(totals)]


def _initial(b: Builder, tile: Tile, out: Value, accumulate: Value) -> list[Value]:
    count = tile.rows * tile.vectors
    if not tile.accumulates:
        return [zero(tile.vector)] * count
    entry, resume, start = b.block, b.new_label("resume"), b.new_label("start")
    b.branch_if(accumulate, resume, start)
    b.begin(resume)
    loaded = [
        _load(b, tile, tile.type, _Vector(out, row * tile.out_row, vector), masked=tile.partial_store)
        for row in range(tile.rows)
        for vector in range(tile.vectors)
    ]
    b.branch(start)
    b.begin(start)
    return [b.phi(tile.vector, [(value, resume), (zero(tile.vector), entry)]) for value in loaded]


class _Vector(NamedTuple):
    """A vector of a row: where the array begins, elements from there to the row, and the vector's number in it."""

    base: Value
    offset: int
    number: int


def _load(b: Builder, tile: Tile, type_: str, where: _Vector, *, masked: bool) -> Value:
    base, offset, vector = where
    first = vector * tile.lanes
    address = b.gep(type_, base, integer(offset + first))
    return load_lanes(b, type_, address, tile.lanes, tile.columns - first if masked else tile.lanes)


def _store(b: Builder, tile: Tile, out: Value, row: int, vector: int, value: Value) -> None:
    first = vector * tile.lanes
    address = b.gep(tile.type, out, integer(row * tile.out_row + first))
    store_lanes(b, value, address, tile.lanes, tile.columns - first if tile.partial_store else tile.lanes)


def _mangled(type_: str) -> str:
    """A type as LLVM spells it in the names of overloaded intrinsics."""
    element = element_of(type_)
    short = f"f{8 * ELEMENT_BYTES[element]}" if element in FLOAT_TYPES else element
    return short if type_[0] != "<" else f"v{type_[1:].split(' ')[0]}{short}"
