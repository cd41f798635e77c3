"""The records: durable one by one, resumable by case, and readable for as long as the schema version says."""

import json
import sqlite3
from pathlib import Path

import pytest

from xlabench.database import READABLE_VERSIONS, SCHEMA_VERSION, Records, to_json
from xlabench.errors import BenchError
from xlabench.results import Bundle, Canary, Case, Kernel, Run, Timing, Verdict

FROZEN = {version: Path(__file__).parent / f"results_v{version}.sql" for version in READABLE_VERSIONS}
RUN = Run("smoke", "", "reference", ["cpu"], 0, {"timed": ["a", "b"]}, {"cpu": None})
CANARIES = {
    1: [],
    2: ["compute", "memory", "threads"],
    3: ["compute", "memory", "threads"],
    4: ["compute", "memory", "threads"],
    5: ["compute", "memory", "threads"],
}
DECISIONS = {1: [], 2: [], 3: ["cpu"], 4: ["cpu"], 5: ["cpu"]}
LAUNCHES = {1: [], 2: [], 3: [], 4: ["main.1/add.3 1"], 5: ["main.1/add.3 1"]}
OPENED = {1: [], 2: [], 3: [], 4: [], 5: ["x [?,4] is [2, 4]"]}
"""Those of the first case of the frozen files."""
VERDICT = Verdict("cpu", "wrong", "1 of 2 elements are wrong", max_ulp=1.8e19)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records.sqlite"


def test_what_was_recorded_is_exported(path):
    with Records(path) as records:
        run_id = records.start_run(RUN)
        case_id = records.start_case(run_id, Case("p", "digest"))
        records.add(case_id, VERDICT)
        records.add(case_id, Timing("cpu", 0, 10, [1e-3, 2e-3], [["noisy", "why"]]))
        records.add(case_id, Canary("memory", 0, 3, [1e-3]))
        records.add(case_id, Bundle("cpu", "bundles/p", verified=False))
        records.add(case_id, Kernel("nvptx:sim", "add", 16, 0, 0, 8))
        records.finish_case(case_id)
        records.finish_run(run_id)
        exported = json.loads(to_json(records.export(run_id)))
    assert exported["schema_version"] == SCHEMA_VERSION
    assert exported["run"]["engines"] == ["cpu"]
    (case,) = exported["cases"]
    assert case["verdicts"][0]["max_ulp"] == 1.8e19
    assert case["timings"][0]["samples"] == [1e-3, 2e-3]
    assert case["canaries"] == [{"canary": "memory", "process": 0, "calls": 3, "samples": [1e-3]}]
    assert case["bundles"][0]["verified"] is False
    assert case["kernels"][0]["spill_bytes"] == 8


def test_a_record_is_on_disk_before_the_next_begins(path):
    with Records(path) as records:
        case_id = records.start_case(records.start_run(RUN), Case("p", "digest"))
        records.add(case_id, VERDICT)
        with sqlite3.connect(path) as other:
            assert other.execute("SELECT verdict FROM verdicts").fetchall() == [("wrong",)]


def test_an_unfinished_case_is_forgotten_when_it_starts_again(path):
    with Records(path) as records:
        run_id = records.start_run(RUN)
        records.add(records.start_case(run_id, Case("p", "digest")), VERDICT)
        assert records.finished_cases(run_id) == {}
        assert records.export(run_id)["cases"] == []
        again = records.start_case(run_id, Case("p", "digest"))
        records.add(again, Verdict("cpu", "bitwise"))
        records.finish_case(again)
        assert [verdict["verdict"] for verdict in records.export(run_id)["cases"][0]["verdicts"]] == ["bitwise"]
        assert records.finished_cases(run_id) == {"p": "digest"}


@pytest.mark.parametrize("version", READABLE_VERSIONS)
def test_a_frozen_file_of_every_version_is_read_and_brought_up_to_the_latest(path, version):
    with sqlite3.connect(path) as connection:
        connection.executescript(FROZEN[version].read_text())
    with Records(path) as records:
        latest = records.latest_run()
        assert latest is not None
        run_id, run = latest
        exported = records.export(run_id)
    assert (run.suite, run.engines) == ("frozen", ["cpu", "cpu:fusion=off"])
    assert [case["name"] for case in exported["cases"]] == ["one", "two"]
    assert exported["cases"][1]["verdicts"][0]["verdict"] == "crash"
    assert exported["cases"][1]["kernels"] == []
    assert exported["cases"][0]["timings"][0]["samples"] == [0.002, 0.0021]
    assert [one["canary"] for one in exported["cases"][0]["canaries"]] == CANARIES[version]
    assert [one["engine"] for one in exported["cases"][0]["decisions"]] == DECISIONS[version]
    assert [one["name"] for one in exported["cases"][0]["launches"]] == LAUNCHES[version]
    assert [one["sizes"] for one in exported["cases"][0]["opened"]] == OPENED[version]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_another_version_is_refused_by_number(path):
    Records(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(BenchError, match="version 99"):
        Records(path)


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 200])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(BenchError, match="not a usable result database"):
        Records(path)
    assert path.read_bytes() == content


def _lose_pages(path):
    with sqlite3.connect(path) as connection:
        ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def _lose_json(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE runs SET options = '{\"x'")


@pytest.mark.parametrize("damage", [_lose_pages, _lose_json])
def test_damage_behind_the_first_page_is_said_and_no_bug_of_ours(path, damage):
    with sqlite3.connect(path) as connection:
        connection.executescript(FROZEN[SCHEMA_VERSION].read_text())
    damage(path)
    with Records(path) as records, pytest.raises(BenchError, match=r"is damaged .*; give another folder"):
        records.latest_run()


def test_writing_to_a_damaged_database_is_said(path):
    with Records(path) as records:
        records.start_run(RUN)
    _lose_pages(path)
    with Records(path) as records, pytest.raises(BenchError, match=r"is damaged .*; give another folder"):
        records.start_run(RUN)


def test_a_database_of_somebody_else_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE stamps (country TEXT)")
    with pytest.raises(BenchError, match="version 0"):
        Records(path)
