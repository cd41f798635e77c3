"""One case that went wrong, and the folder that a worker leaves it in: many of them may show one bug."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xlabench.cases.layouts import ALIGNED
from xlabench.fuzzing.signature import NUMERIC, RAISED_IN, is_raised_by, key_in
from xlabench.jobs import read_arrays
from xlabench.judging.tolerance import Array


@dataclass(frozen=True, slots=True)
class CaseFailure:
    """One case that went wrong.

    `key` is where an error was raised, or the phase in which the process ended, or the numbers of the wrong results;
    `note` says how the program was made, and of a reduced one which lines of a source it comes from if that is known,
    `layout` how the inputs lay in memory.
    """

    number: int
    engine: str
    verdict: str
    message: str
    key: str
    module_text: str
    inputs: Sequence[Array]
    expected: Sequence[Array]
    actual: Sequence[Array]
    note: str = ""
    layout: str = ALIGNED

    @property
    def is_about_reference(self) -> bool:
        """Whether the reference contradicts itself, so that there is none to reduce by."""
        return self.engine.partition(":")[0] == "reference"

    def noted(self, *notes: str) -> CaseFailure:
        """The same with more said of it."""
        return replace(self, note="; ".join(filter(None, [self.note, *notes])))

    def key_reduced(self, verdict: str, message: str) -> str:
        """The key that it has with the verdict and message of its reduced program.

        What is left of an error may be another one, that raises before: the program shows that then.
        """
        if self.layout != ALIGNED or is_raised_by(self.key, message):
            return self.key
        if verdict in NUMERIC:
            return ""
        if RAISED_IN in self.key and (raised := key_in(message)):
            return raised
        return self.key if verdict == self.verdict else "run"


def left_in(folder: Path) -> Iterator[CaseFailure]:
    """What a batch left behind."""
    return map(left_at, folders_in(folder))


def folders_in(folder: Path) -> list[Path]:
    """The folders of what a batch left behind whole; their names begin with the numbers of the cases."""
    return [entry.parent for entry in sorted(folder.glob("*/finding.json"))]


def left_at(folder: Path) -> CaseFailure:
    """What lies in one of them."""
    entry: dict[str, Any] = json.loads((folder / "finding.json").read_text(encoding="utf-8"))
    inputs, expected, actual = (read_arrays(folder / name) for name in ("inputs", "expected", "actual"))
    text = (folder / "module.hlo").read_text(encoding="utf-8")
    return CaseFailure(**entry, module_text=text, inputs=inputs, expected=expected, actual=actual)
