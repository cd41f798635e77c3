"""`bundle` on the command line: shown, verified and exported."""

import json
import os
import subprocess
import sys
import zipfile

import ml_dtypes
import pytest
from one_program import PROGRAM, X, right_result, run_command, write_bundle


def test_show_says_what_a_bundle_holds(tmp_path):
    done = run_command("bundle", "show", write_bundle(tmp_path / "b", X), "--json")
    report = json.loads(done.stdout)
    assert (report["verdict"], report["inputs"], report["module"]) == ("wrong", ["float32[8]"], PROGRAM)


def test_show_sends_nothing_to_a_terminal_that_it_would_obey(tmp_path):
    text = PROGRAM.replace("add(b, x)", 'add(b, x), metadata={op_name="caf\udce9\x1b[2J"}')
    done = run_command("bundle", "show", write_bundle(tmp_path / "b", X, text=text))
    assert done.exit_code == 0, done.exception
    assert 'op_name="caf\\udce9\\x1b[2J"' in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "code"), [(X, 0), (right_result(), 1)], ids=["shows", "gone"])
def test_verify_replays_a_bundle(tmp_path, expected, code):
    done = run_command("bundle", "verify", write_bundle(tmp_path / "b", expected), "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["exit_code"], report["holds"]) == (code, code, code == 0)
    assert report["recorded"] == "wrong"


def _export(tmp_path, *, expected=X, blocked=(), **changes):
    """Export a bundle, and write modules that cannot be imported into the folder `blocked`."""
    done = run_command("bundle", "export", write_bundle(tmp_path / "b", expected, **changes), "--out", tmp_path / "out")
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
    done = run_command("bundle", "export", tmp_path / "b", "--out", tmp_path / "x.zip", "--json")
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {path.name: path.read_bytes() for path in out.iterdir()}
    said = {"out": str(tmp_path / "x.zip"), "files": sorted(packed), "lacking": ""}
    assert json.loads(done.stdout) == said
