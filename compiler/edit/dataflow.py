"""Edits of who uses what: other results, operands in place of instructions, given values in place of computed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from compiler.edit.draft import Draft, Edited, InstructionId, id_of
from compiler.ir.control import PREDECESSORS
from compiler.ir.literal import array_literal
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.shape import ArrayShape, compatible, is_static_array, without_layout
from compiler.ops.build import build

Array = NDArray[Any]


def keep_results(module: Module, instruction_ids: Sequence[InstructionId]) -> Edited:
    """The program whose results are what stands at these places of the entry; one of them is no tuple."""
    draft = Draft.of(module)
    entry = draft.module.entry
    wanted = [i for i in draft.find(instruction_ids) if i.computation is entry]
    if len(wanted) == 1:
        entry.root = wanted[0]
    elif wanted:
        entry.root = build(entry, "tuple", wanted, name="results")
    return draft.finish()


def to_parameters(module: Module, instruction_ids: Sequence[InstructionId]) -> Edited:
    """Entry instructions that yield arrays become parameters, which take the values that stood there."""
    draft = Draft.of(module)
    for instruction in draft.find(instruction_ids):
        known = instruction.opcode == "parameter" or not is_static_array(instruction.shape)
        if instruction.computation is draft.module.entry and not known:
            source = id_of(instruction)
            instruction.replace_uses_with(draft.add_parameter(without_layout(instruction.shape), source))
    return draft.finish()


def to_constants(module: Module, values: Mapping[InstructionId, Array]) -> Edited:
    """Instructions, parameters too, become constants; a value smaller than its place is a scalar to be broadcast."""
    draft = Draft.of(module)
    for instruction in draft.find(values):
        value = values[id_of(instruction)]
        if is_static_array(instruction.shape) and value.dtype == instruction.array.element_type.dtype:
            instruction.replace_uses_with(_constant(instruction.computation, instruction.array, value))
    return draft.finish()


def _constant(computation: Computation, shape: ArrayShape, value: Array) -> Instruction:
    literal = array_literal(value, shape.element_type)
    constant = computation.add(Instruction("constant", literal.shape, (), {"literal": literal}, name="c"))
    if value.shape == shape.dims:
        return constant
    return build(computation, "broadcast", [constant], shape=shape.with_dims(shape.dims), dimensions=())


def substitute(module: Module, others: Mapping[InstructionId, InstructionId]) -> Edited:
    """Instructions give way to others of the same shape, which stand before them in the same computation."""
    draft = Draft.of(module)
    known = {id_of(i): i for i in draft.module.instructions()}
    for instruction_id, other in others.items():
        old, new = known.get(instruction_id), known.get(other)
        if old is None or new is None or old.parent is not new.parent or not compatible(old.shape, new.shape):
            continue
        old.replace_uses_with(new)
    return draft.finish()


def isolate(module: Module, instruction_id: InstructionId) -> Edited:
    """The program of one instruction: its operands are parameters, except for small constants.

    The instruction may stand in any computation.  An operand that is a tuple is put together from its leaves.
    """
    draft = Draft.of(module)
    (instruction,) = draft.find([instruction_id])
    entry = Computation("isolated")
    alone = Module(instruction.name, [c for c in draft.module.computations if c is not draft.module.entry])
    alone.entry = entry
    if "stack_frames" in module.attributes:
        alone.attributes["stack_frames"] = module.attributes["stack_frames"]
    alone.computations.append(entry)
    entry.module = alone
    isolated = Draft(alone)
    given: dict[Instruction, Instruction] = {}
    for operand in instruction.operands:
        if operand not in given:
            given[operand] = _given(isolated, operand)
    copy = instruction.clone([given[operand] for operand in instruction.operands])
    copy.attributes.pop(PREDECESSORS, None)
    entry.root = entry.add(copy)
    return isolated.finish()


def _given(draft: Draft, operand: Instruction) -> Instruction:
    entry = draft.module.entry
    if operand.opcode in ("constant", "iota"):
        return entry.add(operand.clone(()))
    if operand.opcode == "tuple":
        return entry.add(operand.clone([_given(draft, operand_) for operand_ in operand.operands]))
    return draft.add_parameter(without_layout(operand.shape), id_of(operand))
