"""Scatter kernels: the operands are copied, if they are needed, then updates are applied one by one, in order.

Updates may hit the same element, and the combiner need not commute, so each element is one thread's: the result is that
of a sequential program.  Where a dimension of the windows is not scattered, an update's position in it is its position
in the operand, and that is what is shared: every thread goes through all windows, and applies its chunk of each.  Where
that is too short, the operand's rows are shared: every thread applies the windows that lie in its own.  Of many windows
it makes lists of these first: which they are is as good as random, and a branch on it would be mispredicted half the
time.  Where windows are short too, one thread applies them all in the time that several would take to find theirs.

Many updates of few elements, by a combiner that has an identity, are cut into chunks, whose number depends on nothing
but the shapes.  Each is applied to an array of its own; what these hold is then combined in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, NamedTuple

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.backends.strategy import Declined
from compiler.codegen import element, elemental, nest, scattering
from compiler.codegen.in_place import Pairs
from compiler.codegen.index import Emission, Index, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, I64, PTR, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.signature import arguments
from compiler.codegen.workspace import LINE_BYTES
from compiler.ir import combiner

_CHUNK_BYTES = 512
"""Bytes of a window's dimension from which on every thread gets whole cache lines of it."""
_ENOUGH = 8
"""Elements of a window from which on going through all indices costs a thread little beside its windows."""
_MANY, _ENOUGH_OF_MANY = 16384, 32
"""Windows too many for a CPU to learn whose they are, and elements of one from which on finding them is worth it."""
_FOUND = 256
"""Windows among which a thread finds its own before it applies them."""
_MANY_ROWS = 64
"""Rows from which on each thread may be expected to get about as many windows as others."""
_SMALL_COPY = 100
"""Bytes of operands for each update up to which their copy stays with the one thread that applies the updates."""


_CHUNKS = 4
"""Chunks of the updates that are applied apart, whatever the number of threads, so that results have the same bits: one
for each of four threads."""
_FEWEST_CHUNKED = 16384
"""Updates from which on arrays for each chunk are worth clearing and adding up: 10 us of updates, which one thread
would pay a seventh more for (`reports/measured/2026-11-26-constants`)."""
_PER_ELEMENT = 4
"""Updates for each element of the operand from which on applying them in chunks is worth an array for each chunk."""


class ScatterGiven(Given):
    """A scatter kernel, with what threads may share of it."""

    @cached_property
    def shared(self) -> Literal["within", "row"] | None:
        """The rows that windows go to, a dimension of all windows, or nothing.

        Within windows a CPU that reads ahead takes from another's cache what that is about to write, and rows are
        shared unevenly only where windows are; so they come first where there are many.
        """
        kernel = self.kernel
        if self.block:
            return "within"
        updates, dimension = scattering.updates(kernel), scattering.window_dimension(kernel)
        window = updates.size // max(1, math.prod(scattering.batch_of(kernel)))
        enough = _ENOUGH if math.prod(scattering.batch_of(kernel)) < _MANY else _ENOUGH_OF_MANY
        row = scattering.row_dimension(kernel)
        rows = 0 if row is None or window < enough else kernel.outputs[0].dims[row]
        if rows >= _MANY_ROWS:
            return "row"
        if dimension is not None and updates.dims[dimension] * _size_bytes(kernel) >= _CHUNK_BYTES:
            return "within"
        return "row" if rows else None

    @cached_property
    def block(self) -> int:
        """Positions in that dimension at which all windows are applied before the next, if windows lie apart; or 0.

        What they touch is half of an L1 cache.  Of a scatter that an L2 cache holds blocks gain nothing.
        """
        updates, dimension = scattering.updates(self.kernel), scattering.window_dimension(self.kernel)
        windows = math.prod(scattering.batch_of(self.kernel))
        if dimension is None or updates.size != windows * updates.dims[dimension]:
            return 0
        apart, size = scattering.window_stride(self.kernel), _size_bytes(self.kernel)
        whole_bytes = (apart + windows) * size * updates.dims[dimension]
        if apart * size < LINE_BYTES or windows * size < LINE_BYTES or whole_bytes <= self.machine.l2_bytes:
            return 0
        return max(1, self.machine.l1_bytes // 2 // ((apart + windows) * size))

    def updated(self, update: Callable[[Module], str], *, divisible: bool) -> Plan:
        """The plan of a copy, if the operands are still needed, and an update."""

        def emit(module: Module) -> Functions:
            copies = () if self.kernel.in_place else (_copy(module, self.kernel),)
            return *copies, update(module)

        return self.plan(emit, self.cost_ns, divisible=divisible, details={"copies": not self.kernel.in_place})


def _chunks(given: ScatterGiven) -> Plan | Declined:
    """The plan of chunks of updates, each applied to an array of its own."""
    kernel = given.kernel
    shape, size = kernel.outputs[0], scattering.updates(kernel).size
    if len(kernel.outputs) > 1 or given.shared == "within":
        return Declined("there are several operands, or parts of all windows to share")
    if size < max(_FEWEST_CHUNKED, _PER_ELEMENT * shape.size):
        return Declined(f"fewer than {_FEWEST_CHUNKED} updates, or than {_PER_ELEMENT} for each element")
    type_ = shape.element_type
    function = combiner.ufunc(kernel.roots[0].attributes["to_apply"], type_)
    if function is None or type_.is_complex or _CHUNKS * shape.size_bytes > given.machine.l2_bytes:
        return Declined("the combiner is not a plain one, or operands are too large to have several")
    identity = combiner.identity(function, type_)
    if identity is None:
        return Declined("the combiner has no identity")
    neutral = element.constant(type_, identity)

    def emit(module: Module) -> Functions:
        return _apply_chunks(module, kernel, neutral), _join_chunks(module, kernel)

    own = (_CHUNKS - 1) * _chunk_bytes(kernel)
    details = {"chunks": _CHUNKS, "copies": not kernel.in_place}
    return given.plan(emit, given.cost_ns, shared_bytes=own, details=details)


def _rows(given: ScatterGiven) -> Plan | Declined:
    """The plan where each thread applies the windows that lie in its rows."""
    row = scattering.row_dimension(given.kernel)
    if given.shared != "row" or row is None:
        return Declined("windows are short, or not of rows of their own, or there are few rows")
    size = given.kernel.outputs[0].dims[row]

    def chunk(builder: Builder) -> _Chunk:
        return _Chunk(row=row, range=nest.share(builder, size, THREAD, THREADS))

    return given.updated(partial(_update, given.kernel, chunk), divisible=True)


def _within(given: ScatterGiven) -> Plan | Declined:
    """The plan where each thread applies its chunk of every window."""
    kernel, dimension = given.kernel, scattering.window_dimension(given.kernel)
    if given.shared != "within" or dimension is None:
        return Declined(f"no dimension of windows has {_CHUNK_BYTES} bytes of which each place is one of the operand")
    size, align = scattering.updates(kernel).dims[dimension], max(1, LINE_BYTES // _size_bytes(kernel))

    def chunk_of(builder: Builder) -> _Chunk:
        chunk_of = nest.share(builder, size, THREAD, THREADS, align=align)
        return _Chunk(within=dimension, range=chunk_of, block=given.block)

    return given.updated(partial(_update, kernel, chunk_of), divisible=True)


def _alone(given: ScatterGiven) -> Plan:
    """The plan where one thread applies all windows, and others help to copy where that is much beside them."""
    kernel = given.kernel
    is_small = sum(shape.size_bytes for shape in kernel.outputs) <= _SMALL_COPY * scattering.updates(kernel).size
    return given.updated(partial(_update, kernel, None), divisible=not is_small)


def _overwrites(kernel: Kernel) -> Pairs:
    """All operands, which then need no copies, or none; what indices and updates are made of is read at any time."""
    (scatter,) = kernel.roots
    count, numbers = len(kernel.outputs), dict(kernel.leaves)
    operands, others = scatter.operands[:count], replace(kernel, roots=scatter.operands[count:])
    if not all(operand in numbers for operand in operands):
        return ()
    numbers_ = [numbers[operand] for operand in operands]
    needed = {*others.roots, *(operand for value in others.body() for operand in value.operands)}
    once = len(set(numbers_)) == count and not {numbers[value] for value in needed if value in numbers} & set(numbers_)
    return tuple(enumerate(numbers_)) if once else ()


SCATTER = Kind(
    (
        Strategy("chunks of updates", _chunks, in_place=True),
        Strategy("rows shared", _rows, in_place=True),
        Strategy("windows shared", _within, in_place=True),
        Strategy("one thread", _alone, in_place=True),
    ),
    ScatterGiven,
    _overwrites,
)
"""Scatter kernels."""


def _chunk_bytes(kernel: Kernel) -> int:
    return -(-kernel.outputs[0].size_bytes // LINE_BYTES) * LINE_BYTES


def _apply_chunks(module: Module, kernel: Kernel, neutral: Value) -> str:
    """The first chunk's updates go to a copy of the operand, each other's to an array in the workspace."""
    builder = Builder(begin(module, kernel, ".chunks"))
    (shape,), given = kernel.outputs, arguments(kernel)
    chunk_range = nest.share(builder, _CHUNKS, THREAD, THREADS)
    with builder.loop(chunk_range.start, chunk_range.stop, name="chunk") as chunk:
        is_first = builder.compare("eq", chunk.index, integer(0))
        if not kernel.in_place:
            with builder.when(is_first, "first"):
                _copy_loops(module, kernel, builder, None)
        own = builder.mul(builder.sub(chunk.index, integer(1)), integer(_chunk_bytes(kernel)))
        target = builder.select(is_first, given.outputs[0], builder.gep(I8, given.workspace, own))
        filled = builder.select(is_first, integer(0), integer(shape.size))
        with builder.loop(integer(0), filled, name="fill") as loop:
            address = builder.gep(element.storage_type(shape.element_type), target, loop.index)
            element.store(builder, shape.element_type, neutral, address)
        _apply_all(module, kernel, builder, _Chunk(chunk=chunk.index, target=target))
    builder.ret()
    return builder.function.name


def _join_chunks(module: Module, kernel: Kernel) -> str:
    """Every element's total over the chunks."""
    builder = Builder(begin(module, kernel, ".join"))
    (shape,), given = kernel.outputs, arguments(kernel)
    type_, storage = shape.element_type, element.storage_type(shape.element_type)
    chunk_range = nest.share(builder, shape.size, THREAD, THREADS, align=LINE_BYTES)
    with builder.loop(chunk_range.start, chunk_range.stop, name="join") as loop:
        emission = Emission(builder)
        address = builder.gep(storage, given.outputs[0], loop.index)
        total = element.load(builder, type_, address)
        for number in range(_CHUNKS - 1):
            chunk = builder.gep(I8, given.workspace, integer(number * _chunk_bytes(kernel)))
            found = element.load(builder, type_, builder.gep(storage, chunk, loop.index))
            (total,) = elemental.apply(emission, kernel.roots[0].attributes["to_apply"], [total, found])
        element.store(builder, type_, total, address)
    builder.ret()
    return builder.function.name


def _copy(module: Module, kernel: Kernel) -> str:
    builder = Builder(begin(module, kernel, ".copy"))
    _copy_loops(module, kernel, builder, (THREAD, THREADS))
    builder.ret()
    return builder.function.name


def _copy_loops(module: Module, kernel: Kernel, builder: Builder, shared: tuple[Value, Value] | None) -> None:
    """Copy the operands: all of them, or a thread's share."""

    def body(emission: Emission, at: Sequence[Index]) -> None:
        scattering.copy_element(kernel, emission, at[0])

    (group,) = nest.plan(module, parameters(kernel), [kernel.outputs[0].size], body)
    level = nest.split_level(group.loops) if shared else -1
    chunk = nest.share(builder, group.loops[level], *shared) if shared else None
    with nest.loops(builder, group, split=level, chunk=chunk) as index:
        body(Emission(builder), [index])


def _size_bytes(kernel: Kernel) -> int:
    return max(shape.element_type.size_bytes for shape in kernel.outputs)


def _update(kernel: Kernel, chunk_of: Callable[[Builder], _Chunk] | None, module: Module) -> str:
    """The function that applies the updates: a thread its chunk, or one thread all."""
    builder = Builder(begin(module, kernel, ".update"))
    if scattering.updates(kernel).size and chunk_of:
        _apply_blocks(module, kernel, builder, chunk_of(builder))
    elif scattering.updates(kernel).size:
        with builder.when(builder.compare("eq", THREAD, integer(0)), "alone"):
            _apply_all(module, kernel, builder, _Chunk())
    builder.ret()
    return builder.function.name


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What a thread does: a `range` of dimension `within` of all windows, or the windows in a range of rows, or all.

    Or those of a `chunk`, in an array at `target`.  Of a `block` of that many positions all is done before the next.
    """

    within: int | None = None
    row: int | None = None
    range: nest.Range | None = None
    chunk: Value | None = None
    target: Value | None = None
    block: int = 0


def _apply_blocks(module: Module, kernel: Kernel, builder: Builder, mine: _Chunk) -> None:
    """Apply a thread's chunk of the updates, block by block where windows lie apart."""
    if mine.range is None or not mine.block:
        _apply_all(module, kernel, builder, mine)
        return
    with builder.loop(mine.range.start, mine.range.stop, step=mine.block, name="block") as block:
        stop = builder.smin(builder.add(block.index, integer(mine.block)), mine.range.stop)
        _apply_all(module, kernel, builder, replace(mine, range=nest.Range(block.index, stop)))


def _apply_all(module: Module, kernel: Kernel, builder: Builder, mine: _Chunk) -> None:
    """Apply a thread's chunk of the updates in order, one window after the other."""
    batch_dims = scattering.batch_of(kernel)

    def probe(emission: Emission, at: Sequence[Index]) -> None:
        _aim(kernel, emission, at[0], mine)

    (group,) = nest.plan(module, parameters(kernel), [math.prod(batch_dims)], probe)
    if mine.row is not None and len(group.loops) == 1 and group.size >= _MANY:
        _apply_found(kernel, builder, group.size, mine)
        return
    level = nest.split_level(group.loops)
    chunk = nest.share(builder, group.loops[level], mine.chunk, integer(_CHUNKS)) if mine.chunk else None
    with nest.loops(builder, group, split=level if chunk else -1, chunk=chunk) as number:
        batch, start, inside = _aim(kernel, Emission(builder), number, mine)
        with builder.when(inside, "inside"):
            _apply(kernel, builder, batch, start, mine)


def _apply_found(kernel: Kernel, builder: Builder, count: int, mine: _Chunk) -> None:
    """Find a thread's windows among so many, a block at a time, then apply them.

    Whose a window is nobody can predict; adding it to a list of those found, or letting the next take its position
    there, needs no branch.
    """
    found = builder.emit(PTR, f"alloca [{_FOUND} x i64], align {LINE_BYTES}")
    with builder.loop(integer(0), integer(count), step=_FOUND, name="block", nonempty=True) as block:
        stop = builder.smin(builder.add(block.index, integer(_FOUND)), integer(count))
        with builder.loop(block.index, stop, carried=[integer(0)], nonempty=True, name="find") as find:
            _, _, inside = _aim(kernel, Emission(builder), whole(Variable(find.index, count)), mine)
            builder.store(find.index, builder.gep(I64, found, find.carried[0]), align=8)
            find.carry(builder.add(find.carried[0], builder.cast("zext", inside, I64)))
        with builder.loop(integer(0), find.results[0], name="found") as iteration:
            number = builder.load(I64, builder.gep(I64, found, iteration.index), align=8)
            batch, start, _ = _aim(kernel, Emission(builder), whole(Variable(number, count)), mine)
            _apply(kernel, builder, batch, start, mine)


class _Aimed(NamedTuple):
    """A window: its indices among the windows, where it starts, and whether this thread applies it."""

    batch: Sequence[Index]
    start: tuple[Index, ...]
    inside: Value


def _aim(kernel: Kernel, emission: Emission, number: Index, mine: _Chunk) -> _Aimed:
    """The window of a number."""
    builder = emission.builder
    batch = nest.coordinates(emission, number, scattering.batch_of(kernel))
    start, inside = scattering.aim(kernel, emission, batch)
    if mine.row is not None and mine.range is not None:
        position = emission.value(start[mine.row])
        for order, limit in (("sge", mine.range.start), ("slt", mine.range.stop)):
            inside = builder.binary("and", inside, builder.compare(order, position, limit))
    return _Aimed(batch, start, inside)


def _apply(kernel: Kernel, builder: Builder, batch: Sequence[Index], start: tuple[Index, ...], mine: _Chunk) -> None:
    """Apply a window, or a thread's chunk of it."""
    dims, emission = scattering.updates(kernel).dims, Emission(builder)
    with ExitStack() as stack:
        inner = []
        for d in kernel.roots[0].attributes.get("update_window_dims", ()):
            chunk = mine.range if d == mine.within else None
            # Left alone, LLVM writes the iterations of a short loop out before it could make vectors of them.
            metadata = keep_rolled(builder.module, scalar=mine.block > 0) if dims[d] >= _ENOUGH else ""
            loops = nest.loops(
                builder, nest.LoopNest(dims[d], (dims[d],)), split=0 if chunk else -1, chunk=chunk, metadata=metadata
            )
            inner.append(stack.enter_context(loops))
        results = (mine.target,) if mine.target else ()
        scattering.apply_at(kernel, emission, start, batch, inner, results)
