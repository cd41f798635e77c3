"""The innermost loops of a convolution: one register tile over all steps of a block of input features.

Like the register tile of a matrix product it is a function of its own with constant strides, but its rows may lie
anywhere and its steps are several nested loops: neither patches nor, often, weights are ever gathered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels.convolution.plan import Form, Step
from compiler.backends.cpu.kernels.gemm.micro import load_lanes, multiply_add, store_lanes
from compiler.backends.cpu.kernels.gemm.product import InVectors, VnniOperands
from compiler.backends.cpu.kernels.gemm.vnni import multiply_add_words
from compiler.codegen.llvm_ir import I1, PTR, Builder, Module, Value, integer, keep_rolled, vector_type, zero

_JOINED = 2
"""Loops that are one: the sums would pass from one to the other by a phi each, which cost compile time and save nothing
(`reports/measured/2026-11-26-constants`)."""


@dataclass(frozen=True, slots=True)
class Tile(InVectors):
    """A register tile: `rows` are offsets of its rows in (the patch, the result), `columns` fill vectors of `lanes`.

    In form `places` rows are output features, whose weights lie side by side.  With `starts`, sums start from one value
    for each output feature.  Without `steps` nothing is added to them.  With `words`, factors are words.
    `masks_patch` and its like say where vectors may not touch what lies behind the columns.
    """

    form: Form
    type: str
    lanes: int
    columns: int
    rows: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]
    masks_patch: bool
    masks_weights: bool
    masks_out: bool
    accumulates: bool
    starts: bool
    words: VnniOperands | None = None


def emit(module: Module, name: str, tile: Tile) -> Value:
    """`void NAME(ptr patch, ptr weights, ptr starts, ptr out, i1 accumulate)`.

    Where it is to `accumulate` sums start from what `out` holds; `starts` is not looked at by tiles without.

    Args:
        module: where the function goes.
        name: the function's name.
        tile: which elements it reads, and how many sums are in registers.
    """
    parameters = [
        *((f"{PTR} noalias readonly", "patch"), (f"{PTR} noalias readonly", "weights")),
        *((f"{PTR} readonly", "starts"), (f"{PTR} noalias", "out"), (I1, "accumulate")),
    ]
    function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
    patch, weights, starts, out, accumulate = function.arguments
    b = Builder(function)
    totals = _initial(b, tile, starts, (out, accumulate))
    if tile.steps:
        totals = _walk(b, tile, tile.steps, (patch, weights), totals)
    for position, total in enumerate(totals):
        row, vector = divmod(position, tile.vectors)
        address, inside = _position(b, tile, out, tile.rows[row][1], vector)
        store_lanes(b, total, address, tile.lanes, inside if tile.masks_out else tile.lanes)
    b.ret()
    return Value(PTR, f"@{function.name}")


def _walk(b: Builder, tile: Tile, steps: Sequence[Step], at: tuple[Value, Value], totals: list[Value]) -> list[Value]:
    """The loops over the steps, one inside the other; two are one."""
    if not steps:
        return _multiply(b, tile, at, totals)
    joins = len(steps) == _JOINED
    own = steps if joins else steps[:1]
    with b.loop(
        integer(0),
        integer(math.prod(step.count for step in own)),
        carried=totals,
        name="step",
        nonempty=True,
        metadata=keep_rolled(b.module),
    ) as loop:
        offsets = [_offset(b, loop.index, own, [getattr(step, of) for step in own]) for of in ("patch", "weight")]
        here = b.gep(tile.factor, at[0], offsets[0]), b.gep(tile.factor, at[1], offsets[1])
        loop.carry(*_walk(b, tile, steps[len(own) :], here, loop.carried))
    return loop.results


def _offset(b: Builder, number: Value, steps: Sequence[Step], strides: Sequence[int]) -> Value:
    """Where the factors of a step lie: of two loops in one the outer one's counter is a quotient."""
    *outer, inner = strides
    offset = b.mul(number, integer(inner))
    for stride in outer:
        count = steps[-1].count
        jump = b.mul(b.binary("udiv", number, integer(count)), integer(stride - count * inner))
        offset = b.add(offset, jump)
    return offset


def _multiply(b: Builder, tile: Tile, at: tuple[Value, Value], totals: list[Value]) -> list[Value]:
    """One step: every row with every vector."""
    patch, weights = at
    if tile.form == "places":
        factors = [_load(b, tile, patch, 0, v, masked=tile.masks_patch) for v in range(tile.vectors)]
    else:
        factors = [_load(b, tile, weights, 0, v, masked=tile.masks_weights) for v in range(tile.vectors)]
    sums: list[Value] = []
    for row, (offset, _) in enumerate(tile.rows):
        held = totals[row * tile.vectors : (row + 1) * tile.vectors]
        if tile.form == "lanes":
            others = [_load(b, tile, patch, offset, v, masked=tile.masks_patch) for v in range(tile.vectors)]
        else:
            source, position = (weights, row) if tile.form == "places" else (patch, offset)
            number = b.load(tile.factor, b.gep(tile.factor, source, integer(position)))
            others = [b.broadcast(number, tile.lanes)] * tile.vectors
        sums += [_add(b, tile, (x, y), total) for x, y, total in zip(others, factors, held, strict=True)]
    return sums


def _add(b: Builder, tile: Tile, pair: tuple[Value, Value], total: Value) -> Value:
    """`total` and the product of a pair, of which the input is the first but in form `places`."""
    if not tile.words:
        return multiply_add(b, *pair, total)
    patch, weights = reversed(pair) if tile.form == "places" else pair
    return multiply_add_words(b, tile.words, patch, weights, total)


def _initial(b: Builder, tile: Tile, starts: Value, resumed: tuple[Value, Value]) -> list[Value]:
    vector = vector_type(tile.type, tile.lanes)
    totals = _starts(b, tile, starts) if tile.starts else [zero(vector)] * (len(tile.rows) * tile.vectors)
    if not tile.accumulates:
        return totals
    out, accumulate = resumed
    entry, resume, start = b.block, b.new_label("resume"), b.new_label("start")
    b.branch_if(accumulate, resume, start)
    b.begin(resume)
    loaded = [_load(b, tile, out, row, v, masked=tile.masks_out) for _, row in tile.rows for v in range(tile.vectors)]
    b.branch(start)
    b.begin(start)
    return [b.phi(vector, [(one, resume), (other, entry)]) for one, other in zip(loaded, totals, strict=True)]


def _starts(b: Builder, tile: Tile, starts: Value) -> list[Value]:
    """What the sums of every row start from: of features along the vectors, or one for each row."""
    if tile.form != "places":
        return [_load(b, tile, starts, 0, v, masked=False) for v in range(tile.vectors)] * len(tile.rows)
    numbers = [b.load(tile.type, b.gep(tile.type, starts, integer(row))) for row in range(len(tile.rows))]
    return [b.broadcast(value, tile.lanes) for value in numbers for _ in range(tile.vectors)]


def _load(b: Builder, tile: Tile, base: Value, offset: int, vector: int, *, masked: bool) -> Value:
    address, inside = _position(b, tile, base, offset, vector)
    return load_lanes(b, tile.type, address, tile.lanes, inside if masked else tile.lanes)


def _position(b: Builder, tile: Tile, base: Value, offset: int, vector: int) -> tuple[Value, int]:
    """The address of a vector, and how many of its lanes belong to the columns."""
    first = vector * tile.lanes
    return b.gep(tile.type, base, integer(offset + first)), tile.columns - first
