import re
import shlex
import subprocess
import sys
from importlib import import_module

import pytest
from click.testing import CliRunner

from xlabench import cli, errors


def _run(*arguments):
    return CliRunner().invoke(cli.cli, arguments)


def test_help_loads_nothing_heavy():
    program = """
import sys
from xlabench.cli import main
try:
    main(["--help"])
except SystemExit:
    pass
print(sorted({"numpy", "llvmlite", "matplotlib", "rich", "sqlalchemy", "compiler"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_says_of_each_command_what_it_says_itself(name):
    command = import_module(cli.COMMANDS[name]).command
    assert command.get_short_help_str(200) == cli.SUMMARIES[name]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples_that_it_takes(name):
    done = _run(name, "--help")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = re.findall(
        rf"^ *(?:git bisect run )?xlabench ({name} .+)$", done.stdout.partition("Examples:")[2], re.MULTILINE
    )
    assert lines
    for line in lines:
        _, *arguments = shlex.split(line)
        import_module(cli.COMMANDS[name]).command.make_context(name, arguments)


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


def test_a_bug_of_ours_is_not_hidden(monkeypatch):
    def fail(_name):
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "import_module", fail)
    assert isinstance(_run("run").exception, ZeroDivisionError)


def test_the_package_itself_can_be_run():
    done = subprocess.run([sys.executable, "-m", "xlabench", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("xlabench, version")
