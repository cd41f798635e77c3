"""Kernels that take next to nothing of their program's time are translated at level 0, and compute the same bits."""

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu import negligible
from compiler.backends.cpu.machine import Machine
from compiler.backends.cpu.program import build
from compiler.codegen.llvm import Target
from compiler.pipeline import PIPELINES, run

TEXT = """HloModule m
ENTRY e {{
  x = f32[512,256] parameter(0)  y = f32[8] parameter(1)  z = f32[8] parameter(2)
  a = f32[512,256] tanh(x)
  {small}
  ROOT r = (f32[512,256], f32[8]) tuple(a, b)
}}"""
EXACT = "b = f32[8] add(y, z)"
CONTRACTED = "p = f32[8] multiply(y, z)  b = f32[8] add(p, z)"
SUMMED = "m = f32[8,8] parameter(3)  b = f32[8] dot(m, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def cold(text):
    """The functions of kernels that are cold."""
    module = compiler.parse(text)
    run(module, PIPELINES["compile"], CompileOptions())
    program = build(module, Machine.of(Target.host()), 1)
    kernels = {name for kernel in program.emitted.values() for name in kernel.functions}
    return [function.name for function in program.ir.functions if function.cold and function.name in kernels]


@pytest.mark.parametrize("small", [EXACT, CONTRACTED])
def test_of_a_large_kernel_and_a_small_one_the_small_one_is_cold(small):
    assert len(cold(TEXT.format(small=small))) == 1


def test_what_may_be_summed_in_another_order_is_not():
    assert cold(TEXT.format(small=SUMMED)) == []


def test_of_small_kernels_alone_none_is():
    assert cold("ENTRY e { y = f32[8] parameter(0)  z = f32[8] parameter(1)  ROOT b = f32[8] add(y, z) }") == []


@pytest.mark.parametrize("small", [EXACT, CONTRACTED])
def test_results_are_the_same_as_without(small, monkeypatch):
    rng = np.random.default_rng(5)
    given = [rng.standard_normal(shape).astype(np.float32) for shape in ((512, 256), 8, 8)]
    text = TEXT.format(small=small)
    found = compiler.compile(text, "cpu", CompileOptions())(*given)
    monkeypatch.setattr(negligible, "_SHARE", 0.0)
    for one, other in zip(found, compiler.compile(text, "cpu", CompileOptions())(*given), strict=True):
        assert one.tobytes() == other.tobytes()
