"""Engines by their specs: what they give, what they refuse, and how their failures are told."""

import sys
from importlib import import_module

import numpy as np
import pytest

import compiler
from xlabench.engines import ENGINES, OF_GRAPHS, build, engine, execute
from xlabench.errors import BenchError, CompileFailure, ExitCode, RunFailure, Undecidable

PROGRAM = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  sum = f32[4] add(x, y)
  ROOT t = (f32[4], f32[4]) tuple(sum, x)
}
"""
X, Y = np.arange(4, dtype=np.float32), np.full(4, 2, np.float32)


class Scripted:
    """An engine whose compilation or program raises what it is told to."""

    spec = "scripted"

    def __init__(self, *, compiling=None, running=None):
        self.compiling, self.running = compiling, running

    def compile(self, module_or_text):
        if self.compiling:
            raise self.compiling
        return self.run

    def run(self, *inputs):
        if self.running:
            raise self.running
        return list(inputs)


@pytest.mark.parametrize("spec", ["reference", "cpu", "cpu:fusion=off", "cpu:threads=1,opt=0", "nvptx:sim"])
@pytest.mark.parametrize("form", [str, compiler.parse], ids=["text", "module"])
def test_every_engine_runs_text_and_modules(spec, form):
    total, first = engine(spec).compile(form(PROGRAM))(X, Y)
    np.testing.assert_array_equal(total, X + Y)
    np.testing.assert_array_equal(first, X)


def test_a_refusal_to_compile_a_valid_program_is_the_engines_failure():
    scripted = Scripted(compiling=compiler.CompilerError("no registers left"))
    with pytest.raises(CompileFailure, match="scripted failed to compile: no registers left"):
        build(scripted, PROGRAM)


def test_an_unsupported_opcode_is_no_failure():
    for scripted in (
        Scripted(compiling=compiler.UnsupportedError("fft", "us")),
        Scripted(running=compiler.UnsupportedError("fft", "us")),
    ):
        with pytest.raises(compiler.UnsupportedError):
            execute(scripted, build(scripted, PROGRAM), [X])


def test_a_fault_of_the_running_program_is_the_engines_failure():
    scripted = Scripted(running=compiler.CompilerError("out of bounds at line 3"))
    with pytest.raises(RunFailure, match="out of bounds at line 3"):
        execute(scripted, build(scripted, PROGRAM), [X])


def test_a_bug_of_ours_is_left_alone():
    scripted = Scripted(running=AssertionError("ours"))
    with pytest.raises(AssertionError, match="ours"):
        execute(scripted, build(scripted, PROGRAM), [X])


def test_an_engine_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "xlabench.engines.xla", raising=False)
    with pytest.raises(Undecidable, match=r"pip install '\.\[peers\]'") as caught:
        engine("xla")
    assert isinstance(caught.value, BenchError)
    assert caught.value.exit_code == ExitCode.UNDECIDABLE


def test_xla_agrees_with_the_reference():
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    for spec in ("xla", "xla:fusion=off", "xla:opt=0"):
        total, first = engine(spec).compile(PROGRAM)(X, Y)
        np.testing.assert_array_equal(total, X + Y)
        np.testing.assert_array_equal(first, X)
    text = "ENTRY e { x = f32[4] parameter(0) t = token[] after-all() ROOT r = (token[], f32[4]) tuple(t, x) }"
    results = engine("xla").compile(f"HloModule m\n{text}")(X)
    assert [result.shape for result in results] == [X.shape], "tokens are no results"


def test_xla_says_nothing_of_results_whose_sizes_are_known_at_run_time_only():
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    cut = "r = f32[<=4] set-dimension-size(x, n), dimensions={0}"
    text = f"ENTRY e {{ x = f32[4] parameter(0)  n = s32[] parameter(1)  ROOT {cut} }}"
    with pytest.raises(Undecidable, match="known at run time only"):
        engine("xla").compile(text)
    whole = text.replace("ROOT", "").replace(" }", "  ROOT k = s32[] get-dimension-size(r), dimensions={0} }")
    assert engine("xla").compile(whole)(X, np.int32(3)) == [3]


PAIR = "(f32[4], f32[4])"
SPARSE = """k = TYPE[2,1] parameter(1) i = s8[2,1] constant({{3}, {0}}) t = (TYPE[2,1], s8[2,1]) tuple(k, i)
  y = TYPE[2,8] parameter(2) ROOT r = TYPE[2,1] convolution(y, t), dim_labels=bf_io->bf,
  sparsity_config={rhs={sparsity=1x4 dimension=0 stride=1}}"""
UNSAID = {
    **{f"convolution of {name}": SPARSE.replace("TYPE", name) for name in ("pred", "f8e5m2", "f16", "f32", "c64")},
    "all-reduce-start": f"s = {PAIR} all-reduce-start(x, x), to_apply=add ROOT r = {PAIR} all-reduce-done(s)",
    "all-gather-start": f"s = ({PAIR}, {PAIR}) all-gather-start(x, x), dimensions={{0}} "
    f"ROOT r = {PAIR} all-gather-done(s)",
    "all-reduce-done": "ROOT r = f32[4] all-reduce-done(x)",
    "all-gather-done": f"t = {PAIR} tuple(x, x) ROOT r = f32[4] all-gather-done(t)",
    "collective-permute-done": f"t = {PAIR} tuple(x, x) ROOT r = f32[4] collective-permute-done(t)",
    "copy-done": "u = u32[] constant(0) t = (f32[4], f32[4], u32[]) tuple(x, x, u) ROOT r = f32[4] copy-done(t)",
    "async-done": "t = (f32[4]) tuple(x) u = ((f32[4]), f32[4]) tuple(t, x) ROOT r = f32[4] async-done(u)",
}


@pytest.mark.parametrize("form", UNSAID)
def test_what_the_way_into_xla_cannot_say_is_no_failure_of_the_program(form):
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    add = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
    with pytest.raises(Undecidable):
        engine("xla").compile(f"{add} ENTRY e {{ x = f32[4] parameter(0) {UNSAID[form]} }}")


@pytest.mark.parametrize("spec", ["reference", "cpu", "nvptx:sim", "xla"])
def test_inputs_of_another_byte_order_are_the_numbers_that_they_are(spec):
    if spec == "xla":
        pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    total, _ = engine(spec).compile(PROGRAM)(X.astype(X.dtype.newbyteorder()), Y)
    np.testing.assert_array_equal(total, X + Y)


@pytest.mark.parametrize("spec", ["reference", "nvptx:sim", "xla"])
@pytest.mark.parametrize(
    "given",
    [
        [X],
        [X, Y, Y],
        [X, Y.astype(np.int32)],
        [X.reshape(2, 2), Y],
        [X, [None] * 4],
    ],
    ids=["too few", "too many", "type of as many bytes", "shape", "no numbers"],
)
def test_inputs_that_do_not_fit_are_refused(spec, given):
    if spec == "xla":
        pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    with pytest.raises(compiler.InputError, match="given"):
        engine(spec).compile(PROGRAM)(*given)


def test_programs_are_kept_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=nonsense")
    results = [engine("cpu").compile(PROGRAM)(X, Y) for _ in range(2)]
    np.testing.assert_array_equal(*results)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_offers_a_factory_options_and_devices(name):
    if name == "xla":
        pytest.importorskip("jax", reason="the extra `peers` is not installed")
    module = import_module(ENGINES[name])
    assert callable(module.create)
    assert all(one.isidentifier() for one in module.OPTIONS)
    assert not set(module.DEVICES) & set(module.OPTIONS)


@pytest.mark.parametrize("name", sorted(ENGINES.keys() - OF_GRAPHS - {"xla"}))
def test_an_option_that_an_engine_does_not_have_is_refused_with_those_that_it_has(name):
    with pytest.raises(BenchError, match=f"{name}.*what"):
        engine(f"{name}:what=1")
