"""Loop kernels: one thread for each element of the results."""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import EmittedKernel
from compiler.codegen import nest
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module, Value
from compiler.codegen.signature import store_roots


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a loop kernel."""
    shape = kernel.outputs[0]
    if shape.size == 0:
        return EmittedKernel(kernel, ())

    def element(builder: Builder, number: Value) -> None:
        emission = Emission(builder)
        linear = emission.opaque(number, shape.size)
        store_roots(kernel, emission, nest.coordinates(emission, linear, shape.dims), linear)

    return EmittedKernel(kernel, (grid.for_each(module, kernel, shape.size, element),))
