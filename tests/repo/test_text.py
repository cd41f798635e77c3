"""What the project's files say: no path of the machine it was written on, and READMEs that are true."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.__main__ import cli as compiler_cli
from xlabench.cli import cli

ROOT = Path(__file__).parents[2]
TOP = ("compiler", "xlabench", "suites", "reports", "tests")
MACHINE = re.compile(
    "|".join((r"/wor" + r"k/", r"/roo" + r"t/", r"/hom" + r"e/\w", r"[/.]\.librar" + "y", r"/op" + r"t/\w"))
)
PROMISES = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "raise NotImplemented" + "Error")))
MADE = {
    "index.html",
    "results.json",
    "manifest.json",
    "error.json",
    "repro.py",
    "module.hlo",
    "benchmarks.json",
    "suite.toml",
    "run_in_jax.py",
}
"""Files that commands write, or that stand for one of many."""
TEXT = {".py", ".md", ".toml", ".ini", ".hlo", ".json", ".html", ".mplstyle", ""}


def tracked():
    """The project's text files; a copy without git has nothing but them."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [ROOT / name for name in names if Path(name).suffix in TEXT and (ROOT / name).is_file()]


def readmes():
    return [ROOT / "README.md", *(ROOT / top / "README.md" for top in TOP)]


def commands(program):
    """Every call of a program that a README shows in a block of shell."""
    blocks = [
        block for path in readmes() for block in re.findall(r"```(?:sh|console)\n(.*?)```", path.read_text(), re.S)
    ]
    lines = [line.split("#")[0].strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    calls = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(call.removeprefix(".venv/bin/")) for call in calls if program in call]


def python_blocks():
    """Every Python program that a README shows."""
    return [
        pytest.param(block, id=f"{path.parent.name}-{number}")
        for path in readmes()
        for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.S))
    ]


def options_of(command, context):
    parameters = command.get_params(context)
    return {option for one in parameters for option in (*one.opts, *one.secondary_opts)}


@pytest.mark.slow
def test_no_file_names_a_path_of_one_machine():
    found = [f"{path}: {line}" for path in tracked() for line in path.read_text().splitlines() if MACHINE.search(line)]
    assert not found


@pytest.mark.slow
def test_no_source_holds_a_promise():
    files = [path for path in tracked() if path.suffix == ".py"]
    found = [f"{path}: {line}" for path in files for line in path.read_text().splitlines() if PROMISES.search(line)]
    assert not found


@pytest.mark.parametrize("path", readmes(), ids=lambda path: path.parent.name)
def test_every_top_folder_says_what_it_is(path):
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize("path", readmes(), ids=lambda path: path.parent.name)
def test_files_that_readmes_name_exist(path):
    names = re.findall(r"`([\w./-]+\.(?:py|md|toml|hlo|ini|json|html))`", path.read_text())
    places = (path.parent, ROOT)
    missing = {name for name in names if not any((place / name).exists() for place in places)}
    assert {name for name in missing if Path(name).name not in MADE and "NAME" not in name} == set()


@pytest.mark.parametrize("words", commands("xlabench"), ids=" ".join)
def test_commands_of_the_harness_in_readmes_are_spelled_right(words):
    check_call(cli, words[words.index("xlabench") + 1 :])


@pytest.mark.parametrize("words", commands("python -m compiler"), ids=" ".join)
def test_commands_of_the_compiler_in_readmes_are_spelled_right(words):
    check_call(compiler_cli, words[words.index("compiler") + 1 :])


@pytest.mark.parametrize("block", python_blocks())
def test_python_in_readmes_runs(block):
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    for name in list(names):
        if name.startswith("test_"):
            names[name]()


def check_call(group, arguments):
    """The subcommand exists, takes every option that is given, and has a help text."""
    name, *rest = arguments
    if name.startswith("-"):
        return
    command = group.get_command(None, name)
    assert command is not None, f"no command {name}"
    context = command.make_context(name, [], resilient_parsing=True)
    given = {word.split("=")[0] for word in rest if word.startswith("-") and word != "-"}
    assert given <= options_of(command, context) | {"--help"}
    assert CliRunner().invoke(group, [name, "--help"]).exit_code == 0


def test_the_readme_calls_the_environments_that_tox_has():
    text = (ROOT / "tox.ini").read_text()
    named = {name for path in readmes() for name in re.findall(r"tox -e ([\w,-]+)", path.read_text())}
    known = set(re.findall(r"\[testenv:([\w-]+)\]", text)) | {"py311"}
    assert {part for name in named for part in name.split(",")} <= known


def test_ci_runs_the_second_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert "pip install --quiet tox" in script
    assert ".venv/bin/tox" in script
    assert "pip install tox && .venv/bin/tox" in (ROOT / "README.md").read_text()


def test_the_packages_that_are_installed_are_the_top_folders():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {pattern.rstrip("*") for pattern in included} == set(TOP) - {"tests"}
