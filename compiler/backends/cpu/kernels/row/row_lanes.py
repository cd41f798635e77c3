"""Rows in lanes: the phases of several rows side by side, one behind the other or all at a time.

One behind the other, every phase waits at its end for what it has accumulated, and for what is computed of that before
the next begins; and phases keep different units of a CPU busy: one adds, one evaluates polynomials, one divides.  Where
there are rows enough, one loop therefore does all phases at once, each for other rows: while the last phase is done
for some rows, the one before it is for the next.  What a phase has found out, and what it has kept, is handed on from
step to step.  At the first and the last steps phases without rows of their own do some that others do too, for nothing:
what they store then is stored again by the step whose turn it is, or, where the rows still have to be read there, it is
stored beside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS
from compiler.backends.cpu.kernels.vectors import lane_rules, lanes
from compiler.backends.cpu.kernels.vectors.accumulators import Accumulators
from compiler.backends.cpu.kernels.vectors.lanes import Counters, Lanes, Lanewise, Loops
from compiler.backends.cpu.machine import Machine
from compiler.codegen import access, element, nest
from compiler.codegen.index import Emission, Index, Lane
from compiler.codegen.lane_builder import LaneBuilder
from compiler.codegen.llvm_ir import PTR, Builder, Value, integer, vector_type, zero
from compiler.codegen.movement import always
from compiler.codegen.reduction import identities_of
from compiler.codegen.row_values import Load, RowValues, Save
from compiler.codegen.rows import Phase, Rows
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import LINE_BYTES
from compiler.ir.module import Instruction

_MANY_STEPS = 32
"""Steps from which on phases are done at a time: a few at the ends are in part for nothing."""
_SHORTEST = 2
"""Vectors in a row up to which there is no loop worth filling."""
_L1_BYTES = 24 << 10
"""Bytes of a row that stay in the L1 cache of 32 KiB beside what else is read."""
_L2_BYTES = 96 << 10
"""What is read and written by a step, at most: what L1 holds, or a share of L2 where much is computed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """The loops along a row, and the vectors that they take."""

    rows: Rows
    group: nest.LoopNest
    machine: Machine
    lanes: Lanes

    @property
    def side(self) -> int:
        """The number of rows walked side by side: one where what is computed once for each has no form in lanes."""
        rows = self.rows
        joins = lane_rules.fits(rows.body, [leaf for leaf, _ in rows.kernel.leaves])
        return self.lanes.together(rows.count, rows.length) if joins else 1

    def chained(self, phases: Sequence[Phase], side: int) -> Lanes:
        """The vectors for phases that are done in one loop."""
        computed = [i for phase in phases for i in self.rows.computed(phase)]
        return self.lanes.chained(side * len(phases), self.group.loops[-1], computed)


def emit(builder: LaneBuilder, form: Form) -> None:
    """Emit the loops of a row kernel."""
    at_a_time = _at_a_time(form)
    if at_a_time:
        _Steps.of(builder, form, at_a_time).emit(builder)
        return
    rows, side = form.rows, form.side
    kept = [Kept(builder, rows) for _ in range(side)]
    chunk = nest.share(builder, rows.count, THREAD, THREADS, align=side)
    with builder.loop(chunk.start, chunk.stop, step=side, name="row") as loop:
        emission = Emission(builder)
        mine = _Side.of(rows, emission, loop.index, [(k.loader(emission), k.saver(emission)) for k in kept])
        loops = Loops.all_of(form.group.loops)
        for number, phase in enumerate(rows.phases):
            reduction = mine.reduction(phase, form.group, form.machine, fetches=number > 0)
            (results,) = form.chained([phase], side).reduce(emission, loops, reduction)
            mine.leave(phase, results)
        mine.store_row_results()


def _at_a_time(form: Form) -> int:
    """Of how many rows side by side all phases are done at a time, 0 where they are done one behind the other."""
    rows, most = form.rows, form.side
    if len(rows.phases) == 1 or rows.length <= _SHORTEST * form.lanes.width:
        return 0
    size = _row_bytes(rows)
    heavy = form.lanes.is_heavy([i for phase in rows.phases for i in rows.computed(phase)])
    fitting = (n for n in (4, 2) if n <= most and n * size <= _L1_BYTES)
    side = next(fitting, 1 if size <= (_L2_BYTES if heavy else _L1_BYTES) else 0)
    return side if side and rows.count >= _MANY_STEPS * side else 0


def _row_bytes(rows: Rows) -> int:
    """What is read and written of one row of each phase while all are done at a time."""
    reads = [{*rows.computed(phase), *(o for i in rows.computed(phase) for o in i.operands)} for phase in rows.phases]
    total = sum(
        rows.length * root.array.element_type.size_bytes for root in rows.kernel.roots if not rows.is_row_result(root)
    )
    for value in (*(leaf for leaf, _ in rows.kernel.leaves), *(v for phase in rows.phases for v in phase.kept)):
        used = [
            n for n, phase in enumerate(rows.phases) if value in reads[n] or value in phase.kept or value in phase.read
        ]
        if used and value.array.dims == rows.dims:
            total += (used[-1] - used[0] + 1) * rows.length * value.array.element_type.size_bytes
    return total


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows side by side: values of `many` rows, and of every one of them in a lane each."""

    every: RowValues
    lane: Lane | None
    many: Sequence[RowValues]

    @staticmethod
    def of(rows: Rows, emission: Emission, first: Value, access_: Sequence[tuple[Load, Save]]) -> _Side:
        """Neighbouring rows, with what reaches the kept values of each."""
        numbers = [emission.builder.add(first, integer(number)) for number in range(len(access_))]
        indices = [emission.opaque(number, rows.count) for number in numbers]
        many = [RowValues(rows, emission, row, *pair) for row, pair in zip(indices, access_, strict=True)]
        if len(many) == 1:
            return _Side(many[0], None, many)
        lane = lanes.row_lane(emission, first, len(many), rows.count)
        return _Side(RowValues(rows, emission, lanes.at_lane(lane), *access_[0]), lane, many)

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

    def store_row_results(self) -> None:
        """Compute and store what there is one of for each row."""
        with lanes.in_lane(self.every.emission, self.lane):
            self.every.store_row_results()

    def reduction(self, phase: Phase, group: nest.LoopNest, machine: Machine, *, fetches: bool) -> Lanewise:
        """The reduction of a phase along the rows; the phase begins here."""
        start = self.enter(phase)

        def elements(values: RowValues, counters: Counters) -> list[Value]:
            position = group.combine(counters)
            if fetches:
                self.fetch_next(values, position)
            found = values.elements(phase, position)
            if phase.reduces:
                return found
            values.store_elements(found, position)
            return []

        def combine(_: Emission, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
            return self.every.combine(phase, left, right)

        identities = [value for reduce in phase.reduces for value in identities_of(reduce) or ()]
        kept = Accumulators.of(phase.reduces, machine, combine)
        return Lanewise([partial(elements, values) for values in self.many], kept, start, identities)

    def fetch_next(self, values: RowValues, position: Index) -> None:
        """Ask for what a later row reads at a position: a later phase keeps the units busy, and memory idle."""
        emission, rows = self.every.emission, self.every.rows
        lane, builder = emission.lane, emission.builder
        start = lane.start(position) if lane and lane.mask is None else None
        if start is None:
            return
        for leaf, number in rows.kernel.leaves:
            if leaf.array.dims != rows.dims:
                continue
            at = emission.value(values.row.plus(len(self.many)).times(rows.length) + start)
            type_ = element.storage_type(leaf.array.element_type)
            builder.prefetch(type_, arguments(rows.kernel).inputs[number], at)


@dataclass(frozen=True, slots=True)
class _Steps:
    """All phases in one loop: phase n is done for the rows that phase n - 1 was done for a step before."""

    form: Form
    side: int
    rings: Mapping[Instruction, _Ring]
    beside: Mapping[int, Value]
    """By result that lies in an operand's memory, room for rows that are stored too early."""

    @staticmethod
    def of(builder: Builder, form: Form, side: int) -> _Steps:
        """Steps of so many rows, with room for what is kept."""
        rows = form.rows
        numbers = {value: number for number, phase in enumerate(rows.phases) for value in phase.kept}
        last = {value: number for number, phase in enumerate(rows.phases) for value in phase.read}
        rings = {value: _Ring.of(builder, rows, value, (last[value] - n, side)) for value, n in numbers.items()}
        beside = {}
        for number, _ in rows.kernel.in_place:
            type_ = element.storage_type(rows.kernel.outputs[number].element_type)
            beside[number] = builder.emit(PTR, f"alloca [{side * rows.length} x {type_}], align {LINE_BYTES}")
        return _Steps(form, side, rings, beside)

    def emit(self, builder: LaneBuilder) -> None:
        """Emit the loop over steps."""
        rows, side, phases = self.form.rows, self.side, self.form.rows.phases
        chunk = nest.share(builder, rows.count, THREAD, THREADS, align=side)
        # Threads without rows do not go on until the last phase has had them.
        some = builder.compare("slt", chunk.start, chunk.stop)
        behind = integer((len(phases) - 1) * side)
        stop = builder.select(some, builder.add(chunk.stop, behind), chunk.start)
        found = [[self._nothing(phase)] * (len(phases) - 1 - n) for n, phase in enumerate(phases)]
        slots = [ring.slots for ring in self.rings.values()]
        with builder.loop(
            chunk.start, stop, step=side, carried=[*_flat(_flat(found)), *_flat(slots)], name="step"
        ) as loop:
            carried = iter(loop.carried)
            found = [[[next(carried) for _ in values] for values in many] for many in found]
            slots = [[next(carried) for _ in buffers] for buffers in slots]
            results = self._step(Emission(builder), loop.index, chunk, found, slots)
            found = [[new, *many][: len(many)] for many, new in zip(found, results, strict=True)]
            loop.carry(*_flat(_flat(found)), *(slot for buffers in slots for slot in (buffers[-1], *buffers[:-1])))

    def _step(
        self,
        emission: Emission,
        index: Value,
        chunk: nest.Range,
        found: Sequence[Sequence[Sequence[Value]]],
        slots: Sequence[Sequence[Value]],
    ) -> list[list[Value]]:
        """All phases once; returns what each has found out."""
        builder, form, phases = emission.builder, self.form, self.form.rows.phases
        last = builder.sub(chunk.stop, integer(self.side))
        reductions = []
        for number, phase in enumerate(phases):
            own = first = builder.sub(index, integer(number * self.side))
            first = builder.smax(builder.smin(first, last), chunk.start)
            reach = [self._reach(emission, number, row, slots) for row in range(self.side)]
            rows = _Side.of(form.rows, emission, first, reach)
            for earlier in range(number):
                rows.leave(phases[earlier], found[earlier][number - earlier - 1])
            if not phase.reduces:
                self._choose_results(rows, builder.compare("sge", own, chunk.start))
            reductions.append(rows.reduction(phase, form.group, form.machine, fetches=False))
        loops = Loops.all_of(form.group.loops)
        results = form.chained(phases, self.side).reduce(emission, loops, *reductions)
        rows.leave(phases[-1], results[-1])
        rows.store_row_results()
        return results

    def _choose_results(self, rows: _Side, in_turn: Value) -> None:
        """Let rows be stored where they belong if it is their turn, and beside otherwise."""
        kernel = self.form.rows.kernel
        for result, room in self.beside.items():
            type_ = element.storage_type(kernel.outputs[result].element_type)
            for number, values in enumerate(rows.many):
                builder, length = values.emission.builder, self.form.rows.length
                row = values.emission.value(values.row.times(length))
                home = builder.gep(type_, arguments(kernel).outputs[result], row)
                other = builder.gep(type_, room, integer(number * length))
                values.outputs[result] = builder.select(in_turn, home, other)

    def _nothing(self, phase: Phase) -> list[Value]:
        """Zeros for the accumulators of a phase that no row has gone through yet: the prologue of the pipeline."""
        types = [element.value_type(reduce.array.element_type) for reduce in phase.reduces]
        return [zero(vector_type(type_, self.side) if self.side > 1 else type_) for type_ in types]

    def _reach(self, emission: Emission, number: int, row: int, slots: Sequence[Sequence[Value]]) -> tuple[Load, Save]:
        """What reads and writes a row's kept values in a phase."""
        phases = self.form.rows.phases
        buffers = dict(zip(self.rings, slots, strict=True))

        def address(value: Instruction) -> Value:
            writer = next(n for n, phase in enumerate(phases) if value in phase.kept)
            ring = self.rings[value]
            return emission.builder.gep(ring.type, buffers[value][number - writer], integer(row * ring.stride))

        def load(value: Instruction, position: Index) -> Value:
            return access.read(emission, address(value), value.array.element_type, position)

        def save(value: Instruction, position: Index, result: Value) -> None:
            access.write(emission, address(value), value.array.element_type, position, result)

        return load, save


@dataclass(frozen=True, slots=True)
class _Ring:
    """Room for a kept value of the rows that it has been computed for and not been read of.

    Attributes:
        type: the element's type.
        slots: where the value lies, of the rows of this step, of those of the step before, and so on.
        stride: elements from one row to the next in a slot.
    """

    type: str
    slots: Sequence[Value]
    stride: int

    @staticmethod
    def of(builder: Builder, rows: Rows, value: Instruction, shape: tuple[int, int]) -> _Ring:
        """Room on the stack; `shape` is after how many steps it is read last, and of how many rows at a time."""
        (age, side), type_ = shape, value.array.element_type
        storage = element.storage_type(type_)
        stride = -(-rows.length * type_.size_bytes // LINE_BYTES) * LINE_BYTES // type_.size_bytes
        room = builder.emit(PTR, f"alloca [{(age + 1) * side * stride} x {storage}], align {LINE_BYTES}")
        return _Ring(storage, [builder.gep(storage, room, integer(n * side * stride)) for n in range(age + 1)], stride)


def _flat(rows: Iterable[Iterable[T]]) -> list[T]:
    return list(itertools.chain.from_iterable(rows))


class Kept:
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
