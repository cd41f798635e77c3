"""Join the two halves of asynchronous ops: the work is done where it begins, what it carries along becomes a tuple.

One host runs one schedule, so that nothing is gained by a copy or a computation in the background.  The halves of
collectives are joined by `collective-expander`.  A computation that does not begin with its start, because arguments
or room for the result come later, is done where its result is waited for.
"""

from __future__ import annotations

import numpy as np

from compiler.expansion.expression import element
from compiler.expansion.replacement import expand
from compiler.ir.literal import array_literal
from compiler.ir.module import Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import U32
from compiler.ops.asynchronous import runs_late, start_of
from compiler.ops.build import build, constant


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    # Looked up beforehand: what an update continues is no async-start any more when its turn comes.
    starts = {i: start_of(i) for i in module.instructions() if i.opcode in ("async-update", "async-done")}
    late = {i: start for i, start in starts.items() if start is not None and runs_late(start)}
    table = {
        **_EXPANSIONS,
        "async-update": lambda update: _late_update(update) if update in late else update.operands[0],
        "async-done": lambda done: _late_done(done, late[done]) if done in late else element(done.operands[0], 1),
    }
    return expand(module, fuel, table)


def _start(start: Instruction) -> Instruction:
    computation, shape = start.computation, start.shape
    assert isinstance(shape, TupleShape)
    given = build(computation, "tuple", start.operands)
    if runs_late(start):
        return build(computation, "tuple", [given, *(_context(start, inner) for inner in shape.elements[1:])])
    result = inline(start.attributes["calls"], start.operands, computation.add)
    contexts = [_context(start, element_) for element_ in shape.elements[2:]]
    return build(computation, "tuple", [given, result, *contexts])


def _late_update(update: Instruction) -> Instruction:
    computation, (carried, *added), shape = update.computation, update.operands, update.shape
    assert isinstance(shape, TupleShape)
    given = build(computation, "tuple", [*_elements(element(carried, 0)), *added])
    return build(computation, "tuple", [given, *(_context(update, inner) for inner in shape.elements[1:])])


def _late_done(done: Instruction, start: Instruction) -> Instruction:
    return inline(start.attributes["calls"], _elements(element(done.operands[0], 0)), done.computation.add)


def _elements(value: Instruction) -> list[Instruction]:
    assert isinstance(value.shape, TupleShape)
    return [element(value, index) for index in range(len(value.shape.elements))]


def _context(start: Instruction, shape: Shape) -> Instruction:
    """A value for what a back end would keep between the halves; nothing reads it."""
    computation = start.computation
    if isinstance(shape, TupleShape):
        return build(computation, "tuple", [_context(start, element_) for element_ in shape.elements])
    array = shape if isinstance(shape, ArrayShape) else shape.array
    if not array.element_type.bits:
        return build(computation, "after-all")
    return constant(computation, array_literal(np.zeros(array.dims), array.element_type))


def _copy_start(start: Instruction) -> Instruction:
    computation, operand = start.computation, start.operands[0]
    context = constant(computation, array_literal(0, U32))
    return build(computation, "tuple", [build(computation, "copy", [operand]), operand, context])


def _copy_done(done: Instruction) -> Instruction:
    return element(done.operands[0], 0)


_EXPANSIONS = {
    "async-start": _start,
    "copy-start": _copy_start,
    "copy-done": _copy_done,
}
