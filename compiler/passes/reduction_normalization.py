"""Reductions in the forms that back ends have kernels for: no tuples of one value, no order where none is needed.

reduce(x, z), to_apply=f  ->  tuple(reduce(x, z), to_apply=g)   where f yields (r) and g yields r

The same for reduce-window.  XLA takes both forms; what comes later meets tuples only where there are several values.

An argmax takes the first or the last of equal values, be they zeros of either sign or NaN, and so asks that all be
combined in order (StableHLO's specification, reduce), which lanes and threads that read memory side by side do not do.
But its values come with their numbers, which say the same as the order does:

f((a, i), (b, j))  ->  i < j ? f((a, i), (b, j)) : f((b, j), (a, i))

where i and j count along the one dimension that is reduced, and f chooses by an order of the values, NaN among them.
"""

from __future__ import annotations

from compiler.analysis.commutativity import chooses, counts, goes_by_numbers, in_any_order
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
    return _order_by_numbers(module, fuel) or changed


def _order_by_numbers(module: Module, fuel: Fuel) -> bool:
    """Have reductions that choose among numbered values go by the numbers."""
    numbered: dict[Computation, Computation] = {}
    for computation in tuple(module.computations):
        for instruction in computation.instructions:
            if instruction.opcode == "reduce" and _numbers_its_values(instruction):
                fuel.spend("order by numbers", instruction, required=True)
                reducer: Computation = instruction.attributes["to_apply"]
                if reducer not in numbered:
                    numbered[reducer] = module.add_computation(_by_number(reducer))
                instruction.attributes["to_apply"] = numbered[reducer]
    return bool(numbered)


def _numbers_its_values(reduce: Instruction) -> bool:
    """Whether a reduction chooses among values that are numbered in order, and minds which of two comes first."""
    if len(reduce.operands) != 4 or len(reduce.attributes["dimensions"]) != 1:
        return False
    _, numbers, start, _ = reduce.operands
    (along,) = reduce.attributes["dimensions"]
    known = start.literal.array if start.opcode == "constant" else None
    if known is None or (known != known).any() or not counts(numbers, along):
        return False
    reducer: Computation = reduce.attributes["to_apply"]
    is_asked = chooses(reducer) and not in_any_order(reduce)
    return is_asked and goes_by_numbers(reducer, is_value_used=_is_value_used(reduce))


def _is_value_used(reduce: Instruction) -> bool:
    """Whether anybody sees the value that is chosen; a name for it that nobody uses is none."""
    return reduce.is_root or any(
        user.opcode != "get-tuple-element" or (user.attributes["index"] == 0 and (user.users or user.is_root))
        for user in reduce.users
    )


def _by_number(reducer: Computation) -> Computation:
    """The reducer of values that come with numbers, applied to the one of the lesser number first."""
    body = Computation(f"{reducer.name}.by_number")
    value, number, other, others_number = (body.add(parameter.clone([])) for parameter in reducer.parameters)
    turned = build(body, "compare", [number, others_number], direction="GT")
    operands = [
        build(body, "select", [turned, other, value]),
        build(body, "minimum", [number, others_number]),
        build(body, "select", [turned, value, other]),
        build(body, "maximum", [number, others_number]),
    ]
    body.root = inline(reducer, operands, body.add)
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
