"""What goes wrong in one program of many, our own bugs included, is said of that program; the others have their turn.

Here is the one place that catches every exception, for whoever goes through programs by the hundred: a night that ends
at its third program says nothing of the others.  Nothing is hidden by that: what was raised is kept with its traceback,
under the verdict `error`, and the command ends as a bug of xlabench does.

What is not one program's fault goes on: Ctrl-C, and records that cannot be written, without which no other program
could be told of either.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xlabench.errors import RecordsLost

US = "xlabench"
"""Who an `error` is put down to, where engines stand that have other verdicts."""
ERROR = "error"

_MOST = 20_000  # characters of a traceback, whose end says most
_ABOUT = re.compile(r"about (\S+): ")
_KIND_ABOUT = re.compile(r" about (\S+)")
_BY_RULE = re.compile(r"^by the shape rule of (\S+)$", re.MULTILINE)  # `compiler.diagnostics.BY_RULE_OF`
_FRAME = re.compile(r'^ *File "([^"]+)", line \d+, in (\S+)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bug:
    """An exception that nobody expected: its type and text in a line, and the traceback."""

    said: str
    traceback: str

    @property
    def message(self) -> str:
        """Both, as records keep them: the first line says what, the others where."""
        return f"{self.said}\n{self.traceback}"

    @property
    def name(self) -> str:
        """The type of the exception."""
        name = self.said.partition(":")[0]
        return name.rpartition(".")[2] if name.replace(".", "").isidentifier() else name

    @property
    def subject(self) -> str:
        """What it is about, where a check says so (`about`), or the opcode whose shape rule raised it."""
        found = _ABOUT.match(self.said.partition(":")[2].lstrip()) or _BY_RULE.search(self.traceback)
        return found[1] if found else ""

    @property
    def kind(self) -> str:
        """What is the same each time that one bug shows.

        That is the type of the exception, what it is about where a check says so (`about`), and the function that
        raised it.
        """
        name = f"{self.name} about {self.subject}" if self.subject else self.name
        frames = frames_in(self.traceback)
        return f"{name} in {Path(frames[-1][0]).name}:{frames[-1][1]}" if frames else name


def told_about(kind: str) -> str:
    """What a bug of a kind is about, "" where nothing says so."""
    found = _KIND_ABOUT.search(kind)
    return found[1] if found else ""


def frames_in(traceback_text: str) -> list[tuple[str, str]]:
    """The files and functions of a traceback, innermost last."""
    return _FRAME.findall(traceback_text)


def about(subject: str, said: str) -> str:
    """What a check says that raises in one place whatever it finds: bugs are told apart by the subject, too."""
    return f"about {subject}: {said}"


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
