"""Row kernels: a thread takes one row after the other and does every phase while the row is in its cache."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels import lane_rules, row_lanes
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lanes import Lanes
from compiler.codegen import cost, element, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value
from compiler.codegen.reduction import identities_of
from compiler.codegen.row_values import Load, RowValues
from compiler.codegen.rows import Phase, Rows
from compiler.ir.module import Instruction
from compiler.ir.types import BF16


def emit(module: Module, kernel: Kernel, target: Target) -> EmittedKernel:
    """Emit a row kernel."""
    rows = Rows(kernel)
    work = cost.nanoseconds(kernel)
    builder = LaneBuilder(begin(module, kernel))
    group = _plan(module, rows)
    chosen = _lanes(target, rows, group)
    if chosen is None:
        _one_by_one(builder, rows, group)
    else:
        row_lanes.emit(builder, row_lanes.Form(rows, group, target, chosen))
    builder.ret()
    return EmittedKernel(kernel, (builder.function.name,), 0, cost.pays(work), work)


def _one_by_one(builder: Builder, rows: Rows, group: nest.Group) -> None:
    """One row after the other, an element at a time."""
    kept = row_lanes.Kept(builder, rows)
    part = nest.share(builder, rows.count, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="row") as loop:
        emission = Emission(builder)
        row = emission.opaque(loop.index, rows.count)
        values = RowValues(rows, emission, row, kept.loader(emission), kept.saver(emission))
        for phase in rows.phases:
            _pass(values, phase, group)
        values.store_row_results()


def _lanes(target: Target, rows: Rows, group: nest.Group) -> Lanes | None:
    """The lanes along a row, None where not every phase can have some."""
    along = [i for i in rows.body if i.opcode == "reduce" or i.array.dims != rows.row_dims]
    leaves = [leaf for leaf, _ in rows.kernel.leaves]
    if not all(identities_of(reduce) for reduce in rows.reduces) or not lane_rules.fits(along, leaves):
        return None
    return Lanes.choose(target.has, [i.array for i in (*along, *leaves)], group.loops[-1], paired=_are_pairs(rows))


def _are_pairs(rows: Rows) -> bool:
    """Whether what is read and written of a row is all of bf16: there is nothing else to be brought into its order."""
    read = [leaf for leaf, _ in rows.kernel.leaves if leaf.array.dims == rows.dims]
    written = [root for root in rows.kernel.roots if not rows.is_row_result(root)]
    values = (*read, *written, *(value for phase in rows.phases for value in phase.kept))
    return bool(read) and all(value.array.element_type is BF16 for value in values)


def _pass(values: RowValues, phase: Phase, group: nest.Group) -> None:
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


def _plan(module: Module, rows: Rows) -> nest.Group:
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
