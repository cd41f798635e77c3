import json

import pytest
from click.testing import CliRunner

from xlabench.cli import cli

PROGRAM = "HloModule doubled\nENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] add(x, x) }\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "p.hlo"
    path.write_text(PROGRAM)
    return path


def _compile(*arguments):
    return CliRunner().invoke(cli, ["compile", *map(str, arguments)])


def test_it_leaves_what_a_c_compiler_needs_and_says_how_to_link_it(program, tmp_path):
    result = _compile(program, "--target", "aarch64", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"doubled.o", "doubled.h", "main.c", "doubled.json"}
    assert result.output.endswith("aarch64-linux-gnu-gcc -O2 -o doubled main.c doubled.o -lm\n")


def test_json_holds_the_facts(program, tmp_path):
    result = _compile(program, "--out", tmp_path, "--cpu", "haswell", "--name", "twice", "--json")
    facts = json.loads(result.output)
    assert (facts["name"], facts["cpu"], facts["triple"]) == ("twice", "haswell", "x86_64-unknown-linux-gnu")
    assert facts["files"] == ["main.c", "twice.h", "twice.json", "twice.o"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "riscv64"], "targets are: x86_64, aarch64"),
        (["--target", "aarch64", "--cpu", "haswell"], "known are: generic"),
    ],
)
def test_unknown_machines_are_refused(program, tmp_path, arguments, message):
    result = _compile(program, "--out", tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_a_folder_that_cannot_be_written_is_said(program, tmp_path):
    result = _compile(program, "--out", program)
    assert result.exit_code == 2
    assert "give another folder" in result.output
