"""reduce, bisect, isolate, recheck and bundle on the command line."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench import jobs
from xlabench.bundles import bundle
from xlabench.cli import cli
from xlabench.commands import progress

PROGRAM = """HloModule m

ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] tanh(x)
  b = f32[8] negate(a)
  ROOT c = f32[8] add(b, x)
}
"""
X = np.arange(8, dtype=np.float32)


def _run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def sliced(tmp_path, monkeypatch, mutants):
    """A program that a planted bug of CSE breaks."""
    monkeypatch.setattr(jobs, "ENGINES", "mutants:cse_slice")
    path = tmp_path / "sliced.hlo"
    path.write_text(mutants["cse_slice"].text)
    return path


def _bundle(folder, expected, *, text=PROGRAM, engine="reference", reference="reference", verdict="wrong"):
    folder.mkdir()
    failure = bundle.Failure(text, [X], [expected], [expected], engine, reference, 1, verdict, "8 elements are wrong")
    for name, data in bundle._contents(failure).items():
        (folder / name).write_bytes(data)
    return folder


def _right():
    return compiler.interpret(compiler.parse(PROGRAM), X)[0]


@pytest.mark.slow
def test_a_script_is_asked_by_its_exit_status(file, tmp_path):
    program = "import sys; sys.exit(3 if 'negate' in open(sys.argv[1]).read() else 0)"
    command = shlex.join([sys.executable, "-c", program])
    done = _run("reduce", file, "--script", command, "--workers", 2, "--out", tmp_path / "out")
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
    done = _run("reduce", file, "--script", script)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_a_script_needs_no_engine(tmp_path):
    folder = _bundle(tmp_path / "b", X, engine="xla")
    done = _run("reduce", folder, "--script", "true")
    assert done.exit_code == 2, done.output
    assert "there is no failure to keep" in done.stderr


@pytest.mark.slow
def test_what_a_script_started_ends_with_its_time(file, tmp_path):
    program = f"import subprocess; subprocess.run(['sh', '-c', 'sleep 2; touch {tmp_path / 'late'}'])"
    command = shlex.join([sys.executable, "-c", program])
    done = _run("reduce", file, "--script", command, "--timeout", 0.5, "--max-probes", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    time.sleep(2)
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("command", ["reduce", "bisect", "isolate"])
@pytest.mark.parametrize("option", [("--seed", 1), ("--inputs", "in.npz"), ("--module", 1), ("--fill-elided", 1)])
def test_what_a_bundle_brings_cannot_be_given(tmp_path, command, option):
    done = _run(command, _bundle(tmp_path / "b", X), *option)
    assert done.exit_code == 2, done.output
    assert f"{option[0]} cannot be given" in done.stderr


@pytest.mark.parametrize(("options", "expected"), [([], "cpu:opt=0"), (["--reference", "reference"], "reference")])
def test_the_reference_of_a_bundle_is_asked_unless_another_is_given(tmp_path, monkeypatch, options, expected):
    asked = []
    monkeypatch.setattr("xlabench.commands.isolate.Prober", lambda setup: asked.append(setup.reference))
    _run("isolate", _bundle(tmp_path / "b", X, reference="cpu:opt=0"), *options)
    assert asked == [expected]


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
    done = _run("reduce", file, "--script", command, "--out", tmp_path / "out")
    assert done.exit_code == 130, done.output
    assert "; interrupted; keeps exit status 3" in done.stdout
    assert "negate" in (tmp_path / "out" / "reduced.hlo").read_text()


@pytest.mark.parametrize("out", ["full", "file", "file/below"])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_tried(file, tmp_path, monkeypatch, out):
    monkeypatch.setattr("xlabench.commands.reduce.confirm", lambda *_: pytest.fail("tried"))
    (tmp_path / "full").mkdir()
    for name in ("file", "full/notes"):
        (tmp_path / name).write_text("of somebody")
    done = _run("reduce", file, "--out", tmp_path / out)
    assert done.exit_code == 2, done.output
    assert str(tmp_path / out) in done.stderr


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_script_is_not_asked_where_nothing_can_be_written(file, tmp_path, out):
    (tmp_path / "file").write_text("of somebody")
    done = _run("reduce", file, "--script", f"touch {tmp_path / 'asked'}", "--out", tmp_path / out)
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
    done = _run("reduce", file, "--script", command, "--out", tmp_path / "out", "--max-probes", 1)
    assert done.exit_code == 0, done.output
    (kept,) = tmp_path.glob("xlabench-reduced-*/out/reduced.hlo")
    assert f"written to {kept.parent}" in done.stdout
    assert "cannot be made: File exists" in done.stderr


def test_the_folder_beside_a_bundle_that_is_this_folder_has_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(_bundle(tmp_path / "b", _right()))
    done = _run("reduce", ".", "--script", "test -e", "--max-probes", 1)
    assert done.exit_code == 2, done.output
    assert "there is no failure to keep" in done.stderr


def test_a_script_that_is_content_shows_no_failure(file, tmp_path):
    done = _run("reduce", file, "--script", "true", "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "there is no failure to keep" in done.stderr


@pytest.mark.slow
def test_a_program_that_does_not_fail_is_bad_input(file):
    done = _run("bisect", file)
    assert done.exit_code == 2, done.output
    assert "there is no failure to look into: " in done.stderr


@pytest.mark.slow
def test_a_wrong_program_is_reduced_into_a_bundle(sliced, tmp_path):
    done = _run("reduce", sliced, "--workers", 2, "--out", tmp_path / "out", "--json")
    report = json.loads(done.stdout)
    assert (report["kept"], report["exhausted"]) == ("pass/cse/merge with equal", False)
    assert report["instructions"] <= 5
    saved = bundle.load(tmp_path / "out")
    assert (saved.module_text, saved.verdict) == (report["text"], "wrong")
    assert "slice={[6:12], [0:10]}" in saved.original.module_text


@pytest.mark.slow
def test_bisect_prints_the_last_good_and_the_first_bad_command(sliced, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    done = _run("bisect", sliced)
    assert done.exit_code == 0, done.output
    assert "rewrite 2: merge with equal at main/b" in done.stdout
    assert "after cse (pass run" in done.stderr
    assert f"last good: xlabench run {sliced} --engine cpu:fuel=1\n" in done.stdout
    assert f"first bad: xlabench run {sliced} --engine cpu:fuel=2\n" in done.stdout


@pytest.mark.slow
def test_of_a_pass_that_no_engine_can_leave_out_the_modules_around_it_are_kept(tmp_path, monkeypatch, dumping):
    monkeypatch.setattr(jobs, "ENGINES", "dumping_engines:engine")
    path = tmp_path / "m.hlo"
    path.write_text(dumping.RIGHT)
    arguments = ["bisect", path, "--engine", "cpu:opt=0"]
    assert "--out DIR keeps both as bundles" in _run(*arguments).stdout
    lines = _run(*arguments, "--out", tmp_path / "out of it").stdout.splitlines()
    told = dict(line.split(": ", 1) for line in lines if line.startswith(("last good", "first bad")))
    codes = {name: _run(*shlex.split(line)[1:]).exit_code for name, line in told.items()}
    assert codes == {"last good": 0, "first bad": 1}


@pytest.mark.slow
def test_the_commands_that_bisect_prints_are_those_of_a_shell_and_whole(sliced, tmp_path):
    file = tmp_path / "of mine" / "sliced.hlo"
    file.parent.mkdir()
    sliced.rename(file)
    given = ["--seed", "3", "--reference", "reference:wide"]
    lines = _run("bisect", file, *given).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("last good: ")]
    assert shlex.split(line)[2:] == ["xlabench", "run", str(file), *given, "--engine", "cpu:fuel=1"]


@pytest.mark.slow
def test_isolate_lists_every_instruction(file, monkeypatch):
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    assert "3/3" in _run("isolate", file).stderr
    done = _run("isolate", file, "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert (done.exit_code, report["first"]) == (0, None)
    assert [row["opcode"] for row in report["instructions"]] == ["tanh", "negate", "add"]


@pytest.mark.slow
def test_isolate_without_values_of_the_reference_cannot_decide(file):
    done = _run("isolate", file, "--timeout", 1e-6)
    assert done.exit_code == 125, done.output
    assert "the reference gave no values" in done.stderr


@pytest.mark.slow
def test_isolate_of_what_the_engine_does_not_do_cannot_decide(file, monkeypatch, mutants):
    monkeypatch.setattr(jobs, "ENGINES", "fake_engines:refusing")
    done = _run("isolate", file)
    assert done.exit_code == 125, done.output
    assert "none of 3 instructions could be judged" in done.stdout


@pytest.mark.slow
def test_recheck_tells_what_is_fixed_from_what_shows_and_what_is_broken(tmp_path):
    _bundle(tmp_path / "fixed", _right())
    _bundle(tmp_path / "shows", X)
    (_bundle(tmp_path / "torn", X) / "module.hlo").write_text("?")
    _bundle(tmp_path / "unreadable", X, text="HloModule")
    _bundle(tmp_path / "otherwise", X, verdict="crash")
    done = _run("recheck", tmp_path, "--json")
    rows = json.loads(done.stdout)["bundles"]
    assert {row["path"]: row["state"] for row in rows} == {
        "fixed": "fixed",
        "shows": "shows",
        "torn": "broken",
        "unreadable": "broken",
        "otherwise": "otherwise",
    }
    assert done.exit_code == 1
    assert not any("\n" in row["message"] for row in rows)


def test_recheck_says_which_folders_it_cannot_look_into(tmp_path, monkeypatch):
    _bundle(tmp_path / "closed", X)
    scandir = os.scandir

    def denied(path):
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)  # the user who runs tests may be allowed everything
    done = _run("recheck", tmp_path, "--json")
    (row,) = json.loads(done.stdout)["bundles"]
    assert (row["path"], row["state"], done.exit_code) == ("closed", "broken", 1)
    assert "Permission denied" in row["message"]


@pytest.mark.parametrize(
    ("name", "message"), [("", "there is no bundle in it"), ("none", "No such file"), ("file", "Not a directory")]
)
def test_recheck_of_no_bundles_is_bad_input(tmp_path, name, message):
    (tmp_path / "file").write_text("")
    done = _run("recheck", tmp_path / name)
    assert done.exit_code == 2
    assert message in done.stderr


def test_show_says_what_a_bundle_holds(tmp_path):
    done = _run("bundle", "show", _bundle(tmp_path / "b", X), "--json")
    report = json.loads(done.stdout)
    assert (report["verdict"], report["inputs"], report["module"]) == ("wrong", ["float32[8]"], PROGRAM)


def test_show_sends_nothing_to_a_terminal_that_it_would_obey(tmp_path):
    text = PROGRAM.replace("add(b, x)", 'add(b, x), metadata={op_name="caf\udce9\x1b[2J"}')
    done = _run("bundle", "show", _bundle(tmp_path / "b", X, text=text))
    assert done.exit_code == 0, done.exception
    assert 'op_name="caf\\udce9\\x1b[2J"' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "code"), [(X, 0), (_right(), 1)], ids=["shows", "gone"])
def test_verify_replays_a_bundle(tmp_path, expected, code):
    done = _run("bundle", "verify", _bundle(tmp_path / "b", expected), "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["exit_code"], report["holds"]) == (code, code, code == 0)
    assert report["recorded"] == "wrong"


def _export(tmp_path, *, expected=X, blocked=(), **changes):
    """Export a bundle, and write modules that cannot be imported into the folder `blocked`."""
    done = _run("bundle", "export", _bundle(tmp_path / "b", expected, **changes), "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (tmp_path / "blocked").mkdir()
    for name in blocked:
        (tmp_path / "blocked" / f"{name}.py").write_text("raise ImportError")
    return tmp_path / "out", done.output


def test_export_needs_nothing_of_ours(tmp_path):
    out, _ = _export(tmp_path)
    names = {path.name for path in out.iterdir()}
    arrays = {"inputs.npz", "expected.npz", "bounds.npz"}
    assert names == {"module.hlo", "literals.textproto", *arrays, "run_in_jax.py"}
    script = (out / "run_in_jax.py").read_text()
    assert "import xlabench" not in script
    assert "from xlabench" not in script


@pytest.mark.slow
def test_a_script_without_jax_cannot_decide(tmp_path):
    out, _ = _export(tmp_path, blocked=["jax"])
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "blocked")}
    script = [sys.executable, out / "run_in_jax.py"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 125, done.stderr


def test_what_literals_cannot_say_is_left_out_of_an_export_and_said(tmp_path):
    text = "ENTRY e { x = f32[8] parameter(0) ROOT c = f6e2m3fn[8] convert(x) }"
    narrow = X.astype(ml_dtypes.float6_e2m3fn)
    out, said = _export(tmp_path, text=text, expected=narrow)
    assert not (out / "literals.textproto").exists()
    assert (out / "run_in_jax.py").exists()
    assert "no run_hlo_module: its text form of literals has no field for f6e2m3fn" in said


def test_an_export_may_be_an_archive_of_the_same_files(tmp_path):
    out, _ = _export(tmp_path)
    done = _run("bundle", "export", tmp_path / "b", "--out", tmp_path / "x.zip", "--json")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {path.name: path.read_bytes() for path in out.iterdir()}
    said = {"out": str(tmp_path / "x.zip"), "files": sorted(packed), "lacking": ""}
    assert json.loads(done.stdout) == said


@pytest.mark.parametrize("arguments", [["gone"], ["gone", "gone"], [".", "gone"]])
def test_what_cannot_be_compared_because_it_is_not_there_is_said(arguments):
    done = _run("compare", *arguments)
    assert done.exit_code == 2
    if arguments[0] == "gone":
        assert "gone: cannot be read: No such file or directory; give a folder of `xlabench nightly`" in done.stderr
