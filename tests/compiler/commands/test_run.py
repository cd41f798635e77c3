"""`run`: where inputs come from, and how results are shown and kept."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli
from compiler.backends import BACKENDS
from compiler.commands.ending import BAD_INPUT, UNDECIDABLE

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_run_takes_inputs_from_a_file_and_keeps_results(tmp_path, backend):
    x, y = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    np.savez(tmp_path / "in.npz", y=y, x=x)
    result = call("run", "-", "--inputs", tmp_path / "in.npz", "--backend", backend, "-o", tmp_path / "out.npz")
    assert result.stdout == "f32[3] {11, 22, 33}\n"
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["result0"], x + y)


def test_run_draws_inputs_from_a_seed():
    assert call("run", "-").stdout == call("run", "-", "--seed", "0").stdout != call("run", "-", "--seed", "1").stdout


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_constants_that_were_left_out_are_refused_or_made_up(backend):
    text = "ENTRY main {\n  c = f32[4] constant({...})\n  d = f32[4] constant({...})\n  ROOT s = f32[4] add(c, d)\n}\n"
    refused = call("run", "-", "--backend", backend, text=text)
    assert (refused.exit_code, "print it in full" in refused.stderr) == (UNDECIDABLE, True)
    made = [
        call("run", "-", "--backend", name, "--fill-elided", "7", text=text).stdout for name in (backend, "reference")
    ]
    assert made[0] == made[1] != ""


def test_a_long_result_is_cut():
    text = "ENTRY main {\n  ROOT x = s32[1000] iota(), iota_dimension=0\n}\n"
    assert call("run", "-", text=text).stdout == (
        "s32[1000] {0, 1, 2, 3, 4, 5, 6, 7, ...} (1000 elements: --output keeps them)\n"
    )


@pytest.mark.parametrize(
    "type_", ["pred", "s4", "u2", "s64", "u8", "f16", "bf16", "f64", "f8e4m3fn", "f4e2m1fn", "c64", "c128"]
)
def test_inputs_are_drawn_for_every_type(type_):
    text = f"ENTRY main {{\n  x = {type_}[5] parameter(0)\n  ROOT y = {type_}[5] reverse(x), dimensions={{0}}\n}}\n"
    assert call("run", "-", text=text).exit_code == 0


def test_inputs_that_numpy_files_cannot_name_are_read_as_bytes(tmp_path):
    text = "ENTRY main {\n  x = bf16[2] parameter(0)\n  ROOT y = bf16[2] negate(x)\n}\n"
    [x] = compiler.interpret(
        compiler.parse(text), np.array([1, -2], compiler.parse(text).entry.root.array.element_type.dtype)
    )
    np.savez(tmp_path / "in.npz", x=x)
    assert call("run", "-", "--inputs", tmp_path / "in.npz", text=text).stdout == "bf16[2] {1, -2}\n"


def test_inputs_that_do_not_fit_are_refused(tmp_path):
    np.savez(tmp_path / "one.npz", x=np.float32([1, 2, 3]))
    result = call("run", "-", "--inputs", tmp_path / "one.npz")
    assert (result.exit_code, "has 1 arrays, module_main takes 2: x, y" in result.stderr) == (BAD_INPUT, True)
    np.savez(tmp_path / "type.npz", x=np.float32([1, 2, 3]), y=np.float64([1, 2, 3]))
    assert "float64 given" in call("run", "-", "--inputs", tmp_path / "type.npz").stderr


READERS = {name: f"compiler.commands.{name}.parse_graph" for name in ("cluster", "graph", "tf2xla")}
"""What subcommands read standard input with, where that is not `compiler.parse`."""


def test_times_are_said_and_programs_kept(tmp_path):
    runs = [call("run", "-", "--backend", "cpu", "--cache", tmp_path, "--time", text=ADD) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    steps = [[line.split()[1] for line in run.stderr.splitlines()] for run in runs]
    assert steps[0] == ["cache", "verify", "optimise", "emit", "llvm", "link", "Python", "LLVM", "total"]
    assert steps[1] == ["cache", "link", "Python", "LLVM", "total"]
    assert "total" in call("emit", "buffers", "-", "--time", text=ADD).stderr


def _object(*arguments, text=ADD):
    """What a call prints with --json, and its exit code: one object alone, of numbers that JSON has."""
    done = call(*arguments, "--json", text=text)
    return json.loads(done.stdout, parse_constant=pytest.fail), done.exit_code


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_results_that_are_no_numbers_of_json_are_told(backend):
    text = "ENTRY e {\n  c = c64[2] constant({(nan, 1), (inf, -2)})\n  ROOT t = (c64[2]) tuple(c)\n}\n"
    told, _ = _object("run", "-", "--backend", backend, text=text)
    results = [{"shape": "c64[2]", "elements": 2, "literal": "{(nan, 1), (inf, -2)}"}]
    assert told == {"backend": backend, "results": results}


def test_a_long_result_is_cut_for_programs_too():
    told, _ = _object("run", "-", text="ENTRY main {\n  ROOT x = s32[1000] iota(), iota_dimension=0\n}\n")
    assert told["results"] == [{"shape": "s32[1000]", "elements": 1000, "first": [str(i) for i in range(8)]}]
