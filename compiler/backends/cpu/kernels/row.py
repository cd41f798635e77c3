"""Row kernels: a thread takes one row after the other and does every phase while the row is in its cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.backends.cpu.kernels import lanes
from compiler.backends.cpu.kernels.chains import Accumulators
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lanes import Counters, Lanes, Lanewise, Loops
from compiler.codegen import access, cost, element, nest
from compiler.codegen.index import Emission, Index, Lane, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import I32, PTR, Builder, Module, Value, integer, mangled
from compiler.codegen.reduction import identities_of
from compiler.codegen.row_values import Load, RowValues, Save, always
from compiler.codegen.rows import Phase, Rows
from compiler.codegen.signature import arguments
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel, target: Target) -> EmittedKernel:
    """Emit a row kernel."""
    rows = Rows(kernel)
    work = cost.nanoseconds(kernel)
    builder = LaneBuilder(begin(module, kernel))
    group = _plan(module, rows)
    chosen = _lanes(target, rows, group)
    side = chosen.together(rows.count, rows.length) if chosen and _joins(rows) else 1
    buffers = [_Buffers(builder, rows) for _ in range(side)]
    part = nest.share(builder, rows.count, THREAD, THREADS, align=side)
    with builder.loop(part.start, part.stop, step=side, name="row") as loop:
        emission = Emission(builder)
        many = [
            RowValues(
                rows, emission, _row(emission, loop.index, number, rows.count), b.loader(emission), b.saver(emission)
            )
            for number, b in enumerate(buffers)
        ]
        lane = lanes.row_lane(emission, loop.index, side, rows.count) if side > 1 else None
        every = RowValues(rows, emission, lanes.at_lane(lane), many[0].load, many[0].save) if lane else many[0]
        for phase in rows.phases:
            if chosen is None:
                _pass(every, phase, group)
            else:
                width = chosen.chained(side, group.loops[-1], rows.computed(phase))
                _in_lanes(_Side(every, lane, many), phase, group, width, target)
        with lanes.in_lane(emission, lane):
            every.store_row_results()
    builder.ret()
    return EmittedKernel(kernel, (builder.function.name,), 0, work > cost.PARALLEL_NS, work)


def _row(emission: Emission, first: Value, number: int, count: int) -> Index:
    return emission.opaque(emission.builder.add(first, integer(number)), count)


def _lanes(target: Target, rows: Rows, group: nest.Group) -> Lanes | None:
    """The lanes along a row, None where not every phase can have some."""
    along = [i for i in rows.body if i.opcode == "reduce" or i.array.dims != rows.row_dims]
    leaves = [leaf for leaf, _ in rows.kernel.leaves]
    if not all(identities_of(reduce) for reduce in rows.reduces) or not lanes.fits(along, leaves):
        return None
    return Lanes.choose(target, [i.array for i in (*along, *leaves)], group.loops[-1])


def _joins(rows: Rows) -> bool:
    """Whether what is computed once for each row can be computed for several in lanes."""
    return lanes.fits(rows.body, [leaf for leaf, _ in rows.kernel.leaves])


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows side by side: values of `many` rows, and of every one of them in a lane each."""

    every: RowValues
    lane: Lane | None
    many: Sequence[RowValues]

    def enter(self, phase: Phase) -> list[Value]:
        """Compute what a phase needs before it starts, for every row; returns the initial values."""
        emission, every = self.every.emission, self.every
        with lanes.in_lane(emission, self.lane):
            start = every.enter(phase)
            spread = {value: every.leaves[value](()) for value in phase.spread}
        if self.lane is None:
            return start
        for number, values in enumerate(self.many):
            for instruction, value in spread.items():
                mine = emission.builder.extract(value, number) if value.type[0] == "<" else value
                values.leaves[instruction] = always(mine)
        return start

    def leave(self, phase: Phase, results: Sequence[Value]) -> None:
        """A phase is over."""
        self.every.leave(phase, results)
        builder = self.every.emission.builder
        for number, values in enumerate(self.many if self.lane else ()):
            values.leave(phase, [builder.extract(result, number) for result in results])

    def fetch_next(self, position: Index) -> None:
        """Ask for what the next rows read at a position: a later phase keeps the units busy, and memory idle."""
        emission, rows = self.every.emission, self.every.rows
        lane, builder = emission.lane, emission.builder
        start = lane.start(position) if lane and lane.mask is None else None
        if start is None:
            return
        name = builder.module.declare(f"llvm.prefetch.{mangled(PTR)}", "void", [PTR, I32, I32, I32])
        for leaf, number in rows.kernel.leaves:
            for values in self.many if leaf.array.dims == rows.dims else ():
                at = emission.value(values.row.plus(len(self.many)).times(rows.length) + start)
                type_ = element.storage_type(leaf.array.element_type)
                # Not `inbounds`: behind the last row there is none.
                address = builder.emit(PTR, f"getelementptr {type_}, {arguments(rows.kernel).inputs[number]}, {at}")
                builder.line(f"call void {name}({address}, i32 0, i32 3, i32 1)")


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


def _in_lanes(side: _Side, phase: Phase, group: nest.Group, chosen: Lanes, target: Target) -> None:
    """One phase over rows side by side."""
    emission, loops, many = side.every.emission, Loops.all_of(group.loops), side.many
    start = side.enter(phase)

    def store(counters: Counters) -> None:
        position = group.combine(counters)
        for values in many:
            values.store_elements(values.elements(phase, position), position)

    def elements(counters: Counters) -> list[Value]:
        position = group.combine(counters)
        if phase is not side.every.rows.phases[0]:
            side.fetch_next(position)
        return [value for values in many for value in values.elements(phase, position)]

    def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return side.every.combine(phase, left, right)

    if not phase.reduces:
        chosen.each(emission, loops, store)
        return
    identities = [value for reduce in phase.reduces for value in identities_of(reduce) or ()]
    kept = Accumulators.of(phase.reduces, combine, target)
    side.leave(phase, chosen.reduce(emission, loops, Lanewise(len(many), elements, kept, start, identities)))


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


class _Buffers:
    """The kept values of the row at hand, on the stack."""

    def __init__(self, builder: Builder, rows: Rows) -> None:
        self.of: dict[Instruction, Value] = {}
        for phase in rows.phases:
            for value in phase.kept:
                type_ = element.storage_type(value.array.element_type)
                self.of[value] = builder.emit(PTR, f"alloca [{rows.length} x {type_}], align 64")

    def loader(self, emission: Emission) -> Load:
        """Reads a kept value."""
        return lambda value, position: access.read(emission, self.of[value], value.array.element_type, position)

    def saver(self, emission: Emission) -> Save:
        """Writes a kept value."""
        return lambda value, position, result: access.write(
            emission, self.of[value], value.array.element_type, position, result
        )
