"""What goes wrong in one program of many, our own bugs included, is said of that program; the others have their turn.

Here is the one place that catches every exception, for whoever goes through programs by the hundred: a night that ends
at its third program says nothing of the others.  Nothing is hidden by that: what was raised is kept with its traceback,
under the verdict `error`, and the command ends as a bug of xlabench does.

What is not one program's fault goes on: Ctrl-C, and records that cannot be written, without which no other program
could be told of either.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass

from xlabench.errors import RecordsLost

US = "xlabench"
"""Who an `error` is put down to, where engines stand that have other verdicts."""
ERROR = "error"

_MOST = 20_000  # characters of a traceback, whose end says most


@dataclass(frozen=True, slots=True)
class Bug:
    """An exception that nobody expected: its type and text in a line, and the traceback."""

    said: str
    traceback: str

    @property
    def message(self) -> str:
        """Both, as records keep them: the first line says what, the others where."""
        return f"{self.said}\n{self.traceback}"


def caught(work: Callable[[], object]) -> Bug | None:
    """Do the work of one program; what it raises is the answer.

    Raises:
        RecordsLost: there is nowhere to keep what is found out.
    """
    try:
        work()
    except RecordsLost:
        raise
    except Exception as error:  # noqa: BLE001 - this is the boundary between programs, and the traceback is kept
        said = " ".join("".join(traceback.format_exception_only(error)).split())
        return Bug(said, "".join(traceback.format_exception(error))[-_MOST:])
    return None
