"""Which line of the user's own files an instruction comes from.

Metadata says it in one of two ways: JAX and newer XLA write the number of a row in the module's tables of stack frames,
others the file and the line themselves.  The innermost frame is the one to show, since JAX leaves its own files out of
the frames.  What stands in a function of a library says nothing then, and comes from where that is called.  Notes need
not be true: a number that no table has says as little as no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import filterfalse
from typing import TypeVar

from compiler.ir.attributes import StackFrames
from compiler.ir.module import Instruction

_SOURCE_FIELDS = ("stack_frame_id", "source_file")

_Row = TypeVar("_Row")


def source_of(instruction: Instruction) -> str:
    """`file.py:12 (function)`, with what is known of that; "" where no file is.

    The path is that of the metadata; nothing is read.  An instruction of which nothing is known comes from where its
    computation is called, if that is one place.
    """
    seen: set[Instruction] = set()
    while not (source := _own(instruction)):
        seen.add(instruction)
        callers = _callers(instruction)
        if len(callers) != 1 or callers[0] in seen:
            return ""
        instruction = callers[0]
    return source


def _callers(instruction: Instruction) -> list[Instruction]:
    computation = instruction.parent
    if computation is None or computation.module is None or computation is computation.module.entry:
        return []
    return [i for i in computation.module.instructions() if computation in i.called_computations()]


def _own(instruction: Instruction) -> str:
    metadata = dict(instruction.attributes.get("metadata", ()))
    frame = metadata.get("stack_frame_id", 0)
    module = instruction.parent.module if instruction.parent is not None else None
    tables = module.attributes.get("stack_frames") if frame and module is not None else None
    by_frame = _of_frame(tables, frame) if tables is not None else ""
    return by_frame or _spelled(metadata.get("source_file", ""), metadata.get("source_line", 0))


def sources_of(instructions: Iterable[Instruction]) -> tuple[str, ...]:
    """The lines that several instructions come from, as far as they are known, each once."""
    return tuple(dict.fromkeys(filter(None, map(source_of, instructions))))


def keeping_source(
    call: Instruction, add: Callable[[Instruction], Instruction]
) -> Callable[[Instruction], Instruction]:
    """An `add` for the instructions that take the place of a call: those without a line of their own get the call's."""
    source = tuple(filter(_is_source, call.attributes.get("metadata", ())))
    if not source:
        return add

    def add_with_line(instruction: Instruction) -> Instruction:
        own = instruction.attributes.get("metadata", ())
        if not any(key in _SOURCE_FIELDS for key, _ in own):
            instruction.attributes["metadata"] = (*filterfalse(_is_source, own), *source)
        return add(instruction)

    return add_with_line


def _is_source(field: tuple[str, object]) -> bool:
    return field[0].startswith(("stack_", "source_"))


def has_frames(instructions: Iterable[Instruction]) -> bool:
    """Whether any of the instructions names a stack frame, so that the module's tables are of use."""
    return any(key == "stack_frame_id" for i in instructions for key, _ in i.attributes.get("metadata", ()))


def _of_frame(tables: StackFrames, number: int) -> str:
    frame = dict(_row(tables.frames, number) or ())
    location = dict(_row(tables.file_locations, frame.get("file_location_id", 0)) or ())
    file = _row(tables.file_names, location.get("file_name_id", 0))
    function = _row(tables.function_names, location.get("function_name_id", 0))
    return _spelled(file or "", location.get("line", 0), function or "")


def _row(rows: Sequence[_Row], number: int) -> _Row | None:
    """The row of a number, which count from 1."""
    return rows[number - 1] if 1 <= number <= len(rows) else None


def _spelled(file: str, line: int, function: str = "") -> str:
    if not file:
        return ""
    return f"{file}{f':{line}' if line > 0 else ''}{f' ({function})' if function else ''}"
