"""Whatever goes wrong in one program of a night is that program's verdict: faults of all kinds, in every stage."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from in_process import InProcess
from nights import QUICK, add, run, verdicts

from reports.changes import compare
from reports.report import Report
from reports.summary import summarise
from xlabench import jobs, nightly
from xlabench import verdicts as verdicts_of
from xlabench.bundles import saving
from xlabench.cases import inputs, programs, twins
from xlabench.cases.suite import load_suite
from xlabench.commands.nightly import _exit_code
from xlabench.database import Records
from xlabench.errors import ExitCode, RecordsLost
from xlabench.judging import differ
from xlabench.survival import about, caught
from xlabench.timing import change

FAULTS = {
    "value": ValueError("no such thing"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
    "memory": MemoryError(),
    "assertion": AssertionError("this cannot be"),
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
}
STAGES = {
    "reading": (programs, "read_text", "load"),
    "verifying": (programs, "read", "load"),
    "finding the recipe": (inputs, "recipe_beside", "load"),
    "making inputs": (inputs.Recipe, "make", "load"),
    "writing inputs": (jobs, "write_arrays", "reference"),
    "running": (jobs, "evaluated", "reference"),
    "comparing": (differ, "compare", "cpu"),
    "finding bounds": (jobs, "basis_of", "cpu"),
    "judging": (verdicts_of, "of_answer", "cpu"),
    "saving a bundle": (saving, "save", "bundle of cpu"),
    "timing": (nightly, "_timings", "timing"),
    "comparing with the night before": (change, "looks_slower", "timing"),
}
"""What is at work in each stage, and the step that the record names."""
CONFIG = replace(QUICK, engines=("cpu",))
TIMED = replace(QUICK, engines=("cpu:fusion=off", "cpu"))


pytestmark = pytest.mark.usefixtures("fake_engines")


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(nightly, "Worker", InProcess)
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def broken(monkeypatch):
    """Plants faults in a function, each for the program that is named after it; returns who hears of steps."""
    at = []

    def plant(owner, name):
        kept = getattr(owner, name)

        def failing(*given, **named):
            if at and at[-1] in FAULTS:
                raise FAULTS[at[-1]]
            return kept(*given, **named)

        monkeypatch.setattr(owner, name, failing)
        return lambda program, _step: at.append(program)

    return plant


def night(folder, out, config, hears, *, resume=False):
    out.mkdir(exist_ok=True)
    suite = load_suite(str(folder))
    with Records(out / "records.sqlite") as records:
        run_id = nightly.begin(records, suite, config, resume=resume)
        nightly.work(records, run_id, suite, config, out, hears)
        return records.export(run_id)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("stage", STAGES)
def test_an_exception_in_any_stage_of_a_program_is_its_verdict(stage, suite_folder, tmp_path, broken):
    owner, name, step = STAGES[stage]
    is_timed = step == "timing"
    for program in ("a", *FAULTS, "z"):
        add(suite_folder, program, "sum" if is_timed or program in "az" else "sum wrong-in-cpu")
    config = TIMED if is_timed else CONFIG
    if is_timed:  # what was measured before is compared with
        night(suite_folder, tmp_path / "out", config, lambda *_: None)
    exported = night(suite_folder, tmp_path / "out", config, broken(owner, name))
    found = verdicts(exported)
    assert {*found} == {"a", *FAULTS, "z"}
    for program in ("a", "z"):
        assert set(found[program].values()) == {"bitwise"}
    cases = {case["name"]: case for case in exported["cases"]}
    for fault, error in FAULTS.items():
        bug = next(v for v in cases[fault]["verdicts"] if v["engine"] == "xlabench")
        assert (bug["verdict"], bug["stage"]) == ("error", step)
        assert bug["message"].startswith(type(error).__name__)
        assert "Traceback" in bug["message"]
        assert "in failing" in bug["message"]
    told = Report.of(exported)
    assert _exit_code(told) is ExitCode.INTERNAL
    page = told.files()["index.html"].decode()
    assert page.count("Traceback") >= len(FAULTS)
    again = night(suite_folder, tmp_path / "out", config, lambda *_: None, resume=True)
    assert again["cases"] == exported["cases"]


@pytest.mark.usefixtures("here")
def test_the_program_that_we_failed_on_is_kept(suite_folder, tmp_path, broken):
    add(suite_folder, "value", "sum wrong-in-cpu")
    exported = night(suite_folder, tmp_path / "out", CONFIG, broken(differ, "compare"))
    (kept,) = exported["cases"][0]["bundles"]
    assert (kept["engine"], kept["verified"]) == ("xlabench", False)
    place = tmp_path / "out" / kept["path"]
    assert "add(x, x)" in (place / "module.hlo").read_text()
    assert '"verdict": "error"' in (place / "manifest.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize(("fault", "verdict"), [("crash", "crash"), ("hang", "timeout")])
def test_a_process_that_ends_or_hangs_is_a_verdict_on_one_program(suite_folder, tmp_path, engine, fault, verdict):
    for program, text in (("a", "sum"), ("b", f"sum {fault}-in-{engine}"), ("c", "sum")):
        add(suite_folder, program, text)
    config = replace(CONFIG, processes=0, timeout_s=2.0)
    exported, _ = run(suite_folder, tmp_path / "out", config)
    found = verdicts(exported)
    assert found["a"] == found["c"] == {"cpu": "bitwise"}
    assert found["b"][engine] == verdict
    again, _ = run(suite_folder, tmp_path / "out", config, resume=True)
    assert again["cases"] == exported["cases"]


def test_what_is_interrupted_ends(suite_folder, tmp_path, monkeypatch):
    add(suite_folder, "a")

    def interrupted(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(programs, "read_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(suite_folder, tmp_path / "out", CONFIG)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_records_that_cannot_be_written_end_the_night_and_it_goes_on_later(suite_folder, tmp_path, monkeypatch):
    for program in "abc":
        add(suite_folder, program)
    add_record, at = Records.add, []

    def full(self, case_id, record):
        if at[-1] == "b":
            with self._watched("cannot be written", "free the disk, then --resume"):
                raise sa.exc.OperationalError("insert", {}, Exception("database or disk is full"))
        add_record(self, case_id, record)

    with monkeypatch.context() as patch:
        patch.setattr(Records, "add", full)
        with pytest.raises(RecordsLost, match=r"disk is full.*--resume"):
            night(suite_folder, tmp_path / "out", CONFIG, lambda program, _step: at.append(program))
    exported, steps = run(suite_folder, tmp_path / "out", CONFIG, resume=True)
    assert all(set(found.values()) == {"bitwise"} for found in verdicts(exported).values())
    assert [step for program, step in steps if program == "a"] == [nightly.DONE]


@pytest.mark.usefixtures("here")
def test_a_twin_that_cannot_be_made_is_an_error_of_the_twin(suite_folder, tmp_path, monkeypatch):
    add(suite_folder, "a")
    add(suite_folder, "b")
    kept = twins.compiler.edit.integer_twin
    names = iter("ab")

    def failing(module):
        if next(names) == "a":
            raise AssertionError("no twin")
        return kept(module)

    monkeypatch.setattr(twins.compiler.edit, "integer_twin", failing)
    suite = twins.with_twins(load_suite(str(suite_folder)), tmp_path / "twins")
    assert [(program.name, bool(program.unmade)) for program in suite.programs] == [
        ("a", False), ("b", False), ("a.twin", True), ("b.twin", False)
    ]  # fmt: skip
    out = tmp_path / "out"
    out.mkdir()
    with Records(out / "records.sqlite") as records:
        run_id = nightly.begin(records, suite, CONFIG, resume=False)
        nightly.work(records, run_id, suite, CONFIG, out, lambda *_: None)
        exported = records.export(run_id)
    assert verdicts(exported)["a.twin"] == {"xlabench": "error"}
    assert verdicts(exported)["a"] == {"cpu": "bitwise"}


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_an_error_that_is_new_is_worse_and_one_that_is_gone_is_mended(suite_folder, tmp_path, broken):
    add(suite_folder, "value")
    right, _ = run(suite_folder, tmp_path / "right", CONFIG)
    bad = night(suite_folder, tmp_path / "bad", CONFIG, broken(programs, "read"))
    worse, better = compare(summarise(right), summarise(bad)), compare(summarise(bad), summarise(right))
    assert [(c.engine, c.kind) for c in worse.verdicts] == [("xlabench", "failing")]
    assert worse.is_regression
    assert [(c.engine, c.kind) for c in better.verdicts] == [("xlabench", "mended")]


def test_bugs_that_one_check_finds_are_told_apart_by_what_they_are_about():
    def check(subject):
        raise AssertionError(about(subject, "it is wrong"))

    bugs = [caught(lambda subject=subject: check(subject)) for subject in ("Cumsum", "Log", "Log")]
    file = Path(__file__).name
    assert [bug.kind for bug in bugs] == [
        f"AssertionError about {op} in {file}:check" for op in ("Cumsum", "Log", "Log")
    ]
