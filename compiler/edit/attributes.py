"""Edits of single instructions: notes go, attributes become plain, or what is done with what is another; texts too.

A text without names tells equal programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from compiler.edit.draft import Draft, Edited, InstructionId
from compiler.edit.shapes import infer_all
from compiler.ir.attributes import NOTES, PaddingDimension, SliceDimension, Window, WindowDimension
from compiler.ir.control import PREDECESSORS
from compiler.ir.module import Instruction, Module
from compiler.ir.shape import TupleShape, is_static_array, without_layout
from compiler.ops.build import build
from compiler.text.printer import to_text

_NO_MEANING = NOTES | {"operand_precision", "algorithm", "result_accuracy", "indices_are_sorted", "unique_indices"}
_MEANT = {
    "custom-call": frozenset({"backend_config"}),
    **dict.fromkeys(("rng", "rng-bit-generator"), frozenset({"algorithm"})),
}
"""What means something of an opcode after all: which routine is called with what."""


def plain(module: Module) -> Edited:
    """The program without notes, hints and layouts."""
    draft = Draft.of(module)
    for instruction in draft.module.instructions():
        instruction.shape = without_layout(instruction.shape)
        for name in _NO_MEANING & instruction.attributes.keys() - _MEANT.get(instruction.opcode, frozenset()):
            del instruction.attributes[name]
    return draft.finish()


def _plain_window(window: Window) -> Window:
    return tuple(WindowDimension(size=dimension.size) for dimension in window)


def _plain_slices(slices: Sequence[SliceDimension]) -> tuple[SliceDimension, ...]:
    return tuple(SliceDimension(0, -(-(one.limit - one.start) // one.stride)) for one in slices)


def _plain_padding(padding: Sequence[PaddingDimension]) -> tuple[PaddingDimension, ...]:
    return tuple(PaddingDimension(0, 0) for _ in padding)


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "window": _plain_window,
    "slice": _plain_slices,
    "padding": _plain_padding,
    "feature_group_count": lambda _: 1,
    "batch_group_count": lambda _: 1,
    "is_stable": lambda _: False,
    "is_reverse": lambda _: False,
}
"""The plain form of an attribute, by its name."""


def simplify_attributes(module: Module, instruction_ids: Sequence[InstructionId]) -> Edited | None:
    """The attributes at these places in their plain form; None where a shape cannot follow."""
    draft = Draft.of(module)
    for instruction in draft.find(instruction_ids):
        for name, simplify in _PLAIN.items():
            if name in instruction.attributes:
                instruction.attributes[name] = simplify(instruction.attributes[name])
    return draft.finish() if infer_all(draft.module) else None


def with_attribute(module: Module, instruction_id: InstructionId, name: str, value: Any) -> Edited | None:
    """One attribute of an instruction has another value; None where a shape cannot follow.

    Args:
        module: the program, which stays as it is.
        instruction_id: which instruction.
        name: the attribute.
        value: what it is to be.
    """
    draft = Draft.of(module)
    for instruction in draft.find([instruction_id]):
        instruction.attributes[name] = value
    return draft.finish() if infer_all(draft.module) else None


def with_operation(
    module: Module, instruction_id: InstructionId, opcode: str, operands: Sequence[InstructionId]
) -> Edited | None:
    """An instruction applies another opcode, or to other values before it; None where a shape cannot follow.

    Args:
        module: the program, which stays as it is.
        instruction_id: which instruction.
        opcode: what it is to do.
        operands: what it is to be applied to, all in its own computation.
    """
    draft = Draft.of(module)
    for instruction in draft.find([instruction_id]):
        instruction.opcode = opcode
        instruction.set_operands(list(draft.find(operands)))
    return draft.finish() if infer_all(draft.module) else None


def with_more(module: Module, instruction_id: InstructionId, position: int, along: int) -> Edited | None:
    """An operand of an instruction is itself twice, one behind the other; None where a shape cannot follow.

    Args:
        module: the program, which stays as it is.
        instruction_id: which instruction.
        position: which of its operands, an array.
        along: the dimension that becomes twice as long.
    """
    draft = Draft.of(module)
    for instruction in draft.find([instruction_id]):
        operands = list(instruction.operands)
        once = operands[position]
        operands[position] = build(instruction.computation, "concatenate", [once, once], dimensions=(along,))
        instruction.set_operands(operands)
        instruction.computation.sort()
    return draft.finish() if infer_all(draft.module) else None


def with_another(
    module: Module, instruction_id: InstructionId, opcode: str, attributes: Mapping[str, Any]
) -> Edited | None:
    """Of the operands of an array of the entry another one is made, and both are results; None where it cannot be.

    Args:
        module: the program, which stays as it is.
        instruction_id: which instruction.
        opcode: what makes the other one.
        attributes: what it is told, of the same opcode besides what the first one is.
    """
    draft = Draft.of(module)
    entry = draft.module.entry
    root = entry.root
    is_able = root.opcode == "tuple" or is_static_array(root.shape)
    for one in draft.find([instruction_id]):
        if not is_able or one.parent is not entry or not is_static_array(one.shape):
            return None
        own = one.attributes if opcode == one.opcode else {}
        other = entry.add(Instruction(opcode, one.shape, one.operands, {**own, **attributes}, name=one.name))
        results = root.operands if root.opcode == "tuple" else (root,)
        entry.root = entry.add(Instruction("tuple", root.shape, [*results, one, other], name="results"))
    return draft.finish() if infer_all(draft.module) else None


def with_one_more(module: Module, instruction_id: InstructionId, operands: Sequence[InstructionId]) -> Edited | None:
    """What an instruction of the entry does is done once more, to other operands; what comes of that are results, too.

    Both run the same computations.  Of several arrays those are results that somebody takes of the first one.  None
    where it cannot be.

    Args:
        module: the program, which stays as it is.
        instruction_id: which instruction.
        operands: what it is done to, of the entry; the instruction itself may be among them.
    """
    draft = Draft.of(module)
    entry, root = draft.module.entry, draft.module.entry.root
    for one in draft.find([instruction_id]):
        if one.parent is not entry:
            return None
        attributes = {name: value for name, value in one.attributes.items() if name != PREDECESSORS}
        read = None if one.is_root else {u.attributes["index"] for u in one.users if u.opcode == "get-tuple-element"}
        other = entry.add(Instruction(one.opcode, one.shape, list(draft.find(operands)), attributes, name=one.name))
        results = [*(root.operands if root.opcode == "tuple" else _taken(root, None)), *_taken(other, read)]
        if not all(is_static_array(result.shape) for result in results):
            return None
        shape = TupleShape(tuple(result.shape for result in results))
        entry.root = entry.add(Instruction("tuple", shape, results, name="results"))
    return draft.finish() if infer_all(draft.module) else None


def _taken(value: Instruction, numbers: Collection[int] | None) -> list[Instruction]:
    """A value that is no tuple, or the elements of such numbers, None for all."""
    if not isinstance(value.shape, TupleShape):
        return [value]
    wanted = range(len(value.shape.elements)) if numbers is None else sorted(numbers)
    return [build(value.computation, "get-tuple-element", [value], index=number) for number in wanted]


def canonical_text(module: Module) -> str:
    """The text of a program with names that follow from its structure: equal for equal programs."""
    copy = plain(module).module
    copy.name = "m"
    for number, computation in enumerate(copy.computations):
        computation.name = f"c{number}"
        for position, instruction in enumerate(computation.instructions):
            instruction.name = f"i{position}"
    return to_text(copy)
