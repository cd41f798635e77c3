"""StableHLO, and what `jax.export` serialises, wherever a program is taken: converted by jaxlib itself."""

import gzip
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import compiler
from compiler import frontends
from compiler.diagnostics import InputError
from compiler.frontends import hlo_text
from compiler.text.parser import parse, parse_many
from compiler.text.printer import to_text
from xlabench.cases import programs
from xlabench.cli import cli

pytest.importorskip("jaxlib", reason="jaxlib is not installed")

STABLEHLO = """// a comment first
module @m {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
X = np.array([1.5, -2], np.float32)


class _Ended:
    """Stands in for `subprocess.run`: a converter that ends as it is told to."""

    def __init__(self, code: int, said: bytes) -> None:
        self.returncode, self.stdout, self.stderr = code, b"", said


def test_a_converter_that_crashes_or_hangs_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends.subprocess, "run", lambda *_, **__: _Ended(-11, b"Fatal: no such op"))
    with pytest.raises(InputError, match=r"p\.mlir: jaxlib cannot convert it .*ended with -11\nFatal: no such op"):
        hlo_text(STABLEHLO.encode(), filename="p.mlir")

    def hang(command: list[str], **_: object) -> None:
        raise frontends.subprocess.TimeoutExpired(command, 300)

    monkeypatch.setattr(frontends.subprocess, "run", hang)
    with pytest.raises(InputError, match="takes more than 300 s"):
        hlo_text(STABLEHLO.encode(), filename="q.mlir")


@pytest.mark.parametrize("source", [STABLEHLO, STABLEHLO.encode(), gzip.compress(STABLEHLO.encode())])
def test_every_door_of_the_compiler_takes_stablehlo(source: str | bytes) -> None:
    assert compiler.parse(source).name == parse_many(source)[0].name == "m"
    for results in (
        compiler.interpret(source, X),
        compiler.compile(source)(X),
        compiler.compile(source, "nvptx", compiler.CompileOptions(device="sim"))(X),
    ):
        assert results[0].tolist() == (X + X).tolist()
    assert any(name.endswith(".o") for name in compiler.compile_ahead(source))


def test_instructions_of_a_program_keep_the_lines_of_its_file() -> None:
    [add] = [i for i in parse(STABLEHLO, filename='a "b".mlir').instructions() if i.opcode == "add"]
    metadata = dict(add.attributes["metadata"])
    assert (metadata["source_file"], metadata["source_line"]) == ('a "b".mlir', 4)


@pytest.mark.parametrize(
    ("attributes", "replicas", "partitions"),
    [
        ("", 1, 1),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32", 1, 1),
        ("mhlo.num_replicas = 2 : i32", 2, 1),
        ("mhlo.num_partitions = 4 : i32", 1, 4),
        ("mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 3 : i32", 3, 2),
    ],
)
def test_replicas_and_partitions_are_kept(attributes: str, replicas: int, partitions: int) -> None:
    text = f"""module @m attributes {{{attributes}}} {{
      func.func @main() -> (tensor<ui32>, tensor<ui32>) {{
        %r = stablehlo.replica_id : tensor<ui32>
        %p = stablehlo.partition_id : tensor<ui32>
        return %r, %p : tensor<ui32>, tensor<ui32>
      }}
    }}"""
    module = parse(text)
    expected = [number for r in range(replicas) for p in range(partitions) for number in (r, p)]
    assert [int(result) for result in compiler.interpret(module)] == expected
    assert [int(result) for result in compiler.compile(module)()] == expected
    again = parse(to_text(module))
    assert again.attributes.get("replica_count", 1) == replicas
    assert again.attributes.get("num_partitions", 1) == partitions


POLYMORPHIC = """module @poly {
  func.func public @main(%x: tensor<?x3xf32>, %y: tensor<f32>) -> (tensor<?x3xf32>, tensor<i32>) {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %r = call @inner(%x, %y) : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x3xf32>
    return %r, %n : tensor<?x3xf32>, tensor<i32>
  }
  func.func private @inner(%x: tensor<?x3xf32>, %y: tensor<f32>) -> tensor<?x3xf32> {
    %s = stablehlo.tanh %x : tensor<?x3xf32>
    return %s : tensor<?x3xf32>
  }
}
"""
ROWS = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_open_sizes_follow_from_the_inputs(rows: int) -> None:
    given = ROWS[:rows]
    module = parse(POLYMORPHIC, shapes=[given.shape, ()])
    result, count = compiler.interpret(module, given, np.float32(0))
    np.testing.assert_allclose(result, np.tanh(given), rtol=1e-6)
    assert (result.shape, int(count)) == (given.shape, rows)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (None, r"its sizes are open, main\(tensor<\?x3xf32>, tensor<f32>\): give inputs"),
        ([(5, 3)], "main takes 2 inputs, 1 are given"),
        ([(5, 4), ()], r"input 0 has the sizes \[5, 4\], and main takes tensor<\?x3xf32>"),
        ([(5,), ()], r"input 0 has the sizes \[5\]"),
    ],
)
def test_sizes_that_are_not_known_or_do_not_fit_are_asked_for(shapes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(POLYMORPHIC, shapes=shapes)


def _command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_commands_take_the_sizes_from_inputs_and_ask_for_them(tmp_path: Path) -> None:
    program = tmp_path / "poly.mlir"
    program.write_text(POLYMORPHIC)
    asked = _command("compiler", "run", program)
    assert asked.returncode == 2, asked.stderr
    assert "give inputs (--inputs FILE.npz)" in asked.stderr
    assert "Traceback" not in asked.stderr
    np.savez(tmp_path / "in.npz", ROWS, np.float32(0))
    given = _command("compiler", "run", program, "--inputs", tmp_path / "in.npz")
    assert given.returncode == 0, given.stderr + given.stdout
    assert "f32[5,3]" in given.stdout


@pytest.mark.parametrize(
    ("options", "rows"), [((), 2), (("--shapes", "7"), 7), (("--shapes", "0:4x3"), 4), (("--inputs", "in.npz"), 5)]
)
@pytest.mark.parametrize(("command", "done"), [("run", "bitwise"), ("isolate", "")])
def test_commands_that_run_a_program_take_sizes_that_nobody_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, done: str, options: tuple[str, ...], rows: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("poly.mlir").write_text(POLYMORPHIC)
    np.savez("in.npz", ROWS, np.float32(0))
    found = CliRunner().invoke(cli, [command, "poly.mlir", *options])
    assert found.exit_code == 0, found.output
    assert done in found.output
    assert (f"open sizes: 0 [?,3] is [{rows}, 3] (" in found.stderr) == ("--inputs" not in options)


def test_who_compiles_for_others_must_say_them(tmp_path: Path) -> None:
    program, out = tmp_path / "poly.mlir", tmp_path / "out"
    program.write_text(POLYMORPHIC)
    asked = CliRunner().invoke(cli, ["compile", str(program), "--out", str(out)])
    assert (asked.exit_code, "the sizes of input '0' are open, [?,3]: give them, --shapes N" in asked.output) == (
        2,
        True,
    )
    given = CliRunner().invoke(cli, ["compile", str(program), "--out", str(out), "--shapes", "6"])
    assert given.exit_code == 0, given.output
    assert "[6,3]" in next(out.glob("*.h")).read_text()


def test_a_recipe_beside_a_program_says_its_sizes(tmp_path: Path) -> None:
    (tmp_path / "poly.mlir").write_text(POLYMORPHIC)
    entries = [{"shape": shape, "dtype": "f32", "gen": {"kind": "normal"}} for shape in ([4, 3], [])]
    (tmp_path / "poly.json").write_text(json.dumps({"seed": 1, "params": entries}))
    assert [p.shape.dims for p in programs.read(tmp_path / "poly.mlir").entry.parameters] == [(4, 3), ()]


@pytest.mark.parametrize(
    ("header", "noted"),
    [
        ("HloModule f", 'HloModule f, frontend_attributes={exported_arguments="0 of 2"}'),
        ("HloModule f, frontend_attributes={}", 'HloModule f, frontend_attributes={exported_arguments="0 of 2"}'),
        (
            'HloModule f, frontend_attributes={a="}"}, num_partitions=2',
            'HloModule f, frontend_attributes={exported_arguments="0 of 2",a="}"}, num_partitions=2',
        ),
    ],
)
def test_what_an_export_uses_stands_among_the_attributes_of_the_header(header: str, noted: str) -> None:
    assert import_module("compiler.frontends.conversion")._noting(header, "0 of 2") == noted
    assert parse(f"{noted} ENTRY e {{ ROOT x = f32[] parameter(0) }}").attributes["frontend_attributes"]
