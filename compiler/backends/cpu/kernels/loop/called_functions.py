"""Short loops of many functions, in vectors, each function called where it stands.

A function is some sixty instructions that LLVM writes out wherever it is called, makes vectors of and schedules: tenths
of a second for thirty sines.  Of few elements that pays back never, so the kernel writes the vectors itself and calls
one function of vectors, which is compiled once.
"""

from __future__ import annotations

from compiler.analysis.opcodes import FUNCTIONS
from compiler.analysis.updates import is_elementwise
from compiler.backends.cpu.kernels.loop.given import LoopGiven
from compiler.backends.cpu.kernels.loop.plain import MOST_BRANCHES
from compiler.backends.cpu.kernels.strategy import Plan
from compiler.backends.cpu.kernels.vectors.interleaving import SHORT
from compiler.backends.cpu.kernels.vectors.lane_rules import fits
from compiler.backends.cpu.kernels.vectors.lanes import Lanes
from compiler.backends.strategy import Declined, Detail
from compiler.codegen.lane_builder import CallingLaneBuilder

FEWEST = MOST_BRANCHES + 1
"""Functions of a kernel from which on they are called: fewer are written out in a cheaper form beside the whole one."""


def decide(given: LoopGiven) -> Plan | Declined:
    """The plan where functions are called."""
    found = _lanes(given)
    if isinstance(found, Declined):
        return found
    details: dict[str, Detail] = {"loops": given.group.loops, "lanes": found.width}
    return given.in_lanes(found, CallingLaneBuilder, details, divisible=False)


def _lanes(given: LoopGiven) -> Lanes | Declined:
    """The lanes of a loop kernel, or why its functions are better written out."""
    kernel = given.kernel
    if not kernel.is_of_arrays or kernel.outputs[0].size >= SHORT:
        return Declined(f"it is not of fewer than {SHORT} elements")
    body = list(kernel.body())
    if sum(instruction.opcode in FUNCTIONS for instruction in body) < FEWEST:
        return Declined(f"it has fewer than {FEWEST} functions")
    if not all(i.opcode in ("broadcast", "constant") or is_elementwise(i) for i in body):
        return Declined("not all that it computes goes straight from lane to lane")
    if not fits(body, [leaf for leaf, _ in kernel.leaves]):
        return Declined("not all that it computes has a form in vectors")
    return Lanes.choose(given.machine.has, [i.array for i in body], given.group.loops[-1]) or Declined(
        "rows are too short for vectors"
    )
