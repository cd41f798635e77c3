"""The records of a batch's cases: a worker leaves a line for each thing that becomes known of one."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from xlabench.fuzzing.own_failures import kept_in

_RECORDS = "records.jsonl"


def nothing_known() -> dict[str, Any]:
    """The record of a case before anything is known of it."""
    return {
        "instructions": 0,
        "pairs": (),
        "rules": (),
        "ways": (),
        "tellingly": (),
        "changes": (),
        "variants": (),
        "asked": {},
        "told": {},
        "verdicts": {},
        "seconds": {},
    }


def count_ended(folder: Path, number: int, verdicts: dict[str, list[str]]) -> None:
    """Let the case that ended a process count.

    Args:
        folder: of the batch.
        number: of the case.
        verdicts: what the end is on the engines that brought it about.
    """
    line = json.dumps({"number": number, "verdicts": verdicts})
    with kept_in(folder), (folder / _RECORDS).open("a", encoding="utf-8") as records:
        records.write(f"\n{line}\n")  # behind what the process may not have come to the end of


def records_in(folder: Path) -> list[dict[str, Any]]:
    """What a batch has written of its cases, put together; of no line that it did not finish."""
    stored = folder / _RECORDS
    found: dict[int, dict[str, Any]] = {}
    for line in stored.read_bytes().splitlines() if stored.exists() else ():
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            record = found.setdefault(entry["number"], nothing_known())
            for key, value in entry.items():
                if key == "seconds":  # of a stage that comes several times
                    record[key] = Counter(record[key]) + Counter(value)
                else:
                    record[key] = record[key] | value if isinstance(value, dict) else value
    return list(found.values())
