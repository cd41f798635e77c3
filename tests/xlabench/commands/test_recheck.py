"""`recheck` on the command line: a folder of bundles, each as it ends today."""

import json
import os
from pathlib import Path

import pytest
from one_program import X, right_result, run_command, write_bundle


@pytest.mark.slow
def test_recheck_tells_what_is_fixed_from_what_shows_and_what_is_broken(tmp_path):
    write_bundle(tmp_path / "fixed", right_result())
    write_bundle(tmp_path / "shows", X)
    (write_bundle(tmp_path / "torn", X) / "module.hlo").write_text("?")
    write_bundle(tmp_path / "unreadable", X, text="HloModule")
    write_bundle(tmp_path / "otherwise", X, verdict="crash")
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
    write_bundle(tmp_path / "closed", X)
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
