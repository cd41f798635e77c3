"""Loop kernels: every element of the results on its own, in as few and as plain loops as can be.

LLVM vectorises the innermost loop, which is contiguous in the result.  Several results of equal dimensions are computed
in one pass, so that what they share is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels import tiles
from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, EmittedKernel, begin, parameters
from compiler.codegen import cost, nest
from compiler.codegen.index import Emission, Index
from compiler.codegen.kernel import Kernel
from compiler.codegen.llvm_ir import Builder, Module
from compiler.codegen.signature import store_roots

_LINE = 64
"""Elements at whose multiples a contiguous loop is shared out, so that no two threads write one cache line."""

_SHORT = 256
_CHAIN, _LONG, _VERY_LONG, _ENDLESS = 0.2, 1.5, 8.0, 20.0
"""Weights of bodies, in nanoseconds per element, between which a loop is interleaved."""
_WORTH = 1.5e6
"""Nanoseconds of work for which compiling a long body four times over is worth while."""


def emit(module: Module, kernel: Kernel) -> EmittedKernel:
    """Emit a loop kernel."""
    dims = kernel.outputs[0].dims
    size = kernel.outputs[0].size
    work = cost.nanoseconds(kernel)
    function = begin(module, kernel)
    builder = Builder(function)
    if size == 0:
        builder.ret()
        return EmittedKernel(kernel, (function.name,), 0, parallel=False, work=0.0)

    def body(emission: Emission, linear: Sequence[Index]) -> None:
        store_roots(kernel, emission, nest.coordinates(emission, linear[0], dims), linear[0])

    (group,) = nest.plan(module, parameters(kernel), [size], body)
    parallel = work > cost.PARALLEL_NS
    tiling = tiles.find(module, kernel, group)
    if tiling is not None:
        tiles.emit(builder, tiling, parallel=parallel)
        builder.ret()
        return EmittedKernel(kernel, (function.name,), 0, parallel, work)
    level = nest.split_level(group.loops)
    part = None
    if parallel:
        align = _LINE if level == len(group.loops) - 1 else 1
        part = nest.share(builder, group.loops[level], THREAD, THREADS, align=align)
    interleave = _interleave(kernel, group.loops[-1], work)
    nest.walk(
        builder, group, lambda index: body(Emission(builder), [index]), split=level, part=part, interleave=interleave
    )
    builder.ret()
    return EmittedKernel(kernel, (function.name,), 0, parallel, work)


def _interleave(kernel: Kernel, length: int, work: float) -> int:
    """How many vectors to compute at once, 0 to leave it to LLVM, which counts registers and leaves long bodies single.

    A polynomial is a chain of operations that wait for one another: one vector at a time keeps the units idle most of
    the time, while operands that no longer fit into registers cost next to nothing.  Long bodies take long to compile
    so many times over: they get fewer.
    """
    weight = sum(cost.element_weight(instruction.opcode) for instruction in kernel.body())
    if length < _SHORT or not _CHAIN <= weight < _ENDLESS:
        return 0
    return 4 if weight < _LONG or (work >= _WORTH and weight < _VERY_LONG) else 2
