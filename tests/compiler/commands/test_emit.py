"""`emit decisions`: what a back end decides and why, as text and as JSON, for this machine and others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compiler.__main__ import cli

PROGRAM = "ENTRY e { x = f32[8,300] parameter(0)  y = f32[8,300] tanh(x)  ROOT z = f32[8,300] negate(y) }"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "m.hlo"
    path.write_text(PROGRAM)
    return str(path)


def test_decisions_are_text(file: str) -> None:
    done = CliRunner().invoke(
        cli, ["emit", "decisions", file, "--target", "x86_64", "--cpu", "haswell", "--threads", "1"]
    )
    assert done.exit_code == 0
    assert done.output.startswith("cpu: x86_64 haswell, 16 vector registers of 256 bits, one thread\n")
    assert "kernel e/z_fusion: loop, loops\n" in done.output


def test_decisions_are_json_and_go_to_files(file: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["emit", "decisions", file, "--backend", "nvptx", "--json"])
    found = json.loads(done.output)
    assert (found["form"], found["backend"], found["kernels"][0]["strategy"]) == (
        "decisions",
        "nvptx",
        "threads for elements",
    )
    out = tmp_path / "decisions.txt"
    done = CliRunner().invoke(cli, ["emit", "decisions", file, "-o", str(out), "--json"])
    assert json.loads(done.output)["output"] == str(out)
    assert "kernel e/z_fusion" in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["decisions", "--cpu", "haswell"], "give --target too"),
        (["decisions", "--target", "vax"], "unknown target 'vax'"),
        (["decisions", "--target", "x86_64", "--backend", "nvptx"], "give an architecture"),
        (["llvm", "--target", "x86_64"], "--target is for decisions"),
    ],
)
def test_machines_that_mean_nothing_are_refused(file: str, arguments: list[str], said: str) -> None:
    form, *options = arguments
    done = CliRunner().invoke(cli, ["emit", form, file, *options, "--json"])
    assert done.exit_code == 2
    assert said in json.loads(done.output.splitlines()[-1])["error"]
