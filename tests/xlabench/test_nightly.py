"""The nightly on scripted engines: every way to fail is a record, and a kill loses only the case in flight."""

import json
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nights import QUICK, add, run, verdicts

from reports.report import Report
from reports.summary import summarise
from xlabench import nightly
from xlabench.database import Records
from xlabench.errors import BenchError

HERE = Path(__file__).parent


pytestmark = pytest.mark.usefixtures("fake_engines")


@pytest.mark.slow
def test_a_right_program_is_judged_on_every_engine_and_timed_side_by_side(finished):
    exported = finished[1]
    assert verdicts(exported) == {"p": dict.fromkeys(QUICK.engines, "bitwise")}
    timings = exported["cases"][0]["timings"]
    assert [(t["engine"], t["process"], len(t["samples"])) for t in timings] == [
        ("cpu:fusion=off", 0, 5),
        ("cpu", 0, 5),
    ]


SECONDS = {"cpu": 1e-3, "cpu:fusion=off": 3e-3, "xla": 2e-3, "canary": 1e-3}
PLANTED = {
    "both": ({"cpu": 1.2, "cpu:fusion=off": 3.8}, {"cpu": "slower", "cpu:fusion=off": "slower"}),
    "what is timed beside": ({"xla": 1.2}, {"xla": "slower"}),
    "the machine": (dict.fromkeys(SECONDS, 1.3), {}),
    "one is faster": ({"cpu": 0.7}, {"cpu": "faster"}),
}
"""By how much what is slower in the second night, and what is said of which engine."""
SCRIPTED = replace(
    QUICK,
    engines=("cpu", "cpu:fusion=off", "xla"),
    timed=("cpu:fusion=off", "cpu", "xla"),
    processes=2,
    factory="fake_engines:timed",
    canaries="fake_engines:canaries",
    clock="fake_engines:clock",
)
"""Nights in which calls take the seconds that `FAKE_SECONDS` says, by a clock of their own."""


@pytest.fixture(scope="module")
def first_night(tmp_path_factory):
    """The suite and folder of a night that went as usual."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "suite").mkdir()
    add(folder / "suite", "p")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_SECONDS", json.dumps(SECONDS))
        run(folder / "suite", folder / "out", SCRIPTED)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_slower_in_the_second_night_is_said_of_whose_own_time_is(first_night, tmp_path, monkeypatch, planted):
    factors, said = PLANTED[planted]
    shutil.copytree(first_night, tmp_path, dirs_exist_ok=True)
    later = {name: seconds * factors.get(name, 1) for name, seconds in SECONDS.items()}
    monkeypatch.setenv("FAKE_SECONDS", json.dumps(later))
    exported, _ = run(tmp_path / "suite", tmp_path / "out", SCRIPTED)
    with Records(tmp_path / "out" / "records.sqlite") as records:
        found = Report.of_run(records, exported["run"]["id"]).changes
    assert {one.engine for one in found.times} == set(SCRIPTED.timed)
    assert {one.engine: one.kind for one in found.times if one.kind in ("slower", "faster")} == said
    assert found.is_regression == ("slower" in said.values())
    (case,) = exported["cases"]
    confirmed = {timing["process"] for timing in case["timings"]} == {0, 1, 2, 3}
    assert confirmed == ("slower" in said.values())
    assert {one["canary"] for one in case["canaries"]} == {"compute", "memory"}


@pytest.mark.slow
def test_a_baseline_that_cannot_run_a_program_keeps_nobody_else_from_being_timed(suite_folder, tmp_path, monkeypatch):
    add(suite_folder, "p", "sum unsupported-by-xla")
    monkeypatch.setenv("FAKE_SECONDS", json.dumps(SECONDS))
    config = replace(SCRIPTED, timed=("xla", "cpu", "cpu:fusion=off"), processes=1)
    exported, _ = run(suite_folder, tmp_path / "out", config)
    assert [timing["engine"] for timing in exported["cases"][0]["timings"]] == ["cpu", "cpu:fusion=off"]
    (program,) = summarise(exported).programs
    assert (program.speedup, set(program.timed)) == (None, {"cpu", "cpu:fusion=off"})
    assert Report.of(exported).files()["index.html"]


@pytest.mark.slow
def test_a_program_that_was_rewritten_is_another_and_not_timed_once_more(first_night, tmp_path, monkeypatch):
    shutil.copytree(first_night, tmp_path, dirs_exist_ok=True)
    add(tmp_path / "suite", "p", "sum again")
    monkeypatch.setenv("FAKE_SECONDS", json.dumps({**SECONDS, "cpu": 1.0}))
    exported, _ = run(tmp_path / "suite", tmp_path / "out", SCRIPTED)
    assert {timing["process"] for timing in exported["cases"][0]["timings"]} == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("failing", ["", "crash-in-nvptx:sim"])
def test_what_kernels_take_of_a_gpu_is_recorded_whether_they_run_or_not(suite_folder, tmp_path, failing):
    add(suite_folder, "p", f"sum kernels-of-nvptx:sim modelled-by-nvptx:sim decided-by-cpu {failing}")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, processes=0))
    kernels = exported["cases"][0]["kernels"]
    assert [(k["engine"], k["name"], k["registers"], k["spill_bytes"]) for k in kernels] == [
        ("nvptx:sim", "first", 40, 0),
        ("nvptx:sim", "second", 40, 8),
    ]
    launches = exported["cases"][0]["launches"]
    assert [(one["engine"], one["name"], one["limit"]) for one in launches] == [("nvptx:sim", "main/add 1", "memory")]
    assert exported["cases"][0]["decisions"] == [{"engine": "cpu", "digest": "0123456789abcdef"}]
    (simulated,) = (v["message"] for v in exported["cases"][0]["verdicts"] if v["engine"] == "nvptx:sim")
    assert ("simulated 7 lane-instructions" in simulated) is not bool(failing)


FAILURES = {
    "wrong-in-cpu": ("wrong", "4 of 4 elements are wrong"),
    "flaky-in-cpu": ("flaky", "second call"),
    "clobber-in-cpu": ("wrong", "changed its inputs"),
    "crash-in-cpu": ("crash", "SIGABRT"),
    "raise-in-cpu": ("crash", "kernel launch failed"),
    "uncompilable-by-cpu": ("compile-error", "Traceback(?s:.*)cannot select"),
    "unsupported-by-cpu": ("unsupported", "opcode frobnicate"),
    "unsupported-by-reference": ("undecided", "ran, but reference did not"),
    "assembled-by-reference": ("undecided", "ran, but reference did not"),
    "no-inputs": ("bad-input", "not a recipe"),
}
"""What an engine does, the verdict on it, and what the message says."""


@pytest.fixture(scope="module")
def night_of_failures(tmp_path_factory):
    """The cases of a run in which all programs but the last fail, by name, and its folder."""
    folder, out = tmp_path_factory.mktemp("suite"), tmp_path_factory.mktemp("out")
    for behaviour in (*FAILURES, "well"):
        add(folder, behaviour, f"sum {behaviour}")
    (folder / "no-inputs.json").write_text("{")
    exported, _ = run(folder, out, replace(QUICK, engines=("cpu", "cpu:fusion=off")))
    return {case["name"]: case for case in exported["cases"]}, out


@pytest.mark.slow
def test_a_run_goes_on_after_failures_and_times_what_is_right(night_of_failures):
    cases, _ = night_of_failures
    assert list(cases) == sorted((*FAILURES, "well"))
    assert [found["verdict"] for found in cases["well"]["verdicts"]] == ["bitwise", "bitwise"]
    assert [name for name, case in cases.items() if case["timings"]] == ["well"]


@pytest.mark.parametrize("behaviour", FAILURES)
def test_a_failure_is_a_record(night_of_failures, behaviour):
    cases, out = night_of_failures
    bad = cases[behaviour]
    verdict, says = FAILURES[behaviour]
    of = {found["engine"]: found for found in bad["verdicts"]}
    found = of["reference" if behaviour == "no-inputs" else "cpu"]
    assert found["verdict"] == verdict
    assert re.search(says, found["message"])
    if behaviour.endswith("by-reference"):
        assert of["reference"]["verdict"] == behaviour.partition("-")[0]
    else:
        assert of.get("cpu:fusion=off", {"verdict": "bitwise"})["verdict"] == "bitwise"
    is_kept = behaviour.endswith("cpu") and verdict != "unsupported"
    bundles = [f"bundles/run-1/{behaviour}.cpu"] if is_kept else []
    assert [bundle["path"] for bundle in bad["bundles"]] == bundles
    assert all((out / path / "manifest.json").is_file() for path in bundles)


@pytest.mark.slow
def test_what_is_only_assembled_is_neither_right_nor_wrong(suite_folder, tmp_path):
    add(suite_folder, "p", "sum assembled-by-nvptx:ptxas kernels-of-nvptx:ptxas")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu", "nvptx:ptxas"), processes=0))
    assert verdicts(exported) == {"p": {"cpu": "bitwise", "nvptx:ptxas": "assembled"}}
    (verdict,) = (v for v in exported["cases"][0]["verdicts"] if v["engine"] == "nvptx:ptxas")
    assert verdict["message"] == "1 kernel assembled"
    assert len(exported["cases"][0]["kernels"]) == 2
    found = summarise(exported)
    assert (found.right, found.total, found.programs[0].failures) == (1, 1, [])
    assert Report.of(exported).files()["index.html"].count(b"assembled") >= 2


@pytest.mark.slow
def test_a_hang_ends_at_the_time_limit(suite_folder, tmp_path):
    add(suite_folder, "p", "sum hang-in-cpu")
    config = replace(QUICK, engines=("cpu",), timeout_s=1.0)
    exported, _ = run(suite_folder, tmp_path / "out", config)
    (verdict,) = exported["cases"][0]["verdicts"]
    assert (verdict["verdict"], verdict["stage"]) == ("timeout", "compile")


@pytest.mark.slow
def test_a_reduced_program_is_what_the_engine_runs_and_the_record_says_so(suite_folder, tmp_path):
    add(suite_folder, "p", "sum wrong-in-nvptx:sim")
    add(suite_folder, "small")
    (suite_folder / "suite.toml").write_text(
        '[[program]]\nname = "p"\n[program.reduced."nvptx:sim"]\nfile = "small.hlo"\nreason = "cut to 4"\n'
    )
    exported, _ = run(suite_folder, tmp_path / "out")
    assert verdicts(exported) == {"p": dict.fromkeys(QUICK.engines, "bitwise")}
    assert [v["reduced"] for v in exported["cases"][0]["verdicts"]] == ["", "", "cut to 4"]


NIGHT = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from test_nightly import *
from xlabench.cases.suite import load_suite
suite = load_suite({suite!r})
out = Path({out!r})
with Records(out / "records.sqlite") as records:
    run_id = nightly.begin(records, suite, QUICK, resume=False)
    nightly.work(records, run_id, suite, QUICK, out, lambda *step: print(*step, flush=True))
"""


@pytest.mark.slow
def test_a_kill_loses_only_the_case_in_flight(suite_folder, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name, text in (("a", "sum"), ("b", "sum hang-in-nvptx:sim"), ("c", "sum")):
        add(suite_folder, name, text)
    script = NIGHT.format(path=[str(HERE), *sys.path], suite=str(suite_folder), out=str(out))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert "b nvptx:sim\n" in process.stdout
        process.send_signal(signal.SIGKILL)
    add(suite_folder, "b")
    exported, steps = run(suite_folder, out, resume=True)
    assert [case["name"] for case in exported["cases"]] == ["a", "b", "c"]
    assert all(set(found.values()) == {"bitwise"} for found in verdicts(exported).values())
    assert [step for program, step in steps if program == "a"] == [nightly.DONE]
    assert exported["run"]["id"] == 1


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The suite and folder of a finished run, and its export."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "suite").mkdir()
    add(folder / "suite", "p")
    exported, _ = run(folder / "suite", folder / "out")
    return folder, exported


@pytest.fixture
def resume(finished, tmp_path):
    """Goes on with a copy of the finished run, in which the suite may have been changed."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    return lambda config=QUICK: run(tmp_path / "suite", tmp_path / "out", config, resume=True)


def test_a_finished_run_resumes_to_itself(finished, resume):
    again, steps = resume()
    assert again["cases"] == finished[1]["cases"]
    assert steps == [("p", nightly.DONE)]


def test_resuming_with_other_options_says_which(resume):
    with pytest.raises(BenchError, match="engines"):
        resume(replace(QUICK, engines=("cpu",)))


def test_resuming_after_a_program_changed_names_it(resume, tmp_path):
    add(tmp_path / "suite", "p", "another sum")
    with pytest.raises(BenchError, match="'p' has changed"):
        resume()


def test_resuming_on_another_machine_is_refused(resume, monkeypatch):
    elsewhere = replace(nightly.environment.capture(), cpu="another CPU")
    monkeypatch.setattr(nightly.environment, "capture", lambda: elsewhere)
    with pytest.raises(BenchError, match="another CPU"):
        resume()
