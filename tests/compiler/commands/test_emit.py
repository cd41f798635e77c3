"""`emit decisions`: what a back end decides and why, as text and as JSON, for this machine and others."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli
from compiler.backends import BACKENDS
from compiler.commands.emit import FORMS, MADE_BY
from compiler.commands.ending import BAD_INPUT
from compiler.drawing import PICTURES
from compiler.proto import hlo_proto

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
    assert "kernel e/z_fusion: loop, written vectors\n" in done.output


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


ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_emitted_or_refused_by_name(form, backend, tmp_path):
    result = call("emit", form, "-", "--backend", backend, "-o", tmp_path / "out")
    if result.exit_code:
        assert result.exit_code == BAD_INPUT
        [other] = MADE_BY[form]
        said = f"back end '{backend}' makes no {form}; --backend {other} makes {form}; it makes: hlo, buffers, llvm, "
        assert said in result.stderr
    else:
        assert (tmp_path / "out").stat().st_size > 0


@pytest.mark.parametrize("form", PICTURES)
def test_a_drawing_is_emitted(form, tmp_path):
    drawn = PICTURES[form](compiler.parse(ADD))
    assert call("emit", form, "-").stdout == drawn
    call("emit", form, "-", "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text() == drawn


def test_protocol_buffers_are_emitted(tmp_path):
    call("emit", "proto", "-", "-o", tmp_path / "out.hlo.pb")
    assert (tmp_path / "out.hlo.pb").read_bytes() == hlo_proto(compiler.parse(ADD))
    assert call("emit", "proto", "-").stdout_bytes == hlo_proto(compiler.parse(ADD))


@pytest.mark.parametrize("arguments", [["print", "-"], ["opt", "-"], ["emit", "llvm", "-"]])
def test_a_dash_stands_for_standard_output(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call(*arguments, "-o", "-").stdout == call(*arguments).stdout != ""
    assert list(tmp_path.iterdir()) == []


def _object(*arguments, text=ADD):
    """What a call prints with --json, and its exit code: one object alone, of numbers that JSON has."""
    done = call(*arguments, "--json", text=text)
    return json.loads(done.stdout, parse_constant=pytest.fail), done.exit_code


@pytest.mark.parametrize("form", [*FORMS, *PICTURES])
def test_every_form_is_in_the_object(form, tmp_path):
    backend = MADE_BY.get(form, ("cpu",))[0]
    call("emit", form, "-", "--backend", backend, "-o", tmp_path / "out")
    made = (tmp_path / "out").read_bytes()
    told, _ = _object("emit", form, "-", "--backend", backend)
    content = {"base64": base64.b64encode(made).decode()} if form == "object" else {"text": made.decode()}
    assert told == {"form": form, **content, **({} if form in PICTURES else {"backend": backend})}
    assert "output" in _object("emit", form, "-", "--backend", backend, "-o", tmp_path / "again")[0]
