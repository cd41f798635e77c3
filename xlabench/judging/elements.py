"""Arrays within values, each named by an instruction and the numbers of the tuple elements in which it lies."""

from __future__ import annotations

from typing import Any

import compiler

Value = tuple[Any, tuple[int, ...]]
"""An instruction, and the path to an array of its value; the empty path stands for the whole."""


def arrays_of(instruction: Any) -> list[Value]:
    """The arrays of an instruction's value in order; tokens are none."""
    paths = [path for path, _ in compiler.edit.leaves_at(instruction.shape)]
    leaves = compiler.edit.leaves(instruction.shape)
    return [(instruction, path) for path, leaf in zip(paths, leaves, strict=True) if leaf.element_type.bits]


def through_tuples(value: Value) -> Value | None:
    """What a value was one step before, taken out of a tuple or put into one; None where it is neither."""
    instruction, path = value
    if instruction.opcode == "get-tuple-element":
        return instruction.operands[0], (instruction.attributes["index"], *path)
    if instruction.opcode == "tuple" and path:
        return instruction.operands[path[0]], path[1:]
    return None
