"""Edits of what instructions call: bodies in place of calls, sums in place of bodies, one body for all alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.edit.draft import Draft, Edited, InstructionId, id_of
from compiler.ir.module import Computation, Instruction, Module, inline, redirect
from compiler.ir.shape import ArrayShape
from compiler.ir.source_lines import keeping_source
from compiler.ir.types import PRED
from compiler.ops import Trait, having
from compiler.ops.asynchronous import runs_late
from compiler.ops.build import build

_ASYNC = having(Trait.ASYNC)


def expand(module: Module, choices: Mapping[InstructionId, int]) -> Edited:
    """Calls, async ones too, and fusions give way to their bodies, loops to one iteration, conditionals to a branch."""
    draft = Draft.of(module)
    for instruction in draft.find(choices):
        called = _body(instruction, choices[id_of(instruction)])
        if called is not None:
            body, arguments = called
            result = inline(body, arguments, keeping_source(instruction, instruction.computation.add))
            for end in _ends(instruction):
                end.replace_uses_with(result)
            instruction.computation.sort()  # it may be the body of one that comes later
    return draft.finish()


def _ends(instruction: Instruction) -> list[Instruction]:
    """What yields the result of a call, itself but for one in halves; as the program's result a half stands for it."""
    if not instruction.opcode.startswith("async-"):
        return [instruction]
    later = [end for user in instruction.users if user.opcode in _ASYNC for end in _ends(user)]
    return [*later, *([instruction] if instruction.opcode == "async-done" or instruction.is_root else [])]


def _body(instruction: Instruction, choice: int) -> tuple[Computation, Sequence[Instruction]] | None:
    attributes = instruction.attributes
    if instruction.opcode == "call":
        return attributes["to_apply"], instruction.operands
    if instruction.opcode == "fusion" or (instruction.opcode == "async-start" and not runs_late(instruction)):
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


def sum_up(module: Module, instruction_ids: Sequence[InstructionId]) -> Edited:
    """Makes adders of computations that combine values with as many of the same types, of truth values with `or`."""
    draft = Draft.of(module)
    for instruction in draft.find(instruction_ids):
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


def share(module: Module) -> Edited:
    """Bodies that are the same but for names are one."""
    draft = Draft.of(module)
    one: dict[int, Computation] = {}
    known: list[tuple[Computation, object]] = []
    for computation in draft.module.computations:  # callees come first
        for instruction in computation.instructions:
            redirect(instruction, one)
        form = _form(computation)
        one[id(computation)] = next((other for other, its in known if its == form), computation)
        known.append((computation, form))
    return draft.finish()


def _form(computation: Computation) -> object:
    """What is equal for computations that differ in names alone."""
    numbers = {instruction: number for number, instruction in enumerate(computation.instructions)}
    return numbers[computation.root], [
        (instruction.opcode, instruction.shape, [numbers[o] for o in instruction.operands], instruction.attributes)
        for instruction in computation.instructions
    ]


def lay_open(module: Module, instruction_id: InstructionId, result: int, dims: Sequence[int]) -> Edited | None:
    """The program becomes a map of what an instruction calls, in all calls at once, and of that one result.

    None where there is no such result.  The parameters come from those of the body, as arrays of `dims`.

    Args:
        module: the program.
        instruction_id: of an instruction that calls.
        result: the number of the result in the tuple that the body yields.
        dims: of the new arrays: one element for each call.
    """
    draft = Draft.of(module)
    for instruction in draft.find([instruction_id]):
        for body in instruction.called_computations():
            results = body.root.operands if body.root.opcode == "tuple" else (body.root,)
            if result >= len(results):
                return None
            body.root = results[result]
            entry, given = draft.module.entry, []
            for parameter in body.parameters:
                shape = ArrayShape(parameter.array.element_type, tuple(dims))
                given.append(draft.add_parameter(shape, id_of(parameter)))
            entry.root = build(entry, "map", given, to_apply=body, dimensions=tuple(range(len(dims))))
            return draft.finish()
    return None


def drop_arguments(module: Module, instruction_ids: Sequence[InstructionId]) -> Edited:
    """Calls, maps and fusions without the operands that nothing in their bodies uses."""
    draft = Draft.of(module)
    for instruction in draft.find(instruction_ids):
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
