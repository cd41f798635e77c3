"""Scatter kernels: the operands are copied, then updates are applied one after the other, in order.

Updates may hit the same element, and the combiner need not commute, so one thread applies them all: the result is that
of a sequential program.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, nest, scattering
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, integer


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
    shape = scattering.updates(kernel)

    def body(emission: Emission, at: Sequence[Index]) -> None:
        scattering.apply_update(kernel, emission, nest.coordinates(emission, at[0], shape.dims))

    if shape.size:
        (group,) = nest.plan(module, parameters(kernel), [shape.size], body)
        with (
            builder.when(builder.compare("eq", THREAD, integer(0)), "alone"),
            nest.loops(builder, group) as index,
        ):
            body(Emission(builder), [index])
    builder.ret()
    return builder.function.name
