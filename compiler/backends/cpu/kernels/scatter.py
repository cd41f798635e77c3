"""Scatter kernels: the operands are copied, if they are needed, then updates are applied one by one, in order.

Updates may hit the same element, and the combiner need not commute, so each element is one thread's: the result is that
of a sequential program.  Where a dimension of the windows is not scattered, an update's place in it is its place in the
operand, and that is what is shared: every thread goes through all windows, and applies its part of each.  Where that
is too short, the operand's rows are shared: every thread applies the windows that lie in its own.

Many updates of few elements, by a combiner that has an identity, are cut into chunks, whose number depends on nothing
but the shapes.  Each is applied to an array of its own; what these hold is then combined in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import numpy as np

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, element, elemental, nest, scattering
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import I8, Builder, Module, Value, integer, keep_rolled
from compiler.codegen.signature import arguments
from compiler.ir import combiner

_LINE_BYTES = 64
_PART_BYTES = 512
"""Bytes of a window's dimension from which on every thread gets whole cache lines of it."""
_ENOUGH = 8
"""Elements of a window from which on going through all indices costs a thread little beside its windows."""


_NEAR_COPY = 100
"""Bytes of operands for each update up to which their copy stays with the one thread that applies the updates."""


_CHUNKS = 4
_FEWEST_CHUNKED = 16384
_PER_ELEMENT = 4
"""Updates for each element of the operand from which on applying them in chunks is worth an array for each chunk."""
_MOST_CHUNKED_BYTES = 256 << 10


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a scatter kernel."""
    work = cost.nanoseconds(kernel)
    neutral = _neutral(kernel)
    if neutral is not None:
        names = _apply_chunks(module, kernel, neutral), _join_chunks(module, kernel)
        return EmittedKernel(kernel, names, (_CHUNKS - 1) * _chunk_bytes(kernel), work > cost.PARALLEL_NS, work)
    copied = sum(shape.size_bytes for shape in kernel.outputs)
    near = _shared(kernel) is None and copied <= _NEAR_COPY * scattering.updates(kernel).size
    parallel = work > cost.PARALLEL_NS and not near
    copies = () if kernel.in_place else (_copy(module, kernel),)
    return EmittedKernel(kernel, (*copies, _update(module, kernel)), 0, parallel, work)


def _neutral(kernel: Kernel) -> Value | None:
    """What leaves every element as it is, where updates are applied in chunks; else None."""
    shape, size = kernel.outputs[0], scattering.updates(kernel).size
    if len(kernel.outputs) > 1 or _shared(kernel) is not None or size < max(_FEWEST_CHUNKED, _PER_ELEMENT * shape.size):
        return None
    type_ = shape.element_type
    function = combiner.ufunc(kernel.roots[0].attributes["to_apply"], type_)
    if function is None or type_.is_complex or shape.size_bytes > _MOST_CHUNKED_BYTES:
        return None
    # Only -0 leaves -0 as it is.
    is_sum = function is np.add and type_.is_float
    return element.constant(type_, -0.0 if is_sum else combiner.identity(function, type_.dtype))


def _chunk_bytes(kernel: Kernel) -> int:
    return -(-kernel.outputs[0].size_bytes // _LINE_BYTES) * _LINE_BYTES


def _apply_chunks(module: Module, kernel: Kernel, neutral: Value) -> str:
    """The first chunk's updates go to a copy of the operand, each other's to an array in the workspace."""
    builder = Builder(begin(module, kernel, ".chunks"))
    (shape,), given = kernel.outputs, arguments(kernel)
    part = nest.share(builder, _CHUNKS, THREAD, THREADS)
    with builder.loop(part.start, part.stop, name="chunk") as chunk:
        is_first = builder.compare("eq", chunk.index, integer(0))
        if not kernel.in_place:
            with builder.when(is_first, "first"):
                _copy_loops(module, kernel, builder, None)
        own = builder.mul(builder.sub(chunk.index, integer(1)), integer(_chunk_bytes(kernel)))
        target = builder.select(is_first, given.outputs[0], builder.gep(I8, given.workspace, own))
        filled = builder.select(is_first, integer(0), integer(shape.size))
        with builder.loop(integer(0), filled, name="fill") as loop:
            place = builder.gep(element.storage_type(shape.element_type), target, loop.index)
            element.store(builder, shape.element_type, neutral, place)
        _apply_all(module, kernel, builder, _Part(chunk=chunk.index, target=target))
    builder.ret()
    return builder.function.name


def _join_chunks(module: Module, kernel: Kernel) -> str:
    """Every element's total over the chunks."""
    builder = Builder(begin(module, kernel, ".join"))
    (shape,), given = kernel.outputs, arguments(kernel)
    type_, storage = shape.element_type, element.storage_type(shape.element_type)
    part = nest.share(builder, shape.size, THREAD, THREADS, align=_LINE_BYTES)
    with builder.loop(part.start, part.stop, name="join") as loop:
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
    part = nest.share(builder, group.loops[level], *shared) if shared else None
    with nest.loops(builder, group, split=level, part=part) as index:
        body(Emission(builder), [index])


def _shared(kernel: Kernel) -> Literal["within", "row"] | None:
    """What threads share: a dimension of all windows, the rows that windows go to, or nothing."""
    updates, dimension = scattering.updates(kernel), scattering.window_dimension(kernel)
    window = updates.size // max(1, math.prod(scattering.batch_of(kernel)))
    if dimension is not None and updates.dims[dimension] * _size_bytes(kernel) >= _PART_BYTES:
        return "within"
    return "row" if scattering.row_dimension(kernel) is not None and window >= _ENOUGH else None


def _size_bytes(kernel: Kernel) -> int:
    return max(shape.element_type.size_bytes for shape in kernel.outputs)


def _update(module: Module, kernel: Kernel) -> str:
    builder = Builder(begin(module, kernel, ".update"))
    updates = scattering.updates(kernel)
    if updates.size:
        shared, row = scattering.window_dimension(kernel), scattering.row_dimension(kernel)
        how = _shared(kernel)
        if how == "within" and shared is not None:
            align = max(1, _LINE_BYTES // _size_bytes(kernel))
            part = nest.share(builder, updates.dims[shared], THREAD, THREADS, align=align)
            _apply_all(module, kernel, builder, _Part(within=shared, range=part))
        elif how == "row" and row is not None:
            part = nest.share(builder, kernel.outputs[0].dims[row], THREAD, THREADS)
            _apply_all(module, kernel, builder, _Part(row=row, range=part))
        else:
            with builder.when(builder.compare("eq", THREAD, integer(0)), "alone"):
                _apply_all(module, kernel, builder, _Part())
    builder.ret()
    return builder.function.name


@dataclass(frozen=True, slots=True)
class _Part:
    """What a thread does: a `range` of dimension `within` of all windows, or the windows in a range of rows, or all.

    Or those of a `chunk`, in an array at `target`.
    """

    within: int | None = None
    row: int | None = None
    range: nest.Range | None = None
    chunk: Value | None = None
    target: Value | None = None


def _apply_all(module: Module, kernel: Kernel, builder: Builder, mine: _Part) -> None:
    """Apply a thread's part of the updates in order, one window after the other."""
    batch_dims, dims = scattering.batch_of(kernel), scattering.updates(kernel).dims
    window_dims = kernel.roots[0].attributes.get("update_window_dims", ())

    def started(emission: Emission, at: Sequence[Index]) -> tuple[Sequence[Index], tuple[Index, ...], Value]:
        batch = nest.coordinates(emission, at[0], batch_dims)
        return batch, *scattering.aim(kernel, emission, batch)

    def probe(emission: Emission, at: Sequence[Index]) -> None:
        started(emission, at)

    (group,) = nest.plan(module, parameters(kernel), [math.prod(batch_dims)], probe)
    level = nest.split_level(group.loops)
    chunk = nest.share(builder, group.loops[level], mine.chunk, integer(_CHUNKS)) if mine.chunk else None
    with nest.loops(builder, group, split=level if chunk else -1, part=chunk) as number:
        emission = Emission(builder)
        batch, start, inside = started(emission, [number])
        if mine.row is not None and mine.range is not None:
            place = emission.value(start[mine.row])
            for order, limit in (("sge", mine.range.start), ("slt", mine.range.stop)):
                inside = builder.binary("and", inside, builder.compare(order, place, limit))
        with builder.when(inside, "inside"), ExitStack() as stack:
            emission.enter()
            inner = []
            for d in window_dims:
                part = mine.range if d == mine.within else None
                # Left alone, LLVM writes the turns of a short loop out before it could make vectors of them.
                metadata = keep_rolled(module) if dims[d] >= _ENOUGH else ""
                loops = nest.loops(
                    builder, nest.Group(dims[d], (dims[d],)), split=0 if part else -1, part=part, metadata=metadata
                )
                inner.append(stack.enter_context(loops))
            results = (mine.target,) if mine.target else ()
            scattering.apply_at(kernel, Emission(builder), start, batch, inner, results)
            emission.leave()
