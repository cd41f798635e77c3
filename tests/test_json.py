"""With `--json` every command prints one JSON document on standard output and nothing else, also when it fails."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import smallest_calls
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli as by_hand
from xlabench.cli import cli

ROOT = str(Path(compiler.__file__).parents[1])
CALLS = [
    *(pytest.param("xlabench", *call, id=f"xlabench {name}") for name, call in smallest_calls.CALLS.items()),
    *(pytest.param("compiler", *call, id=f"compiler {name}") for name, call in smallest_calls.BY_HAND.items()),
]
COMMANDS = {"xlabench": cli, "compiler": by_hand}
READ_NO_FILE = ("train", "roofline", "fuzz")


def _document(text):
    """The one document, without the numbers that JSON has not."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def _run(package, arguments, folder):
    line = [sys.executable, "-m", package, *shlex.split(arguments)]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the calls read."""
    made = tmp_path_factory.mktemp("json")
    smallest_calls.write_files(made)
    for call in smallest_calls.PREPARATIONS:
        done = _run("xlabench", call, made)
        assert done.returncode in (0, 1), done.stderr
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("package", "arguments", "code"), CALLS)
def test_results_are_one_document(folder, package, arguments, code):
    done = _run(package, f"{arguments} --json", folder)
    assert done.returncode == code, done.stderr
    assert "error" not in _document(done.stdout)


@pytest.mark.parametrize(("package", "arguments", "_code"), CALLS)
def test_an_error_is_one_document(tmp_path, monkeypatch, package, arguments, _code):
    monkeypatch.chdir(tmp_path)  # where nothing is that the call reads
    words = shlex.split(arguments)
    wrong = ["--no-such-option"] if words[0] in READ_NO_FILE else []
    for given in ([*words, *wrong, "--json"], [*words, "--json", "--no-such-option"]):
        done = CliRunner().invoke(COMMANDS[package], given)
        said = _document(done.stdout)
        assert (said.keys(), said["exit_code"]) == ({"error", "exit_code"}, done.exit_code), done.stderr
        assert done.exit_code == 2
        assert said["error"] in " ".join(done.stderr.split()) or said["error"] in done.stderr


@pytest.mark.parametrize("package", COMMANDS)
@pytest.mark.parametrize("given", [["fly", "--json"], ["--json"]], ids=" ".join)
def test_a_command_that_there_is_not_is_one_document(package, given):
    done = CliRunner().invoke(COMMANDS[package], given)
    assert (_document(done.stdout)["exit_code"], done.exit_code) == (2, 2)
