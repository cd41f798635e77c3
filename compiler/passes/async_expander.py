"""Join the two halves of asynchronous ops: the work is done where it begins, what it carries along becomes a tuple.

One host runs one schedule, so that nothing is gained by a copy or a computation in the background.  The halves of
collectives are joined by `collective-expander`.
"""

from __future__ import annotations

import numpy as np

from compiler.analysis.expansion import expand
from compiler.analysis.expression import element
from compiler.ir.literal import array_literal
from compiler.ir.module import Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import U32
from compiler.ops.build import build, constant


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return expand(module, fuel, _EXPANSIONS)


def _start(start: Instruction) -> Instruction:
    computation, shape = start.computation, start.shape
    assert isinstance(shape, TupleShape)
    given = build(computation, "tuple", start.operands)
    result = inline(start.attributes["calls"], start.operands, computation.add)
    contexts = [_context(start, element_) for element_ in shape.elements[2:]]
    return build(computation, "tuple", [given, result, *contexts])


def _context(start: Instruction, shape: Shape) -> Instruction:
    """A value for what a back end would keep between the halves; nothing reads it."""
    computation = start.computation
    if isinstance(shape, TupleShape):
        return build(computation, "tuple", [_context(start, element_) for element_ in shape.elements])
    array = shape if isinstance(shape, ArrayShape) else shape.array
    if not array.element_type.bits:
        return build(computation, "after-all")
    return constant(computation, array_literal(np.zeros(array.dims), array.element_type))


def _update(update: Instruction) -> Instruction:
    return update.operands[0]


def _done(done: Instruction) -> Instruction:
    return element(done.operands[0], 1)


def _copy_start(start: Instruction) -> Instruction:
    computation, operand = start.computation, start.operands[0]
    context = constant(computation, array_literal(0, U32))
    return build(computation, "tuple", [build(computation, "copy", [operand]), operand, context])


def _copy_done(done: Instruction) -> Instruction:
    return element(done.operands[0], 0)


_EXPANSIONS = {
    "async-start": _start,
    "async-update": _update,
    "async-done": _done,
    "copy-start": _copy_start,
    "copy-done": _copy_done,
}
