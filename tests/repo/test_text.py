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
    "speedup.svg",
    "history.svg",
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


def pages():
    """All that is written for readers of the tree; records of what was measured, and bundles, are what they were."""
    found = [ROOT / "README.md", *(path for top in TOP for path in sorted((ROOT / top).glob("**/*.md")))]
    return [path for path in found if not {"measured", "regressions"} & set(path.parts[:-2])]


def named(path):
    return str(path.relative_to(ROOT))


def commands(program):
    """Every call of a program that a page shows in a block of shell; those with their output (console) are run."""
    blocks = [block for path in pages() for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.S)]
    lines = [line.split("#")[0].strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    calls = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(call.removeprefix(".venv/bin/")) for call in calls if program in call]


def python_blocks():
    """Every Python program that a README of a top folder shows."""
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


def test_every_page_says_what_it_is():
    assert {path for path in (*readmes(), *pages()) if not path.read_text().startswith("# ")} == set()


@pytest.mark.parametrize("path", pages(), ids=named)
def test_files_that_pages_name_exist(path):
    """From the page's folder or one around it, in a folder below it, or made by the page itself."""
    text = path.read_text()
    made = MADE | {Path(name).name for name in re.findall(r"^A new file `([^`]+)`:", text, re.M)}
    names = re.findall(r"`([\w./-]+\.(?:py|md|toml|hlo|ini|json|html|ll|svg))`", text)
    places = [place for place in path.parents if place.is_relative_to(ROOT)]
    below = {file.name for file in path.parent.glob("*/*")}
    missing = {name for name in names if name not in below and not any((place / name).exists() for place in places)}
    assert {name for name in missing if Path(name).name not in made and "NAME" not in name} == set()


@pytest.mark.parametrize("path", pages(), ids=named)
def test_links_of_pages_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(path):
    """What a page's headings are called in links."""
    headings = re.findall(r"^#+ (.*)", path.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def folders():
    """The folders of code that have a README."""
    return [path.parent for path in pages() if path.name == "README.md" and (path.parent / "__init__.py").exists()]


@pytest.mark.parametrize("folder", folders(), ids=named)
def test_a_readme_names_what_its_folder_holds(folder):
    """Files and folders of code, as they are called or as a pass of that file is, in backticks or in a picture."""
    text = (folder / "README.md").read_text()
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    inner = {path.parent.name for path in folder.glob("*/*.py")}
    shown = " ".join(re.findall(r"`[^`\n]+`|^ +\S.*", text, re.M))
    assert (files | inner) - set(re.findall(r"\w+", shown.replace("-", "_"))) == set()


def test_every_page_is_found_from_the_first():
    """By links, from the README of the root."""
    seen, left = set(), [ROOT / "README.md"]
    while left:
        page = left.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text())
            left += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert set(pages()) <= seen


@pytest.mark.parametrize("words", commands("xlabench"), ids=" ".join)
def test_commands_of_the_harness_in_pages_are_spelled_right(words):
    check_call(cli, words[words.index("xlabench") + 1 :])


@pytest.mark.parametrize("words", commands("python -m compiler"), ids=" ".join)
def test_commands_of_the_compiler_in_pages_are_spelled_right(words):
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
    named = {name for path in pages() for name in re.findall(r"tox -e ([\w,-]+)", path.read_text())}
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
