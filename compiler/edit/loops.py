"""Edits of loops: less state, truth values in place of counting, and iterations written out.

What a loop needs to go on is most of a small one: its counter, the limit, the step, and what takes them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from compiler.edit.draft import Draft, Edited, InstructionId
from compiler.ir.literal import scalar_literal
from compiler.ir.module import Computation, Instruction, Module, inline
from compiler.ir.shape import ArrayShape, Shape, TupleShape
from compiler.ir.types import PRED
from compiler.ops.build import build, constant

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop whose state is put together before it and by its body, and taken apart wherever it is used."""

    loop: Instruction
    elements: tuple[Shape, ...]
    condition: Computation
    body: Computation

    @staticmethod
    def at(draft: Draft, instruction_id: InstructionId) -> _Loop | None:
        """The loop at a place; None where there is none, or one of another form."""
        loop = next(draft.find([instruction_id]), None)
        if loop is None or loop.opcode != "while" or not isinstance(loop.shape, TupleShape):
            return None
        found = _Loop(loop, loop.shape.elements, loop.attributes["condition"], loop.attributes["body"])
        yields = loop.is_root and loop.computation is not draft.module.entry
        if loop.operands[0].opcode != "tuple" or found.body.root.opcode != "tuple" or yields:
            return None
        return None if any(user.opcode != "get-tuple-element" for user in found.users()) else found

    def users(self) -> list[Instruction]:
        """What takes an element of the state."""
        inside = (self.condition.parameters[0], self.body.parameters[0])
        return [*self.loop.users, *(user for parameter in inside for user in parameter.users)]

    def is_used(self, index: int, *, by: Computation | None = None) -> bool:
        """Whether an element is used outside of the body, by a computation only where one is given."""
        users = [u for u in self.users() if u.attributes["index"] == index and u.parent is not self.body]
        return any((user.users or user.is_root) and by in (None, user.parent) for user in users)

    def reaches_others(self, index: int) -> bool:
        """Whether an element is needed for any other element of the next iteration."""
        root = self.body.root
        reached = {u for u in self.body.parameters[0].users if u.attributes["index"] == index}
        pending = list(reached)
        while pending:
            for user in pending.pop().users:
                if user is not root and user not in reached:
                    reached.add(user)
                    pending.append(user)
        return any(operand in reached for number, operand in enumerate(root.operands) if number != index)

    def put(self, index: int, shapes: Sequence[Shape], first: Instruction | None, last: Instruction | None) -> None:
        """Put others, or nothing, for an element: the first where it was, the rest behind the state.

        All are at first the same; an iteration moves them up by one, and what it puts last is given.
        """
        elements = _spliced(self.elements, index, shapes)
        for parameter in (self.condition.parameters[0], self.body.parameters[0]):
            parameter.shape = TupleShape(tuple(elements))
        given, behind = self.body.parameters[0], range(len(self.elements), len(elements))
        following = [build(self.body, "get-tuple-element", [given], index=number) for number in behind]
        following += [last] if last else []
        self.body.root = build(self.body, "tuple", _spliced(self.body.root.operands, index, following))
        state = _spliced(self.loop.operands[0].operands, index, [first] * len(shapes) if first else [])
        self.loop.set_operands([build(self.loop.computation, "tuple", state)])
        self.loop.shape = TupleShape(tuple(elements))


def _spliced(items: Sequence[Item], index: int, others: Sequence[Item]) -> list[Item]:
    return [*items[:index], *others[:1], *items[index + 1 :], *others[1:]]


def drop_state(module: Module, instruction_id: InstructionId, index: int) -> Edited | None:
    """A loop without one element of its state, where nothing but that element itself depends on it.

    Of a loop that is the program's root a result goes with it.

    Args:
        module: the program, which stays as it is.
        instruction_id: the loop.
        index: the number of the element.
    """
    draft = Draft.of(module)
    loop = _Loop.at(draft, instruction_id)
    if loop is None or loop.is_used(index) or loop.reaches_others(index):
        return None
    for user in loop.users():
        if user.attributes["index"] > index:
            user.attributes["index"] -= 1
        elif user.attributes["index"] == index:
            user.attributes["index"] = len(loop.elements)  # dead: it goes before anything reads it
    loop.put(index, [], None, None)
    return draft.finish()


def go_on(module: Module, instruction_id: InstructionId, trip_count: int) -> Edited | None:
    """A loop that iterates so often by truth values in place of what its condition looks at; None where that is needed.

    They stand in a queue: each iteration takes the first and puts the one that ends the loop behind the others.

    Args:
        module: the program, which stays as it is.
        instruction_id: the loop.
        trip_count: how often.
    """
    draft = Draft.of(module)
    loop = _Loop.at(draft, instruction_id)
    if loop is None:
        return None
    looked_at = {user.attributes["index"] for user in loop.condition.parameters[0].users}
    if len(looked_at) != 1:
        return None
    (index,) = looked_at
    if loop.is_used(index, by=loop.loop.computation) or loop.reaches_others(index):
        return None
    yes, no = (
        constant(computation, scalar_literal(np.asarray(value), PRED))
        for computation, value in ((loop.loop.computation, True), (loop.body, False))
    )
    going = ArrayShape(PRED, ())
    loop.put(index, [going] * trip_count, yes, no)
    for user in loop.users():
        if user.attributes["index"] == index:
            user.shape = going
            if user.parent is loop.condition:
                loop.condition.root = user
    return draft.finish()


def write_out(module: Module, instruction_id: InstructionId, trip_count: int) -> Edited | None:
    """Write out so many iterations of a loop in its place, with what they hand on taken apart.

    Args:
        module: the program, which stays as it is.
        instruction_id: the loop.
        trip_count: how many iterations.
    """
    draft = Draft.of(module)
    loop = next(draft.find([instruction_id]), None)
    if loop is None or loop.opcode != "while":
        return None
    computation = loop.computation
    (state,) = loop.operands
    for _ in range(trip_count):
        state = inline(loop.attributes["body"], [state], computation.add)
    loop.replace_uses_with(state)
    for instruction in [*computation.instructions]:
        if instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "tuple":
            instruction.replace_uses_with(instruction.operands[0].operands[instruction.attributes["index"]])
    return draft.finish()
