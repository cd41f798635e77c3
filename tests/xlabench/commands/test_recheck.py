"""`recheck` on the command line: a folder of bundles, each as it ends today."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench.bundles import bundle
from xlabench.cli import cli

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


def _bundle(folder, expected, *, text=PROGRAM, engine="reference", reference="reference", verdict="wrong"):
    folder.mkdir()
    failure = bundle.Failure(text, [X], [expected], [expected], engine, reference, 1, verdict, "8 elements are wrong")
    for name, data in bundle._contents(failure).items():
        (folder / name).write_bytes(data)
    return folder


def _right():
    return compiler.interpret(compiler.parse(PROGRAM), X)[0]


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
