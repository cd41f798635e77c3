"""Row kernels: a thread takes one row after the other and does every phase while the row is in its cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.backends.cpu.kernels.row import row_lanes
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.cpu.kernels.vectors import lane_rules
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest
from compiler.codegen.in_place import same_row
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value
from compiler.codegen.reduction import MINDS_ORDER, identities_of
from compiler.codegen.row_values import Load, RowValues
from compiler.codegen.rows import Phase, Rows
from compiler.ir.module import Instruction
from compiler.ir.types import BF16


class RowGiven(Given):
    """A row kernel with its phases and the loops over a row's positions."""

    @cached_property
    def rows(self) -> Rows:
        """The phases that each row goes through."""
        return Rows(self.kernel)

    @cached_property
    def group(self) -> nest.LoopNest:
        """The loops over rows and within a row."""
        return _plan(self.scratch, self.rows)


def _lanes(given: RowGiven) -> Plan | Declined:
    """The plan where every phase goes along a row in vectors."""
    rows, group = given.rows, given.group
    along = [i for i in rows.body if i.opcode == "reduce" or i.array.dims != rows.row_dims]
    leaves = [leaf for leaf, _ in rows.kernel.leaves]
    if not rows.in_any_order:
        return Declined(MINDS_ORDER)
    if not all(identities_of(reduce) for reduce in rows.reduces):
        return Declined("there is nothing that lanes of some reduction may start from")
    if not lane_rules.fits(along, leaves):
        return Declined("not all that is computed along a row has a form on vectors")
    arrays = [i.array for i in (*along, *leaves)]
    chosen = Lanes.choose(given.machine.has, arrays, group.loops[-1], paired=_are_pairs(rows))
    if chosen is None:
        return Declined("rows are too short for vectors")

    def emit(module: Module) -> Functions:
        builder = LaneBuilder(begin(module, given.kernel))
        row_lanes.emit(builder, row_lanes.Form(rows, group, given.machine, chosen))
        builder.ret()
        return (builder.function.name,)

    details = {"lanes": chosen.width, "paired": chosen.paired, **_extent(given)}
    return given.plan(emit, given.cost_ns, details=details)


def _elements(given: RowGiven) -> Plan:
    """The plan of one element after the other."""

    def emit(module: Module) -> Functions:
        builder = LaneBuilder(begin(module, given.kernel))
        _one_by_one(builder, given.rows, given.group)
        builder.ret()
        return (builder.function.name,)

    return given.plan(emit, given.cost_ns, details=_extent(given))


def _extent(given: RowGiven) -> dict[str, int]:
    return {"rows": given.rows.count, "row_length": given.rows.length, "phases": len(given.rows.phases)}


ROW = Kind(
    (Strategy("rows in vectors", _lanes, in_place=True), Strategy("rows by elements", _elements, in_place=True)),
    RowGiven,
    same_row,
)
"""Row kernels: all of a row is read before any of it is written."""


def _one_by_one(builder: Builder, rows: Rows, group: nest.LoopNest) -> None:
    """One row after the other, an element at a time."""
    kept = row_lanes.Kept(builder, rows)
    chunk = nest.share(builder, rows.count, THREAD, THREADS)
    with builder.loop(chunk.start, chunk.stop, name="row") as loop:
        emission = Emission(builder)
        row = emission.opaque(loop.index, rows.count)
        values = RowValues(rows, emission, row, kept.loader(emission), kept.saver(emission))
        for phase in rows.phases:
            _pass(values, phase, group)
        values.store_row_results()


def _are_pairs(rows: Rows) -> bool:
    """Whether what is read and written of a row is all of bf16: there is nothing else to be brought into its order."""
    read = [leaf for leaf, _ in rows.kernel.leaves if leaf.array.dims == rows.dims]
    written = [root for root in rows.kernel.roots if not rows.is_row_result(root)]
    values = (*read, *written, *(value for phase in rows.phases for value in phase.kept))
    return bool(read) and all(value.array.element_type is BF16 for value in values)


def _pass(values: RowValues, phase: Phase, group: nest.LoopNest) -> None:
    """One phase over one row."""
    emission = values.emission
    start = values.enter(phase)

    def step(counters: list[Value], carried: list[Value]) -> list[Value]:
        indices = [whole(Variable(value, count)) for value, count in zip(counters, group.loops, strict=True)]
        position = group.combine(indices)
        elements = values.elements(phase, position)
        if phase.reduces:
            return values.combine(phase, carried, elements)
        values.store_elements(elements, position)
        return []

    ranges = [nest.all_of(count) for count in group.loops]
    values.leave(phase, nest.nested(emission, ranges, start, step))


def _plan(module: Module, rows: Rows) -> nest.LoopNest:
    """The loops over a row's positions."""

    def touch(emission: Emission, at: Sequence[Index]) -> None:
        row, position = at
        values = RowValues(rows, emission, row, _pretend(emission), lambda *_: None)
        for phase in rows.phases:
            results = values.enter(phase)
            values.elements(phase, position)
            values.leave(phase, results)

    return nest.plan(module, parameters(rows.kernel), [rows.count, rows.length], touch)[1]


def _pretend(emission: Emission) -> Load:
    """What a kept value looks like while planning: it lies in order, so only its index matters."""

    def load(value: Instruction, position: Index) -> Value:
        type_ = value.array.element_type
        pointer = emission.builder.gep(element.storage_type(type_), Value(PTR, "%workspace"), emission.value(position))
        return element.load(emission.builder, type_, pointer)

    return load
