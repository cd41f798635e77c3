"""A compiled program can be called, looked into and profiled, and says what it took."""

from dataclasses import replace

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.diagnostics import InputError

TEXT = """
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[4,8] parameter(0)  s = f32[4,8] sort(x), dimensions={1}, to_apply=less
  r = f32[4,8] reverse(s), dimensions={0}  a = f32[4,8] add(s, r)  ROOT t = (f32[4,8], f32[4,8]) tuple(a, s) }"""
PLAIN = CompileOptions(opt=0, threads=1)
X = np.arange(32, dtype=np.float32)[::-1].reshape(4, 8)


@pytest.fixture(scope="module")
def executable():
    return compiler.compile(TEXT, backend="cpu", options=PLAIN)


def test_a_call_gives_the_leaves_of_the_root(executable):
    for got, expected in zip(executable(X), compiler.interpret(compiler.parse(TEXT), X), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("inputs", [[], [X, X], [X[0]], [X.astype(np.float64)], ["x"]])
def test_what_is_no_input_is_refused_and_said(executable, inputs):
    with pytest.raises(InputError):
        executable(*inputs)


def test_it_can_be_looked_into_at_every_stage(executable):
    stages = ["cpu_after_optimizations.txt", "buffer-assignment.txt", "ir-no-opt.ll", "ir-with-opt.ll", "s", "o"]
    assert list(executable.artifacts) == stages
    assert all(executable.artifacts.values())
    assert "sort" in str(executable.artifacts["cpu_after_optimizations.txt"])
    assert bytes(executable.artifacts["o"]).startswith(b"\x7fELF")


def test_it_says_what_it_takes_and_what_was_decided(executable):
    arena, least = executable.memory_bytes
    assert arena >= least >= 0
    assert executable.threads == 1
    assert executable.launch_models == ()
    assert executable.decisions_digest == compiler.compile(TEXT, backend="cpu", options=PLAIN).decisions_digest


def test_a_profile_has_a_time_for_every_kernel_within_that_of_the_call(executable):
    times = executable.profile(X)
    assert {time.name for time in times} == set(executable.image.kernels)
    assert all(time.duration_ns >= 0 for time in times)


@pytest.mark.parametrize(
    "options",
    [
        {"check_memory": True},
        {"check_bounds": True},
        {"share_all": True, "threads": 2},
        {"share_all": True, "threads": 3, "backwards": True},
    ],
)
def test_a_call_with_checks_gives_the_same_bits(executable, options):
    checked = compiler.compile(TEXT, backend="cpu", options=replace(PLAIN, **options))
    for got, expected in zip(checked(X), executable(X), strict=True):
        assert got.tobytes() == expected.tobytes()


def test_what_does_not_fit_into_this_machine_compiles_and_is_refused_when_called(monkeypatch):
    monkeypatch.setattr("compiler.plan.available_bytes", lambda: 100, raising=False)
    text = (
        f"ENTRY e {{ x = s8[] parameter(0)  ROOT b = s8[{1 << 20},{1 << 20},{1 << 10}] broadcast(x), dimensions={{}} }}"
    )
    executable = compiler.compile(text, backend="cpu")
    assert "store" in str(executable.artifacts["ir-no-opt.ll"])
    with pytest.raises(compiler.CompilerError, match="memory"):
        executable(np.int8(1))
