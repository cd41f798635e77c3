"""Iteration kernels: a loop whose elements go their own ways, a block of elements at a time.

A block's state lies in small arrays on the stack, as do values that no iteration changes.  Each iteration is a loop
over the block of constant length, which LLVM turns into a few vectors and keeps in registers from iteration to
iteration.  Where the condition asks whether anything is left to do, it is asked of the block alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from compiler.analysis.iteration import Iteration, depends_on, iteration_of
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.cpu.machine import WIDEST_VECTOR_BYTES
from compiler.codegen import cost, element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import ZERO, Emission, Index
from compiler.codegen.iteration import results, row_written, store_in_row
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, PTR, Builder, Module, Value, integer, unroll_vectors
from compiler.codegen.movement import Indices
from compiler.codegen.signature import elemental_of, store
from compiler.ir.module import Computation, Instruction

_REGISTERS = 24
"""Vector registers for state; of 32 some are left for what is computed."""
_MOST_VECTORS = 4
"""Vectors of elements that iterate together, which hides latencies: 2 take a quarter longer, 8 and 16 as long
(`reports/measured/2026-11-26-constants`)."""
_ITERATIONS = 100
"""Iterations that a loop is expected to take."""
_NOTHING: Mapping[Instruction, Value] = MappingProxyType({})


def _decide(given: Given) -> Plan:
    """The plan of a block of elements after the other."""
    (loop,) = given.kernel.of_opcode("while")
    form = iteration_of(loop)
    states = [form.initial[number] for number in form.arrays]
    kept = _unchanging(form)
    size = states[0].array.size
    widest = max(value.array.element_type.size_bytes for value in (*states, *kept.values()))
    vectors = max(1, min(_MOST_VECTORS, _REGISTERS // (len(states) + len(kept))))
    length = vectors * WIDEST_VECTOR_BYTES // widest
    iteration = sum(cost.COST[i.opcode] for i in form.body.instructions)

    def emit(module: Module) -> Functions:
        blocks = _Blocks(module, given.kernel, form, length)
        blocks.emit()
        return (blocks.builder.function.name,)

    return given.plan(emit, _ITERATIONS * size * iteration, details={"block": length, "blocks": -(-size // length)})


ITERATION = Kind((Strategy("blocks", _decide),), Given)
"""Iteration kernels."""


class _Blocks:
    """Emits the kernel; threads take blocks in turn, since blocks may take unequally long."""

    def __init__(self, module: Module, kernel: Kernel, form: Iteration, length: int) -> None:
        self.kernel = kernel
        self.form = form
        self.size = form.initial[form.arrays[0]].array.size
        self.builder = Builder(begin(module, kernel))
        self.length = length
        self.states = {n: self._array(form.initial[n]) for n in form.arrays}
        self.kept = {key: (value, self._array(value)) for key, value in _unchanging(form).items()}

    def _array(self, value: Instruction) -> Value:
        type_ = element.storage_type(value.array.element_type)
        return self.builder.emit(PTR, f"alloca [{self.length} x {type_}], align 64")

    def emit(self) -> None:
        """All blocks, the last of which may be shorter."""
        builder = self.builder
        whole_blocks, rest = divmod(self.size, self.length)
        blocks = whole_blocks + (rest > 0)
        left = builder.sub(integer(blocks), THREAD)
        trip_count = builder.binary("sdiv", builder.add(left, builder.sub(THREADS, integer(1))), THREADS)
        with builder.loop(integer(0), trip_count, name="block") as loop:
            block = builder.add(builder.mul(loop.index, THREADS), THREAD)
            start = builder.mul(block, integer(self.length))
            if whole_blocks:
                with builder.when(builder.compare("slt", block, integer(whole_blocks)), "whole"):
                    _Block(self, start, self.length).emit()
            if rest:
                with builder.when(builder.compare("sge", block, integer(whole_blocks)), "rest"):
                    _Block(self, start, rest).emit()
        builder.ret()


class _Lane(NamedTuple):
    """An element of a block: where code for it goes, its place in the block, and its position in the arrays."""

    emission: Emission
    lane: Value
    indices: Indices


class _Block:
    """Emits one block of so many elements from a position on."""

    def __init__(self, blocks: _Blocks, start: Value, count: int) -> None:
        self.blocks = blocks
        self.form = blocks.form
        self.builder = blocks.builder
        self.start = start
        self.count = count

    def emit(self) -> None:
        """The initial state, the iterations, the results."""
        builder, form = self.builder, self.form
        with self._lanes() as (emission, lane, indices):
            self._begin(emission, lane, indices)
        for result in results(self.blocks.kernel, form.rows):
            if not form.writes_all(result[0]):
                self._fill(result)
        scalars = [elemental_of(self.blocks.kernel, Emission(builder)).value(form.initial[n], ()) for n in form.scalars]
        before, header, body, done = (
            builder.block,
            *(builder.new_label(f"iteration{end}") for end in ("", ".body", ".end")),
        )
        builder.branch(header)
        builder.begin(header)
        phis = [builder.placeholders(value.type, 1)[0] for value in scalars]
        present = dict(zip(form.scalars, phis, strict=True))
        builder.branch_if(self._again(present), body, done)
        builder.begin(body)
        following = self._iteration(present)
        for phi, first, later in zip(phis, scalars, following, strict=True):
            builder.fill(phi, [(first, before), (later, builder.block)])
        builder.branch(header)
        builder.begin(done)
        for number, output in results(self.blocks.kernel, form.scalars):
            with builder.when(builder.compare("eq", self.start, integer(0)), "first"):
                store(Emission(builder), form.initial[number].array, present[number], output, ZERO)
        with self._lanes() as (emission, lane, indices):
            at = self._position(emission, lane)
            for number, output in results(self.blocks.kernel, form.arrays):
                value = form.initial[number]
                store(emission, value.array, self._load(emission, lane, self.blocks.states[number], value), output, at)

    def _fill(self, result: tuple[int, Value]) -> None:
        """Give the block's part of every row its initial value."""
        builder, initial = self.builder, self.form.initial[result[0]]
        count = initial.array.dims[0]
        with (
            builder.loop(integer(0), integer(count), name="row", nonempty=True) as loop,
            self._lanes() as (emission, lane, indices),
        ):
            row = emission.opaque(loop.index, count)
            value = elemental_of(self.blocks.kernel, emission).value(initial, (row, *indices))
            store_in_row(self.form, emission, result, (row, self._position(emission, lane)), value)

    @contextmanager
    def _lanes(self) -> Iterator[_Lane]:
        """A loop over the block."""
        builder, emission = self.builder, Emission(self.builder)
        metadata = unroll_vectors(builder.module)
        with builder.loop(integer(0), integer(self.count), name="lane", nonempty=True, metadata=metadata) as loop:
            position = self._position(emission, loop.index)
            yield _Lane(emission, loop.index, nest.coordinates(emission, position, self.form.dims))

    def _position(self, emission: Emission, lane: Value) -> Index:
        """The position in the arrays of a position in the block."""
        return emission.opaque(self.builder.add(self.start, lane), self.blocks.size)

    def _begin(self, emission: Emission, lane: Value, indices: Indices) -> None:
        """The initial state, and what no iteration changes."""
        outside = elemental_of(self.blocks.kernel, emission)
        for number, tile in self.blocks.states.items():
            value = self.form.initial[number]
            self._save(lane, tile, value, outside.value(value, indices))
        for value, tile in self.blocks.kept.values():
            inside = outside.within(self.form, value.computation, {}, indices)
            self._save(lane, tile, value, inside.value(value, indices))

    def _again(self, scalars: Mapping[int, Value]) -> Value:
        """Whether there is another iteration."""
        form, builder = self.form, self.builder
        if form.alive is None:
            return self._scalars(form.condition, scalars).value(form.condition.root, ())
        left = form.alive.operands[0]
        none = Value(I1, "false")
        start = [none]
        emission = Emission(builder)
        with builder.loop(
            integer(0),
            integer(self.count),
            carried=start,
            name="left",
            nonempty=True,
            metadata=unroll_vectors(builder.module),
        ) as loop:
            position = self._position(emission, loop.index)
            indices = nest.coordinates(emission, position, form.dims)
            values = self._inside(emission, form.condition, loop.index, scalars, indices)
            loop.carry(builder.binary("or", loop.carried[0], values.value(left, indices)))
        known = {form.alive: loop.results[0]}
        return self._scalars(form.condition, scalars, known).value(form.condition.root, ())

    def _iteration(self, scalars: Mapping[int, Value]) -> list[Value]:
        """One iteration; returns the next scalars."""
        form = self.form
        iteration = self._scalars(form.body, scalars)
        following = [iteration.value(form.body.root.operands[number], ()) for number in form.scalars]
        written = [
            (result, row_written(form, iteration, result[0])) for result in results(self.blocks.kernel, form.rows)
        ]
        with self._lanes() as (emission, lane, indices):
            values = self._inside(emission, form.body, lane, scalars, indices)
            found = {n: values.value(form.body.root.operands[n], indices) for n in form.arrays}
            for result, row in written:
                value = values.value(form.row(result[0]), indices)
                store_in_row(form, emission, result, (row, self._position(emission, lane)), value)
            for number, value in found.items():
                self._save(lane, self.blocks.states[number], form.initial[number], value)
        return following

    # -- values -------------------------------------------------------------------------------------------------
    def _scalars(
        self, computation: Computation, scalars: Mapping[int, Value], known: Mapping[Instruction, Value] = _NOTHING
    ) -> Elemental:
        outside = elemental_of(self.blocks.kernel, Emission(self.builder))
        return outside.within(self.form, computation, scalars, (), known)

    def _inside(
        self, emission: Emission, computation: Computation, lane: Value, scalars: Mapping[int, Value], indices: Indices
    ) -> Elemental:
        """Values at a position of the block, from the state and what is kept there."""
        blocks = self.blocks
        state = dict(scalars)
        for number, tile in blocks.states.items():
            state[number] = self._load(emission, lane, tile, self.form.initial[number])
        known = {}
        for instruction in computation.instructions:
            kept = blocks.kept.get(_key(instruction))
            if kept is not None:
                known[instruction] = self._load(emission, lane, kept[1], instruction)
        outside = elemental_of(blocks.kernel, emission)
        return outside.within(self.form, computation, state, indices, known)

    def _load(self, emission: Emission, lane: Value, tile: Value, value: Instruction) -> Value:
        builder, type_ = emission.builder, value.array.element_type
        return element.load(builder, type_, builder.gep(element.storage_type(type_), tile, lane))

    def _save(self, lane: Value, tile: Value, value: Instruction, result: Value) -> None:
        builder, type_ = self.builder, value.array.element_type
        element.store(builder, type_, result, builder.gep(element.storage_type(type_), tile, lane))


Key = Instruction | int
"""A value that no iteration changes: a piece of the state, known by its number in the condition and in the body."""


def _key(value: Instruction) -> Key:
    return int(value.attributes["index"]) if value.opcode == "get-tuple-element" else value


def _unchanging(form: Iteration) -> dict[Key, Instruction]:
    """What is computed from values that no iteration changes, and needed by what iterations do change."""
    found: dict[Key, Instruction] = {}
    for computation in (form.body, form.condition):
        changing = depends_on(computation, (*form.arrays, *form.scalars))
        users = [i for i in computation.instructions if i in changing and i.opcode != "tuple"]
        for operand in (operand for user in users for operand in user.operands):
            is_splat = operand.opcode == "constant" or (
                operand.opcode == "broadcast" and not operand.operands[0].array.rank
            )
            if (
                operand not in changing
                and operand.opcode != "parameter"
                and not is_splat
                and operand.array.dims == form.dims
            ):
                found[_key(operand)] = operand
    return found
