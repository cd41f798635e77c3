"""Which form of kernel is chosen when: seen by the instructions in its PTX, and by its launches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import inputs

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"


def loop(type_: str, dims: str) -> str:
    return f"ENTRY e {{ x = {type_}[{dims}] parameter(0)  ROOT r = {type_}[{dims}] add(x, x) }}"


def dot(type_: str, m: int, k: int, n: int) -> str:
    return f"""ENTRY e {{ x = {type_}[{m},{k}] parameter(0)  y = {type_}[{k},{n}] parameter(1)
  ROOT r = f32[{m},{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"""


def reduction(dims: str, out: str, over: str) -> str:
    return f"""{ADD}ENTRY e {{ x = f32[{dims}] parameter(0)  z = f32[] constant(0)
  ROOT r = f32[{out}] reduce(x, z), dimensions={{{over}}}, to_apply=add }}"""


# A program, what its PTX must hold, and what it must not.
FORMS = {
    "large loops move 16 bytes at a time": (loop("f32", "64,128"), "ld.global.nc.v4.b32 st.global.v4.b32", ""),
    "large loops of bf16 too": (loop("bf16", "64,128"), "ld.global.nc.v4.b32 st.global.v4.b32", ""),
    "large loops of f64 too": (loop("f64", "64,128"), "ld.global.nc.v2.b64 st.global.v2.b64", ""),
    "small loops have a thread for each element": (loop("f32", "1024"), "ld.global.nc.b32", ".v4 .v2"),
    "odd loops have a thread for each element": (loop("f32", "91,91"), "ld.global.nc.b32", ".v4 .v2"),
    "transposes go through shared memory": (
        "ENTRY e { x = f32[64,64] parameter(0)  ROOT r = f32[64,64] transpose(x), dimensions={1,0} }",
        "st.shared ld.shared bar.sync",
        "",
    ),
    "dots of f32 go through shared memory in words": (
        dot("f32", 64, 64, 64),
        "ld.shared.v2 bar.sync fma.rn.f32",
        "mma",
    ),
    "long thin dots are summed by warps": (dot("f32", 2, 256, 3), "shfl.sync", "bar.sync mma"),
    "small dots have a thread for each element": (dot("f32", 3, 5, 4), "fma.rn.f32", "shfl bar.sync mma"),
    "dots of bf16 go to tensor cores": (dot("bf16", 64, 64, 64), "mma.sync.aligned.m16n8k16.row.col.f32.bf16", ""),
    "dots of f16 go to tensor cores": (dot("f16", 64, 64, 64), "mma.sync.aligned.m16n8k16.row.col.f32.f16", ""),
    "rows are reduced by shuffles": (reduction("40,500", "40", "1"), "shfl.sync bar.sync", ""),
    "columns are reduced in strips": (reduction("500,40", "40", "0"), "bar.sync", "shfl"),
    "short columns are reduced by single threads": (reduction("5,400", "400", "0"), "", "shfl bar.sync"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_chosen_and_right(name: str, gpu: Any) -> None:
    text, held, absent = FORMS[name]
    executable = gpu.compile(text)
    missing = [word for word in held.split() if word not in executable.ptx]
    assert not missing, executable.ptx
    assert not [word for word in absent.split() if word in executable.ptx]
    arrays = inputs.draw(compiler.parse(text), 0)
    (expected,), (actual,) = compiler.interpret(compiler.parse(text), *arrays), executable(*arrays)
    close = np.allclose(expected.astype(np.float64), actual.astype(np.float64), rtol=1e-4, atol=1e-4)
    assert close


@pytest.mark.parametrize("type_", ["bf16", "f16"])
def test_a_gpu_without_such_tensor_cores_is_not_asked_for_them(type_: str, gpu: Any) -> None:
    text = dot(type_, 20, 40, 30)
    executable = gpu.compile(text, replace(gpu.options, arch="sm_75"))
    assert "mma" not in executable.ptx
    arrays = inputs.draw(compiler.parse(text), 0)
    assert np.allclose(
        executable(*arrays)[0], compiler.interpret(compiler.parse(text), *arrays)[0], rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("type_", ["bf16", "f16"])
@pytest.mark.parametrize(("m", "k", "n"), [(16, 16, 16), (17, 33, 65), (64, 32, 64), (130, 100, 70)])
def test_tensor_cores_make_every_size(type_: str, m: int, k: int, n: int, gpu: Any) -> None:
    module = compiler.parse(dot(type_, m, k, n))
    rng = np.random.default_rng(0)
    # Small integers: products and sums are exact, so that a wrong element cannot hide.
    arrays = [rng.integers(-4, 5, p.array.dims).astype(p.array.element_type.dtype) for p in module.entry.parameters]
    assert np.array_equal(gpu(module, *arrays)[0], compiler.interpret(module, *arrays)[0])


def test_a_long_sum_is_cut_into_chunks(gpu: Any) -> None:
    steps = str(gpu.compile(reduction("40000", "", "0")).artifacts["thunk_sequence.txt"])
    assert "_partial<<<9, 256>>>" in steps
    assert "_combine<<<1, 8>>>" in steps


def test_what_kernels_need_is_recorded(gpu: Any) -> None:
    gpu.compile(dot("f32", 64, 64, 64))
    for kernel in gpu.resources:
        assert (kernel.spill_bytes, kernel.stack_bytes) == (0, 0)
        assert 0 < kernel.registers < 256
        assert kernel.shared_bytes == 2 * 16 * (32 + 4) * 4
