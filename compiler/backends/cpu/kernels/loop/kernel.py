"""Loop kernels: every element of the results on its own; the strategies, in order of preference."""

from __future__ import annotations

from compiler.backends.cpu.kernels.dot import complex_product
from compiler.backends.cpu.kernels.emitted import emit_nothing
from compiler.backends.cpu.kernels.loop import (
    called_functions,
    fast_vectors,
    packed_bf16,
    plain,
    register_table,
    tiles,
    written_vectors,
)
from compiler.backends.cpu.kernels.loop.given import LoopGiven, overwrites
from compiler.backends.cpu.kernels.strategy import Functions, Kind, Plan, Strategy
from compiler.backends.strategy import Declined
from compiler.codegen.in_place import Pairs
from compiler.codegen.kernel import Kernel


def decide_nothing(given: LoopGiven) -> Plan | Declined:
    """The plan of a kernel without elements."""
    if given.kernel.outputs[0].size:
        return Declined("there are elements")
    return given.plan(emit_nothing(given.kernel), 0.0, divisible=False)


LOOPS: tuple[Strategy[LoopGiven, Functions], ...] = (
    Strategy("nothing", decide_nothing, in_place=True),
    Strategy("tables in registers", register_table.decide),
    Strategy("transposing tiles", tiles.decide),
    Strategy("tables in memory", plain.decide_tabulated, in_place=True),
    Strategy("pairs of bf16", packed_bf16.decide),
    Strategy("called functions", called_functions.decide, in_place=True),
    Strategy("fast vectors", fast_vectors.decide),
    Strategy("written vectors", written_vectors.decide, in_place=True),
    Strategy("loops", plain.decide, in_place=True),
)
"""How elements are computed one by one."""


def _overwrites(kernel: Kernel) -> Pairs:
    return () if complex_product.suits(kernel) else overwrites(kernel)


LOOP = Kind((Strategy("complex product", complex_product.decide), *LOOPS), LoopGiven, _overwrites)
"""Loop kernels."""
