"""The innermost loops of a convolution: one register tile over all steps of a block of input features.

Like the register tile of a matrix product it is a function of its own with constant strides, but its rows may lie
anywhere and its steps are several nested loops: neither patches nor, often, weights are ever gathered.  Where rows are
few and lie equally far apart, strides are told, and it is a routine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from compiler.backends.cpu.kernels.convolution.plan import Form, Step
from compiler.backends.cpu.kernels.gemm.micro import load_lanes, multiply_add, store_lanes
from compiler.backends.cpu.kernels.gemm.product import InVectors, VnniOperands
from compiler.backends.cpu.kernels.gemm.vnni import multiply_add_words
from compiler.codegen.llvm_ir import (
    I1,
    I64,
    PTR,
    Builder,
    Module,
    Value,
    integer,
    keep_rolled,
    vector_type,
    write_once,
    zero,
)

_JOINED = 2
"""Loops that are one: the sums would pass from one to the other by a phi each, which cost compile time and save nothing
(`reports/measured/2026-11-26-constants`)."""


@dataclass(frozen=True, slots=True)
class Tile(InVectors):
    """A register tile: `rows` are offsets of its rows in (the patch, the result), `columns` fill vectors of `lanes`.

    In form `places` rows are output features, whose weights lie side by side.  With `starts`, sums start from one value
    for each output feature.  Without `steps` nothing is added to them.  With `words`, factors are words.
    `masks_patch` and its like say where vectors may not touch what lies behind the columns.  With `apart`, the
    distances of rows in (the patch, the result), it is told these and the strides of its steps.
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
    apart: tuple[int, int] | None = None

    @property
    def routine(self) -> str:
        """Its name where it is told strides and so is the same in other programs, else empty."""
        if self.apart is None:
            return ""
        assert self.columns % self.lanes == 0, "lanes behind the columns are left alone by tiles that know them"
        counts = f"{len(self.steps)}loops"
        flags = f"{'.accumulates' * self.accumulates}{'.starts' * self.starts}"
        if self.words:
            flags += f".{self.words.instruction}{'.right' * self.words.unsigned_right}"
        return f"convolution.{self.form}.{self.type}x{self.lanes}.{len(self.rows)}x{self.columns}.{counts}{flags}"

    @property
    def told(self) -> list[Value]:
        """What a routine is told: distances of rows, then each step's count and its strides."""
        steps = ((step.count, step.patch, step.weight) for step in self.steps)
        return [] if self.apart is None else [*map(integer, (*self.apart, *chain.from_iterable(steps)))]


class _Loop(NamedTuple):
    """A step as code knows it: how often it is done, and its strides."""

    times: Value
    patch: Value
    weight: Value


_Results: TypeAlias = Callable[[], tuple[list[Value], list["_Row"]]]


class _Row(NamedTuple):
    """Where a row lies: which of the pointers that steps move it is seen from, and elements from there."""

    base: int
    offset: int


def _steps(tile: Tile, told: Sequence[Value]) -> list[_Loop]:
    """The steps of a tile that is told these values, or none."""
    if tile.apart is None:
        return [_Loop(integer(step.count), integer(step.patch), integer(step.weight)) for step in tile.steps]
    return [_Loop(*told[first : first + 3]) for first in range(2, len(told), 3)]


def _rows(b: Builder, tile: Tile, of: int, start: Value, told: Sequence[Value]) -> tuple[list[Value], list[_Row]]:
    """Pointers to rows, and each row by one of them: of a tile that is told, one each."""
    count = len(tile.rows)
    if tile.apart is None:
        return [start], [_Row(0, row[of]) for row in tile.rows]
    pointers = [start]
    while len(pointers) < count:
        pointers.append(b.gep(tile.type, pointers[-1], told[of]))
    return pointers, [_Row(number, 0) for number in range(count)]


def emit(module: Module, name: str, tile: Tile) -> Value:
    """`void NAME(ptr patch, ptr weights, ptr starts, ptr out, i1 accumulate)`, and behind that what the tile is `told`.

    Where it is to `accumulate` sums start from what `out` holds; `starts` is not looked at by tiles without.

    Args:
        module: where the function goes.
        name: the function's name, if it is no routine; no other has it.
        tile: which elements it reads, and how many sums are in registers.
    """
    if not tile.routine:
        _write(module, name, tile)
    elif not module.has_function(name := tile.routine):
        write_once(module, name, lambda other: _write(other, name, tile))
    return Value(PTR, f"@{name}")


def _write(module: Module, name: str, tile: Tile) -> None:
    parameters = [
        *((f"{PTR} noalias readonly", "patch"), (f"{PTR} noalias readonly", "weights")),
        *((f"{PTR} readonly", "starts"), (f"{PTR} noalias", "out"), (I1, "accumulate")),
        *((I64, f"told{number}") for number in range(len(tile.told))),
    ]
    function = module.function(name, "void", parameters, linkage="internal", attributes="noinline nounwind")
    function.routine = tile.routine
    patch, weights, starts, out, accumulate, *told = function.arguments
    b = Builder(function)
    results = partial(_rows, b, tile, 1, out, told)
    totals = _initial(b, tile, starts, accumulate, results)
    if tile.steps:
        patches, rows = _rows(b, tile, 0, patch, told)
        totals = _walk(b, tile, _steps(tile, told), _Factors(patches, rows, weights), totals)
    pointers, rows = results()
    for position, total in enumerate(totals):
        row, vector = divmod(position, tile.vectors)
        address, inside = _position(b, tile, pointers[rows[row].base], rows[row].offset, vector)
        store_lanes(b, total, address, tile.lanes, inside if tile.masks_out else tile.lanes)
    b.ret()


class _Factors(NamedTuple):
    """Where the factors of a step lie: pointers into the patch, its rows by these, and the weights."""

    patches: list[Value]
    rows: list[_Row]
    weights: Value


def _walk(b: Builder, tile: Tile, steps: Sequence[_Loop], at: _Factors, totals: list[Value]) -> list[Value]:
    """The loops over the steps, one inside the other; two of known length are one."""
    if not steps:
        return _multiply(b, tile, at, totals)
    own = steps if len(steps) == _JOINED and tile.apart is None else steps[:1]
    count = reduce(b.mul, [step.times for step in own])
    with b.loop(integer(0), count, carried=totals, name="step", nonempty=True, metadata=keep_rolled(b.module)) as loop:
        patch, weight = (_offset(b, loop.index, own, of) for of in ("patch", "weight"))
        patches = [b.gep(tile.factor, pointer, patch) for pointer in at.patches]
        here = _Factors(patches, at.rows, b.gep(tile.factor, at.weights, weight))
        loop.carry(*_walk(b, tile, steps[len(own) :], here, loop.carried))
    return loop.results


def _offset(b: Builder, number: Value, steps: Sequence[_Loop], of: Literal["patch", "weight"]) -> Value:
    """Where the factors of a step lie: of two loops in one the outer one's counter is a quotient."""
    *outer, inner = (step.patch if of == "patch" else step.weight for step in steps)
    offset = b.mul(number, inner)
    for stride in outer:
        count = steps[-1].times
        jump = b.mul(b.binary("udiv", number, count), b.sub(stride, b.mul(count, inner)))
        offset = b.add(offset, jump)
    return offset


def _multiply(b: Builder, tile: Tile, at: _Factors, totals: list[Value]) -> list[Value]:
    """One step: every row with every vector."""
    if tile.form == "places":
        factors = [_load(b, tile, at.patches[0], 0, v, masked=tile.masks_patch) for v in range(tile.vectors)]
    else:
        factors = [_load(b, tile, at.weights, 0, v, masked=tile.masks_weights) for v in range(tile.vectors)]
    sums: list[Value] = []
    for number, row in enumerate(at.rows):
        held = totals[number * tile.vectors : (number + 1) * tile.vectors]
        patch = at.patches[row.base]
        if tile.form == "lanes":
            others = [_load(b, tile, patch, row.offset, v, masked=tile.masks_patch) for v in range(tile.vectors)]
        else:
            source, position = (at.weights, number) if tile.form == "places" else (patch, row.offset)
            element = b.load(tile.factor, b.gep(tile.factor, source, integer(position)))
            others = [b.broadcast(element, tile.lanes)] * tile.vectors
        sums += [_add(b, tile, (x, y), total) for x, y, total in zip(others, factors, held, strict=True)]
    return sums


def _add(b: Builder, tile: Tile, pair: tuple[Value, Value], total: Value) -> Value:
    """`total` and the product of a pair, of which the input is the first but in form `places`."""
    if not tile.words:
        return multiply_add(b, *pair, total)
    patch, weights = reversed(pair) if tile.form == "places" else pair
    return multiply_add_words(b, tile.words, patch, weights, total)


def _initial(b: Builder, tile: Tile, starts: Value, accumulate: Value, results: _Results) -> list[Value]:
    vector = vector_type(tile.type, tile.lanes)
    totals = _starts(b, tile, starts) if tile.starts else [zero(vector)] * (len(tile.rows) * tile.vectors)
    if not tile.accumulates:
        return totals
    entry, resume, start = b.block, b.new_label("resume"), b.new_label("start")
    b.branch_if(accumulate, resume, start)
    b.begin(resume)
    pointers, rows = results()
    loaded = [
        _load(b, tile, pointers[row.base], row.offset, v, masked=tile.masks_out)
        for row in rows
        for v in range(tile.vectors)
    ]
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
