"""The nightly on scripted engines: every way to fail is a record, and a kill loses only the case in flight."""

import json
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reports.report import Report
from reports.summary import summarise
from xlabench import nightly
from xlabench.cases.suite import load_suite
from xlabench.errors import BenchError
from xlabench.nightly import Config
from xlabench.results import Records
from xlabench.timing.measure import Plan

HERE = Path(__file__).parent
QUICK = Config(
    engines=("cpu", "cpu:fusion=off", "nvptx:sim"),
    timeout_s=30.0,
    processes=1,
    plan=Plan(rounds=5, batch_s=1e-5, warmup_s=0.01),
    factory="fake_engines:engine",
)
RECIPE = {"seed": 1, "params": [{"name": "x", "shape": [4], "dtype": "f32", "gen": {"kind": "normal"}}]}


@pytest.fixture(autouse=True)
def _fakes(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def suite_folder(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    return folder


PROGRAM = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x, x)\n}\n"


def add(folder, name, text="sum"):
    """A program whose comment tells the fake engines what to do."""
    (folder / f"{name}.hlo").write_text(f"// {text}\n{PROGRAM}")
    (folder / f"{name}.json").write_text(json.dumps(RECIPE))


def run(suite_folder, out, config=QUICK, *, resume=False):
    out.mkdir(exist_ok=True)
    suite = load_suite(str(suite_folder))
    with Records(out / "records.sqlite") as records:
        run_id = nightly.begin(records, suite, config, resume=resume)
        steps = []
        nightly.work(records, run_id, suite, config, out, lambda *step: steps.append(step))
        return records.export(run_id), steps


def verdicts(exported):
    return {case["name"]: {v["engine"]: v["verdict"] for v in case["verdicts"]} for case in exported["cases"]}


def test_a_right_program_is_judged_on_every_engine_and_timed_side_by_side(suite_folder, tmp_path):
    add(suite_folder, "p")
    exported, _ = run(suite_folder, tmp_path / "out")
    assert verdicts(exported) == {"p": dict.fromkeys(QUICK.engines, "bitwise")}
    timings = exported["cases"][0]["timings"]
    assert [(t["engine"], t["process"], len(t["samples"])) for t in timings] == [
        ("cpu:fusion=off", 0, 5),
        ("cpu", 0, 5),
    ]


@pytest.mark.parametrize("rewritten", [False, True])
def test_what_looks_slower_than_before_is_timed_once_more(suite_folder, tmp_path, rewritten):
    add(suite_folder, "p")
    run(suite_folder, tmp_path / "out")
    with sqlite3.connect(tmp_path / "out" / "records.sqlite") as connection:
        connection.execute("UPDATE timings SET samples = '[1e-12, 1e-12, 1e-12, 1e-12, 1e-12]' WHERE engine = 'cpu'")
    if rewritten:
        add(suite_folder, "p", "sum again")
    exported, _ = run(suite_folder, tmp_path / "out")
    processes = [t["process"] for t in exported["cases"][0]["timings"] if t["engine"] == "cpu"]
    assert processes == ([0] if rewritten else [0, 1])


@pytest.mark.parametrize("failing", ["", "crash-in-nvptx:sim"])
def test_what_kernels_take_of_a_gpu_is_recorded_whether_they_run_or_not(suite_folder, tmp_path, failing):
    add(suite_folder, "p", f"sum kernels-of-nvptx:sim {failing}")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, processes=0))
    kernels = exported["cases"][0]["kernels"]
    assert [(k["engine"], k["name"], k["registers"], k["spill_bytes"]) for k in kernels] == [
        ("nvptx:sim", "first", 40, 0),
        ("nvptx:sim", "second", 40, 8),
    ]


@pytest.mark.parametrize(
    ("behaviour", "verdict", "says"),
    [
        ("wrong-in", "wrong", "4 of 4 elements are wrong"),
        ("flaky-in", "flaky", "second call"),
        ("clobber-in", "wrong", "changed its inputs"),
        ("crash-in", "crash", "SIGABRT"),
        ("raise-in", "crash", "kernel launch failed"),
        ("uncompilable-by", "compile-error", "cannot select"),
        ("uncompilable-by", "compile-error", "Traceback"),
        ("unsupported-by", "unsupported", "opcode frobnicate"),
    ],
)
def test_a_failure_is_a_record_and_the_run_goes_on(suite_folder, tmp_path, behaviour, verdict, says):
    add(suite_folder, "bad", f"sum {behaviour}-cpu ")
    add(suite_folder, "good")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu",)))
    assert verdicts(exported) == {"bad": {"cpu": verdict}, "good": {"cpu": "bitwise"}}
    bad = exported["cases"][0]
    assert says in bad["verdicts"][0]["message"]
    assert bad["timings"] == []
    bundles = [] if verdict == "unsupported" else ["bundles/run-1/bad.cpu"]
    assert [bundle["path"] for bundle in bad["bundles"]] == bundles
    assert all((tmp_path / "out" / path / "manifest.json").is_file() for path in bundles)


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


def test_a_reference_that_only_assembles_leaves_the_others_undecided(suite_folder, tmp_path):
    add(suite_folder, "p", "sum assembled-by-reference")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu",)))
    assert verdicts(exported) == {"p": {"reference": "assembled", "cpu": "undecided"}}


def test_a_hang_ends_at_the_time_limit(suite_folder, tmp_path):
    add(suite_folder, "p", "sum hang-in-cpu")
    config = replace(QUICK, engines=("cpu",), timeout_s=1.0)
    exported, _ = run(suite_folder, tmp_path / "out", config)
    (verdict,) = exported["cases"][0]["verdicts"]
    assert (verdict["verdict"], verdict["stage"]) == ("timeout", "compile")


def test_without_a_reference_an_engine_is_undecided(suite_folder, tmp_path):
    add(suite_folder, "p", "sum unsupported-by-reference")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu",)))
    assert verdicts(exported) == {"p": {"reference": "unsupported", "cpu": "undecided"}}


def test_a_program_without_inputs_is_a_failure_of_its_own(suite_folder, tmp_path):
    add(suite_folder, "p")
    (suite_folder / "p.json").write_text("{")
    exported, _ = run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu",)))
    (verdict,) = exported["cases"][0]["verdicts"]
    assert verdict["verdict"] == "compile-error"
    assert "not a recipe" in verdict["message"]


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
suite = load_suite({suite!r})
out = Path({out!r})
with Records(out / "records.sqlite") as records:
    run_id = nightly.begin(records, suite, QUICK, resume=False)
    nightly.work(records, run_id, suite, QUICK, out, lambda *step: print(*step, flush=True))
"""


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


def test_a_finished_run_resumes_to_itself(suite_folder, tmp_path):
    add(suite_folder, "p")
    first, _ = run(suite_folder, tmp_path / "out")
    again, steps = run(suite_folder, tmp_path / "out", resume=True)
    assert again["cases"] == first["cases"]
    assert steps == [("p", nightly.DONE)]


def test_resuming_with_other_options_says_which(suite_folder, tmp_path):
    add(suite_folder, "p")
    run(suite_folder, tmp_path / "out")
    with pytest.raises(BenchError, match="engines"):
        run(suite_folder, tmp_path / "out", replace(QUICK, engines=("cpu",)), resume=True)


def test_resuming_after_a_program_changed_names_it(suite_folder, tmp_path):
    add(suite_folder, "p")
    run(suite_folder, tmp_path / "out")
    add(suite_folder, "p", "another sum")
    with pytest.raises(BenchError, match="'p' has changed"):
        run(suite_folder, tmp_path / "out", resume=True)


def test_resuming_on_another_machine_is_refused(suite_folder, tmp_path, monkeypatch):
    add(suite_folder, "p")
    run(suite_folder, tmp_path / "out")
    elsewhere = replace(nightly.environment.capture(), cpu="another CPU")
    monkeypatch.setattr(nightly.environment, "capture", lambda: elsewhere)
    with pytest.raises(BenchError, match="another CPU"):
        run(suite_folder, tmp_path / "out", resume=True)
