"""A reduction by a computation that yields a tuple of one becomes a plain one.

reduce(x, z), to_apply=f  ->  tuple(reduce(x, z), to_apply=g)   where f yields (r) and g yields r

The same for reduce-window.  XLA takes both forms; what comes later meets tuples only where there are several values.
"""

from __future__ import annotations

from compiler.ir.control import stand_in
from compiler.ir.module import Computation, Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape
from compiler.ops.build import build


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in tuple(module.computations):
        wrapped = [instruction for instruction in computation.instructions if _yields_tuple_of_one(instruction)]
        for instruction in wrapped:
            fuel.spend("unwrap reduction", instruction, required=True)
            _unwrap(module, instruction)
        if wrapped:
            computation.remove(wrapped)
            computation.sort()
            changed = True
    return changed


def _yields_tuple_of_one(instruction: Instruction) -> bool:
    shape = instruction.shape
    reduces = instruction.opcode in ("reduce", "reduce-window")
    return reduces and isinstance(shape, TupleShape) and len(shape.elements) == 1


def _unwrap(module: Module, instruction: Instruction) -> None:
    assert isinstance(instruction.shape, TupleShape)
    wrapping: Computation = instruction.attributes["to_apply"]
    body = Computation(f"{wrapping.name}.single")
    root = inline(wrapping, [body.add(parameter.clone([])) for parameter in wrapping.parameters], body.add)
    body.root = build(body, "get-tuple-element", [root], index=0)
    module.add_computation(body)
    plain = instruction.computation.add(instruction.clone(instruction.operands, shape=instruction.shape.elements[0]))
    plain.attributes["to_apply"] = body
    result = build(instruction.computation, "tuple", [plain])
    instruction.replace_uses_with(result)
    stand_in(instruction.computation, instruction, result)
