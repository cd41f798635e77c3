"""A simulator of NVIDIA GPUs at the level of PTX, in NumPy.

    module = parse_ptx(text)
    machine = Machine()
    out = machine.allocate(1024)
    statistics = machine.launch(module, "kernel", (4, 1, 1), (64, 1, 1), [out])

It runs what LLVM's NVPTX back end writes, exactly, and stops with a `SimulationError` at what hardware would let pass:
accesses out of bounds or misaligned, reads of memory that nothing wrote, data races in shared memory, barriers and
shuffles that not everybody reaches, products of warp groups that are touched on their way, loops without end.
"""

from compiler.backends.nvptx.simulator.faults import SimulationError
from compiler.backends.nvptx.simulator.machine import LaunchOptions, LaunchStatistics, Machine
from compiler.backends.nvptx.simulator.parser import parse_ptx
from compiler.backends.nvptx.simulator.syntax import PtxModule

__all__ = ["LaunchOptions", "LaunchStatistics", "Machine", "PtxModule", "SimulationError", "parse_ptx"]
