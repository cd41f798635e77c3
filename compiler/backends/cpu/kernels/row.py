"""Row kernels: a thread takes one row after the other and does every phase while the row is in its cache."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels import lanes
from compiler.backends.cpu.kernels.chains import extremum_of
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lanes import Counters, Lanes, Lanewise, Loops, cut
from compiler.codegen import access, cost, element, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value, integer
from compiler.codegen.reduction import identity
from compiler.codegen.row_values import Load, RowValues, Save
from compiler.codegen.rows import Phase, Rows
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel, target: Target) -> EmittedKernel:
    """Emit a row kernel."""
    rows = Rows(kernel)
    work = cost.nanoseconds(kernel)
    builder = LaneBuilder(begin(module, kernel))
    group = _plan(module, rows)
    side, chosen = _lanes(target, rows, group)
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
        for phase in rows.phases:
            if chosen is None:
                _pass(many[0], phase, group)
            else:
                _in_lanes(many, phase, group, chosen[phase], target)
        for values in many:
            values.store_row_results()
    builder.ret()
    return EmittedKernel(kernel, (builder.function.name,), 0, work > cost.PARALLEL_NS, work)


def _row(emission: Emission, first: Value, number: int, count: int) -> Index:
    return emission.opaque(emission.builder.add(first, integer(number)), count)


def _lanes(target: Target, rows: Rows, group: nest.Group) -> tuple[int, dict[Phase, Lanes] | None]:
    """How many rows are walked side by side, and the lanes of each phase, None where not all can have some."""
    along = [i for i in rows.body if i.opcode == "reduce" or i.array.dims != rows.row_dims]
    known = all(identity(reduce) for reduce in rows.reduces)
    if not known or not lanes.fits(along, [leaf for leaf, _ in rows.kernel.leaves]):
        return 1, None
    side = lanes.together(rows.count, rows.length)
    chosen: dict[Phase, Lanes] = {}
    for phase in rows.phases:
        computed = rows.computed(phase)
        arrays = [array for i in computed for array in (i.array, *(o.array for o in i.operands))]
        found = Lanes.choose(target, arrays, group.loops[-1], computed, together=side)
        if found is None:
            return 1, None
        chosen[phase] = found
    return side, chosen


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


def _in_lanes(many: Sequence[RowValues], phase: Phase, group: nest.Group, chosen: Lanes, target: Target) -> None:
    """One phase over several rows side by side."""
    emission, loops = many[0].emission, Loops.all_of(group.loops)
    start = [value for values in many for value in values.enter(phase)]

    def store(counters: Counters) -> None:
        position = group.combine(counters)
        for values in many:
            values.store_elements(values.elements(phase, position), position)

    def elements(counters: Counters) -> list[Value]:
        position = group.combine(counters)
        return [value for values in many for value in values.elements(phase, position)]

    def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        pairs = zip(many, cut(left, len(many)), cut(right, len(many)), strict=True)
        return [value for values, a, b in pairs for value in values.combine(phase, a, b)]

    if not phase.reduces:
        chosen.each(emission, loops, store)
        return
    identities = [value for reduce in phase.reduces if (value := identity(reduce))]
    extrema = [extremum_of(reduce, target) for reduce in phase.reduces]
    reduction = Lanewise(elements, combine, start, identities * len(many), extrema * len(many))
    results = chosen.reduce(emission, loops, reduction)
    for values, mine in zip(many, cut(results, len(many)), strict=True):
        values.leave(phase, mine)


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
