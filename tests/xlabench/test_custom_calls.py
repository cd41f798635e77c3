"""`--custom-call`: in workers, in bundles and their replay, and never because a bundle says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from xlabench import custom_calls
from xlabench.cli import COMMANDS, cli
from xlabench.errors import Undecidable
from xlabench.startup import CUSTOM_CALLS

PROGRAM = """HloModule m
ENTRY e {
  x = f32[40] parameter(0)
  r = f32[40] custom-call(x), custom_call_target="op"
  ROOT t = f32[40] tanh(r)
}"""
OPS = """import pathlib
pathlib.Path("loaded").touch()
def twice(x):
    return x + x
def cast(x):
    return x.astype("f8")
"""
EXACT = ("--no-wide", "--rtol", "0", "--atol", "0")

RUNS_PROGRAMS = ("run", "nightly", "fuzz", "mutate", "reduce", "bisect", "isolate", "replay", "recheck")
"""Commands with the option."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in a folder with a program and with the functions it needs, in a process of its own."""
    (tmp_path / "op.hlo").write_text(PROGRAM)
    (tmp_path / "my_ops.py").write_text(OPS)
    environment = {name: value for name, value in os.environ.items() if name != CUSTOM_CALLS}

    def started(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(Path(custom_calls.__file__).parents[1]), **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return started


def test_every_command_that_runs_programs_has_the_option() -> None:
    for name in RUNS_PROGRAMS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert "--custom-call" in {o for parameter in command.params for o in parameter.opts}, name
    assert set(RUNS_PROGRAMS) < set(COMMANDS)


@pytest.mark.slow
def test_reference_and_engine_call_the_function(run: Run, tmp_path: Path) -> None:
    done = run("xlabench", "run", "op.hlo", "--custom-call", "op=my_ops:twice", "--json")
    assert json.loads(done.stdout)["verdict"] in ("bitwise", "within")
    by_hand = run("compiler", "run", "op.hlo", "--custom-call", "op=my_ops:twice", "--backend", "cpu")
    assert (by_hand.returncode, by_hand.stdout[:8]) == (0, "f32[40] ")
    inherited = run("xlabench", "run", "op.hlo", **{CUSTOM_CALLS: f"op={tmp_path}/my_ops.py:twice"})
    assert inherited.returncode == 0, inherited.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ((), 125, "--custom-call op=module:function"),
        (("--custom-call", "op=my_ops:cast"), 2, "my_ops.py:cast gave float64[40], the program says f32[40]"),
        (("--custom-call", "op=my_ops:missing"), 2, "no function 'missing'"),
        (("--custom-call", "op=my_ops:twice", "--engine", "nvptx:sim"), 125, "which a GPU cannot call"),
    ],
)
def test_what_goes_wrong_is_said(run: Run, given: tuple[str, ...], code: int, said: str) -> None:
    done = run("xlabench", "run", "op.hlo", *given)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


@pytest.mark.slow
def test_a_bundle_records_the_meaning_and_never_loads_it(run: Run, tmp_path: Path) -> None:
    given = ("--custom-call", "op=my_ops:twice")
    done = run("xlabench", "run", "op.hlo", *EXACT, *given, "--bundle", "failure", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (1, "wrong")
    assert "not verified" not in done.stderr
    manifest = json.loads((tmp_path / "failure" / "manifest.json").read_text())
    assert manifest["custom_calls"] == ["op=my_ops.py:twice"]
    (tmp_path / "loaded").unlink()
    for command in (("replay", "failure"), ("recheck", "."), ("bundle", "show", "failure")):
        asked = run("xlabench", *command)
        assert not (tmp_path / "loaded").exists(), command
    asked = run("xlabench", "replay", "failure")
    assert asked.returncode == 125
    assert "--custom-call op=my_ops.py:twice" in asked.stderr
    assert run("xlabench", "replay", "failure", *given).returncode == 1
    for command in ("bisect", "isolate"):
        answer = run("xlabench", command, "failure", *given, "--json")
        assert answer.returncode in (0, 1), answer.stderr


def test_what_processes_to_come_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUSTOM_CALLS, "")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_ops.py").write_text(OPS)
    custom_calls.use(["op=my_ops:twice"])
    custom_calls.use(["other=my_ops.py:cast"])
    assert os.environ[CUSTOM_CALLS].split("\n") == [
        f"{n}={tmp_path}/my_ops.py:{f}" for n, f in (("op", "twice"), ("other", "cast"))
    ]
    assert custom_calls.recorded(PROGRAM) == ["op=my_ops.py:twice"]
    custom_calls.require(["op=elsewhere:twice"], tmp_path)
    with pytest.raises(Undecidable, match="--custom-call third=a:b"):
        custom_calls.require(["third=a:b"], tmp_path)
    for name in ("op", "other"):
        compiler.register_custom_call(name, None)


def test_what_campaigns_draw_means_something_without_being_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CUSTOM_CALLS, "")
    own = list(compiler.generate.MEANINGS)
    custom_calls.require(own[:1], tmp_path)
    assert set(os.environ[CUSTOM_CALLS].split("\n")) == set(own)
    module = compiler.parse("""ENTRY e { x = s32[2,3] parameter(0)
      ROOT r = s32[3,2] custom-call(x), custom_call_target="xlabench.turned" }""")
    (found,) = compiler.compile(module, "cpu")(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(Undecidable, match="--custom-call third=a:b"):
        custom_calls.require(["third=a:b", *own], tmp_path)
    for text in own:
        compiler.register_custom_call(text.partition("=")[0], None)


def test_the_command_line_hears_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CUSTOM_CALLS, "op=no_such_module:f")
    result = CliRunner().invoke(cli, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert "no module 'no_such_module'" in result.output
