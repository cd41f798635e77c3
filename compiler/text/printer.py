"""A module as XLA writes it: `parse(to_text(module)) == module`, and XLA's parser reads the same program.

Constants are written in full; an elided one stays `{...}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.ir.attributes import ATTRIBUTES, COMMON, MODULE_ATTRIBUTES, AttributeKind
from compiler.ir.module import Computation, Instruction, Module
from compiler.ir.types import TYPES
from compiler.text.attributes import SYNTAX
from compiler.text.constants import write_literal
from compiler.text.lexer import quoted, spelled
from compiler.text.notes import write_stack_frames
from compiler.text.opcodes import LISTING_SLICES, PAYLOADS
from compiler.text.plain import all_of

_K = AttributeKind


def to_text(module: Module) -> str:
    """A module as HLO text, which the parser reads again."""
    return "\n".join(_module_lines(module)) + "\n"


def instruction_text(instruction: Instruction) -> str:
    """One instruction, without indentation."""
    attributes = "".join(f", {name}={value}" for name, value in _attributes(instruction))
    return f"{_name(instruction)} = {instruction.shape} {instruction.opcode}({_operands(instruction)}){attributes}"


def _module_lines(module: Module) -> Iterator[str]:
    attributes = module.attributes
    header = "".join(
        f", {name}={SYNTAX[kind].write(attributes[name])}"
        for name, kind in MODULE_ATTRIBUTES.items()
        if name in attributes
    )
    yield f"HloModule {spelled(module.name, TYPES)}{header}"
    yield ""
    frames = attributes.get("stack_frames")
    if frames is not None:
        yield from write_stack_frames(frames)
    for computation in module.computations:
        yield from _computation_lines(computation, "ENTRY " if computation is module.entry else "")
        yield ""


def _computation_lines(computation: Computation, entry: str) -> Iterator[str]:
    yield f"{entry}{_name(computation)} {{"
    root = computation.root
    for instruction in computation.instructions:
        yield f"  {'ROOT ' if instruction is root else ''}{instruction_text(instruction)}"
    thread = computation.attributes.get("execution_thread")
    yield "}" if thread is None else f"}}, execution_thread={quoted(thread)}"


def _name(value: Computation | Instruction) -> str:
    return spelled(value.name, TYPES)


def _operands(instruction: Instruction) -> str:
    if instruction.opcode == "constant":
        return write_literal(instruction.literal)
    if instruction.opcode == "parameter":
        return str(instruction.parameter_number)
    names = map(_name, instruction.operands)
    return ", ".join(f"/*index={i}*/{name}" if i and i % 5 == 0 else name for i, name in enumerate(names))


def _attributes(instruction: Instruction) -> Iterator[tuple[str, str]]:
    """What the opcode takes first, then what any opcode does."""
    skipped = PAYLOADS.get(instruction.opcode)
    attributes = instruction.attributes
    for common in (False, True):
        for name, value in attributes.items():
            if (name in COMMON) is common and name != skipped:
                is_listing = name == "slice_sizes" and instruction.opcode in LISTING_SLICES
                yield name, _write(ATTRIBUTES[name], all_of(value) if is_listing else value)


def _write(kind: AttributeKind, value: Any) -> str:
    if kind is _K.COMPUTATION:
        return _name(value)
    if kind in (_K.COMPUTATIONS, _K.INSTRUCTIONS):
        return "{" + ", ".join(map(_name, value)) + "}"
    return SYNTAX[kind].write(value)
