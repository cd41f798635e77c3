"""Mixed precision becomes converts around ops of one float type.

add(x, y), x f32, y bf16  ->  add(x, convert(y))   and a convert behind it where the result is stated in a third type

What stands for an instruction is `compiler.precision`'s to say; the reference evaluates the same.  It comes before all
other passes, which know uniform types only.
"""

from __future__ import annotations

from compiler.ir.module import Module
from compiler.ir.rewrite import Fuel
from compiler.precision import unify_module


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return unify_module(module, lambda instruction: fuel.spend("unify precision", instruction, required=True))
