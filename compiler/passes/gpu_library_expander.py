"""Replace calls of cuBLAS and cuDNN, which XLA makes for GPUs, by the dots and convolutions that they stand for.

Convolutions over sizes known at run time, custom calls too, become such over the bounds.  The reference runs a program
after this pass too: a call is what these instructions say.
"""

from __future__ import annotations

from compiler.diagnostics import ShapeError, UnsupportedError
from compiler.expansion.dynamic_convolutions import DYNAMIC_CONVOLUTIONS
from compiler.expansion.gpu_convolutions import CONVOLUTION_CALLS
from compiler.expansion.gpu_products import LIBRARY_CALLS
from compiler.expansion.replacement import expand
from compiler.ir.meanings import given
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel

EXPANSIONS = LIBRARY_CALLS | CONVOLUTION_CALLS | DYNAMIC_CONVOLUTIONS
"""How each call is written out, by target."""


def applies(module: Module) -> bool:
    """Whether there is something to replace."""
    return any(map(_is_known, module.instructions()))


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    names: dict[Instruction, str] = {}

    def expanded(call: Instruction) -> Instruction | None:
        result = _expanded(call) if _is_known(call) else None
        if result is not None:
            names[result] = call.name
        return result

    changed = expand(module, fuel, {"custom-call": expanded})
    for result, name in names.items():
        # Who looks for the value of the call finds it.
        result.name = result.computation.unique_name(name)
    return changed


def _is_known(instruction: Instruction) -> bool:
    is_call = instruction.opcode == "custom-call" and instruction.attributes["custom_call_target"] in EXPANSIONS
    return is_call and not given(instruction)


def _expanded(call: Instruction) -> Instruction:
    target = call.attributes["custom_call_target"]
    try:
        return EXPANSIONS[target](call)
    except (ShapeError, UnsupportedError) as error:
        reason = error.reason if isinstance(error, UnsupportedError) else f"its arrays do not go together: {error}"
        raise UnsupportedError(f"custom-call to {target!r} ({call.name})", "this compiler", reason) from error
