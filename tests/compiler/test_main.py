"""`python -m compiler` by hand: what each command prints, and how errors end."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


@pytest.mark.slow
def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "compiler", "verify", "-"], input=ADD, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "-: valid\n", "")


def _object(*arguments, text=ADD):
    """What a call prints with --json, and its exit code: one object alone, of numbers that JSON has."""
    done = call(*arguments, "--json", text=text)
    return json.loads(done.stdout, parse_constant=pytest.fail), done.exit_code


def test_programs_are_told_what_people_are(tmp_path):
    text = compiler.to_text(compiler.parse(ADD))
    assert _object("print", "-") == ({"text": text}, 0)
    assert _object("print", "-", "-o", tmp_path / "m.hlo") == ({"output": str(tmp_path / "m.hlo")}, 0)
    assert (tmp_path / "m.hlo").read_text() == text
    assert _object("opt", "-", "--passes", "dce") == ({"text": call("opt", "-", "--passes", "dce").stdout}, 0)
    assert _object("verify", "-") == ({"file": "-", "valid": True, "findings": []}, 0)


@pytest.mark.parametrize("command", [["run"], ["emit", "buffers"]], ids=" ".join)
def test_times_are_in_the_object(command):
    done = call(*command, "-", "--backend", "cpu", "--time", "--json")
    times = json.loads(done.stdout)["times_ms"]
    assert (done.stderr, times["total"]) == ("", pytest.approx(times["Python"] + times["LLVM"]))
