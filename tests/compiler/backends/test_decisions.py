"""What is decided about programs is told in full, quickly, and for machines that are not here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import compiler
from compiler import CompileOptions
from compiler.backends import BACKENDS

SMOKE = sorted((Path(compiler.__file__).parents[1] / "suites/smoke").glob("*.hlo"))
PROGRAM = """less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[64,64] parameter(0)  y = f32[64,64] parameter(1)
  d = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,64] tanh(d)  s = f32[64,64] sort(t), dimensions={1}, to_apply=less
  ROOT r = f32[64,64] negate(s) }"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", SMOKE, ids=lambda path: path.stem)
def test_nothing_about_a_program_is_left_unsaid(path: Path, backend: str) -> None:
    found = compiler.decide(path.read_text(), backend, CompileOptions(device="sim"))
    kernels = {kernel.instruction for kernel in found.kernels}
    assert kernels == {placed.kernel for placed in found.placed if placed.kernel}
    for placed in found.placed:
        assert bool(placed.reason) == (placed.kernel in ("", placed.name))
    for kernel in found.kernels:
        assert kernel.kind
        assert kernel.strategy
        assert kernel.shared
        assert all(reason for _, reason in kernel.others)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["digest"] == found.digest
    assert "unknown" not in found.to_text()


def test_the_text_says_where_how_and_why_not() -> None:
    text = compiler.decide(PROGRAM, options=CompileOptions(threads=1)).to_text()
    for line in (
        "e/x: parameter, no kernel: its value lies in memory as it is",
        "e/s: sort, a kernel of its own: not into r: a kernel cannot compute single elements of sort",
        "fused_computation.t/d: dot, in e/t_fusion",
        "kernel e/s: sort, network for each line",
        "  not merge sort: network for each line comes first",
    ):
        assert f"{line}\n" in text


def test_a_digest_is_that_of_decisions_and_not_of_reasons_or_machines() -> None:
    found = {
        name: compiler.decide(PROGRAM, options=options).digest
        for name, options in {
            "as it is": CompileOptions(threads=2),
            "again": CompileOptions(threads=2, opt=1),
            "apart": CompileOptions(threads=2, fusion=False),
        }.items()
    }
    assert found["as it is"] == found["again"] != found["apart"]
    executable = compiler.compile(PROGRAM, options=CompileOptions(threads=2))
    assert executable.decisions_digest == found["as it is"]


def test_what_would_be_decided_on_another_machine_is_told_on_this_one() -> None:
    wide, narrow = (
        compiler.decide(PROGRAM, machine=machine, cpu=cpu, options=CompileOptions(threads=3))
        for machine, cpu in (("x86_64", "skylake-avx512"), ("aarch64", ""))
    )
    assert (wide.machine, narrow.machine) == (
        "x86_64 skylake-avx512, 32 vector registers of 512 bits, up to 3 threads",
        "aarch64 generic, 32 vector registers of 128 bits, up to 3 threads",
    )
    tiles = [found.kernels[0].details["tile"] for found in (wide, narrow)]
    assert tiles[0] != tiles[1]


def test_a_gpu_is_named_by_options() -> None:
    old = compiler.decide(PROGRAM, "nvptx", CompileOptions(device="sim", arch="sm_70"))
    assert old.machine == "sm_70, 96 KiB of shared memory"
    with pytest.raises(compiler.InputError, match="give an architecture"):
        compiler.decide(PROGRAM, "nvptx", machine="x86_64")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_nobody_wants_explained_is_decided_alike(backend: str) -> None:
    options = CompileOptions(device="sim", threads=2)
    told, bare = (compiler.decide(PROGRAM, backend, options, explained=explained) for explained in (True, False))
    assert bare.digest == told.digest
    assert any(kernel.others for kernel in told.kernels)
    assert not any(kernel.others or kernel.modelled for kernel in bare.kernels)
