"""Reductions as back ends do them: of one value plain, and in whatever order where only NaN asked for one.

reduce(x, z), to_apply=f  ->  tuple(reduce(x, z), to_apply=g)   where f yields (r) and g yields r

The same for reduce-window.  XLA takes both forms; what comes later meets tuples only where there are several values.

JAX's argmax takes the first of two values where that is NaN, whatever the second is.  So of several NaN the one in
front is found only where everything is combined in order (StableHLO's specification, reduce), and neither lanes nor
threads do that.  Its values come with their numbers, which say the same as the order does:

a != a  ->  a != a and (b == b or i < j)   where i and j count along the one dimension that is reduced
"""

from __future__ import annotations

import numpy as np

from compiler.ir.combiner import argument_choice
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
    return _name_the_first(module, fuel) or changed


def _name_the_first(module: Module, fuel: Fuel) -> bool:
    """Have reductions that take the first of several NaN go by the numbers that come with the values."""
    named: dict[Computation, Computation] = {}
    for computation in tuple(module.computations):
        for instruction in computation.instructions:
            if instruction.opcode == "reduce" and _numbers_its_values(instruction):
                fuel.spend("first of several NaN", instruction, required=True)
                reducer: Computation = instruction.attributes["to_apply"]
                if reducer not in named:
                    named[reducer] = module.add_computation(_by_number(reducer))
                instruction.attributes["to_apply"] = named[reducer]
    return bool(named)


def _numbers_its_values(reduce: Instruction) -> bool:
    """Whether a reduction is an argmax or argmin that takes the first of several NaN, of values numbered in order."""
    if len(reduce.operands) != 4 or len(reduce.attributes["dimensions"]) != 1:
        return False
    if argument_choice(reduce.attributes["to_apply"]) is None:
        return False
    _, numbers, start, _ = reduce.operands
    (along,) = reduce.attributes["dimensions"]
    known = start.literal.array if start.opcode == "constant" else None
    return known is not None and not (known != known).any() and _counts(numbers, along)


def _counts(numbers: Instruction, along: int) -> bool:
    """Whether values are the elements' numbers in a dimension, none of them too large for its type."""
    if numbers.opcode == "broadcast":
        (source,) = numbers.operands
        dimension = numbers.attributes["dimensions"].index(along) if along in numbers.attributes["dimensions"] else None
    else:
        source, dimension = numbers, along
    if source.opcode != "iota" or source.attributes["iota_dimension"] != dimension:
        return False
    element_type = source.array.element_type
    return element_type.is_integer and source.array.dims[dimension] - 1 <= np.iinfo(element_type.dtype).max


def _by_number(reducer: Computation) -> Computation:
    """The reducer of an argmax that takes the one of two NaN that has the lesser number."""
    body = Computation(f"{reducer.name}.by_number")
    parameters = [body.add(parameter.clone([])) for parameter in reducer.parameters]
    body.root = inline(reducer, parameters, body.add)
    choice = argument_choice(body)
    assert choice is not None, "it was one before it was copied"
    _, number, other, others_number = parameters
    is_number = build(body, "compare", [other, other], direction="EQ")
    is_first = build(body, "compare", [number, others_number], direction="LT")
    taken = build(body, "and", [choice, build(body, "or", [is_number, is_first])])
    choice.replace_uses_with(taken)
    body.sort()
    return body


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
