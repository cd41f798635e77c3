import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from xlabench.bundles import archive, saving
from xlabench.bundles.failure import Failure
from xlabench.cli import cli

PROGRAM = "HloModule m\n\nENTRY e {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] add(x, x)\n}\n"
X = np.arange(3, dtype=np.float32)
MAKERS = {"nothing": lambda path: None, "empty folder": Path.mkdir, "file": lambda path: path.write_text("?")}


def _bundle(folder, *, expected, engine="reference", text=PROGRAM):
    folder.mkdir()
    failure = Failure(text, [X], [expected], [X], engine, "reference", 1, "wrong", "2 of 3 elements are wrong")
    for name, data in saving._contents(failure).items():
        (folder / name).write_bytes(data)
    return str(folder)


def _replay(folder, *options):
    return CliRunner().invoke(cli, ["replay", folder, *options])


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "code", "answer"), [(X + X, 0, "gone"), (X, 1, "shows")])
def test_the_exit_code_says_whether_the_bug_shows(tmp_path, expected, code, answer):
    done = _replay(_bundle(tmp_path / "b", expected=expected), "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["answer"], report["recorded"]) == (code, answer, "wrong")


@pytest.mark.slow
def test_what_this_machine_cannot_run_cannot_be_decided(tmp_path):
    custom = PROGRAM.replace("add(x, x)", 'custom-call(x), custom_call_target="nobody"')
    done = _replay(_bundle(tmp_path / "b", expected=X, text=custom))
    assert done.exit_code == 125, done.output


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_no_bundle_is_refused(tmp_path, make):
    make(tmp_path / "b")
    done = _replay(str(tmp_path / "b"))
    assert done.exit_code == 2, done.exception
    assert "cannot be read" in done.stderr or "not a whole bundle" in done.stderr


@pytest.mark.slow
def test_an_archive_is_replayed_like_a_folder(tmp_path):
    folder = Path(_bundle(tmp_path / "b", expected=X))
    (tmp_path / "b.zip").write_bytes(archive.pack({path.name: path.read_bytes() for path in folder.iterdir()}))
    assert _replay(str(tmp_path / "b.zip")).exit_code == 1


def test_an_engine_that_is_not_known_any_more_is_bad_input(tmp_path):
    done = _replay(_bundle(tmp_path / "b", expected=X, engine="abacus"))
    assert done.exit_code == 2
    assert "unknown engine 'abacus'" in done.stderr


def test_what_does_not_end_does_not_show_that_results_are_wrong(tmp_path):
    done = _replay(_bundle(tmp_path / "b", expected=X), "--timeout", "1e-9", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["answer"], report["verdict"]) == (125, "fails otherwise", "timeout")
