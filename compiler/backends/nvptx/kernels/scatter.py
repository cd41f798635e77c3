"""Scatter kernels: a launch that copies the operands, then one thread that applies the updates in order.

Updates may hit the same element, and the combiner need not commute; one thread gives the result of a sequential
program, the same every time.
"""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import nest, scattering
from compiler.codegen.index import Emission, Variable, whole
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, Value, integer


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a scatter kernel."""
    shape = kernel.outputs[0]
    if shape.size == 0:
        return EmittedKernel(kernel, ())
    return EmittedKernel(kernel, (_copy(module, kernel), _update(module, kernel)))


def _copy(module: Module, kernel: Kernel) -> Launch:
    size = kernel.outputs[0].size
    threads = min(grid.BLOCK, size)
    builder = grid.begin(module, kernel, threads, "_copy")
    number = grid.linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(size)), "inside"):
        emission = Emission(builder)
        scattering.copy_element(kernel, emission, emission.opaque(number, size))
    builder.ret()
    return Launch(builder.function.name, grid.blocks_for(size, threads), threads)


def _update(module: Module, kernel: Kernel) -> Launch:
    builder = grid.begin(module, kernel, 1, "_update")
    emission = Emission(builder)
    shape = scattering.updates(kernel)

    def step(counters: list[Value], _: list[Value]) -> list[Value]:
        at = nest.coordinates(emission, whole(Variable(counters[0], shape.size)), shape.dims)
        scattering.apply_update(kernel, emission, at)
        return []

    nest.nested(emission, [nest.all_of(shape.size)], [], step)
    builder.ret()
    return Launch(builder.function.name, 1, 1)
