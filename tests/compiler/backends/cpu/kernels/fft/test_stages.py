"""Stages of Fourier transforms: the same functions for all lengths, and a radix for primes that are not too large."""

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.fft.stages import Stages, radices
from compiler.codegen.llvm_ir import Builder, Module, Value


def routines(*lengths):
    """The text of each routine that transforms of these lengths take."""
    module = Module()
    builder = Builder(module.function("lines", "void", [("ptr", "here"), ("ptr", "there")]))
    for length in lengths:
        Stages(length, "float", inverse=False).run(builder, Value("ptr", "%here"), Value("ptr", "%there"))
    builder.ret()
    return {function.name: function.text(internal=False) for function in module.functions if function.routine}


def test_stages_by_vectors_are_the_same_for_all_lengths():
    short, long, both = routines(1024), routines(65_536), routines(65_536, 1024)
    assert short == long == both
    assert len(short) == 4


@pytest.mark.parametrize(("length", "expected"), [(1024, [4] * 5), (255, [3, 5, 17]), (19 * 23, [19, 23]), (29, None)])
def test_large_prime_factors_have_no_radix(length, expected):
    assert radices(length) == expected


@pytest.mark.parametrize("length", [2, 255, 1000])
@pytest.mark.parametrize(("kind", "expected"), [("FFT", np.fft.fft), ("IFFT", np.fft.ifft)])
def test_complex_lines_of_any_length(length, kind, expected):
    rng = np.random.default_rng(length)
    lines = (rng.normal(size=(3, length)) + 1j * rng.normal(size=(3, length))).astype(np.complex64)
    shape = f"c64[3,{length}]"
    text = f"ENTRY m {{ x = {shape} parameter(0) ROOT y = {shape} fft(x), fft_type={kind}, fft_length={{{length}}} }}"
    [found] = compiler.compile(text)(lines)
    wanted = expected(lines.astype(np.complex128))
    assert np.abs(found - wanted).max() < 1e-6 * np.abs(wanted).max()
