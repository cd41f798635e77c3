"""A dot reads its operands in any order of dimensions, so a transpose before it is only other dimension numbers.

    dot(transpose(x, p), y, contracting={c}, batch={b})  ->  dot(x, y, contracting={p[c]}, batch={p[b]})

Sound only where the order of the free dimensions in the result stays the same.  And a transpose behind it that puts the
columns before the rows is the product of the exchanged operands:

    transpose(dot(x, y))  ->  dot(y, x)
"""

from __future__ import annotations

from compiler.analysis.effects import control_predecessors
from compiler.ir.control import is_ordered
from compiler.ir.module import Instruction, Module
from compiler.ir.rewrite import Fuel

_SIDES = ("lhs", "rhs")


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = False
    for computation in module.computations:
        awaited = control_predecessors(computation)
        for instruction in list(computation.instructions):
            if instruction.opcode == "transpose":
                changed |= _exchange(instruction, awaited, fuel)
            elif instruction.opcode == "dot":
                changed |= _fold(instruction, 0, fuel)
                changed |= _fold(instruction, 1, fuel)
        computation.sort()
    return changed


def _exchange(transpose: Instruction, awaited: set[Instruction], fuel: Fuel) -> bool:
    """Fold a transpose of a dot that nothing else uses into the dot."""
    (dot,) = transpose.operands
    if (
        any(i in awaited or is_ordered(i) for i in (transpose, dot))
        or dot.opcode != "dot"
        or len(dot.users) != 1
        or dot.is_root
        or fuel.is_spent
    ):
        return False
    batch = len(dot.attributes.get("lhs_batch_dims", ()))
    rows = dot.operands[0].array.rank - batch - len(dot.attributes.get("lhs_contracting_dims", ()))
    order = range(dot.array.rank)
    if transpose.attributes["dimensions"] != (*order[:batch], *order[batch + rows :], *order[batch : batch + rows]):
        return False
    attributes = {_other_side(name): value for name, value in dot.attributes.items()}
    precision = attributes.get("operand_precision")
    if precision is not None:
        attributes["operand_precision"] = precision[::-1]
    exchanged = Instruction("dot", transpose.shape, dot.operands[::-1], attributes, name=dot.name)
    if not fuel.replace("fold transpose of dot", transpose, dot.computation.add(exchanged)):
        return False
    transpose.computation.remove([transpose, dot])
    return True


def _other_side(name: str) -> str:
    """The attribute that says of one operand what this one says of the other."""
    side, _, rest = name.partition("_")
    return {"lhs": f"rhs_{rest}", "rhs": f"lhs_{rest}"}.get(side, name)


def _fold(dot: Instruction, number: int, fuel: Fuel) -> bool:
    operand = dot.operands[number]
    if operand.opcode != "transpose":
        return False
    permutation = operand.attributes["dimensions"]
    names = [f"{_SIDES[number]}_{group}_dims" for group in ("contracting", "batch")]
    special = {d for name in names for d in dot.attributes.get(name, ())}
    free = [permutation[d] for d in range(len(permutation)) if d not in special]
    if free != sorted(free) or not fuel.spend("fold transpose into dot", dot):
        return False
    for name in names:
        if dot.attributes.get(name):
            dot.attributes[name] = tuple(permutation[d] for d in dot.attributes[name])
    operands = list(dot.operands)
    operands[number] = operand.operands[0]
    dot.set_operands(operands)
    return True
