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
    nest.walk(builder, group, lambda index: body(Emission(builder), [index]), split=level, part=part)
    builder.ret()
    return EmittedKernel(kernel, (function.name,), 0, parallel, work)
