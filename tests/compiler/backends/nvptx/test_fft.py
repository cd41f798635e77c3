"""Fourier transforms of lines of every kind of length, in shared memory and in the workspace, along any dimensions."""

from __future__ import annotations

from typing import Any

import pytest

import compiler
from compiler import inputs
from compiler.ir.types import TYPES
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import TolerancePolicy

LENGTHS = [1, 2, 3, 8, 11, 30, 256, 257, 360, 1000, 1024, 1025, 1031, 2048, 5040]
RELATIVE = {"c64": 3e-6, "c128": 1e-13}


def check(text: str, type_: str, gpu: Any) -> str:
    module = compiler.parse(text)
    arrays = inputs.draw(module, 5)
    expected = compiler.interpret(module, *arrays)
    policy = TolerancePolicy(rtol=0, atol=RELATIVE[type_] * float(abs(expected[0]).max()))
    comparison = compare(expected, gpu(module, *arrays, global_races=True), policy=policy)
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    return str(gpu.compile(module).artifacts["thunk_sequence.txt"])


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("type_", ["c64", "c128"])
def test_lines_of_any_length_are_transformed_in_stages(type_: str, length: int, gpu: Any) -> None:
    kind = "IFFT" if length % 2 else "FFT"
    text = f"""ENTRY e {{ x = {type_}[3,{length}] parameter(0)
  ROOT r = {type_}[3,{length}] fft(x), fft_type={kind}, fft_length={{{length}}} }}"""
    assert check(text, type_, gpu).count("launch") == (
        1 if length <= 1024 else 2 if length == 1031 else length_stages(length)
    )


def length_stages(length: int) -> int:
    """Launches for the lengths above that leave shared memory: one to read, one for each factor."""
    return 1 + {1025: 3, 2048: 3, 5040: 4}[length]


@pytest.mark.parametrize("length", [8, 15, 1100, 2050])
def test_real_lines_are_transformed_and_back(length: int, gpu: Any) -> None:
    half = length // 2 + 1
    for complex_, real in (("c64", "f32"), ("c128", "f64")):
        assert TYPES[real].is_float
        forward = f"""ENTRY e {{ x = {real}[2,{length}] parameter(0)
  ROOT r = {complex_}[2,{half}] fft(x), fft_type=RFFT, fft_length={{{length}}} }}"""
        check(forward, complex_, gpu)
        back = f"""ENTRY e {{ x = {complex_}[2,{half}] parameter(0)
  ROOT r = {real}[2,{length}] fft(x), fft_type=IRFFT, fft_length={{{length}}} }}"""
        check(back, complex_, gpu)


def test_a_long_outer_dimension_is_transformed_where_it_lies(gpu: Any) -> None:
    for kind, source, result in (("FFT", "c64[1030,6]", "c64[1030,6]"), ("IRFFT", "c64[1030,4]", "f32[1030,6]")):
        text = (
            f"ENTRY e {{ x = {source} parameter(0)  ROOT r = {result} fft(x), fft_type={kind}, fft_length={{1030,6}} }}"
        )
        check(text, "c64", gpu)
