"""`reduce` on the command line: scripts, interruptions, and places that cannot be written."""

import json
import os
import shlex
import sys
import tempfile
import time
from types import SimpleNamespace

import numpy as np
import pytest
from graph_cases import counter, program
from in_process import Telling
from one_program import X, right_result, run_command, write_bundle

import compiler
from xlabench import jobs
from xlabench.bundles import bundle, saving
from xlabench.bundles.failure import Failure
from xlabench.commands import reduce as reducing
from xlabench.diagnosis import probe
from xlabench.diagnosis.reduce import Reduction


@pytest.fixture
def sliced(tmp_path, monkeypatch, mutants):
    """A program that a planted bug of CSE breaks."""
    monkeypatch.setattr(jobs, "ENGINES", "mutants:cse_slice")
    path = tmp_path / "sliced.hlo"
    path.write_text(mutants["cse_slice"].text)
    return path


@pytest.mark.slow
def test_a_script_is_asked_by_its_exit_status(file, tmp_path):
    program = "import sys; sys.exit(3 if 'negate' in open(sys.argv[1]).read() else 0)"
    command = shlex.join([sys.executable, "-c", program])
    done = run_command("reduce", file, "--script", command, "--workers", 2, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "out" / "reduced.hlo").read_text()
    module = compiler.parse(text)
    assert [i.opcode for i in module.instructions()] == ["parameter", "negate"]
    assert "keeps exit status 3" in done.output


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("unbalanced '", "No closing quotation"),
        ("", "is no command"),
        (" ", "is no command"),
        ("./none", "cannot be run"),
    ],
)
def test_a_script_that_cannot_be_asked_is_bad_input(file, script, message):
    done = run_command("reduce", file, "--script", script)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_a_script_needs_no_engine(tmp_path):
    folder = write_bundle(tmp_path / "b", X, engine="xla")
    done = run_command("reduce", folder, "--script", "true")
    assert done.exit_code == 2, done.output
    assert "there is no failure to keep" in done.stderr


@pytest.mark.slow
def test_what_a_script_started_ends_with_its_time(file, tmp_path):
    program = f"import subprocess; subprocess.run(['sh', '-c', 'sleep 2; touch {tmp_path / 'late'}'])"
    command = shlex.join([sys.executable, "-c", program])
    limits = "--timeout", 0.5, "--max-probes", 1
    done = run_command("reduce", file, "--script", command, *limits, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    time.sleep(2)
    assert not (tmp_path / "late").exists()


INTERRUPTING = """
import os, signal, sys
text = open(sys.argv[1]).read()
if "tanh" not in text:  # a smaller one
    os.kill({parent}, signal.SIGINT)
sys.exit(3 if "negate" in text else 0)
"""


@pytest.mark.slow
def test_an_interrupted_search_keeps_what_it_has_found(file, tmp_path):
    command = shlex.join([sys.executable, "-c", INTERRUPTING.format(parent=os.getpid())])
    done = run_command("reduce", file, "--script", command, "--out", tmp_path / "out")
    assert done.exit_code == 130, done.output
    assert "; interrupted; keeps exit status 3" in done.stdout
    assert "negate" in (tmp_path / "out" / "reduced.hlo").read_text()


@pytest.mark.parametrize("out", ["full", "file", "file/below"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_tried(file, tmp_path, monkeypatch, out):
    monkeypatch.setattr("xlabench.commands.reduce.confirm", lambda *_: pytest.fail("tried"))
    (tmp_path / "full").mkdir()
    for name in ("file", "full/notes"):
        (tmp_path / name).write_text("of somebody")
    done = run_command("reduce", file, "--out", tmp_path / out)
    assert done.exit_code == 2, done.output
    assert str(tmp_path / out) in done.stderr


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_script_is_not_asked_where_nothing_can_be_written(file, tmp_path, out):
    (tmp_path / "file").write_text("of somebody")
    done = run_command("reduce", file, "--script", f"touch {tmp_path / 'asked'}", "--out", tmp_path / out)
    assert done.exit_code == 2, done.output
    assert not (tmp_path / "asked").exists()


SPOILING = """
import os, sys
os.path.exists({out!r}) or open({out!r}, "w").close()  # it was free before
sys.exit(3 if "negate" in open(sys.argv[1]).read() else 0)
"""


@pytest.mark.slow
def test_what_cannot_be_written_after_all_is_kept_elsewhere(file, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command = shlex.join([sys.executable, "-c", SPOILING.format(out=str(tmp_path / "out"))])
    done = run_command("reduce", file, "--script", command, "--out", tmp_path / "out", "--max-probes", 1)
    assert done.exit_code == 0, done.output
    (kept,) = tmp_path.glob("xlabench-reduced-*/out/reduced.hlo")
    assert f"written to {kept.parent}" in done.stdout
    assert "cannot be made: File exists" in done.stderr


def test_the_folder_beside_a_bundle_that_is_this_folder_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(write_bundle(tmp_path / "b", right_result()))
    done = run_command("reduce", ".", "--script", "test -e", "--max-probes", 1)
    assert done.exit_code == 2, done.output
    assert "there is no failure to keep" in done.stderr


def test_a_script_that_is_content_shows_no_failure(file, tmp_path):
    done = run_command("reduce", file, "--script", "true", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "there is no failure to keep" in done.stderr


@pytest.mark.slow
def test_a_program_that_does_not_fail_is_bad_input(file):
    done = run_command("bisect", file)
    assert done.exit_code == 2, done.output
    assert "there is no failure to look into: " in done.stderr


REFUSED = """ENTRY e { a = c64[4] parameter(0) b = c64[4] multiply(a, a) c = f32[8] bitcast(b)
  ROOT r = f32[8] negate(c) }"""


@pytest.mark.slow
def test_what_is_refused_by_an_engine_that_takes_all_is_reduced_into_a_bundle_that_shows_it(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "Worker", Telling)
    given, result = np.ones(4, np.complex64), np.ones(8, np.float32)
    failure = Failure(
        REFUSED, [given], [result], [], "cpu", "reference", None, "compile-error", "refused", takes_all=True
    )
    (tmp_path / "b").mkdir()
    for name, data in saving._contents(failure).items():
        (tmp_path / "b" / name).write_bytes(data)
    done = run_command("reduce", tmp_path / "b", "--out", tmp_path / "out", "--json")
    report = json.loads(done.stdout)
    assert (report["instructions"], report["verified"]) == (1, True)
    assert report["kept"] == "pass/layout-normalization/UnsupportedError"


@pytest.mark.slow
def test_a_wrong_program_is_reduced_into_a_bundle(sliced, tmp_path):
    done = run_command("reduce", sliced, "--workers", 2, "--out", tmp_path / "out", "--json")
    report = json.loads(done.stdout)
    assert (report["kept"], report["exhausted"]) == ("pass/cse/merge with equal", False)
    assert report["instructions"] <= 5
    saved = bundle.load(tmp_path / "out")
    assert (saved.module_text, saved.verdict) == (report["text"], "wrong")
    assert "slice={[6:12], [0:10]}" in saved.original.module_text


def test_a_graph_is_shown_and_counted_by_its_nodes(tmp_path):
    reduction = Reduction(program(counter()), 7, exhausted=False, history=())
    result = reducing.Result(reduction, "tf2xla/Mul", SimpleNamespace(engine="ops"))
    assert "change = AssignAddVariableOp(v, x, ^before)" in reducing._text(result)
    assert reducing._summary(result, reducing.Written(tmp_path)).startswith("6 nodes after 7 probes; keeps tf2xla/Mul")
    of_program = reducing.Result(reduction, "pass/cse", SimpleNamespace(engine="cpu"))
    assert reducing._summary(of_program, reducing.Written(tmp_path)).startswith("3 instructions after 7 probes")
