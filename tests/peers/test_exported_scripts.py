"""What `bundle export` writes for people without this tool shows XLA's bugs in jaxlib alone."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xlabench.bundles import bundle, export
from xlabench.bundles.failure import Failure

jaxlib = pytest.importorskip("jaxlib", reason="jaxlib is not installed")

FOLDER = Path(__file__).resolve().parents[2] / "suites" / "regressions" / "xla"
BUNDLES = sorted(path.parent for path in FOLDER.glob("*/manifest.json"))


def _run(folder, *arguments):
    script = [sys.executable, "-I", "run_in_jax.py", *arguments]
    return subprocess.run(script, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def _export(path, folder):
    files, _ = export.contents(bundle.load(path))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name)
def test_the_script_shows_the_bug_where_it_was_found(path, tmp_path):
    done = _run(_export(path, tmp_path))
    versions = json.loads((path / "manifest.json").read_text())["environment"]["versions"]
    shows = done.returncode == 1 or done.returncode < 0  # a crash ends the script as well
    assert shows or (versions["jaxlib"] != jaxlib.__version__ and done.returncode == 0), done.stdout + done.stderr


def test_the_script_says_when_a_failure_is_gone_and_what_another_program_does(tmp_path):
    program = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }"
    x = np.arange(2, dtype=np.float32)
    files, _ = export.contents(
        Failure(program, [x], [x + x], [x], "xla", "reference", None, "wrong", "2 of 2 elements are wrong")
    )
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "other.hlo").write_text(program.replace("add", "nothing-known"))
    assert _run(tmp_path).returncode == 0
    assert _run(tmp_path, "module.hlo").returncode == 0
    assert _run(tmp_path, "other.hlo").returncode == 125
