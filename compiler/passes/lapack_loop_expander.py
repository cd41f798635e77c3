"""LAPACK's routines that `lapack-expander` left to kernels become HLO too, for back ends that have none."""

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
    return None if call is None else call.expand(with_kernels=False)
