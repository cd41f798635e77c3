"""Give every result memory of its own.

Buffer assignment lets the leaves of the entry's root lie in the caller's result arrays.  A leaf that is a parameter, a
constant, a view of one, or that appears twice has no memory that could be that array, so it is copied.  In the same way
a loop's next state must not be a piece of the present state at another place, and what a call that stays gives lies
where its callee's root does: its leaves have memory of their own there, so that they are values like any other here.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.analysis.aliasing import origin
from compiler.analysis.effects import within_fusions
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.rewrite import Fuel
from compiler.ir.shape import ArrayShape, TupleShape
from compiler.ir.types import TOKEN
from compiler.ops import Trait, having
from compiler.ops.build import build

_NO_MEMORY = having(Trait.STRUCTURAL) - having(Trait.TUPLES)


def run(module: Module, fuel: Fuel) -> bool:
    """Run the pass; returns whether anything changed."""
    changed = _own_leaves(module.entry, fuel, set())
    inside = within_fusions(module)
    for instruction in list(module.instructions()):
        if instruction.opcode == "while" and instruction.computation not in inside:
            body: Computation = instruction.attributes["body"]
            changed |= _own_leaves(body, fuel, _unchanged(body))
        elif instruction.opcode == "call" and instruction.computation not in inside:
            changed |= _own_leaves(instruction.attributes["to_apply"], fuel, set())
    return changed


def _unchanged(body: Computation) -> set[Instruction]:
    """The pieces of a loop's state that its body hands on in their own place: they need no copy."""
    root = body.root
    if root.opcode != "tuple":
        return {root} & set(body.parameters)
    return {
        operand
        for number, operand in enumerate(root.operands)
        if _is_piece(operand, number) and sum(_is_piece(other, number) for other in root.operands) == 1
    }


def _is_piece(value: Instruction, number: int) -> bool:
    """Whether a value lies where element `number` of the loop's state does, unchanged or updated in place."""
    source, path = origin(value)
    return source.opcode == "parameter" and path == (number,)


def _own_leaves(computation: Computation, fuel: Fuel, unchanged: set[Instruction]) -> bool:
    root = computation.root
    seen: set[tuple[Instruction, int]] = set()
    if root.opcode == "tuple" and unchanged:
        values = [o if o in unchanged else _with_copies(computation, o, seen, fuel) for o in root.operands]
        same = all(value is operand for value, operand in zip(values, root.operands, strict=True))
        copied = root if same else build(computation, "tuple", values, name=root.name)
    else:
        copied = root if root in unchanged else _with_copies(computation, root, seen, fuel)
    if copied is root:
        return False
    computation.root = copied
    computation.sort()
    return True


def _with_copies(
    computation: Computation, instruction: Instruction, seen: set[tuple[Instruction, int]], fuel: Fuel
) -> Instruction:
    """The instruction, or one with the same value in which every leaf has memory of its own."""
    if instruction.opcode == "tuple":
        values = [_with_copies(computation, operand, seen, fuel) for operand in instruction.operands]
        if all(value is operand for value, operand in zip(values, instruction.operands, strict=True)):
            return instruction
        return build(computation, "tuple", values, name=instruction.name)
    if _is_own(instruction, seen):
        return instruction
    if isinstance(instruction.shape, TupleShape):
        values = [
            _with_copies(computation, build(computation, "get-tuple-element", [instruction], index=n), seen, fuel)
            for n in range(len(instruction.shape.elements))
        ]
        return build(computation, "tuple", values, name=instruction.name)
    fuel.spend("copy to own memory", instruction, required=True)
    return build(computation, "copy", [instruction], name="copy")


def _is_own(instruction: Instruction, seen: set[tuple[Instruction, int]]) -> bool:
    """Whether a value has memory that no other leaf has; a token lies nowhere."""
    if isinstance(instruction.shape, ArrayShape) and instruction.shape.element_type is TOKEN:
        return True
    return origin(instruction)[0].opcode not in _NO_MEMORY and _take(instruction, seen)


def _take(instruction: Instruction, seen: set[tuple[Instruction, int]]) -> bool:
    """Note the memory of a value; False if another leaf has it already."""
    taken = set(_sources(instruction))
    if taken & seen:
        return False
    seen |= taken
    return True


def _sources(instruction: Instruction) -> Iterator[tuple[Instruction, int]]:
    source, path = origin(instruction)
    if isinstance(source.shape, TupleShape) and not path:
        for number in range(len(source.shape.elements)):
            yield source, number
    else:
        yield source, path[-1] if path else 0
