"""Scatter kernels: the operands are copied, then updates are applied one after the other, in order.

Updates may hit the same element, and the combiner need not commute, so each element is one thread's: the result is that
of a sequential program.  Where a dimension of the windows is not scattered, an update's place in it is its place in the
operand, and that is what is shared: every thread goes through all windows, and applies its part of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, nest, scattering
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, integer

_LINE_BYTES = 64


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
    if scattering.updates(kernel).size:
        shared = scattering.window_dimension(kernel)
        if shared is None:
            with builder.when(builder.compare("eq", THREAD, integer(0)), "alone"):
                _apply_all(module, kernel, builder, 0, None)
        else:
            size_bytes = max(shape.element_type.size_bytes for shape in kernel.outputs)
            extent = scattering.updates(kernel).dims[shared]
            part = nest.share(builder, extent, THREAD, THREADS, align=max(1, _LINE_BYTES // size_bytes))
            _apply_all(module, kernel, builder, shared, part)
    builder.ret()
    return builder.function.name


def _apply_all(module: Module, kernel: Kernel, builder: Builder, split: int, part: nest.Range | None) -> None:
    """Apply the updates in order, all or those within a part of one dimension."""
    dims = scattering.updates(kernel).dims
    if part is None:
        sizes = [math.prod(dims)]
        cut = [dims]
    else:
        cut = [dims[:split], dims[split : split + 1], dims[split + 1 :]]
        sizes = [math.prod(some) for some in cut]

    def body(emission: Emission, at: Sequence[Index]) -> None:
        taken = [nest.coordinates(emission, index, some) for index, some in zip(at, cut, strict=True)]
        scattering.apply_update(kernel, emission, tuple(index for some in taken for index in some))

    groups = nest.plan(module, parameters(kernel), sizes, body)
    if part is None:
        with nest.loops(builder, groups[0]) as index:
            body(Emission(builder), [index])
        return
    whole = nest.Group(sizes[1], (sizes[1],))
    with (
        nest.loops(builder, groups[0]) as before,
        nest.loops(builder, whole, split=0, part=part) as within,
        nest.loops(builder, groups[2]) as behind,
    ):
        body(Emission(builder), [before, within, behind])
