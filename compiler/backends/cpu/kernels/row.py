"""Row kernels: a thread takes one row after the other and does every phase while the row is in its cache."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels import lanes
from compiler.backends.cpu.kernels.chains import extremum_of
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.backends.cpu.kernels.lanes import Counters, Lanes, Lanewise, Loops
from compiler.codegen import access, cost, element, nest
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm import Target
from compiler.codegen.llvm_ir import PTR, Builder, Module, Value
from compiler.codegen.reduction import identity
from compiler.codegen.row_values import Load, RowValues, Save
from compiler.codegen.rows import Phase, Rows
from compiler.ir.module import Instruction


def emit(module: Module, kernel: Kernel, target: Target) -> EmittedKernel:
    """Emit a row kernel."""
    rows = Rows(kernel)
    work = cost.nanoseconds(kernel)
    builder = LaneBuilder(begin(module, kernel))
    buffers = _Buffers(builder, rows)
    group = _plan(module, rows)
    along = [i for i in rows.body if i.opcode == "reduce" or i.array.dims != rows.row_dims]
    in_lanes = lanes.fits(along, [leaf for leaf, _ in kernel.leaves])
    part = nest.share(builder, rows.count, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="row") as loop:
        emission = Emission(builder)
        values = RowValues(
            rows, emission, whole(Variable(loop.index, rows.count)), buffers.loader(emission), buffers.saver(emission)
        )
        for phase in rows.phases:
            _pass(values, phase, group, _lanes(target, rows, phase, group) if in_lanes else None, target)
        values.store_row_results()
    builder.ret()
    return EmittedKernel(kernel, (builder.function.name,), 0, work > cost.PARALLEL_NS, work)


def _lanes(target: Target, rows: Rows, phase: Phase, group: nest.Group) -> Lanes | None:
    """The lanes of a phase."""
    computed = rows.computed(phase)
    arrays = [array for i in computed for array in (i.array, *(o.array for o in i.operands))]
    identities = [identity(reduce) for reduce in phase.reduces]
    if None in identities:
        return None
    return Lanes.choose(target, arrays, group.loops[-1], computed, chained=bool(phase.reduces))


def _pass(values: RowValues, phase: Phase, group: nest.Group, chosen: Lanes | None, target: Target) -> None:
    """One phase over one row."""
    emission = values.emission
    start = values.enter(phase)
    if chosen is not None:
        _in_lanes(values, phase, group, chosen, start, target)
        return

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


def _in_lanes(
    values: RowValues, phase: Phase, group: nest.Group, chosen: Lanes, start: list[Value], target: Target
) -> None:
    emission, loops = values.emission, Loops.all_of(group.loops)

    def store(counters: Counters) -> None:
        position = group.combine(counters)
        values.store_elements(values.elements(phase, position), position)

    if not phase.reduces:
        chosen.each(emission, loops, store)
        return
    reduction = Lanewise(
        lambda counters: values.elements(phase, group.combine(counters)),
        lambda _, left, right: values.combine(phase, left, right),
        start,
        [value for reduce in phase.reduces if (value := identity(reduce))],
        [extremum_of(reduce, target) for reduce in phase.reduces],
    )
    values.leave(phase, chosen.reduce(emission, loops, reduction))


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
