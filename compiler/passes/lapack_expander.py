"""LAPACK's routines, which JAX calls for the CPU, become HLO: triangular solves, loops over columns and of rotations.

Only calls whose operands and results have the shapes that the routine gives are replaced; any other stays, and is
refused by the back ends.  What kernels are there for in some back ends stays as well: for the others there is
`lapack-loop-expander`.
"""

from __future__ import annotations

from compiler.expansion.lapack import call_of
from compiler.expansion.replacement import expand
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, {"custom-call": _expand})


def _expand(instruction: Instruction) -> Instruction | None:
    call = call_of(instruction)
    return None if call is None or call.suits_kernel else call.expand(with_kernels=True)
