"""Scheduling: fix the order in which kernels run.

Values are computed shortly before they are first needed, walking from the result to what it needs, and of several
operands the one that frees the most memory first; that keeps few values alive at once.
"""

from __future__ import annotations

from compiler.ir.control import predecessors
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = not module.is_scheduled
    for computation in module.computations:
        order = _order(computation)
        if order != computation.instructions and fuel.spend("reorder", computation.root):
            computation.instructions = order
            changed = True
    module.attributes["is_scheduled"] = True
    return changed


def _order(computation: Computation) -> list[Instruction]:
    """Parameters first, then a depth-first walk from the root; what the root does not need comes last."""
    parameters = computation.parameters
    done: set[Instruction] = set(parameters)
    order = list(parameters)
    for start in (computation.root, *computation.instructions):
        if start in done:
            continue
        stack = [(start, iter(_needs(start)))]
        while stack:
            instruction, pending = stack[-1]
            following = next((n for n in pending if n not in done), None)
            if following is not None:
                stack.append((following, iter(_needs(following))))
                continue
            stack.pop()
            if instruction not in done:
                done.add(instruction)
                order.append(instruction)
    return order


def _needs(instruction: Instruction) -> list[Instruction]:
    """Operands and control predecessors, those with the most to free first."""
    return sorted((*instruction.operands, *predecessors(instruction)), key=_growth)


def _growth(instruction: Instruction) -> int:
    """Bytes that computing an instruction adds, less those that it may free."""
    freed = sum(o.shape.size_bytes for o in instruction.operands if len(o.users) == 1)
    return instruction.shape.size_bytes - freed
