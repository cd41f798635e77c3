"""Programs are read whatever form they have, and what cannot be read is said with its place."""

import gzip
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
import smallest_calls
from click.testing import CliRunner

import compiler
import xlabench
from compiler import tf
from xlabench.cases import programs
from xlabench.cases.open_sizes import OpenSizes
from xlabench.cli import cli
from xlabench.errors import BenchError, ExitCode, Undecidable

ADD = "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] add(x, x)\n}\n"
NEGATE = "HloModule n\n\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] negate(x)\n}\n"
STABLEHLO = """// a comment first
module @m {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<[0x7FC00001, -0.0]> : tensor<2xf32>
    %0 = stablehlo.add %x, %c : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"""
MHLO = STABLEHLO.replace("stablehlo.", "mhlo.")
X = np.array([1.5, -2], np.float32)

has_jax = find_spec("jax") is not None
needs_protobuf = pytest.mark.skipif(not find_spec("google.protobuf"), reason="needs protobuf, the extra `graphs`")
needs_jax = pytest.mark.skipif(not has_jax, reason="needs jaxlib, the extra `peers`")


def _file(folder, data, name="p.hlo"):
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_hlo_text_is_read_and_verified(tmp_path):
    assert programs.read(_file(tmp_path, ADD)).name == "m"
    with pytest.raises(compiler.CompilerError, match="violation"):
        programs.read(_file(tmp_path, ADD.replace("y = f32[2]", "y = f32[3]")))


def test_compressed_text_is_told_by_its_content(tmp_path):
    assert programs.read(_file(tmp_path, gzip.compress(ADD.encode()))).name == "m"


def test_of_several_modules_one_must_be_chosen(tmp_path):
    path = _file(tmp_path, f"{ADD}\n// -----\n{NEGATE}")
    assert programs.read(path, module=2).name == "n"
    with pytest.raises(BenchError, match="holds 2 modules; choose one, from --module 1 to 2"):
        programs.read(path)
    with pytest.raises(BenchError, match="there is no module 3; it holds 2"):
        programs.read(path, module=3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot be read"),
        (gzip.compress(ADD.encode(), mtime=0)[:-9], "cannot be decompressed"),
        (b"\x1f\x8bnothing", "cannot be decompressed"),
    ],
    ids=["no file", "a gzip file that ends early", "what only begins like gzip"],
)
def test_what_cannot_be_read_is_said(tmp_path, data, message):
    path = tmp_path / "p.hlo" if data is None else _file(tmp_path, data)
    with pytest.raises(BenchError, match=message):
        programs.read(path)


def test_a_folder_is_no_program(tmp_path):
    with pytest.raises(BenchError, match="cannot be read"):
        programs.read(tmp_path)


@pytest.mark.parametrize("data", ["", "\n\n", b"\xff\xfd\x00", bytes(100), b"\x7fELF\x02\x00"])
def test_what_is_no_program_is_bad_input_with_the_name_of_the_file(tmp_path, data):
    with pytest.raises(compiler.CompilerError, match=r"p\.hlo:\d+:\d+: "):
        programs.read(_file(tmp_path, data))


@pytest.mark.skipif(has_jax, reason="jaxlib is installed")
def test_without_jaxlib_other_forms_cannot_be_decided(tmp_path):
    with pytest.raises(Undecidable, match=r"pip install '\.\[peers\]'") as raised:
        programs.read(_file(tmp_path, STABLEHLO))
    assert raised.value.exit_code == ExitCode.UNDECIDABLE
    with pytest.raises(Undecidable, match="a JAX function needs"):
        xlabench.from_jax(lambda x: x, X)


@pytest.mark.slow
@needs_jax
@pytest.mark.parametrize("text", [STABLEHLO, MHLO], ids=["stablehlo", "mhlo"])
def test_mlir_becomes_the_module_that_xla_makes_of_it_bit_for_bit(tmp_path, text):
    module = programs.read(_file(tmp_path, text))
    [result] = compiler.interpret(module, np.array([0, 0], np.float32))
    assert result.view(np.uint32)[0] == 0x7FC00001
    [constant] = [i for i in module.instructions() if i.opcode == "constant"]
    assert constant.literal.array.view(np.uint32).tolist() == [0x7FC00001, 0x80000000]


@pytest.mark.slow
@needs_jax
def test_protocol_buffers_and_bytecode_read_as_the_text_they_were_made_of(tmp_path):
    proto, dump, bytecode = _serialised(ADD)
    expected = compiler.interpret(compiler.parse(ADD), X)[0]
    for name, data in (
        ("p.pb", proto),
        ("p.bin", proto),
        ("p.hlo.pb", dump),
        ("p.hlo.pb.gz", gzip.compress(dump)),
        ("p.bc", bytecode),
    ):
        assert compiler.interpret(programs.read(_file(tmp_path, data, name)), X)[0].tolist() == expected.tolist(), name


def _serialised(text):
    """A program as HloModuleProto, as HloProto, and as MLIR bytecode."""
    hlo, extension = (__import__("jaxlib", fromlist=[name]) for name in ("_hlo", "_jax"))
    proto = hlo._hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    size = len(proto)
    length = bytes([size & 127 | 128, size >> 7]) if size > 127 else bytes([size])
    return proto, b"\x0a" + length + proto + b"\x1a\x00", extension._jax.mlir.hlo_to_stablehlo(proto)


@pytest.mark.slow
@needs_jax
def test_every_damaged_buffer_is_bad_input(tmp_path):
    proto = _serialised(ADD)[0]
    for data in (b"", b"\x0a", b"\x0a\x03abc", proto[:50], proto[:-30], b"\xff" * 40):
        with pytest.raises(BenchError, match="jaxlib cannot convert it"):
            programs.read(_file(tmp_path, data, "p.pb"))


@needs_protobuf
@pytest.mark.parametrize("is_installed", [pytest.param(True, marks=[needs_jax]), False])
def test_a_graph_that_nothing_lies_beside_is_told_what_must(tmp_path, monkeypatch, is_installed):
    graph = tf.parse_graph('node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }')
    if not is_installed:
        monkeypatch.setattr(compiler.frontends, "find_spec", lambda _: None)
    file = _file(tmp_path, tf.to_binary(graph), "g.pb")
    with pytest.raises(BenchError if is_installed else Undecidable, match=r"say .* in g\.config\.pbtxt beside it"):
        programs.read(file)


@pytest.mark.slow
@needs_jax
@pytest.mark.parametrize("text", ["module {", "module {\n}", STABLEHLO.replace("%c :", "%d :"), "(" * 100_000])
def test_bad_mlir_is_bad_input(tmp_path, text):
    with pytest.raises(BenchError, match=r"p\.mlir: jaxlib cannot convert it"):
        programs.read(_file(tmp_path, text, "p.mlir"))


@needs_jax
def test_a_jax_function_is_the_module_that_it_lowers_to():
    jax = import_module("jax")
    y = np.arange(12, dtype=np.float32).reshape(3, 4)

    def function(x, unused, pair):
        return jax.numpy.tanh(x) @ pair[0], pair[1] + jax.numpy.arange(20)

    arguments = (y.T, np.float32(1), (y, np.arange(20, dtype=np.int32)))
    module = xlabench.from_jax(function, *arguments)
    assert len(module.entry.parameters) == 4
    first, second = compiler.interpret(module, y.T, np.float32(1), y, np.arange(20, dtype=np.int32))
    np.testing.assert_allclose(first, np.tanh(y.T) @ y, rtol=1e-5)
    assert second.tolist() == [2 * n for n in range(20)]
    assert xlabench.from_jax(jax.jit(function), *arguments).name == "jit_function"


@needs_jax
def test_arguments_settle_the_sizes_that_an_exported_jax_function_left_open():
    jax, export = import_module("jax"), import_module("jax.export")
    argument = jax.ShapeDtypeStruct(export.symbolic_shape("n"), np.float32)
    exported = export.export(jax.jit(lambda x: x[::2] + x.shape[0]))(argument)
    module = xlabench.from_jax(exported.call, np.ones(5, np.float32))
    assert compiler.interpret(module, np.ones(5, np.float32))[0].tolist() == [6, 6, 6]
    with pytest.raises(BenchError, match="what JAX lowers it to"):
        xlabench.from_jax(exported.call, argument)


def test_a_graph_of_tensorflow_is_read_as_a_program(tmp_path):
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    path = tmp_path / "c.pbtxt"
    path.write_text(smallest_calls.GRAPH)
    (tmp_path / "c.config.pbtxt").write_text(smallest_calls.CONFIG)
    assert programs.read(path).entry.root.shape.elements[0].dims == ()


@pytest.fixture
def model(tmp_path):
    """A SavedModel whose signature `serving_default` negates, and `other` squares."""
    tf = import_module("xlabench.tensorflow")
    graph = import_module("compiler.graph")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        made = {"serving_default": tf.negative(x), "other": tf.square(x)}
        for name, y in made.items():
            tf.saved_model.simple_save(session, tmp_path / name, {"x": x}, {"y": y})
    models = {name: graph.read_saved_model(tmp_path / name) for name in made}
    signatures = {name: one.signatures["serving_default"] for name, one in models.items()}
    whole = max(models.values(), key=lambda one: len(one.graph.nodes))
    graph.write_saved_model(replace(whole, signatures=signatures), tmp_path / "model")
    return tmp_path / "model"


@needs_protobuf
@pytest.mark.parametrize(
    ("signature", "expected"), [(None, [-1.5, 2]), ("serving_default", [-1.5, 2]), ("other", [2.25, 4])]
)
def test_a_signature_of_a_model_is_a_program(model, signature, expected):
    (found,) = compiler.interpret(programs.read(model, signature=signature), X)
    assert found.tolist() == expected


@needs_protobuf
def test_a_signature_that_is_not_there_is_said(model, tmp_path):
    with pytest.raises(BenchError, match=r"no signature 'othr'; did you mean other"):
        programs.read(model, signature="othr")
    with pytest.raises(BenchError, match=r"it is no SavedModel, and has no signature 'other': leave --signature out"):
        programs.read(_file(tmp_path, ADD), signature="other")


@needs_protobuf
@pytest.mark.parametrize("command", ["run", "isolate", "bisect", "reduce", "compile"])
def test_commands_take_a_signature(model, tmp_path, command):
    out = ["--out", str(tmp_path / "out")] if command in ("reduce", "compile") else []
    found = CliRunner().invoke(cli, [command, str(model), "--signature", "nobody", *out])
    assert found.exit_code == ExitCode.BAD_INPUT
    assert "no signature 'nobody'; there are: other, serving_default" in found.output


@pytest.fixture
def open_model(tmp_path):
    """A SavedModel that adds a row to rows, of which the number is not stated."""
    tf = import_module("xlabench.tensorflow")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None, 3], name="x"), tf.placeholder(tf.float32, [3], name="y")
        tf.saved_model.simple_save(session, tmp_path / "open", {"x": x, "y": y}, {"z": x + y})
    return tmp_path / "open"


@needs_protobuf
@pytest.mark.parametrize(("said", "rows"), [(None, 2), ("6", 6), ("x:7x3", 7), ("0:1x3,y:3", 1)])
def test_sizes_that_a_model_leaves_open_are_taken_and_said(open_model, said, rows):
    shapes = OpenSizes.parse(said)
    module = programs.read(open_model, shapes=shapes)
    assert [one.array.dims for one in module.entry.parameters] == [(rows, 3), (3,)]
    assert shapes.notes[0].startswith(f"open sizes: x [?,3] is [{rows}, 3]")


@needs_protobuf
@pytest.mark.parametrize(
    ("command", "options", "code", "said"),
    [
        ("run", [], 0, "open sizes: x [?,3] is [2, 3]"),
        ("run", ["--engine", "clusters:on=cpu", "--shapes", "4"], 0, "open sizes: x [?,3] is [4, 3]"),
        ("isolate", ["--shapes", "x:5x3"], 0, "open sizes: x [?,3] is [5, 3]"),
        ("bisect", ["--shapes", "x:5x4"], 2, "input 'x' has sizes [?,3], not [5, 4]"),
        ("reduce", ["--shapes", "u:5", "--out", "out"], 2, "there is no input 'u'"),
        ("compile", ["--out", "out"], 2, "the sizes of input 'x' are open, [?,3]: give them, --shapes N"),
        ("compile", ["--shapes", "3", "--out", "out"], 0, "open sizes: x [?,3] is [3, 3]"),
        ("tfcompile", ["--cpp-class", "C", "--out", "out"], 2, "the sizes of input 'x' are open"),
        ("tfcompile", ["--shapes", "x:9x3", "--cpp-class", "C", "--out", "out"], 0, "open sizes: x [?,3] is [9, 3]"),
        ("run", ["--inputs", "in.npz", "--shapes", "5"], 2, "none of its sizes is open to --shapes: leave it out"),
    ],
)
def test_commands_take_open_sizes(open_model, tmp_path, monkeypatch, command, options, code, said):
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", x=np.ones((2, 3), np.float32), y=np.ones(3, np.float32))
    named = ["--graph", str(open_model)] if command == "tfcompile" else [str(open_model)]
    found = CliRunner().invoke(cli, [command, *named, *options])
    assert found.exit_code == code, found.output
    assert said in found.stderr
