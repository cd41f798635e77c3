"""What is decided when a module is compiled for a GPU: architecture, code, steps."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions, InputError, UnsupportedError, inputs
from compiler.backends.nvptx import ptxas
from compiler.backends.nvptx.target import ARCHITECTURES, newest_for

PROGRAM = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
ENTRY e {
  x = bf16[70,300] parameter(0)
  y = f16[300] parameter(1)
  z = f32[] constant(0)
  w = f32[70,300] exponential(f32[70,300] convert(x))
  v = f32[300] convert(y)
  s = f32[70] reduce(w, z), dimensions={1}, to_apply=add
  d = f32[70] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[70], bf16[70]) tuple(s, bf16[70] convert(d))
}"""
# The last release of ptxas that knows these was 12.9.
RETIRED = {"sm_70", "sm_72"}


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_computes_the_same(arch: str) -> None:
    arrays = inputs.draw(compiler.parse(PROGRAM), 0)
    results = [
        compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim", arch=a))(*arrays) for a in (arch, "sm_80")
    ]
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


def test_a_gpu_runs_what_is_compiled_for_it_or_an_older_one() -> None:
    assert [newest_for(capability) for capability in (70, 88, 90, 91, 130)] == [
        *("sm_70", "sm_87", "sm_90a", "sm_90", "sm_121"),
    ]
    with pytest.raises(UnsupportedError, match=r"sm_61.*the oldest that it knows is sm_70"):
        newest_for(61)


@pytest.mark.slow
@pytest.mark.skipif(not ptxas.available(), reason="ptxas (of the CUDA toolkit) is not installed")
@pytest.mark.parametrize("arch", sorted(set(ARCHITECTURES) - RETIRED))
def test_every_architecture_assembles(arch: str) -> None:
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="ptxas", arch=arch))
    assert executable.resources
    assert all(0 < kernel.registers <= 255 and not kernel.spill_bytes for kernel in executable.resources)


def test_ptx_says_what_it_is_for() -> None:
    ptx = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim", arch="sm_70")).artifacts["ptx"]
    assert ".target sm_70" in str(ptx)
    assert ".version 6.4" in str(ptx)


def test_an_unknown_architecture_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'sm_35'.*sm_70.*sm_100"):
        compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim", arch="sm_35"))


def test_an_unknown_device_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'tpu'.*'sim', 'ptxas'"):
        compiler.compile(PROGRAM, "nvptx", CompileOptions(device="tpu"))


def test_what_was_only_assembled_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "assemble", lambda ptx, arch: ptxas.Assembled(b"", (), ""))
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="ptxas", arch="sm_90"))
    assert executable.facts.proven == "nothing to assemble for sm_90: no kernels"
    with pytest.raises(UnsupportedError, match="only assembles"):
        executable(*inputs.draw(executable.module, 0))


@pytest.mark.slow
def test_code_and_results_are_the_same_every_time(gpu: Any) -> None:
    arrays = inputs.draw(compiler.parse(PROGRAM), 0)
    first, second = (gpu.compile(PROGRAM, replace(gpu.options, device="sim")) for _ in range(2))
    assert first.ptx == second.ptx
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first(*arrays), second(*arrays), strict=True))
    assert re.fullmatch(r"simulated \d[\d,]+ lane-instructions, \d+\.\d million a second", second.facts.ran)


@pytest.mark.slow
@pytest.mark.parametrize("opt", [0, 1, 2])
def test_every_optimisation_level_is_right(opt: int) -> None:
    arrays = inputs.draw(compiler.parse(PROGRAM), 0)
    options = CompileOptions(device="sim", arch="sm_80", opt=opt)
    for expected, actual in zip(
        compiler.interpret(compiler.parse(PROGRAM), *arrays),
        compiler.compile(PROGRAM, "nvptx", options)(*arrays),
        strict=True,
    ):
        assert np.allclose(expected.astype(np.float32), actual.astype(np.float32), rtol=1e-2)


def test_launches_and_buffers_are_written_down() -> None:
    artifacts = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim")).artifacts
    lines = str(artifacts["thunk_sequence.txt"]).splitlines()
    assert lines[:2] == ["copy in parameter 0, 42000 bytes", "copy in parameter 1, 600 bytes"]
    assert lines[-2:] == ["copy out result 0, 280 bytes", "copy out result 1, 140 bytes"]
    assert any(re.match(r"launch \w+<<<\d+, \d+>>>\(parameter \d, \d+ bytes; ", line) for line in lines)
    assert "result 0" in str(artifacts["buffer-assignment.txt"])


@pytest.mark.skipif(not ptxas.available(), reason="ptxas (of the CUDA toolkit) is not installed")
def test_registers_and_spills_are_recorded_for_every_device() -> None:
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim"))
    assert {kernel.name for kernel in executable.resources} == {
        line.split()[-1].rstrip("(") for line in str(executable.artifacts["ptx"]).splitlines() if ".entry" in line
    }
    table = str(executable.artifacts["kernel-resources.txt"])
    assert all(f"{kernel.registers} " in table and kernel.name in table for kernel in executable.resources)


@pytest.mark.slow
def test_an_architecture_that_ptxas_does_not_know_has_none_known() -> None:
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim", arch="sm_70"))
    assert "kernel" in str(executable.artifacts["kernel-resources.txt"]) or executable.resources == ()


def test_without_ptxas_resources_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas.shutil, "which", lambda name: None)
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim"))
    assert executable.resources == ()
    assert "not known" in str(executable.artifacts["kernel-resources.txt"])


def test_tokens_are_no_results() -> None:
    text = """ENTRY e { x = f32[4] parameter(0)  t = token[] after-all()
  ROOT r = (f32[4], token[], f32[4]) tuple(f32[4] negate(x), t, f32[4] abs(x)) }"""
    x = np.arange(4, dtype=np.float32)
    expected = compiler.interpret(compiler.parse(text), x)
    results = compiler.compile(text, "nvptx", CompileOptions(device="sim"))(x)
    assert [result.tolist() for result in results] == [result.tolist() for result in expected]


@pytest.mark.slow
def test_a_profile_names_every_launch() -> None:
    executable = compiler.compile(PROGRAM, "nvptx", CompileOptions(device="sim"))
    times = executable.profile(*inputs.draw(executable.module, 0))
    assert times
    assert all(time.name in str(executable.artifacts["ptx"]) and time.duration_ns > 0 for time in times)
