"""In-place update kernels: a thread for each element of a dynamic-update-slice's update."""

from __future__ import annotations

from compiler.backends.nvptx.kernels import grid
from compiler.backends.nvptx.kernels.grid import Launch
from compiler.backends.nvptx.kernels.strategy import Given, Kind, Plan, Strategy, planned
from compiler.backends.strategy import Declined
from compiler.codegen import updating
from compiler.codegen.index import Emission
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Module, integer


def _nothing(given: Given) -> Plan | Declined:
    return Declined("there are elements") if updating.shape_of(given.kernel).size else planned(lambda _: ())


def _threads(given: Given) -> Plan:
    """The plan of a thread for each element."""
    return planned(lambda module: (_emit(module, given.kernel),))


UPDATE = Kind((Strategy("nothing", _nothing), Strategy("a thread for each element", _threads)), Given)
"""In-place update kernels."""


def _emit(module: Module, kernel: Kernel) -> Launch:
    size = updating.shape_of(kernel).size
    threads = min(grid.BLOCK, size)
    builder = grid.begin(module, kernel, threads)
    number = grid.linear_thread(builder, threads)
    with builder.when(builder.compare("slt", number, integer(size)), "inside"):
        emission = Emission(builder)
        updating.write_element(kernel, emission, emission.opaque(number, size))
    builder.ret()
    return Launch(builder.function.name, grid.blocks_for(size, threads), threads)
