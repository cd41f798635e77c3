"""Loop interchange: an elementwise `while` becomes one kernel, a loop over elements that each do all iterations.

The loop moves into a fusion as it is, with what its initial state is spread from; a back end computes the fusion some
elements at a time, with the state in registers.  `compiler.analysis.iteration` says for which loops that is the same.
"""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors, within_fusions
from compiler.analysis.iteration import find
from compiler.analysis.opcodes import SPREADS
from compiler.ir.control import is_ordered
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.outline import outline
from compiler.ir.rewrite import Fuel
from compiler.ops.build import build

_FEWEST_ELEMENTS = 16
"""Elements that iterate side by side: a vector of f32 in AVX-512."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    inside = within_fusions(module)
    changed = False
    for computation in [c for c in module.computations if c not in inside]:
        awaited = control_predecessors(computation)
        loops = [i for i in computation.instructions if i.opcode == "while" and not _is_tied(i, awaited)]
        for loop in loops:
            iteration = find(loop) if loop.users else None
            if iteration is None or iteration.initial[iteration.arrays[0]].array.size < _FEWEST_ELEMENTS:
                continue
            if fuel.spend("each element on its own", loop):
                _outline(module, computation, loop)
                changed = True
        computation.sort()
    if changed:
        module.sort_computations()
    return changed


def _is_tied(loop: Instruction, awaited: set[Instruction]) -> bool:
    """Whether control dependencies name the loop, or what is read of it, or order that."""
    return any(i in awaited or is_ordered(i) for i in (loop, *loop.users))


def _outline(module: Module, computation: Computation, loop: Instruction) -> None:
    """Put a fusion of the loop, which yields what is used of its state, into its place."""
    pieces: dict[int, Instruction] = {}
    for user in list(loop.users):
        first = pieces.setdefault(user.attributes["index"], user)
        if user is not first:
            user.replace_uses_with(first)
    roots = list(pieces.values())
    chosen = {loop, loop.operands[0], *roots}
    for value in loop.operands[0].operands:
        while value.opcode in SPREADS:
            chosen.add(value)
            if not value.operands:
                break
            (value,) = value.operands
    fusion = outline(module, [i for i in computation.instructions if i in chosen], roots, "kLoop")
    for number, root in enumerate(roots):
        single = len(roots) == 1
        root.replace_uses_with(
            fusion if single else build(computation, "get-tuple-element", [fusion], name=root.name, index=number)
        )
    computation.remove({loop, *(user for user in loop.users)})
