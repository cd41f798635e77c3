"""Conditionals compute what is read of them, and choose only where there is a choice.

    conditional(true, x, y)                                      ->  branch_true(x)
    get-tuple-element(conditional(p, x, y), i) that nobody reads  ->  gone, in both branches
    conditional(p, tuple(a, b), y), branch_true reads a only      ->  conditional(p, tuple(a), y)

So nothing is computed for a branch that is not taken but what the program computes before it, and nothing in a branch
for a result that is not used.  Branches that others call, too, stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.expansion.expression import known_element
from compiler.expansion.replacement import simplify_each
from compiler.ir.calls import Calls
from compiler.ir.module import Instruction, Module, inline
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import TupleShape
from compiler.ir.source_lines import keeping_source
from compiler.ops.build import build
from compiler.ops.control import branches_by_operand, chosen_branch


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    return simplify_each(module, "conditional", lambda found, calls, awaited: _simplify(found, calls, awaited, fuel))


def _simplify(conditional: Instruction, calls: Calls, awaited: set[Instruction], fuel: Fuel) -> bool:
    selector = conditional.operands[0]
    if not (conditional.users or conditional.is_root):
        return False
    if selector.opcode == "constant" and selector.literal.array is not None:
        return _choose(conditional, chosen_branch(conditional, selector.literal.array[()]), fuel)
    if any(calls[branch] != 1 for branch in conditional.called_computations()):
        return False
    fewer_results = _leave_out_results(conditional, awaited, fuel)
    return _leave_out_operands(conditional, fuel) or fewer_results


def _choose(conditional: Instruction, index: int, fuel: Fuel) -> bool:
    """Put the one branch that is taken in the place of the conditional."""
    if not fuel.spend("branch that is known", conditional):
        return False
    branch, argument = branches_by_operand(conditional)[index], conditional.operands[1 + index]
    computation = conditional.computation
    conditional.replace_uses_with(inline(branch, [argument], keeping_source(conditional, computation.add)))
    computation.remove([conditional])  # what it does besides is there, too
    return True


def _leave_out_results(conditional: Instruction, awaited: set[Instruction], fuel: Fuel) -> bool:
    shape, users = conditional.shape, list(conditional.users)
    taken_apart = isinstance(shape, TupleShape) and all(user.opcode == "get-tuple-element" for user in users)
    if not taken_apart or conditional.is_root:
        return False
    assert isinstance(shape, TupleShape)
    read = {user for user in users if user.users or user.is_root or user in awaited}
    numbers = sorted({user.attributes["index"] for user in read})
    if len(numbers) in (0, len(shape.elements)) or not fuel.spend("result that nobody reads", conditional):
        return False
    for branch in conditional.called_computations():
        pieces = [known_element(branch.root, number) for number in numbers]
        branch.root = build(branch, "tuple", pieces, name=branch.root.name)
        branch.sort()
    conditional.computation.remove(user for user in users if user not in read)
    conditional.shape = TupleShape(tuple(shape.elements[number] for number in numbers))
    _renumber(read, numbers)
    return True


def _leave_out_operands(conditional: Instruction, fuel: Fuel) -> bool:
    changed = False
    for index, branch in enumerate(branches_by_operand(conditional), start=1):
        argument, (parameter,) = conditional.operands[index], branch.parameters
        users = list(parameter.users)
        taken_apart = all(user.opcode == "get-tuple-element" for user in users) and branch.root is not parameter
        if argument.opcode != "tuple" or not taken_apart:
            continue
        numbers = sorted({user.attributes["index"] for user in users})
        if len(numbers) == len(argument.operands) or not fuel.spend("operand that nobody reads", conditional):
            continue
        fewer = build(
            argument.computation, "tuple", [argument.operands[number] for number in numbers], name=argument.name
        )
        operands = list(conditional.operands)
        operands[index] = fewer
        conditional.set_operands(operands)
        parameter.shape = fewer.shape
        _renumber(users, numbers)
        changed = True
    return changed


def _renumber(takers: Sequence[Instruction] | set[Instruction], numbers: Sequence[int]) -> None:
    new_numbers = {number: index for index, number in enumerate(numbers)}
    for taker in takers:
        taker.attributes["index"] = new_numbers[taker.attributes["index"]]
