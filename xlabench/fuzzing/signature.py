"""What a failure is told from others by before it is reduced: the opcodes and types behind what went wrong.

Of a wrong result that is what it is computed by, of several the least; of a process that ended all that the program
holds; of an error the place where it was raised.  What copies inputs that lie otherwise than a program takes them is
one piece of code, whatever the program: that they lie so is all that is told then.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import compiler
from xlabench.survival import frames_in

NUMERIC = frozenset({"wrong", "flaky"})
"""Verdicts on results."""
ENDED = frozenset({"compile", "run", "judge"})
"""The phases in which a process may end."""
RAISED_IN = " in "
"""Stands in the key of an error between its type and the function that raised it."""
_COMPILER = Path(compiler.__file__).parent
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n"
_LONGEST_KEY = 80
"""Characters of an error's text that tell it from others."""
LAYOUT = "layout"
"""The key of what comes of how the inputs lie in memory."""


def signature_of(module_text: str, verdict: str, key: str) -> tuple[str, ...]:
    """What tells one kind of failure from another.

    Args:
        module_text: of the program that fails.
        verdict: on it.
        key: where an error was raised, the phase in which a process ended, the numbers of the wrong results, or that
            it comes of how inputs lie in memory.
    """
    if key == LAYOUT or (verdict not in NUMERIC and key not in ENDED):
        return (key,)
    module = compiler.parse(module_text)
    if key in ENDED:
        return (key, *sorted(_opcodes(module.instructions())))
    root = module.entry.root
    results = root.operands if root.opcode == "tuple" else (root,)
    # By leaves, and once more for each device.
    owners = [result for result in results for _ in compiler.edit.leaves(result.shape)]
    wrong = [owners[int(number) % len(owners)] for number in key.split(",") if number.isdigit()] or list(results)
    slices: list[set[str]] = sorted((_opcodes_behind(result) for result in wrong), key=len)
    return tuple(sorted(slices[0]))


def location_of(frames: Sequence[tuple[str, str]]) -> str:
    """The file and the function of the compiler that raised an error, by the frames of its traceback, innermost last.

    An error that the compiler has no frame in is told by the innermost of all; a comprehension is its function's.
    """
    named = [(file, function) for file, function in frames if not function.startswith("<")]
    ours = [(file, function) for file, function in named if Path(file).is_relative_to(_COMPILER)]
    file, function = [("", ""), *frames[-1:], *named[-1:], *ours[-1:]][-1]
    return f"{Path(file).name}:{function}" if file else ""


def key_of(name: str, location: str, said: str) -> str:
    """The key of an error: what of it stays the same from case to case.

    Args:
        name: its type.
        location: the file and the function that raised it.
        said: its text.
    """
    words = re.sub(r"\S*[\d%\[{]\S*", "#", said.partition("\n")[0])
    return f"{name}{RAISED_IN}{location}: {words[:_LONGEST_KEY]}"


def key_in(text: str) -> str:
    """The key of the error that a text with its traceback tells of, of a chain the first; "" of any other text.

    The program that an error is about stands before it as its cause, and was raised nowhere.
    """
    chosen = next(filter(frames_in, text.split(_CAUSED)), "")
    frames = frames_in(chosen)
    if not frames:
        return ""
    name, _, said = raised_in(chosen).partition(": ")
    return key_of(name.rpartition(".")[2], location_of(frames), said)


def raised_in(text: str) -> str:
    """The line of a text with a traceback that says what was raised; of a chain the last."""
    file, _ = frames_in(text)[-1]
    behind = text[text.rindex(f'File "{file}"') :].splitlines()[1:]
    return next((line for line in behind if line and not line.startswith(" ")), "")


def raised_by(signature: Sequence[str]) -> str:
    """What an error is told by, "" of anything else: the function that raised it, and its words if it chose them.

    What Python itself raises, such as `IndexError`, says no more than that the function was given, or did, what it does
    not expect: its words, and even its type, depend on what by chance.
    """
    if len(signature) != 1 or RAISED_IN not in signature[0]:
        return ""
    return "".join(unasked_in(signature)) or signature[0]


def unasked_in(signature: Sequence[str]) -> tuple[str, ...]:
    """The function in which Python raised an error that nobody asked for, if that is what a signature tells of."""
    name, is_error, rest = signature[0].partition(RAISED_IN) if len(signature) == 1 else ("", "", "")
    return (rest.partition(": ")[0],) if is_error and hasattr(builtins, name) else ()


def is_raised_by(key: str, message: str) -> bool:
    """Whether a message with a traceback is that of the error that a key is of, whatever its verdict.

    What an engine raises while it runs is a refusal to a campaign, and to who asks again in a process the end of a run.
    """
    name, _, rest = key.partition(RAISED_IN)
    file, _, function = rest.partition(": ")[0].partition(":")
    frame = rf'{re.escape(file)}", line \d+, in {re.escape(function)}$'
    is_there = bool(function and re.search(frame, message, re.MULTILINE))
    return is_there and bool(re.search(rf"^(\w+\.)*{re.escape(name)}\b", message, re.MULTILINE))


def _opcodes_behind(result: Any) -> set[str]:
    """The opcodes, with the types they work on, that a value is computed by."""
    return _opcodes(compiler.edit.reachable([result], _behind))


def _behind(instruction: Any) -> list[Any]:
    return [*instruction.operands, *(computation.root for computation in instruction.called_computations())]


def _opcodes(instructions: Iterable[Any]) -> set[str]:
    found = set()
    for instruction in instructions:
        if instruction.opcode not in ("parameter", "constant"):
            kind = getattr(getattr(instruction.shape, "element_type", None), "name", "")
            found.add(f"{instruction.opcode} {kind}".strip())
    return found
