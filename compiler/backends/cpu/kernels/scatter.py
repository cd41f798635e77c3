"""Scatter kernels: the operands are copied, then updates are applied one after the other, in order.

Updates may hit the same element, and the combiner need not commute, so each element is one thread's: the result is that
of a sequential program.  Where a dimension of the windows is not scattered, an update's place in it is its place in the
operand, and that is what is shared: every thread goes through all windows, and applies its part of each.  Where that
is too short, the operand's rows are shared: every thread applies the windows that lie in its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, nest, scattering
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value, integer

_LINE_BYTES = 64
_PART_BYTES = 512
"""Bytes of a window's dimension from which on every thread gets whole cache lines of it."""
_ENOUGH = 8
"""Elements of a window from which on going through all indices costs a thread little beside its windows."""


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a scatter kernel."""
    work = cost.nanoseconds(kernel)
    return EmittedKernel(kernel, (_copy(module, kernel), _update(module, kernel)), 0, work > cost.PARALLEL_NS, work)


def _copy(module: Module, kernel: Kernel) -> str:
    builder = Builder(begin(module, kernel, ".copy"))

    def body(emission: Emission, at: Sequence[Index]) -> None:
        scattering.copy_element(kernel, emission, at[0])

    (group,) = nest.plan(module, parameters(kernel), [kernel.outputs[0].size], body)
    level = nest.split_level(group.loops)
    part = nest.share(builder, group.loops[level], THREAD, THREADS)
    with nest.loops(builder, group, split=level, part=part) as index:
        body(Emission(builder), [index])
    builder.ret()
    return builder.function.name


def _update(module: Module, kernel: Kernel) -> str:
    builder = Builder(begin(module, kernel, ".update"))
    updates = scattering.updates(kernel)
    if updates.size:
        size_bytes = max(shape.element_type.size_bytes for shape in kernel.outputs)
        shared, row = scattering.window_dimension(kernel), scattering.row_dimension(kernel)
        window = updates.size // math.prod(scattering.batch_of(kernel))
        if shared is not None and updates.dims[shared] * size_bytes >= _PART_BYTES:
            part = nest.share(builder, updates.dims[shared], THREAD, THREADS, align=max(1, _LINE_BYTES // size_bytes))
            _apply_all(module, kernel, builder, _Part(within=shared, range=part))
        elif row is not None and window >= _ENOUGH:
            part = nest.share(builder, kernel.outputs[0].dims[row], THREAD, THREADS)
            _apply_all(module, kernel, builder, _Part(row=row, range=part))
        else:
            with builder.when(builder.compare("eq", THREAD, integer(0)), "alone"):
                _apply_all(module, kernel, builder, _Part())
    builder.ret()
    return builder.function.name


@dataclass(frozen=True, slots=True)
class _Part:
    """What a thread does: a `range` of dimension `within` of all windows, or the windows in a range of rows, or all."""

    within: int | None = None
    row: int | None = None
    range: nest.Range | None = None


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
    with nest.loops(builder, group) as number:
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
                loops = nest.loops(builder, nest.Group(dims[d], (dims[d],)), split=0 if part else -1, part=part)
                inner.append(stack.enter_context(loops))
            scattering.apply_at(kernel, Emission(builder), start, batch, inner)
            emission.leave()
