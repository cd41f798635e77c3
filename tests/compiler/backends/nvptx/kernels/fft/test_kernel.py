"""Fourier transforms of lines of every kind of length, in shared memory and in the workspace, along any dimensions."""

from __future__ import annotations

from typing import Any

import pytest
from parts import every

import compiler
from compiler import inputs
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import TolerancePolicy

LAUNCHES = {
    **dict.fromkeys([1, 2, 3, 8, 11, 30, 256, 257, 360, 1000, 1024], 1),
    1025: 4,
    1031: 9,
    2048: 4,
    5040: 5,
}
"""How many launches lines of a length take: one in shared memory, else one to read and one for each factor.

Of a large prime it is the factors of a longer line, twice.
"""
RELATIVE = {"c64": 3e-6, "c128": 1e-13}


def check(text: str, type_: str, gpu: Any) -> str:
    module = compiler.parse(text)
    arrays = inputs.draw(module, 5)
    expected = compiler.interpret(module, *arrays)
    policy = TolerancePolicy(rtol=0, atol=RELATIVE[type_] * float(abs(expected[0]).max()))
    comparison = compare(expected, gpu(module, *arrays, global_races=True), policy=policy)
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    return str(gpu.compile(module).artifacts["thunk_sequence.txt"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "length"),
    every(3, [*(("c64", length) for length in LAUNCHES), *(("c128", length) for length in (1, 360, 1031, 2048))]),
)
def test_lines_of_any_length_are_transformed_in_stages(type_: str, length: int, gpu: Any) -> None:
    kind = "IFFT" if length % 2 else "FFT"
    text = f"""ENTRY e {{ x = {type_}[3,{length}] parameter(0)
  ROOT r = {type_}[3,{length}] fft(x), fft_type={kind}, fft_length={{{length}}} }}"""
    assert check(text, type_, gpu).count("launch") == LAUNCHES[length]


@pytest.mark.slow
@pytest.mark.parametrize("length", every(2, [8, 15, 2062, 1100], first=1))
def test_real_lines_are_transformed_and_back(length: int, gpu: Any) -> None:
    half = length // 2 + 1
    for complex_, real in (("c64", "f32"), ("c128", "f64")):
        forward = f"""ENTRY e {{ x = {real}[2,{length}] parameter(0)
  ROOT r = {complex_}[2,{half}] fft(x), fft_type=RFFT, fft_length={{{length}}} }}"""
        check(forward, complex_, gpu)
        back = f"""ENTRY e {{ x = {complex_}[2,{half}] parameter(0)
  ROOT r = {real}[2,{length}] fft(x), fft_type=IRFFT, fft_length={{{length}}} }}"""
        check(back, complex_, gpu)


@pytest.mark.slow
def test_a_long_outer_dimension_is_transformed_where_it_lies(gpu: Any) -> None:
    for kind, source, result in (("FFT", "c64[1030,6]", "c64[1030,6]"), ("IRFFT", "c64[1030,4]", "f32[1030,6]")):
        transform = f"fft(x), fft_type={kind}, fft_length={{1030,6}}"
        check(f"ENTRY e {{ x = {source} parameter(0)  ROOT r = {result} {transform} }}", "c64", gpu)
