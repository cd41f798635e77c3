"""What pytest-benchmark measured, as a run of the records: its JSON file, in the form that nights are exported in.

People time compilers with pytest-benchmark, as this project's own benchmarks do; their histories are then looked at
with the same few lines as those of nights.  The package itself is not needed to read its files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xlabench.errors import BenchError

_REMEDY = "give the file that `pytest --benchmark-json=FILE` wrote, best with --benchmark-save-data"


def exported(path: Path) -> dict[str, Any]:
    """One run with a case for each benchmark, as `xlabench.database.Records.export` gives it.

    A benchmark's engine is what its `extra_info` says under `engine`, "" where it says nothing.  Without
    --benchmark-save-data a file holds no samples: then the median stands for them, and a doubt says so.

    Raises:
        BenchError: the file cannot be read, or is none of pytest-benchmark's.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {"run": _run(content), "cases": [_case(benchmark) for benchmark in content["benchmarks"]]}
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror or error}; {_REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{path}: is not JSON ({error}); {_REMEDY}") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise BenchError(f"{path}: is no file of pytest-benchmark's ({error!r}); {_REMEDY}") from error


def _run(content: Mapping[str, Any]) -> dict[str, Any]:
    machine = content["machine_info"]
    version = f"pytest-benchmark {content['version']}"
    return {
        "id": 1,
        "suite": "benchmarks",
        "description": version,
        "reference": "",
        "engines": [],
        "seed": 0,
        "options": {},
        "environment": {**machine, "commit": content.get("commit_info", {}).get("id")},
        "started_at": content["datetime"],
        "finished_at": content["datetime"],
    }


def _case(benchmark: Mapping[str, Any]) -> dict[str, Any]:
    name, stats = benchmark["fullname"], benchmark["stats"]
    samples = stats.get("data")
    doubts = [] if samples else [["summary", "the file holds no samples: this is their median"]]
    timing = {
        "engine": benchmark.get("extra_info", {}).get("engine", ""),
        "process": 0,
        "calls": stats["iterations"],
        "samples": [float(sample) for sample in samples or [stats["median"]]],
        "doubts": doubts,
    }
    digest = hashlib.sha256(name.encode()).hexdigest()
    names = ("verdicts", "canaries", "bundles", "kernels", "launches", "decisions", "opened")
    none: dict[str, list[Any]] = {name: [] for name in names}
    return {"name": name, "digest": digest, "timings": [timing], **none}
