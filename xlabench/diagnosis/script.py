"""A command that says of a program whether it is bad, by how it ends: what else than our engines can be reduced for."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from xlabench.diagnosis.case import Case
from xlabench.errors import BenchError


@dataclass(frozen=True, slots=True)
class Script:
    """The words of a command, to which a file of HLO text is added, and how long it may take."""

    words: tuple[str, ...]
    timeout_s: float

    def status(self, case: Case, file: Path) -> int | None:
        """How the command ends on a program, written to this file; None if it does not end.

        It runs in a session of its own, so that all it started ends with its time, and Ctrl-C does not end it half-way.

        Raises:
            BenchError: the command cannot be run.
        """
        file.write_text(case.text(), encoding="utf-8")
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                [*self.words, str(file)], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
        except OSError as error:
            remedy = "give a program, or sh FILE where a shell is to do it"
            raise BenchError(
                f"--script {shlex.join(self.words)!r}: cannot be run: {error.strerror}; {remedy}"
            ) from error
        try:
            return process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def script(text: str, timeout_s: float) -> Script:
    """The command that a line of a shell is.

    Raises:
        BenchError: it is none.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise BenchError(f"--script {text!r}: {error}; quote it as a shell wants it") from error
    if not words:
        raise BenchError(f"--script {text!r} is no command; give one that takes a file of HLO text as last argument")
    return Script(words, timeout_s)
