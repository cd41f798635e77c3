"""The command line as a whole: what it loads, how it ends, and what it says of bugs."""

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from xlabench import cli, errors


def _run(*arguments):
    return CliRunner().invoke(cli.cli, arguments)


def test_help_loads_nothing_heavy():
    program = """
import sys
import tempfile
from xlabench.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print(sorted({"numpy", "llvmlite", "matplotlib", "rich", "sqlalchemy", "compiler"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def _subcommands():
    for name, module in cli.COMMANDS.items():
        command = import_module(module).command
        for member in command.commands.values() if isinstance(command, click.Group) else [command]:
            yield pytest.param(member, id=f"{name} {member.name}")


@pytest.mark.parametrize("command", list(_subcommands()))
def test_every_command_says_its_results_to_programs_too(command):
    assert "--json" in [name for parameter in command.params for name in parameter.opts]


def test_an_unknown_command_names_the_known_ones():
    done = _run("fly")
    assert done.exit_code == 2
    assert "unknown command 'fly'; known are: run, replay" in done.stderr


def test_an_error_is_a_message_and_an_exit_code(monkeypatch):
    def fail(_name):
        raise errors.TimeoutFailure("no answer after 3 s; give more")

    monkeypatch.setattr(cli, "import_module", fail)
    done = _run("run")
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr == "xlabench: no answer after 3 s; give more\n"


def _failing(monkeypatch, error):
    def fail(_name):
        raise error

    monkeypatch.setattr(cli, "import_module", fail)


@pytest.mark.parametrize("name", cli.COMMANDS)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_bug_of_ours_is_three_lines_and_a_file_and_no_verdict(monkeypatch, tmp_path, name, as_json):
    _failing(monkeypatch, ZeroDivisionError("by us"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = _run(name, "x.hlo", *["--json"] * as_json)
    [kept] = tmp_path.iterdir()
    assert (done.exit_code, done.stderr.splitlines()) == (
        70,
        [
            "xlabench: a bug of xlabench's own, not of its input: ZeroDivisionError: by us",
            f"its traceback is kept in {kept}; XLABENCH_TRACEBACK=1 prints it",
            "please report it with that file, the command line and the files that it names",
        ],
    )
    text = kept.read_text()
    assert text.startswith(f"xlabench {name} x.hlo")
    assert "Traceback (most recent call last)" in text
    assert "ZeroDivisionError: by us" in text
    said = {"error": "ZeroDivisionError: by us", "exit_code": 70, "traceback": str(kept)}
    assert json.loads(done.stdout or "null") == (said if as_json else None)


def test_a_traceback_is_printed_where_that_is_asked_for(monkeypatch, tmp_path):
    _failing(monkeypatch, ZeroDivisionError("by us"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XLABENCH_TRACEBACK", "1")
    assert _run("run").stderr.startswith("Traceback")


def test_a_traceback_is_printed_where_no_file_can_be_written(monkeypatch, tmp_path):
    _failing(monkeypatch, ZeroDivisionError("by us"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    done = _run("run")
    assert done.stderr.startswith("Traceback")
    assert "its traceback cannot be kept in a file" in done.stderr


def test_ctrl_c_is_no_verdict(monkeypatch):
    _failing(monkeypatch, KeyboardInterrupt)
    done = _run("run")
    assert (done.exit_code, done.stderr.strip()) == (130, "xlabench: interrupted")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.TimeoutFailure("no answer"), 5, "no answer"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_error_is_an_object_where_one_is_wanted(monkeypatch, error, code, message):
    _failing(monkeypatch, error)
    done = _run("run", "x.hlo", "--json")
    assert json.loads(done.stdout) == {"error": message, "exit_code": code}
    assert (done.exit_code, message in done.stderr) == (code, True)


@pytest.mark.parametrize("arguments", [("fly", "--json"), ("run", "--json"), ("run", "x", "--seed", "-1", "--json")])
def test_bad_usage_is_an_object_where_one_is_wanted(arguments):
    done = _run(*arguments)
    report = json.loads(done.stdout)
    assert (done.exit_code, report["exit_code"]) == (2, 2)
    assert report["error"] in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("option", ["", "-u"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", ["--help", "run --help"])
@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        (">&-", 0, ""),
        ("| true", 141, ""),
        (">/dev/full", 2, "xlabench: output cannot be written: No space left on device\n"),
    ],
    ids=["none", "closed", "full"],
)
def test_output_that_goes_nowhere_is_no_verdict(option, arguments, place, code, said):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    # What reads nothing has ended before Python has started.
    line = f"set -o pipefail; (sleep 0.2; {sys.executable} {option} -m xlabench {arguments}) {place}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (code, said)


def test_the_package_itself_can_be_run():
    done = subprocess.run([sys.executable, "-m", "xlabench", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("xlabench, version")


@pytest.mark.parametrize("command", ["run", "nightly", "bisect", "reduce"])
def test_commands_that_take_graphs_say_so(command):
    said = _run(command, "--help").stdout
    assert "TensorFlow's" in said
    assert "clusters:on=cpu" in said
