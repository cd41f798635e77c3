"""The report of a run: all that it tells, computed once, and the files that tell it.

What a command prints and what the files say come from the same `Report`, so they cannot differ; and the same records
give the same bytes, which is how `xlabench report --check` knows a file that somebody changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports import changes, history, page, speedup, summary
from reports.changes import Changes
from reports.summary import Summary
from xlabench import atomic, database
from xlabench.database import Records
from xlabench.errors import BenchError


@dataclass(frozen=True, slots=True)
class Report:
    """An exported run, what it came to, and what changed since the run of the same suite before it."""

    exported: Mapping[str, Any]
    earlier: Sequence[Mapping[str, Any]]
    summary: Summary
    changes: Changes | None

    @classmethod
    def of(cls, exported: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]] = ()) -> Report:
        """The report of an exported run; `earlier` are those of the same suite before it, the oldest first."""
        found = summary.summarise(exported)
        changed = changes.compare(summary.summarise(earlier[-1]), found) if earlier else None
        return cls(exported, earlier, found, changed)

    @classmethod
    def of_run(cls, records: Records, run_id: int) -> Report:
        """The report of a recorded run, with as many nights before it as a chart shows."""
        return cls.of(records.export(run_id), records.exports_before(run_id, history.NIGHTS))

    def files(self) -> dict[str, bytes]:
        """The files by name, the page last."""
        drawn = speedup.charts(self.summary)
        over_nights = history.charts([*self.earlier, self.exported], self.changes) if self.changes else {}
        numbers = summary.to_json(self.summary) | ({"changes": changes.to_json(self.changes)} if self.changes else {})
        return {
            "results.json": database.to_json({**self.exported, "summary": numbers}).encode(),
            **{f"speedup.{kind}": data for kind, data in drawn.items()},
            **{f"history.{kind}": data for kind, data in over_nights.items()},
            "index.html": page.render(self.summary, self.changes, drawn["svg"], over_nights.get("svg")).encode(),
        }


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace the files of a report in their order, so that the page never links to what is not there."""
    try:
        for name, data in files.items():
            atomic.write(folder / name, data)
    except BenchError as error:
        raise BenchError(f"{error}, the records are safe") from error


def stale(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """The names of the files that are missing from the folder or differ from these."""
    return [name for name, data in files.items() if not _is_same(folder / name, data)]


def _is_same(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
