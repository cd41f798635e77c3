"""What is said of a bug of ours: three lines for people, and a file with all that whoever mends it wants to know.

XLABENCH_TRACEBACK=1 prints the traceback as well.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence

VARIABLE = "XLABENCH_TRACEBACK"
"""The environment variable that asks for tracebacks on standard error."""


def report(error: BaseException, program: str, arguments: Sequence[str]) -> tuple[str, str]:
    """Keep the traceback of an error in a file; returns what to say, in three lines, and the file's name.

    Where no file can be written the traceback is part of what is said, and the name is empty.

    Args:
        error: what was raised.
        program: the command.
        arguments: what it was given.
    """
    summary = traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
    trace = "".join(traceback.format_exception(error))
    command = " ".join([program, *arguments])
    kept = _kept(f"{command}\nPython {sys.version}\n{platform.platform()}\n\n{trace}")
    lines = [
        f"{program}: a bug of {program}'s own, not of its input: {summary}",
        f"its traceback is kept in {kept}; {VARIABLE}=1 prints it"
        if kept
        else "its traceback cannot be kept in a file",
        "please report it with that file, the command line and the files that it names",
    ]
    if not kept or os.environ.get(VARIABLE, "") not in ("", "0"):
        lines.insert(0, trace.rstrip())
    return "\n".join(lines), kept


def _kept(text: str) -> str:
    """The name of a new file with the text; empty where it cannot be written."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="xlabench-bug-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return ""
    return name
