"""What nightly runs, or pytest-benchmark, recorded, as pandas data frames: for questions that no report answers.

Each frame has a row per record and says of which night and program it is, so that one `groupby` is a history:

    import xlabench

    nights = xlabench.records("nightly-out")
    own = nights.timings[nights.timings.engine == "cpu"]
    own.groupby(["program", "started_at"]).seconds.median().unstack()
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from xlabench import benchmarks
from xlabench.database import Records
from xlabench.results import Bundle, Kernel, Launch, Run, Verdict

_OF_RUN = ("run", "started_at")
_OF_CASE = (*_OF_RUN, "program", "digest")
_OF_TIMING = ("engine", "process", "calls", "doubts")
_OF_CANARY = ("canary", "process", "calls")
_OF_SAMPLE = ("sample", "seconds")


@dataclass(frozen=True, slots=True)
class Frames:
    """The records of all nights in a folder, the oldest first; of unfinished programs there are none.

    Attributes:
        runs: a row per night: its suite, engines, options, environment, when it started and finished.
        verdicts: a row per program and engine, with the largest differences and the seconds of compiling and running.
        timings: a row per sample: `seconds` of one call, the average of `calls` calls, in one process.
        canaries: the same of fixed work that was timed beside, by which a slower machine is told from a slower engine.
        bundles: a row per failure that was kept: its path, relative to the folder, and whether it showed again.
        kernels: a row per GPU kernel: registers of a thread, bytes of shared memory, of stack and of spills.
        launches: a row per launch on a GPU: its time by a model, and what it keeps busy.
    """

    runs: pd.DataFrame
    verdicts: pd.DataFrame
    timings: pd.DataFrame
    canaries: pd.DataFrame
    bundles: pd.DataFrame
    kernels: pd.DataFrame
    launches: pd.DataFrame


def of_path(path: str | Path) -> Frames:
    """The records of the nights in a folder, or of one run of pytest-benchmark in its JSON file.

    Raises:
        BenchError: it is neither, or the database is damaged or of another version.
    """
    exports = [benchmarks.exported(Path(path))] if Path(path).is_file() else _nights(Path(path))
    return Frames(
        _frame((_run(exported) for exported in exports), (*_OF_RUN, "finished_at", *_names(Run))),
        _frame(_owned(exports, "verdicts"), (*_OF_CASE, *_names(Verdict))),
        _frame(_samples(exports, "timings", _OF_TIMING), (*_OF_CASE, *_OF_TIMING, *_OF_SAMPLE)),
        _frame(_samples(exports, "canaries", _OF_CANARY), (*_OF_CASE, *_OF_CANARY, *_OF_SAMPLE)),
        _frame(_owned(exports, "bundles"), (*_OF_CASE, *_names(Bundle))),
        _frame(_owned(exports, "kernels"), (*_OF_CASE, *_names(Kernel))),
        _frame(_owned(exports, "launches"), (*_OF_CASE, *_names(Launch))),
    )


def _nights(folder: Path) -> list[dict[str, Any]]:
    with Records.of_folder(folder) as records:
        return [records.export(run) for run in records.run_ids()]


def _names(record: type) -> list[str]:
    return [field.name for field in fields(record)]


def _frame(rows: Iterator[Mapping[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    """A frame that has its columns without rows too, and times as times."""
    frame = pd.DataFrame(list(rows), columns=list(columns))
    for column in {"started_at", "finished_at"} & set(columns):
        frame[column] = pd.to_datetime(frame[column], utc=True, format="ISO8601")
    return frame


def _run(exported: Mapping[str, Any]) -> dict[str, Any]:
    run = dict(exported["run"])
    return {"run": run.pop("id"), **run}


def _cases(exports: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each program of each night, and what a row of it begins with."""
    for exported in exports:
        run = exported["run"]
        for case in exported["cases"]:
            values = (run["id"], run["started_at"], case["name"], case["digest"])
            yield case, dict(zip(_OF_CASE, values, strict=True))


def _owned(exports: list[dict[str, Any]], table: str) -> Iterator[dict[str, Any]]:
    for case, of_case in _cases(exports):
        yield from ({**of_case, **record} for record in case[table])


def _samples(exports: list[dict[str, Any]], table: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for case, of_case in _cases(exports):
        for record in case[table]:
            shared = {name: record[name] for name in names}
            for number, seconds in enumerate(record["samples"]):
                yield {**of_case, **shared, "sample": number, "seconds": seconds}
