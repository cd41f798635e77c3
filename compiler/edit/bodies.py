"""Edits of what instructions call: bodies in place of calls, sums in place of bodies, loops with less state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.edit.draft import Draft, Edited, Place, place_of
from compiler.ir.module import Computation, Instruction, Module, inline
from compiler.ir.shape import TupleShape
from compiler.ir.types import PRED
from compiler.ops.build import build


def expand(module: Module, choices: Mapping[Place, int]) -> Edited:
    """Calls and fusions give way to their bodies, loops to one turn, conditionals to the branch of that number."""
    draft = Draft.of(module)
    for instruction in draft.find(choices):
        called = _body(instruction, choices[place_of(instruction)])
        if called is not None:
            body, arguments = called
            instruction.replace_uses_with(inline(body, arguments, instruction.computation.add))
    return draft.finish()


def _body(instruction: Instruction, choice: int) -> tuple[Computation, Sequence[Instruction]] | None:
    attributes = instruction.attributes
    if instruction.opcode == "call":
        return attributes["to_apply"], instruction.operands
    if instruction.opcode == "fusion":
        return attributes["calls"], instruction.operands
    if instruction.opcode == "while":
        return attributes["body"], instruction.operands
    if instruction.opcode == "conditional":
        branches = attributes.get("branch_computations")
        if branches is None:
            branches = (attributes["true_computation"], attributes["false_computation"])
        if choice < len(branches):
            return branches[choice], [instruction.operands[1 + choice]]
    return None


def sum_up(module: Module, places: Sequence[Place]) -> Edited:
    """What is called to combine values with as many of the same types adds them, truth values by `or`."""
    draft = Draft.of(module)
    for instruction in draft.find(places):
        for body in instruction.called_computations():
            count, is_tuple = len(body.parameters) // 2, body.root.opcode == "tuple"
            pairs = list(zip(body.parameters[:count], body.parameters[count:], strict=False))
            results = body.root.operands if is_tuple else (body.root,)
            if [(r.shape, r.shape) for r in results] == [(left.shape, right.shape) for left, right in pairs]:
                sums = [
                    build(body, "or" if left.array.element_type is PRED else "add", (left, right))
                    for left, right in pairs
                ]
                body.root = build(body, "tuple", sums) if is_tuple else sums[0]
    return draft.finish()


def drop_arguments(module: Module, places: Sequence[Place]) -> Edited:
    """Calls, maps and fusions without the operands that nothing in their bodies uses."""
    draft = Draft.of(module)
    for instruction in draft.find(places):
        body = _applied(instruction)
        if body is None or sum(body in i.called_computations() for i in draft.module.instructions()) > 1:
            continue
        dead = unused_arguments(instruction)
        body.remove([body.parameters[number] for number in dead])
        for number, parameter in enumerate(body.parameters):
            parameter.attributes["parameter_number"] = number
        instruction.set_operands([o for number, o in enumerate(instruction.operands) if number not in dead])
    return draft.finish()


def unused_arguments(instruction: Instruction) -> list[int]:
    """The numbers of the operands that an instruction's body does not use; a map keeps one, which has its shape."""
    body = _applied(instruction)
    if body is None or "output_to_operand_aliasing" in instruction.attributes:
        return []
    dead = [number for number, given in enumerate(body.parameters) if not given.users and not given.is_root]
    return dead[1:] if instruction.opcode == "map" and len(dead) == len(body.parameters) else dead


def _applied(instruction: Instruction) -> Computation | None:
    if instruction.opcode not in ("call", "map", "fusion"):
        return None
    body = instruction.attributes["calls" if instruction.opcode == "fusion" else "to_apply"]
    assert isinstance(body, Computation)
    return body


def drop_state(module: Module, place: Place, index: int) -> Edited | None:
    """A loop without one element of its state, where nothing but that element itself depends on it.

    Of a loop that is the program's root a result goes with it.
    """
    draft = Draft.of(module)
    loop = next(draft.find([place]), None)
    if loop is None or loop.opcode != "while" or not isinstance(loop.shape, TupleShape):
        return None
    condition, body = loop.attributes["condition"], loop.attributes["body"]
    (initial,) = loop.operands
    users = [*loop.users, *condition.parameters[0].users, *body.parameters[0].users]
    yields = loop.is_root and loop.computation is not draft.module.entry
    if initial.opcode != "tuple" or body.root.opcode != "tuple" or yields:
        return None
    if any(user.opcode != "get-tuple-element" for user in users):
        return None
    if any(
        user.users or user.is_root for user in users if user.attributes["index"] == index and user.parent is not body
    ):
        return None
    if _reaches_others(body, index):
        return None
    shape = TupleShape(tuple(s for n, s in enumerate(loop.shape.elements) if n != index))
    for user in users:
        if user.attributes["index"] > index:
            user.attributes["index"] -= 1
        elif user.attributes["index"] == index:
            user.attributes["index"] = len(loop.shape.elements)  # dead: it goes before anything reads it
    for parameter in (condition.parameters[0], body.parameters[0]):
        parameter.shape = shape
    body.root = build(body, "tuple", [o for n, o in enumerate(body.root.operands) if n != index])
    fresh = build(loop.computation, "tuple", [o for n, o in enumerate(initial.operands) if n != index])
    loop.set_operands([fresh])
    loop.shape = shape
    return draft.finish()


def _reaches_others(body: Computation, index: int) -> bool:
    """Whether an element of the state is needed for any other element of the next turn."""
    reached = {u for u in body.parameters[0].users if u.attributes["index"] == index}
    pending = list(reached)
    while pending:
        for user in pending.pop().users:
            if user is not body.root and user not in reached:
                reached.add(user)
                pending.append(user)
    return any(operand in reached for number, operand in enumerate(body.root.operands) if number != index)
