"""Constant folding: an instruction all of whose operands are constants becomes one, by its NumPy meaning.

Only where the result is no larger than what it is made from, or small: a broadcast constant is cheaper to recompute
than to load.  And only what does not take long, of which nobody could say how long if there is a loop in it: what is
computed here may stand in a branch that is never taken.  Elided constants, effects and randomness are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from compiler.analysis.effects import control_predecessors, is_repeatable
from compiler.analysis.work import work, work_of_computations
from compiler.diagnostics import UnsupportedError
from compiler.interpreter import evaluate_instruction
from compiler.ir.control import is_ordered
from compiler.ir.literal import Literal
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, without_layout
from compiler.ops import OPS

_LARGEST = 1 << 16
"""Elements of a folded constant beyond the largest in the program: 256 KiB of f32, which text and memory must hold."""
_MOST_WORK = float(1 << 24)
"""Elements, which is about a tenth of a second."""


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    known = cache(lambda: work_of_computations(module))
    for computation in module.computations:
        awaited = control_predecessors(computation)
        is_folded = False
        for instruction in list(computation.instructions):
            if instruction in awaited or not _foldable(instruction):
                continue
            # Few instructions call anything; folding in what they call only makes it less.
            calls = any(instruction.called_computations())
            if work(instruction, known() if calls else {}) > _MOST_WORK:
                continue
            literal = _evaluate(instruction)
            if literal is None or not fuel.spend("fold", instruction):
                continue
            constant = Instruction("constant", instruction.shape, (), {"literal": literal}, name=instruction.name)
            instruction.replace_uses_with(computation.add(constant))
            computation.remove([instruction])
            is_folded = True
        if is_folded:
            computation.sort()
            changed = True
    return changed


def _foldable(instruction: Instruction) -> bool:
    if not instruction.operands or any(o.opcode != "constant" or o.literal.array is None for o in instruction.operands):
        return False
    op = OPS.get(instruction.opcode)
    if op is None or op.evaluate is None or instruction.opcode == "copy":
        return False
    if not isinstance(instruction.shape, ArrayShape) or instruction.array.is_dynamic:
        return False
    if is_ordered(instruction) or not is_repeatable(instruction):
        return False
    return instruction.array.size <= _allowed(o.array.size for o in instruction.operands)


def _allowed(sizes: Iterable[int]) -> int:
    largest = max(sizes)
    return min(largest, _LARGEST) if largest > 1 else 1


def _evaluate(instruction: Instruction) -> Literal | None:
    arrays = [o.literal.array for o in instruction.operands if o.literal.array is not None]
    try:
        value = evaluate_instruction(instruction, arrays)
    except UnsupportedError:
        return None
    array = np.ascontiguousarray(value).reshape(instruction.array.dims)
    shape = without_layout(instruction.shape)
    if isinstance(instruction.shape, ArrayShape):
        shape = instruction.shape
    return Literal(shape, array)
