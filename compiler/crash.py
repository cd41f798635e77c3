"""What `python -m compiler` says of a bug of ours: three lines for people, and a file for whoever mends it.

It says what `xlabench` does, which this package knows nothing of; XLABENCH_TRACEBACK=1 prints the traceback as well.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from pathlib import Path

INTERNAL = 70
"""The exit code: nobody's verdict."""

_VARIABLE = "XLABENCH_TRACEBACK"


def report(error: BaseException) -> tuple[str, str]:
    """Keep the traceback of an error in a new file; returns what to say, in three lines, and the file's name.

    Where no file can be written the traceback is part of what is said, and the name is empty.
    """
    summary = traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
    trace = "".join(traceback.format_exception(error))
    try:
        descriptor, kept = tempfile.mkstemp(prefix="compiler-bug-", suffix=".txt")
        os.close(descriptor)
        Path(kept).write_text(f"{' '.join(sys.argv)}\nPython {sys.version}\n\n{trace}", "utf-8", "backslashreplace")
        where = f"its traceback is kept in {kept}; {_VARIABLE}=1 prints it"
    except OSError:
        kept, where = "", "its traceback cannot be kept in a file"
    lines = [
        f"compiler: a bug of the compiler's own, not of its input: {summary}",
        where,
        "please report it with that file, the command line and the files that it names",
    ]
    is_shown = not kept or os.environ.get(_VARIABLE, "") not in ("", "0")
    return "\n".join([trace.rstrip(), *lines] if is_shown else lines), kept
