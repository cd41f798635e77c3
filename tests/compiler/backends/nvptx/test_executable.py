"""A module compiled for GPUs: run, looked into, and refused by name where it cannot be."""

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.diagnostics import InputError, UnsupportedError

TEXT = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[4,40] parameter(0)  c = f32[40] iota(), iota_dimension=0  z = f32[] constant(0)
  r = f32[4] reduce(x, z), dimensions={1}, to_apply=add  t = token[] after-all()
  ROOT o = (f32[4], token[], f32[40]) tuple(r, t, c) }"""
X = np.arange(160, dtype=np.float32).reshape(4, 40)


@pytest.fixture(scope="module")
def executable():
    return compiler.compile(TEXT, backend="nvptx", options=CompileOptions(device="sim", opt=0))


def test_every_call_gives_the_leaves_of_the_root_without_tokens(executable):
    for _ in range(3):
        sums, numbers = executable(X)
        np.testing.assert_array_equal(sums, X.sum(axis=1))
        np.testing.assert_array_equal(numbers, np.arange(40))


def test_results_of_one_call_are_not_those_of_the_next(executable):
    first, _ = executable(X)
    executable(2 * X)
    np.testing.assert_array_equal(first, X.sum(axis=1))


def test_a_profile_times_every_launch(executable):
    times = executable.profile(X)
    assert times
    assert all(time.duration_ns > 0 for time in times)
    assert len({time.name for time in times}) == len(times)


def test_it_can_be_looked_into_at_every_stage(executable):
    assert list(executable.artifacts) == [
        "sm_90_gpu_after_optimizations.txt",
        "buffer-assignment.txt",
        "thunk_sequence.txt",
        "ir-no-opt.ll",
        "ir-with-opt.ll",
        "ptx",
        "kernel-resources.txt",
    ]
    assert ".target sm_90" in str(executable.artifacts["ptx"]) == executable.ptx
    assert "launch" in str(executable.artifacts["thunk_sequence.txt"])


def test_it_says_what_was_decided_and_what_ran(executable):
    again = compiler.compile(TEXT, backend="nvptx", options=CompileOptions(device="sim", opt=0))
    assert executable.decisions_digest == again.decisions_digest
    executable(X)
    assert "lane-instructions" in executable.facts.ran


@pytest.mark.slow
def test_it_says_what_a_gpu_is_expected_to_take_for_every_launch(executable):
    assert all(model.time_ns > 0 for model in executable.launch_models)


@pytest.mark.parametrize(
    ("options", "said"), [({"device": "tpu"}, "unknown device 'tpu'"), ({"device": "sim", "arch": "sm_1"}, "sm_1")]
)
def test_what_is_not_there_is_refused_with_what_is(options, said):
    with pytest.raises(InputError, match=said):
        compiler.compile(TEXT, backend="nvptx", options=CompileOptions(**options))


def test_what_was_only_assembled_does_not_run(executable, monkeypatch):
    monkeypatch.setattr(executable, "device", None)
    with pytest.raises(UnsupportedError, match="use sim or a GPU"):
        executable(X)


@pytest.mark.parametrize("inputs", [[], [X, X], [X[0]], [X.astype(np.float64)]])
def test_inputs_that_do_not_fit_are_refused(executable, inputs):
    with pytest.raises(InputError):
        executable(*inputs)
