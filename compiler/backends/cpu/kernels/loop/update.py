"""In-place update kernels: a loop over the elements of a dynamic-update-slice's update."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.backends.cpu.kernels.emitted import THREAD, THREADS, begin, parameters
from compiler.backends.cpu.kernels.strategy import Functions, Given, Kind, Plan, Strategy
from compiler.codegen import cost, nest, updating
from compiler.codegen.index import Emission, Index
from compiler.codegen.llvm_ir import Builder, Module


def _decide(given: Given) -> Plan:
    """The plan of a loop over the update."""
    kernel = given.kernel
    size = updating.shape_of(kernel).size
    work = size * cost.per_element(kernel)

    def body(emission: Emission, at: Sequence[Index]) -> None:
        updating.write_element(kernel, emission, at[0])

    groups = nest.plan(given.scratch, parameters(kernel), [size], body) if size else []

    def emit(module: Module) -> Functions:
        builder = Builder(begin(module, kernel))
        for group in groups:
            level = nest.split_level(group.loops)
            chunk = nest.share(builder, group.loops[level], THREAD, THREADS) if plan.parallel else None
            with nest.loops(builder, group, split=level, chunk=chunk) as index:
                body(Emission(builder), [index])
        builder.ret()
        return (builder.function.name,)

    loops = [count for group in groups for count in group.loops]
    plan = given.plan(emit, work, details={"loops": loops})
    return plan


UPDATE = Kind((Strategy("loops over the update", _decide),), Given)
"""In-place update kernels."""
