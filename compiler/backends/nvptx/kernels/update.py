"""In-place update kernels: a thread for each element of a dynamic-update-slice's update."""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import updating
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, integer


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit an in-place update kernel."""
    size = updating.shape_of(kernel).size
    if size == 0:
        return EmittedKernel(kernel, ())
    threads = min(grid.BLOCK, size)
    builder = grid.begin(module, kernel, threads)
    number = grid.linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(size)), "inside"):
        emission = Emission(builder)
        updating.write_element(kernel, emission, emission.opaque(number, size))
    builder.ret()
    return EmittedKernel(kernel, (Launch(builder.function.name, grid.blocks_for(size, threads), threads),))
