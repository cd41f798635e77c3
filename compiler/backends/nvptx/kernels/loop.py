"""Loop kernels: one thread for each element of the results."""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel, Launch
from compiler.codegen import nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, integer
from compiler.codegen.signature import store_roots


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a loop kernel."""
    shape = kernel.outputs[0]
    if shape.size == 0:
        return EmittedKernel(kernel, ())
    threads = min(grid.BLOCK, shape.size)
    builder = grid.begin(module, kernel, threads)
    number = grid.linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(shape.size)), "inside"):
        emission = Emission(builder)
        linear = emission.opaque(number, shape.size)
        store_roots(kernel, emission, nest.coordinates(emission, linear, shape.dims), linear)
    builder.ret()
    launch = Launch(builder.function.name, grid.blocks_for(shape.size, threads), threads)
    return EmittedKernel(kernel, (launch,))
