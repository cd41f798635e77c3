"""`opt`: passes and pipelines by name, one by one, up to a number of rewrites."""

import json

import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli
from compiler.pipeline import PASSES, PIPELINES

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


@pytest.mark.parametrize("name", [*PASSES, *PIPELINES])
def test_every_pass_and_pipeline_can_be_asked_for(name):
    result = call("opt", "-", "--passes", name)
    assert result.exit_code == 0
    assert compiler.parse(result.stdout)


def test_passes_are_shown_one_by_one():
    result = call("opt", "-", "--passes", "fusion,dce,schedule", "--print-after-all", "--print-rewrites")
    assert [line for line in result.stderr.splitlines() if line.startswith("//")] == [
        "// 0: after fusion (nothing changed)",
        "// 1: after dce (nothing changed)",
        "// 2: after schedule",
    ]


def test_rewrites_are_numbered_and_fuel_ends_them():
    text = ADD.replace("add(x, y)", "add(x, x)").replace(
        "ROOT s", "u = f32[3] negate(x)\n  v = f32[3] abs(x)\n  ROOT s"
    )
    listed = call("opt", "-", "--passes", "dce", "--print-rewrites", text=text).stderr.splitlines()
    assert listed == ["1: dce: remove unused at main/v", "2: dce: remove unused at main/u"]
    assert "negate" in call("opt", "-", "--passes", "dce", "--fuel", "1", text=text).stdout


def test_a_pipeline_runs_without_disabled_passes():
    text = ADD.replace("ROOT s = f32[3] add(x, y)", "s = f32[3] add(x, y)\n  ROOT t = f32[3] multiply(s, x)")
    assert "fusion" in call("opt", "-", text=text).stdout
    assert "fusion" not in call("opt", "-", "--disable-passes", "fusion", text=text).stdout


def test_a_misspelt_pass_is_said():
    assert "unknown pass 'fuson'; did you mean fusion?" in call("opt", "-", "--passes", "fuson").stderr
    assert "unknown pass 'fuson'; did you mean fusion?" in call("opt", "-", "--disable-passes", "fuson").stderr


READERS = {name: f"compiler.commands.{name}.parse_graph" for name in ("cluster", "graph", "tf2xla")}
"""What subcommands read standard input with, where that is not `compiler.parse`."""


def test_rewrites_and_steps_are_in_the_object():
    text = ADD.replace("add(x, y)", "add(x, x)").replace("ROOT s", "u = f32[3] negate(x)\n  ROOT s")
    done = call("opt", "-", "--passes", "dce,fusion", "--print-rewrites", "--print-after-all", "--json", text=text)
    told = json.loads(done.stdout)
    assert told["rewrites"] == [{"number": 1, "pass": "dce", "rule": "remove unused", "where": "main/u"}]
    assert [(step["after"], step["changed"], "text" in step) for step in told["steps"]] == [
        ("dce", True, True),
        ("fusion", False, False),
    ]
    assert done.stderr == ""
