"""Options as XLA spells them, in the variable XLA_FLAGS."""

import json

import pytest
from click.testing import CliRunner

import compiler
from compiler import options
from compiler.__main__ import cli
from compiler.backends import BACKENDS
from compiler.options import XLA_PASSES, CompileOptions
from compiler.pipeline import PASSES
from compiler.xla_flags import XLA_FLAGS

ADD = "ENTRY main {\n  x = f32[3] parameter(0)\n  z = f32[3] add(x, x)\n  ROOT s = f32[3] add(z, x)\n}\n"


def read(flags):
    return compiler.environment_options({"XLA_FLAGS": flags})


def call(flags, *arguments):
    return CliRunner(catch_exceptions=False, env={"XLA_FLAGS": flags}).invoke(cli, list(arguments), input=ADD)


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("", {}),
        ("--xla_dump_to=/tmp/x --xla_dump_hlo_as_text", {"dump_to": "/tmp/x"}),
        ("--xla_dump_to='two words'", {"dump_to": "two words"}),
        ("  --xla_dump_hlo_pass_re=.*\n", {"dump_pass_re": ".*"}),
        (
            "--xla_disable_hlo_passes=algsimp,cse,fusion",
            {"disable_passes": ("algebraic-simplification", "cse", "fusion")},
        ),
        ("--xla_disable_hlo_passes=dce --xla_disable_hlo_passes=cse,dce", {"disable_passes": ("dce", "cse")}),
        ("--xla_backend_optimization_level=0", {"opt": 0}),
        ("--xla_cpu_multi_thread_eigen=false", {"threads": 1}),
        ("--xla_gpu_deterministic_ops=false", {"atomics": True}),
        ("--xla_dump_hlo_as_text=true", {}),
        (
            "--xla_dump_to=x --xla_dump_hlo_snapshots --xla_dump_hlo_unoptimized_snapshots=1",
            {"dump_to": "x", "dump_snapshots": True, "dump_unoptimized_snapshots": True},
        ),
        ("--xla_dump_hlo_snapshots=false", {}),
    ],
)
def test_flags_become_options(flags, options):
    assert read(flags) == compiler.options.Environment(CompileOptions(**options))


@pytest.mark.parametrize("flag", sorted(XLA_FLAGS - set(options._FLAGS)))
def test_every_flag_of_xlas_that_is_not_here_is_said_by_name(flag):
    asked = read(f"{flag}=1")
    assert asked.options == CompileOptions()
    assert f"{flag} " in " ".join(asked.notes)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("flags", "ends"),
    [
        ("", {"txt"}),
        ("--xla_dump_hlo_as_dot", {"dot"}),
        ("--xla_dump_hlo_as_html --xla_dump_hlo_as_text", {"html", "txt"}),
        ("--xla_dump_hlo_as_html --xla_dump_hlo_as_dot=false", {"html"}),
        ("--xla_dump_hlo_as_proto", {"pb"}),
        ("--xla_dump_hlo_as_proto --xla_dump_hlo_as_text", {"pb", "txt"}),
    ],
)
def test_modules_are_dumped_in_the_forms_that_are_asked_for(tmp_path, backend, flags, ends):
    done = call(f"--xla_dump_to={tmp_path} --xla_dump_hlo_pass_re=fusion {flags}", "run", "-", "--backend", backend)
    assert (done.exit_code, done.stderr) == (0, "")
    names = [path.name for path in tmp_path.iterdir()]
    for stem in ("before_optimizations", "after_optimizations", ".after_fusion."):
        found = {name.rpartition(".")[2] for name in names if stem in name and "buffer" not in name}
        assert found == ends, names
    assert {file["file"] for file in json.loads((tmp_path / "index.json").read_text())[0]["files"]} < set(names)


def test_a_form_without_a_folder_is_said():
    assert "nothing is dumped as dot without --xla_dump_to=FOLDER" in " ".join(read("--xla_dump_hlo_as_dot").notes)


@pytest.mark.parametrize("flag", ["--xla_dump_hlo_snapshots", "--xla_dump_hlo_unoptimized_snapshots"])
def test_snapshots_without_a_folder_are_said(flag):
    assert "no snapshots are dumped without --xla_dump_to=FOLDER" in " ".join(read(flag).notes)


def test_an_unknown_form_is_an_error(tmp_path):
    asked = CompileOptions(dump_to=str(tmp_path), dump_as=("png",))
    with pytest.raises(compiler.InputError, match="unknown form 'png'; forms are: text, dot, html, proto"):
        compiler.compile(ADD, options=asked)


def test_every_name_of_xlas_leads_to_a_pass():
    assert set(XLA_PASSES.values()) <= set(PASSES)
    assert not set(XLA_PASSES) & set(PASSES)


@pytest.mark.parametrize(
    ("flags", "note"),
    [
        ("--xla_gpu_autotune_level=4", "--xla_gpu_autotune_level of XLA's is not available here"),
        (
            "--xla_disable_hlo_passes=while-loop-trip-count-annotator",
            "there is no pass while-loop-trip-count-annotator here",
        ),
        ("--xla_dump_hlo_as_text=false", "dumps are text"),
        ("--xla_dump_too=x", "--xla_dump_too is no flag that XLA is known to have; did you mean --xla_dump_to"),
        ("--tf_xla_auto_jit=2", "--tf_xla_auto_jit is no flag that XLA is known to have;"),
        ("--xla_hlo_graph_path=x", "older XLA had it; --xla_dump_to=FOLDER with --xla_dump_hlo_as_dot"),
        ("--xla_dump_large_constants=0", "constants are dumped in full"),
    ],
)
def test_what_means_nothing_here_is_passed_over_with_a_note(flags, note):
    asked = read(flags)
    assert asked.options == CompileOptions()
    assert note in " ".join(asked.notes)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--xla_dump_to", "name of a folder"),
        ("--xla_dump_to=", "name of a folder"),
        ("--xla_backend_optimization_level=9", "a level from 0 to 3"),
        ("--xla_backend_optimization_level", "a level from 0 to 3"),
        ("--xla_cpu_multi_thread_eigen=perhaps", "true or false"),
        ("--xla_dump_hlo_pass_re=(", "no regular expression"),
        ("--xla_dump_to='x", "close the quotation"),
        ("--xla_dump_to=x y", "'y' is no flag"),
        ("/no/such/file", "nor a file to read"),
    ],
)
def test_a_malformed_value_is_an_error(flags, message):
    with pytest.raises(compiler.InputError, match="XLA_FLAGS") as raised:
        read(flags)
    assert message in str(raised.value)


def test_flags_may_stand_in_a_file(tmp_path):
    (tmp_path / "flags").write_text("--xla_dump_to=here\n--xla_backend_optimization_level=1\n")
    assert read(str(tmp_path / "flags")).options == CompileOptions(dump_to="here", opt=1)


def test_the_command_line_dumps_where_the_variable_says_and_shows_passes_by_xlas_names(tmp_path):
    flags = f"--xla_dump_to={tmp_path / 'd'} --xla_dump_hlo_pass_re=algsimp --xla_unknown=1"
    done = call(flags, "run", "-", "--backend", "cpu")
    assert done.exit_code == 0
    assert "--xla_unknown is no flag that XLA is known to have;" in done.stderr
    [module] = json.loads((tmp_path / "d" / "index.json").read_text())
    assert [f["what"] for f in module["files"] if ".after_algebraic-simplification." in f["what"]]


@pytest.mark.parametrize("content", [b"[1", b"{}", b"\xff", b"[" * 50_000], ids=["cut", "no list", "no text", "deep"])
def test_a_folder_with_an_index_of_something_else_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "index.json").write_bytes(content)
    done = call(f"--xla_dump_to={tmp_path}", "run", "-", "--backend", "cpu")
    assert (done.exit_code, "choose another folder" in done.stderr) == (2, True), done.stderr
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_required_pass_cannot_be_disabled_and_a_bad_flag_ends_with_2():
    done = call("--xla_disable_hlo_passes=flatten-call-graph", "opt", "-")
    assert (done.exit_code, "cannot be disabled" in done.stderr) == (2, True)
    assert call("--xla_dump_to=", "opt", "-").exit_code == 2


def test_the_command_line_goes_before_the_variable():
    done = call("--xla_backend_optimization_level=0", "emit", "llvm-opt", "-", "--opt", "3")
    assert done.stdout == call("", "emit", "llvm-opt", "-").stdout


@pytest.mark.parametrize("options", [{"threads": -1}, {"opt": 4}, {"fuel": -1}])
def test_a_number_that_an_option_cannot_have_is_refused_by_name(options):
    [name] = options
    with pytest.raises(compiler.InputError, match=f"{name}={options[name]}: "):
        compiler.compile("ENTRY e { ROOT x = f32[2] parameter(0) }", options=CompileOptions(**options))
