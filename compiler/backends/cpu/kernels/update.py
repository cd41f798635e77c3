"""In-place update kernels: a loop over the elements of a dynamic-update-slice's update."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, nest, updating
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit an in-place update kernel."""
    size = updating.shape_of(kernel).size
    work = size * cost.per_element(kernel)
    builder = Builder(begin(module, kernel))

    def body(emission: Emission, at: Sequence[Index]) -> None:
        updating.write_element(kernel, emission, at[0])

    if size:
        (group,) = nest.plan(module, parameters(kernel), [size], body)
        level = nest.split_level(group.loops)
        part = nest.share(builder, group.loops[level], THREAD, THREADS) if cost.pays(work) else None
        with nest.loops(builder, group, split=level, part=part) as index:
            body(Emission(builder), [index])
    builder.ret()
    return EmittedKernel(kernel, (builder.function.name,), 0, cost.pays(work), work)
