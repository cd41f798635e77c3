"""What fails of our own in one program of a campaign: a finding like those about engines, and the next has its turn.

It is put down to `xlabench` with the verdict `error`.  It has no bundle, as there is nothing to replay on an engine,
but a folder with the traceback and with all that draws the program again:

    error.json  traceback.txt  module.hlo (where the program was known)

Records that cannot be written are another matter: they end the campaign, which goes on from them later.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import compiler
from xlabench import atomic, environment
from xlabench.cases import programs
from xlabench.diagnosis.witness import REFERENCE
from xlabench.errors import BenchError, RecordsLost
from xlabench.fuzzing.causes import JUDGE
from xlabench.fuzzing.signature import key_in, key_of
from xlabench.judging.self_check import JudgeError
from xlabench.survival import ERROR, US, Bug, caught, frames_in
from xlabench.worker import Outcome

Result = TypeVar("Result")

_REFUSAL = "ShapeError"
_STAGES = {
    JudgeError.__name__: JUDGE,
    "BrokenBounds": JUDGE,
    "BrokenShape": REFERENCE,
    _REFUSAL: REFERENCE,
}
"""Who is to blame for what is raised about an opcode: its rules are a part of what the reference means by it."""
_GENERATOR = Path(compiler.generate.__file__).parent
_REWRITERS = (Path(compiler.passes.__file__).parent, Path(compiler.expansion.__file__).parent)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ENVIRONMENT = ("system", "machine", "python", "versions")


@dataclass(frozen=True, slots=True)
class OwnFailure:
    """What was raised, in which step of which case; the program's text is empty where none was known.

    The number of what came before any case was drawn is negative.
    """

    number: int
    step: str
    bug: Bug
    module_text: str = ""

    @property
    def cause(self) -> str:
        """Of a judge that is wrong the opcode about which it is, or the reference; so of rules; "" of anything else."""
        stage = _STAGES.get(self.bug.name, "")
        if self.bug.name == _REFUSAL and not _is_drawn(self.bug):
            return ""
        return f"{stage}/{self.bug.subject}" if stage and self.bug.subject else ""

    @property
    def key(self) -> str:
        """That of an engine that raises the same."""
        return key_of_bug(self.bug)

    @property
    def verdict(self) -> list[str]:
        """What the record of the case says of us: verdict, message and key, as of an engine."""
        return [ERROR, self.bug.said, self.bug.kind]


def key_of_bug(bug: Bug) -> str:
    """The key that the same error has where an engine raises it: that of what it was raised from, if anything was."""
    name, _, said = bug.said.partition(": ")
    return key_in(bug.traceback) or key_of(name.rpartition(".")[2], "", said)


def _is_drawn(bug: Bug) -> bool:
    """Whether an instruction is refused as it is drawn: by generator and rule at once, of which one is wrong."""
    files = [Path(file) for file, _ in frames_in(bug.traceback)]
    is_rewritten = any(file.is_relative_to(folder) for file in files for folder in _REWRITERS)
    return any(file.is_relative_to(_GENERATOR) for file in files) and not is_rewritten


def attempt(work: Callable[[], Result], number: int, step: str, module_text: str = "") -> Result | OwnFailure:
    """What a step of one case gives, or how it failed.

    Args:
        work: the step.
        number: of the case.
        step: its name, for the finding.
        module_text: of the case, if it is known.

    Raises:
        RecordsLost: there is nowhere to keep what is found out.
    """
    results: list[Result] = []
    bug = caught(lambda: results.append(work()))
    return results[0] if bug is None else OwnFailure(number, step, bug, module_text)


def bug_in(outcome: Outcome) -> Bug:
    """What was raised in a worker, or how it ended or hung, with what it left of a traceback."""
    name = outcome.error.partition(" ")[0]
    said = ": ".join(filter(None, [name, " ".join(outcome.message.split())]))
    return Bug(said or outcome.ending, outcome.output)


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Within it records are written to a place; that they cannot be is no failure of one program.

    Raises:
        RecordsLost: they cannot be written.
    """
    try:
        yield
    except RecordsLost:
        raise
    except (OSError, BenchError) as error:
        raise RecordsLost(f"{folder}: cannot be written: {error}; make room, and run the campaign again") from error


def is_full(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is that of a disk that is full."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__
    return False


def write(folder: Path, failure: OwnFailure, drawing: Mapping[str, Any]) -> None:
    """Keep a failure in a folder of its own, with the arguments that its program is drawn by.

    Args:
        folder: of the finding.
        failure: of our own.
        drawing: arguments by which its program is drawn.

    Raises:
        RecordsLost: the folder cannot be written.
    """
    machine = environment.capture().to_json()
    entry = {
        "format": "xlabench-error",
        "engine": US,
        "verdict": ERROR,
        "kind": failure.bug.kind,
        "message": failure.bug.said,
        "step": failure.step,
        "number": failure.number,
        "drawing": dict(drawing),
        "environment": {key: machine[key] for key in _ENVIRONMENT},
    }
    files = {
        "error.json": (json.dumps(entry, indent=1, sort_keys=True) + "\n").encode(),
        "traceback.txt": _told(failure).encode("utf-8", "backslashreplace"),
    }
    if failure.module_text:
        files["module.hlo"] = programs.encoded(failure.module_text)
    with kept_in(folder):
        shutil.rmtree(folder, ignore_errors=True)  # left by a run that was killed before it wrote the list
        atomic.write_all(folder, files)


def _told(failure: OwnFailure) -> str:
    """The traceback, and how to come to the program again."""
    again = "xlabench.fuzzing.fuzz_jobs.drawer_of(entry['drawing'])(entry['number'])"
    how = f"drawn again by {again}, with the entry in error.json" if failure.number >= 0 else "before any was drawn"
    return f"case {failure.number}, {how}\nin: {failure.step}\n\n{failure.bug.message.rstrip()}\n"
