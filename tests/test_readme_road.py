"""The road that the README promises, walked as a user walks it: command lines in fresh processes, files on disk."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import xlabench
from xlabench.cases.suite import known_suites
from xlabench.cli import cli
from xlabench.commands.nightly import default_engines

ROOT = Path(xlabench.__file__).resolve().parents[1]
SMOKE = known_suites()["smoke"]
ENGINES = ("reference", "cpu", "cpu:fusion=off", "nvptx:sim")
RELATIVE = 1e-4
LIMIT_S = 300

TANH = """HloModule curve

ENTRY e {
  x = f32[1000] parameter(0)
  y = f32[1000] tanh(x)
  ROOT z = f32[1000] exponential(y)
}
"""

pytestmark = pytest.mark.slow


def start(folder, *arguments):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", "xlabench", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(folder, *arguments):
    with start(folder, *arguments) as process:
        stdout, stderr = process.communicate(timeout=LIMIT_S)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def said(done, code=0):
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)


@pytest.fixture
def curve(tmp_path):
    path = tmp_path / "curve.hlo"
    path.write_text(TANH)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_with_its_recipe_beside_it_runs_right_on_every_engine(tmp_path, engine):
    for name in ("fma_reduce_1k.hlo", "fma_reduce_1k.json"):
        shutil.copy(SMOKE / name, tmp_path)
    report = said(call(tmp_path, "run", "fma_reduce_1k.hlo", "--engine", engine, "--json"))
    assert report["verdict"] in ("bitwise", "within")
    assert (report["inputs"], report["seed"]) == (
        "fma_reduce_1k.json",
        json.loads((SMOKE / "fma_reduce_1k.json").read_text())["seed"],
    )


def test_a_dump_has_the_names_that_xla_gives_and_an_index(tmp_path, curve):
    said(call(tmp_path, "run", curve.name, "--dump-to", "dump", "--json"))
    names = {path.name for path in (tmp_path / "dump").iterdir()}
    [module] = json.loads((tmp_path / "dump" / "index.json").read_text())
    assert {entry["file"] for entry in module["files"]} == names - {"index.json"}
    for end in (
        "before_optimizations.txt",
        "cpu_after_optimizations.txt",
        "buffer-assignment.txt",
        "ir-with-opt.ll",
        "o",
    ):
        assert f"module_0001.curve.{end}" in names


@pytest.mark.parametrize("bundle", ["bundle", "bundle.zip"])
def test_a_failure_becomes_a_bundle_that_shows_it_again(tmp_path, curve, bundle):
    options = ("--seed", 3, "--rtol", 0, "--atol", 0, "--bundle", bundle, "--json")
    report = said(call(tmp_path, "run", curve.name, *options), code=1)
    assert (report["verdict"], report["bundle"]) == ("wrong", {"path": bundle, "verified": True})
    assert report["mismatches"] > 0
    assert report["results"][0]["worst"]
    again = said(call(tmp_path, "replay", bundle, "--json"), code=1)
    assert (again["answer"], again["recorded"]) == ("shows", "wrong")


def test_all_engines_follow_the_same_loss_for_fifty_steps(tmp_path):
    losses = {
        engine: said(call(tmp_path, "train", "mnist-softmax", "--steps", 50, "--engine", engine, "--json"))["losses"]
        for engine in ENGINES
    }
    assert losses["reference"][-1] < losses["reference"][0] / 2
    for engine in ENGINES:
        np.testing.assert_allclose(losses[engine], losses["reference"], rtol=RELATIVE, err_msg=engine)
    timeline = json.loads((tmp_path / "timeline.ctf.json").read_text())
    assert {event["cat"] for event in timeline["traceEvents"] if "cat" in event} >= {"compile", "step", "kernel"}


def suite(folder, *names):
    (folder / "tiny").mkdir()
    for name in names:
        (folder / "tiny" / f"{name}.hlo").write_text(TANH.replace("curve", name))


def test_a_nightly_run_leaves_records_a_page_and_charts(tmp_path):
    suite(tmp_path, "one")
    report = said(call(tmp_path, "nightly", "--suite", "tiny", "--out", "out", "--processes", 1, "--json"))
    assert sum(report["verdicts"].values()) == len(default_engines())
    assert report["failures"] == []
    page = (tmp_path / "out" / "index.html").read_text()
    assert re.search(r"\bone\b", page)
    for name in ("results.json", "records.sqlite", "speedup.svg", "speedup.png"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    json.loads((tmp_path / "out" / "results.json").read_text())


def cases(database):
    """The number of programs that have records."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(database, timeout=1)) as connection:
        return connection.execute("SELECT count(*) FROM cases").fetchone()[0]
    return 0


def test_a_killed_nightly_goes_on_where_it_was(tmp_path):
    suite(tmp_path, "one", "three", "two")
    arguments = ("nightly", "--suite", "tiny", "--out", "out", "--processes", 1, "--rounds", 5, "--json")
    with start(tmp_path, *arguments) as process:
        while process.poll() is None and cases(tmp_path / "out" / "records.sqlite") < 1:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
        process.kill()
        process.communicate()
    report = said(call(tmp_path, *arguments, "--resume"))
    assert sum(report["verdicts"].values()) == 3 * len(default_engines())
    records = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [case["name"] for case in records["cases"]] == ["one", "three", "two"]


TEXTS = {
    "empty": b"",
    "binary": b"\x7fELF\x02\x01\x01\x00\xff\xfe",
    "truncated": TANH[:60].encode(),
    "unknown opcode": TANH.replace("tanh", "tanhh").encode(),
    "wrong shapes": TANH.replace("y = f32[1000]", "y = f32[999]").encode(),
    "missing operand": TANH.replace("tanh(x)", "tanh()").encode(),
    "cycle": TANH.replace("tanh(x)", "tanh(z)").encode(),
    "duplicate name": TANH.replace("ROOT z", "ROOT y").encode(),
    "nested brackets": b"HloModule m\nENTRY e {\n  ROOT x = " + b"(" * 100_000,
    "half a gz": b"\x1f\x8b\x08\x00\x00\x00",
}


def check_refused(folder, arguments, words):
    """Nothing of what is refused here has begun, so the command is called in this process."""
    before = sorted(folder.rglob("*"))
    with contextlib.chdir(folder):
        done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert sorted(folder.rglob("*")) == before
    assert words in done.stderr


@pytest.mark.parametrize("name", TEXTS)
def test_a_bad_program_is_refused_with_its_place(tmp_path, name):
    (tmp_path / "bad.hlo").write_bytes(TEXTS[name])
    check_refused(tmp_path, ("run", "bad.hlo", "--bundle", "b"), "bad.hlo")


def _number(folder):
    np.savez(folder / "in.npz", np.zeros(1000, np.float32), np.zeros(1000, np.float32))


def _type(folder):
    np.savez(folder / "in.npz", x=np.zeros(1000, np.int32))


def _cut(folder):
    np.savez(folder / "in.npz", x=np.zeros(1000, np.float32))
    (folder / "in.npz").write_bytes((folder / "in.npz").read_bytes()[:700])


def _digits(folder):
    (folder / "digits").mkdir()
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        (folder / "digits" / name).write_bytes(b"\0\0\x08\x03\0\0\0\x05")


def _bundle(folder):
    (folder / "b").mkdir()
    (folder / "b" / "manifest.json").write_text('{"format": "xlabench-bundle", "version": 1}')


def _file(folder):
    (folder / "file").write_text("")


def _nothing(folder):
    """What the command is given is not there."""


BAD_USE = {
    "number of inputs": (_number, ("run", "curve.hlo", "--inputs", "in.npz"), "2 inputs"),
    "type of an input": (_type, ("run", "curve.hlo", "--inputs", "in.npz"), "int32"),
    "truncated npz": (_cut, ("run", "curve.hlo", "--inputs", "in.npz"), "not a whole .npz"),
    "missing npz": (_nothing, ("run", "curve.hlo", "--inputs", "in.npz"), "cannot be read"),
    "truncated IDX": (_digits, ("train", "mnist-softmax", "--data-dir", "digits", "--timeline", "t.json"), "digits"),
    "missing IDX": (_nothing, ("train", "mnist-softmax", "--data-dir", "digits", "--timeline", "t.json"), "digits"),
    "damaged bundle": (_bundle, ("replay", "b"), "not a whole bundle"),
    "missing bundle": (_nothing, ("replay", "b"), "cannot be read"),
    "unknown engine": (_nothing, ("run", "curve.hlo", "--engine", "gpu"), "known are: reference, cpu, nvptx, xla"),
    "unknown engine option": (_nothing, ("run", "curve.hlo", "--engine", "cpu:speed=1"), "known are: fusion="),
    "unknown option": (_nothing, ("run", "curve.hlo", "--colour"), "--colour"),
    "unknown suite": (_nothing, ("nightly", "--suite", "none", "--out", "out"), "known are: "),
    "unknown command": (_nothing, ("fly",), "known are: run"),
    "dump folder": (_file, ("run", "curve.hlo", "--dump-to", "file/d"), "another folder"),
    "bundle folder": (_file, ("run", "curve.hlo", "--atol", "0", "--rtol", "0", "--bundle", "file/b"), "cannot be"),
    "report folder": (_file, ("nightly", "--suite", "smoke", "--out", "file/o"), "another folder"),
    "timeline": (_file, ("train", "mnist-softmax", "--timeline", "file/t.json"), "another file"),
}


@pytest.mark.parametrize("name", BAD_USE)
def test_bad_use_is_refused_with_the_remedy_and_nothing_is_left_behind(tmp_path, curve, name):
    make, arguments, words = BAD_USE[name]
    make(tmp_path)
    check_refused(tmp_path, arguments, words)
