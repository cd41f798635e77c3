"""`recheck` on the command line: a folder of bundles, each as it ends today."""

import json
import os
from pathlib import Path

import pytest
from one_program import PROGRAM, X, run_command

import compiler
from xlabench.bundles import bundle


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
    done = run_command("recheck", tmp_path, "--json")
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
    done = run_command("recheck", tmp_path, "--json")
    (row,) = json.loads(done.stdout)["bundles"]
    assert (row["path"], row["state"], done.exit_code) == ("closed", "broken", 1)
    assert "Permission denied" in row["message"]


@pytest.mark.parametrize(
    ("name", "message"), [("", "there is no bundle in it"), ("none", "No such file"), ("file", "Not a directory")]
)
def test_recheck_of_no_bundles_is_bad_input(tmp_path, name, message):
    (tmp_path / "file").write_text("")
    done = run_command("recheck", tmp_path / name)
    assert done.exit_code == 2
    assert message in done.stderr
