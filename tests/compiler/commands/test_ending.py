"""How `python -m compiler` ends: exit codes, messages and objects, whatever goes wrong."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli
from compiler.commands.ending import BAD_INPUT, CLOSED_OUTPUT, INTERRUPTED, UNDECIDABLE
from compiler.diagnostics import UnsupportedError

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"
WRONG = "ENTRY main {\n  x = f32[3] parameter(0)\n  a = f32[4] negate(x)\n  ROOT b = s32[3] abs(x)\n}\n"
INFEED = (
    "ENTRY main {\n  t = token[] after-all()\n  i = (f32[], token[]) infeed(t)\n"
    "  ROOT v = f32[] get-tuple-element(i), index=0\n}\n"
)


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["print", "-"], "", BAD_INPUT, "<stdin>:1:1:"),
        (["print", "-"], "ENTRY main {\n  x = f32[3] parameter(0)\n", BAD_INPUT, "<stdin>:"),
        (["print", "-"], b"\xff\xfd\x00", BAD_INPUT, "<stdin>:1:1"),
        (["print", "nowhere.hlo"], "", BAD_INPUT, "nowhere.hlo: cannot be read: No such file"),
        (["print", "."], "", BAD_INPUT, "cannot be read: Is a directory"),
        (["print", "-", "-o", "no/such/folder"], ADD, BAD_INPUT, "cannot be written"),
        (["run", "-", "-o", "no/such/folder"], ADD, BAD_INPUT, "cannot be written"),
        (["opt", "-"], WRONG, BAD_INPUT, "invalid module, 2 violations"),
        (
            ["opt", "-", "--passes", "dce,nonsense"],
            ADD,
            BAD_INPUT,
            "unknown pass 'nonsense'; passes and pipelines are: ",
        ),
        (["opt", "-", "--disable-passes", "x"], ADD, BAD_INPUT, "cannot disable unknown pass 'x'; passes are: "),
        (["run", "-", "--inputs", "nowhere.npz"], ADD, BAD_INPUT, "nowhere.npz: cannot be read"),
        (["run", "-", "--inputs", __file__], ADD, BAD_INPUT, "not a whole .npz file (File is not a zip file)"),
        (["run", "-", "--backend", "nvptx", "--device", "tpu"], ADD, BAD_INPUT, "is not one of 'sim', 'ptxas', 'gpu'"),
        (["run", "-"], INFEED, UNDECIDABLE, "infeed"),
        (["emit", "llvm", "-"], INFEED, UNDECIDABLE, "infeed"),
    ],
)
def test_bad_input_is_a_message_and_an_exit_code(arguments, text, code, message):
    result = call(*arguments, text=text)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


READERS = {name: f"compiler.commands.{name}.parse_graph" for name in ("cluster", "graph", "tf2xla")}
"""What subcommands read standard input with, where that is not `compiler.parse`."""


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_bug_of_ours_is_three_lines_and_a_file(name, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by us")

    monkeypatch.setattr(READERS.get(name, "compiler.parse"), fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call(name, *["hlo"] * (name == "emit"), "-")
    [kept] = tmp_path.iterdir()
    lines = result.stderr.splitlines()
    assert (result.exit_code, len(lines)) == (70, 3)
    assert lines[0] == "compiler: a bug of the compiler's own, not of its input: ZeroDivisionError: by us"
    assert str(kept) in lines[1]
    assert "Traceback (most recent call last)" in kept.read_text()
    monkeypatch.setenv("XLABENCH_TRACEBACK", "1")
    assert call(name, *["hlo"] * (name == "emit"), "-").stderr.startswith("Traceback")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert "cannot be kept in a file" in call(name, *["hlo"] * (name == "emit"), "-").stderr


def test_ctrl_c_is_no_verdict(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("compiler.parse", interrupt)
    result = call("verify", "-")
    assert (result.exit_code, result.stderr) == (130, "compiler: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("package", ["compiler", "xlabench"])
def test_ctrl_c_while_packages_are_loaded_shows_no_traceback(package, tmp_path):
    (tmp_path / "click.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(compiler.__file__).parents[1])]),
    }
    line = [sys.executable, "-P", "-m", package, "--help"]
    # What runs in the background of a script inherits that SIGINT is ignored.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, **heard)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def _object(*arguments, text=ADD):
    """What a call prints with --json, and its exit code: one object alone, of numbers that JSON has."""
    done = call(*arguments, "--json", text=text)
    return json.loads(done.stdout, parse_constant=pytest.fail), done.exit_code


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_end_is_one_object(name, tmp_path, monkeypatch):
    if name in READERS:
        pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    words = [name, *["hlo"] * (name == "emit")]
    told, code = _object(*words, "-", text="nonsense")
    assert (told["exit_code"], told["error"].partition(" ")[0]) == (code, "<stdin>:1:1:") == (BAD_INPUT, "<stdin>:1:1:")
    told, code = _object(*words, "-", "--no-such-option")
    assert (told["exit_code"], "--no-such-option" in told["error"]) == (code, True) == (BAD_INPUT, True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for raised, expected in (
        (UnsupportedError("all of it", "us"), {"error": "all of it is not supported by us", "exit_code": UNDECIDABLE}),
        (KeyboardInterrupt(), {"error": "interrupted", "exit_code": INTERRUPTED}),
        (ZeroDivisionError("by us"), {"error": "ZeroDivisionError: by us", "exit_code": 70}),
    ):
        monkeypatch.setattr(READERS.get(name, "compiler.parse"), partial(_fail, raised))
        told, code = _object(*words, "-")
        assert told == {**expected, **({"traceback": told.get("traceback")} if code == 70 else {})}
        assert code == expected["exit_code"]
    assert told["traceback"] == str(next(tmp_path.iterdir()))


def _fail(error, *_, **__):
    raise error


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["--help", "run --help", "verify add.hlo", "print add.hlo"])
@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("| true", CLOSED_OUTPUT, ""),
        (">/dev/full", BAD_INPUT, "compiler: output cannot be written: No space left on device\n"),
    ],
    ids=["closed", "full"],
)
def test_output_that_goes_nowhere_is_said(tmp_path, arguments, place, code, said):
    (tmp_path / "add.hlo").write_text(ADD)
    # What reads nothing has ended before Python has started.
    line = f"set -o pipefail; (sleep 0.2; {sys.executable} -m compiler {arguments}) {place}"
    environment = {**os.environ, "PYTHONPATH": str(Path(compiler.__file__).parents[1])}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert (done.returncode, done.stderr) == (code, said)
