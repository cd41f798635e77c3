"""Calls of LAPACK's routines as XLA has to be told of them: matrices lie by columns, options are attributes.

Here that goes without saying.  XLA takes memory to lie by rows, and a call for one of an older kind, where a program
does not say as much.
"""

from __future__ import annotations

from compiler.ir.matrix_layouts import state_columns
from compiler.ir.module import Module
from compiler.ops.custom_call import has_meaning, routine_of


def routines_for_xla(module: Module) -> Module:
    """A copy in which every call of a routine of LAPACK's says all that XLA does not take for granted."""
    stated = module.clone()
    for instruction in stated.instructions():
        if routine_of(instruction) and has_meaning(instruction.attributes["custom_call_target"]):
            state_columns(instruction)
            instruction.attributes.setdefault("api_version", "API_VERSION_TYPED_FFI")
    return stated
