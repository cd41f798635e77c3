"""Files of pytest-benchmark are read as runs of the records; whatever else is given is refused by name."""

import json

import pytest

import xlabench
from xlabench.errors import BenchError

SAMPLES = [1e-3, 2e-3, 3e-3]
STATS = {"iterations": 5, "rounds": 3, "median": 2e-3, "min": 1e-3}
CONTENT = {
    "machine_info": {"node": "here", "cpu": {"brand_raw": "Some CPU"}},
    "commit_info": {"id": "abc"},
    "benchmarks": [
        {
            "fullname": "bench.py::test_add",
            "extra_info": {"engine": "cpu"},
            "stats": {**STATS, "data": SAMPLES},
        },
        {"fullname": "bench.py::test_dot", "stats": STATS},
    ],
    "datetime": "2026-11-25T08:00:00.123456+00:00",
    "version": "5.3.1",
}


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "benchmarks.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.mark.slow
def test_samples_are_rows_with_program_and_engine(written):
    timings = xlabench.records(written(CONTENT)).timings
    rows = timings[timings.program == "bench.py::test_add"]
    assert list(zip(rows.engine, rows["sample"], rows.seconds, rows.calls, strict=True)) == [
        ("cpu", 0, 1e-3, 5), ("cpu", 1, 2e-3, 5), ("cpu", 2, 3e-3, 5),
    ]  # fmt: skip


def test_without_samples_the_median_stands_for_them_and_a_doubt_says_so(written):
    timings = xlabench.records(written(CONTENT)).timings
    [row] = timings[timings.program == "bench.py::test_dot"].to_dict("records")
    assert (row["seconds"], row["engine"]) == (2e-3, "")
    assert "median" in row["doubts"][0][1]


def test_the_run_says_where_and_when(written):
    [run] = xlabench.records(written(CONTENT)).runs.to_dict("records")
    assert run["environment"]["node"] == "here"
    assert run["environment"]["commit"] == "abc"
    assert run["started_at"].isoformat().startswith("2026-11-25T08:00:00.123")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no JSON", "is not JSON"),
        ([], "no file of pytest-benchmark's"),
        ({"benchmarks": []}, "no file of pytest-benchmark's"),
        ({**CONTENT, "benchmarks": [{"fullname": "x"}]}, "no file of pytest-benchmark's"),
        ("[" * 100_000, "is not JSON"),
    ],
    ids=["text", "list", "no machine", "no stats", "nested"],
)
def test_another_file_is_refused_with_what_to_give(written, content, message):
    with pytest.raises(BenchError, match=f"{message}.*--benchmark-json"):
        xlabench.records(written(content))
