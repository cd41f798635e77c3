"""Iteration kernels whose elements stop at different times: those that are left are put together, and warps fall idle.

A warp goes on until the last of its elements stops; where few take many iterations, most of its lanes stand by.  So a
block does some iterations of its elements, stores those that are done, and puts the state of the others together in
shared memory (stream compaction): the first threads go on with them, and warps without any wait at the barrier.  The
number of iterations between doubles, so that no lane stands by for longer than its element took, and rounds are few.
Which thread computes an element changes nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compiler.analysis.iteration import Iteration, iteration_of
from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import BLOCK, WARP, Launch
from compiler.backends.nvptx.kernels.strategy import Given, Plan, planned
from compiler.backends.strategy import Declined
from compiler.codegen import element, nest
from compiler.codegen.elemental import Elemental
from compiler.codegen.index import Emission
from compiler.codegen.iteration import results
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I1, I32, I64, Module, Value, integer, vector_type
from compiler.codegen.movement import Indices
from compiler.codegen.signature import elemental_of, store
from compiler.ir.module import Computation
from compiler.ir.types import F32, U32, ElementType

_MANY = 1 << 15
"""Elements from which on warps share a scheduler: an H100's 132 times 4 have a warp each of 16,896, and with no more a
warp that falls idle makes room for nobody."""
_FIRST = 16
"""Iterations before elements are told apart: of 8, 12, 16 and 24 the best for `mandelbrot_512`, by the model."""
_TOGETHER = 4
"""Iterations of a small body between two looks at how many there have been: of 1, 2, 4 and 8 the best for it."""
_SMALL = 64
"""Instructions of a body and a condition that are small."""
_MOST = 1 << 20
"""The most looks of a round: what doubles stays an integer of 32 bits."""
_WARPS = BLOCK // WARP


def decide(given: Given) -> Plan | Declined:
    """The plan of blocks that put what is left together."""
    (loop,) = given.kernel.of_opcode("while")
    form = iteration_of(loop)
    if form.alive is None:
        return Declined("all elements take as many iterations")
    size = math.prod(form.dims)
    if size < _MANY and not given.gpu.share_all:
        return Declined(f"there are fewer than {_MANY} elements")
    held = sum(_held(form, number).size_bytes for number in _numbers(form))
    if BLOCK * (held + U32.size_bytes) > grid.OWN_SHARED_BYTES // 2:
        return Declined(f"a state of {held} bytes is too large for shared memory")
    return planned(lambda module: (_Blocks(module, given.kernel, form).emit(),))


def _numbers(form: Iteration) -> tuple[int, ...]:
    """What changes, by its numbers in the loop's state."""
    return (*form.arrays, *form.scalars)


def _held(form: Iteration, number: int) -> ElementType:
    """The type that holds a value of a piece of the state as it is computed with."""
    type_ = form.initial[number].array.element_type
    return F32 if element.value_type(type_) == element.value_type(F32) else type_


class _Round(NamedTuple):
    """What a round starts from: elements of the block, iterations to do, a thread's element and its state."""

    elements: Value
    budget: Value
    number: Value
    state: Sequence[Value]


class _End(NamedTuple):
    """Where iterations end: whether there are more, the state, and the basic block that is left there."""

    again: Value
    state: Sequence[Value]
    block: str


class _Blocks:
    """Emits the function."""

    def __init__(self, module: Module, kernel: Kernel, form: Iteration) -> None:
        self.kernel = kernel
        self.form = form
        self.numbers = _numbers(form)
        self.size = math.prod(form.dims)
        size = len(form.body.instructions) + len(form.condition.instructions)
        self.together = _TOGETHER if size <= _SMALL else 1
        self.builder = grid.begin(module, kernel, BLOCK)
        self.emission = Emission(self.builder)
        self.values = elemental_of(kernel, self.emission)

    def emit(self) -> Launch:
        """Write the function, and say how it is launched."""
        builder = self.builder
        first = builder.mul(grid.block(builder), integer(BLOCK))
        thread = builder.cast("trunc", grid.thread(builder), I32)
        rest = builder.smin(builder.sub(integer(self.size), first), integer(BLOCK))
        count = builder.cast("trunc", rest, I32)
        number = self._mine(thread, count)
        self.emission.enter()
        indices = self._indices(first, number)
        start = [
            self.values.value(self.form.initial[n], indices if n in self.form.arrays else ()) for n in self.numbers
        ]
        self.emission.leave()
        before, header, done = builder.block, builder.new_label("round"), builder.new_label("round.end")
        builder.branch(header)
        builder.begin(header)
        initial = (count, integer(_FIRST // self.together, I32), number, *start)
        carried = [builder.placeholders(value.type, 1)[0] for value in initial]
        now = _Round(carried[0], carried[1], carried[2], carried[3:])
        self.emission.enter()
        following = self._round(now, first, thread, done)
        self.emission.leave()
        changed = (following.elements, following.budget, following.number, *following.state)
        for phi, begin, again in zip(carried, initial, changed, strict=True):
            builder.fill(phi, [(begin, before), (again, builder.block)])
        builder.branch(header)
        builder.begin(done)
        builder.ret()
        return Launch(builder.function.name, grid.blocks_for(self.size, BLOCK), BLOCK)

    def _mine(self, thread: Value, count: Value) -> Value:
        """The number of a thread's element; those beyond the last look at that one."""
        return self.builder.smin(thread, self.builder.sub(count, integer(1, I32)))

    def _indices(self, first: Value, number: Value) -> Indices:
        builder = self.builder
        position = builder.add(first, builder.cast("zext", number, I64))
        return nest.coordinates(self.emission, self.emission.opaque(position, self.size), self.form.dims)

    def _round(self, now: _Round, first: Value, thread: Value, done: str) -> _Round:
        """Some iterations of all elements that are left; what the next round starts from, or `done` without any."""
        builder = self.builder
        indices = self._indices(first, now.number)
        has_one = builder.compare("slt", thread, now.elements)
        state, goes_on = self._iterate(now, indices, has_one)
        is_done = builder.binary("and", has_one, builder.binary("xor", goes_on, Value(I1, "true")))
        with builder.when(is_done, "stored"):
            position = builder.add(first, builder.cast("zext", now.number, I64))
            at = self.emission.opaque(position, self.size)
            for piece, output in results(self.kernel, self.form.arrays):
                store(self.emission, self.form.initial[piece].array, state[piece], output, at)
        alive = builder.binary("and", has_one, goes_on)
        slot, count = self._slots(alive, thread)
        further = builder.new_label("compact")
        builder.branch_if(builder.compare("eq", count, integer(0, I32)), done, further)
        builder.begin(further)
        self._put(state, now.number, alive, slot)
        grid.barrier(builder)
        number, following = self._get(self._mine(thread, count))
        longer = builder.umin(builder.binary("shl", now.budget, integer(1, I32)), integer(_MOST, I32))
        return _Round(count, longer, number, following)

    def _iterate(self, now: _Round, indices: Indices, has_one: Value) -> tuple[Mapping[int, Value], Value]:
        """The state after a round's iterations, or those that there are, and whether there are more."""
        builder, before, ends = self.builder, self.builder.block, list[_End]()
        header, done = builder.new_label("iteration"), builder.new_label("iteration.end")
        builder.branch(header)
        builder.begin(header)
        step, *state = (builder.placeholders(type_, 1)[0] for type_ in (I32, *(value.type for value in now.state)))
        within = builder.binary("and", has_one, builder.compare("ne", step, integer(0, I32)))
        condition, current = self.form.condition, state
        for copy in range(self.together):
            self.emission.enter()
            again = self._within(condition, current, indices).value(condition.root, ())
            goes_on = builder.binary("and", again, within) if copy == 0 else again
            ends.append(_End(again, current, builder.block))
            body = builder.new_label("iteration.body")
            builder.branch_if(goes_on, body, done)
            builder.begin(body)
            current = self._following(current, indices)
            self.emission.leave()
        less = builder.sub(step, integer(1, I32))
        for phi, begin, changed in zip((step, *state), (now.budget, *now.state), (less, *current), strict=True):
            builder.fill(phi, [(begin, before), (changed, builder.block)])
        builder.branch(header)
        builder.begin(done)
        pieces = zip(*(end.state for end in ends), strict=True)
        left = [
            builder.phi(values[0].type, [(v, e.block) for v, e in zip(values, ends, strict=True)]) for values in pieces
        ]
        more = builder.phi(I1, [(end.again, end.block) for end in ends])
        return dict(zip(self.numbers, left, strict=True)), more

    def _within(self, computation: Computation, state: Sequence[Value], indices: Indices) -> Elemental:
        """Values inside the condition or the body."""
        return self.values.within(self.form, computation, dict(zip(self.numbers, state, strict=True)), indices)

    def _following(self, state: Sequence[Value], indices: Indices) -> list[Value]:
        """The state after an iteration."""
        iteration, root = self._within(self.form.body, state, indices), self.form.body.root
        return [iteration.value(root.operands[n], indices if n in self.form.arrays else ()) for n in self.numbers]

    def _arrays(self) -> list[tuple[ElementType, Value]]:
        """Where the state of elements is put together, and their numbers."""
        types = [(str(number), _held(self.form, number)) for number in self.numbers]
        return [(type_, self._array(name, type_)) for name, type_ in (*types, ("number", U32))]

    def _put(self, state: Mapping[int, Value], number: Value, alive: Value, slot: Value) -> None:
        """Put an element that is not done into its slot."""
        builder = self.builder
        with builder.when(alive, "alive"):
            for (type_, array), value in zip(self._arrays(), [*state.values(), number], strict=True):
                element.store(builder, type_, value, builder.gep(element.storage_type(type_), array, slot))

    def _get(self, slot: Value) -> tuple[Value, list[Value]]:
        """The number and the state of the element in a slot."""
        builder = self.builder
        *state, number = (
            element.load(builder, type_, builder.gep(element.storage_type(type_), array, slot))
            for type_, array in self._arrays()
        )
        return number, state

    def _slots(self, alive: Value, thread: Value) -> tuple[Value, Value]:
        """The number of a thread's element among those that are not done, and how many they are."""
        builder = self.builder
        votes = grid.ballot(builder, alive)
        warp = builder.binary("lshr", thread, integer(WARP.bit_length() - 1, I32))
        lane = builder.binary("and", thread, integer(WARP - 1, I32))
        counts = self._array("counts", U32, _WARPS)
        with builder.when(builder.compare("eq", lane, integer(0, I32)), "counted"):
            total = builder.overloaded("ctpop", [votes])
            builder.store(total, builder.gep(I32, counts, warp), align=4)
        grid.barrier(builder)
        of_warps = builder.load(vector_type(I32, _WARPS), counts, align=16)
        below = builder.sub(builder.binary("shl", integer(1, I32), lane), integer(1, I32))
        slot = builder.overloaded("ctpop", [builder.binary("and", votes, below)])
        count = integer(0, I32)
        for number in range(_WARPS):
            of_warp = builder.extract(of_warps, number)
            is_before = builder.compare("ugt", warp, integer(number, I32))
            slot = builder.add(slot, builder.select(is_before, of_warp, integer(0, I32)))
            count = builder.add(count, of_warp)
        return slot, count

    def _array(self, name: object, type_: ElementType, size: int = BLOCK) -> Value:
        return grid.shared_array(self.builder, f"{self.kernel.name}.{name}", type_, size)
