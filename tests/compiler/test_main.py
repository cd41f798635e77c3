"""`python -m compiler` by hand: what each command prints, and how errors end."""

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from compiler.__main__ import cli
from compiler.backends import BACKENDS
from compiler.commands.emit import FORMS, MADE_BY
from compiler.commands.ending import BAD_INPUT, CLOSED_OUTPUT, INTERRUPTED, UNDECIDABLE
from compiler.diagnostics import UnsupportedError
from compiler.drawing import PICTURES
from compiler.pipeline import PASSES, PIPELINES
from compiler.proto import hlo_proto

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT s = f32[3] add(x, y)\n}\n"
WRONG = "ENTRY main {\n  x = f32[3] parameter(0)\n  a = f32[4] negate(x)\n  ROOT b = s32[3] abs(x)\n}\n"
INFEED = (
    "ENTRY main {\n  t = token[] after-all()\n  i = (f32[], token[]) infeed(t)\n"
    "  ROOT v = f32[] get-tuple-element(i), index=0\n}\n"
)


def call(*arguments, text=ADD):
    return CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments], input=text)


def test_a_file_and_standard_input_are_read_alike(tmp_path):
    file = tmp_path / "add.hlo"
    file.write_text(ADD)
    assert call("print", file).stdout == call("print", "-").stdout == compiler.to_text(compiler.parse(ADD))


def test_verify_lists_every_finding_and_ends_with_2():
    result = call("verify", "-", text=WRONG)
    assert result.exit_code == BAD_INPUT
    assert len(result.stdout.splitlines()) == 2
    assert call("verify", "-").stdout == "-: valid\n"


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


@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["print", "-"], "", BAD_INPUT, "<stdin>:1:1:"),
        (["print", "-"], "ENTRY main {\n  x = f32[3] parameter(0)\n", BAD_INPUT, "<stdin>:"),
        (["print", "-"], b"\xff\xfe\x00", BAD_INPUT, "<stdin>:1:1"),
        (["print", "nowhere.hlo"], "", BAD_INPUT, "nowhere.hlo: cannot be read: No such file"),
        (["print", "."], "", BAD_INPUT, "cannot be read: Is a directory"),
        (["print", "-", "-o", "no/such/folder"], ADD, BAD_INPUT, "cannot be written"),
        (["run", "-", "-o", "no/such/folder"], ADD, BAD_INPUT, "cannot be written"),
        (["opt", "-"], WRONG, BAD_INPUT, "invalid module, 2 violations"),
        (
            ["opt", "-", "--passes", "dce,nonsense"],
            ADD,
            BAD_INPUT,
            "unknown pass 'nonsense'; passes and pipelines are: ",
        ),
        (["opt", "-", "--disable-passes", "x"], ADD, BAD_INPUT, "cannot disable unknown pass 'x'; passes are: "),
        (["run", "-", "--inputs", "nowhere.npz"], ADD, BAD_INPUT, "nowhere.npz: cannot be read"),
        (["run", "-", "--inputs", __file__], ADD, BAD_INPUT, "not a whole .npz file (File is not a zip file)"),
        (["run", "-", "--backend", "nvptx", "--device", "tpu"], ADD, BAD_INPUT, "is not one of 'sim', 'ptxas', 'gpu'"),
        (["run", "-"], INFEED, UNDECIDABLE, "infeed"),
        (["emit", "llvm", "-"], INFEED, UNDECIDABLE, "infeed"),
    ],
)
def test_bad_input_is_a_message_and_an_exit_code(arguments, text, code, message):
    result = call(*arguments, text=text)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_inputs_that_do_not_fit_are_refused(tmp_path):
    np.savez(tmp_path / "one.npz", x=np.float32([1, 2, 3]))
    result = call("run", "-", "--inputs", tmp_path / "one.npz")
    assert (result.exit_code, "has 1 arrays, module_main takes 2: x, y" in result.stderr) == (BAD_INPUT, True)
    np.savez(tmp_path / "type.npz", x=np.float32([1, 2, 3]), y=np.float64([1, 2, 3]))
    assert "float64 given" in call("run", "-", "--inputs", tmp_path / "type.npz").stderr


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


def test_a_misspelt_pass_is_said():
    assert "unknown pass 'fuson'; did you mean fusion?" in call("opt", "-", "--passes", "fuson").stderr
    assert "unknown pass 'fuson'; did you mean fusion?" in call("opt", "-", "--disable-passes", "fuson").stderr


READERS = {name: f"compiler.commands.{name}.parse_graph" for name in ("cluster", "graph", "tf2xla")}
"""What subcommands read standard input with, where that is not `compiler.parse`."""


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_bug_of_ours_is_three_lines_and_a_file(name, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by us")

    monkeypatch.setattr(READERS.get(name, "compiler.parse"), fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call(name, *["hlo"] * (name == "emit"), "-")
    [kept] = tmp_path.iterdir()
    lines = result.stderr.splitlines()
    assert (result.exit_code, len(lines)) == (70, 3)
    assert lines[0] == "compiler: a bug of the compiler's own, not of its input: ZeroDivisionError: by us"
    assert str(kept) in lines[1]
    assert "Traceback (most recent call last)" in kept.read_text()
    monkeypatch.setenv("XLABENCH_TRACEBACK", "1")
    assert call(name, *["hlo"] * (name == "emit"), "-").stderr.startswith("Traceback")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert "cannot be kept in a file" in call(name, *["hlo"] * (name == "emit"), "-").stderr


def test_ctrl_c_is_no_verdict(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("compiler.parse", interrupt)
    result = call("verify", "-")
    assert (result.exit_code, result.stderr) == (130, "compiler: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("package", ["compiler", "xlabench"])
def test_ctrl_c_while_packages_are_loaded_shows_no_traceback(package, tmp_path):
    (tmp_path / "click.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(compiler.__file__).parents[1])]),
    }
    line = [sys.executable, "-P", "-m", package, "--help"]
    # What runs in the background of a script inherits that SIGINT is ignored.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, **heard)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.slow
def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "compiler", "verify", "-"], input=ADD, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "-: valid\n", "")


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


def test_programs_are_told_what_people_are(tmp_path):
    text = compiler.to_text(compiler.parse(ADD))
    assert _object("print", "-") == ({"text": text}, 0)
    assert _object("print", "-", "-o", tmp_path / "m.hlo") == ({"output": str(tmp_path / "m.hlo")}, 0)
    assert (tmp_path / "m.hlo").read_text() == text
    assert _object("opt", "-", "--passes", "dce") == ({"text": call("opt", "-", "--passes", "dce").stdout}, 0)
    assert _object("verify", "-") == ({"file": "-", "valid": True, "findings": []}, 0)


def test_findings_are_the_same_ones():
    told, code = _object("verify", "-", text=WRONG)
    assert (told["valid"], code) == (False, BAD_INPUT)
    written = [f"{one['where']}: {one['message']} [{one['rule']}]" for one in told["findings"]]
    assert written == call("verify", "-", text=WRONG).stdout.splitlines()


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


@pytest.mark.parametrize("backend", ["reference", *BACKENDS])
def test_results_that_are_no_numbers_of_json_are_told(backend):
    text = "ENTRY e {\n  c = c64[2] constant({(nan, 1), (inf, -2)})\n  ROOT t = (c64[2]) tuple(c)\n}\n"
    told, _ = _object("run", "-", "--backend", backend, text=text)
    results = [{"shape": "c64[2]", "elements": 2, "literal": "{(nan, 1), (inf, -2)}"}]
    assert told == {"backend": backend, "results": results}


def test_a_long_result_is_cut_for_programs_too():
    told, _ = _object("run", "-", text="ENTRY main {\n  ROOT x = s32[1000] iota(), iota_dimension=0\n}\n")
    assert told["results"] == [{"shape": "s32[1000]", "elements": 1000, "first": [str(i) for i in range(8)]}]


@pytest.mark.parametrize("command", [["run"], ["emit", "buffers"]], ids=" ".join)
def test_times_are_in_the_object(command):
    done = call(*command, "-", "--backend", "cpu", "--time", "--json")
    times = json.loads(done.stdout)["times_ms"]
    assert (done.stderr, times["total"]) == ("", pytest.approx(times["Python"] + times["LLVM"]))


@pytest.mark.parametrize("form", [*FORMS, *PICTURES])
def test_every_form_is_in_the_object(form, tmp_path):
    backend = MADE_BY.get(form, ("cpu",))[0]
    call("emit", form, "-", "--backend", backend, "-o", tmp_path / "out")
    made = (tmp_path / "out").read_bytes()
    told, _ = _object("emit", form, "-", "--backend", backend)
    content = {"base64": base64.b64encode(made).decode()} if form == "object" else {"text": made.decode()}
    assert told == {"form": form, **content, **({} if form in PICTURES else {"backend": backend})}
    assert "output" in _object("emit", form, "-", "--backend", backend, "-o", tmp_path / "again")[0]


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_end_is_one_object(name, tmp_path, monkeypatch):
    if name in READERS:
        pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    words = [name, *["hlo"] * (name == "emit")]
    told, code = _object(*words, "-", text="nonsense")
    assert (told["exit_code"], told["error"].partition(" ")[0]) == (code, "<stdin>:1:1:") == (BAD_INPUT, "<stdin>:1:1:")
    told, code = _object(*words, "-", "--no-such-option")
    assert (told["exit_code"], "--no-such-option" in told["error"]) == (code, True) == (BAD_INPUT, True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for raised, expected in (
        (UnsupportedError("all of it", "us"), {"error": "all of it is not supported by us", "exit_code": UNDECIDABLE}),
        (KeyboardInterrupt(), {"error": "interrupted", "exit_code": INTERRUPTED}),
        (ZeroDivisionError("by us"), {"error": "ZeroDivisionError: by us", "exit_code": 70}),
    ):
        monkeypatch.setattr(READERS.get(name, "compiler.parse"), partial(_fail, raised))
        told, code = _object(*words, "-")
        assert told == {**expected, **({"traceback": told.get("traceback")} if code == 70 else {})}
        assert code == expected["exit_code"]
    assert told["traceback"] == str(next(tmp_path.iterdir()))


def _fail(error, *_, **__):
    raise error


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "m.hlo.gz"
    path.write_bytes(gzip.compress(b"ENTRY e { ROOT c = s32[] constant(1) }"))
    assert CliRunner().invoke(cli, ["verify", str(path)]).output == f"{path}: valid\n"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["--help", "run --help", "verify add.hlo", "print add.hlo"])
@pytest.mark.parametrize(
    ("place", "code", "said"),
    [
        ("| true", CLOSED_OUTPUT, ""),
        (">/dev/full", BAD_INPUT, "compiler: output cannot be written: No space left on device\n"),
    ],
    ids=["closed", "full"],
)
def test_output_that_goes_nowhere_is_said(tmp_path, arguments, place, code, said):
    (tmp_path / "add.hlo").write_text(ADD)
    # What reads nothing has ended before Python has started.
    line = f"set -o pipefail; (sleep 0.2; {sys.executable} -m compiler {arguments}) {place}"
    environment = {**os.environ, "PYTHONPATH": str(Path(compiler.__file__).parents[1])}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert (done.returncode, done.stderr) == (code, said)
