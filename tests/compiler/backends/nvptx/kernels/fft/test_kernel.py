"""Fourier transforms of lines of every kind of length, in shared memory and in the workspace, along any dimensions."""

from __future__ import annotations

from typing import Any

import pytest
from parts import every

import compiler
from compiler import inputs
from compiler.backends.nvptx.kernels.fft import kernel
from compiler.backends.nvptx.kernels.fft.kernel import split
from xlabench.judging.differ import compare
from xlabench.judging.tolerance import TolerancePolicy

LAUNCHES = {
    **dict.fromkeys([1, 2, 3, 8, 11, 30, 77, 81, 119, 127, 256, 360, 1000, 1024, 1025, 2048, 4096], 1),
    **dict.fromkeys([131, 257, 1031, 5040, 8192, 4131], 2),
    2999: 4,
}
"""How many launches lines of a length take: one in shared memory, else one for each factor of the length.

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
    every(
        3,
        [*(("c64", length) for length in LAUNCHES), *(("c128", length) for length in (1, 119, 360, 1031, 2048, 5040))],
    ),
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
    for kind, source, result in (("FFT", "c64[1030,6]", "c64[1030,6]"), ("IRFFT", "c64[1031,4]", "f32[1031,6]")):
        transform = f"fft(x), fft_type={kind}, fft_length={{{source[4:8]},6}}"
        check(f"ENTRY e {{ x = {source} parameter(0)  ROOT r = {result} {transform} }}", "c64", gpu)


@pytest.mark.parametrize(
    ("length", "factors"),
    [(8, (8,)), (4096, (4096,)), (4100, (50, 82)), (1 << 20, (1024, 1024)), (1 << 21, (128, 128, 128))],
)
def test_long_lines_are_split_evenly(length: int, factors: tuple[int, ...]) -> None:
    assert tuple(sorted(split(length, longest=4096))) == factors


@pytest.mark.slow
@pytest.mark.parametrize("length", [125, 343, 512, 2058])
def test_lines_of_three_factors_and_more(length: int, gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_LONGEST_FACTOR", 8)
    monkeypatch.setattr(kernel, "_LONGEST_WHOLE", 8)
    kernel._factors.cache_clear()
    for shape, lengths in ((f"2,{length}", length), (f"{length},3", f"{length},3")):
        transform = f"fft(x), fft_type=FFT, fft_length={{{lengths}}}"
        text = f"ENTRY e {{ x = c64[{shape}] parameter(0)  ROOT r = c64[{shape}] {transform} }}"
        assert check(text, "c64", gpu).count("launch") >= 3
    kernel._factors.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("length", every(4, [961, 1859, 2048, 3125, 3757, 4056, 4095, 8192]))
def test_the_largest_tiles_of_every_factor_have_registers(length: int, gpu: Any) -> None:
    for shape, lengths in (
        (f"130,{length}", length),
        (f"{length},5", f"{length},5"),
        (f"{length},130", f"{length},130"),
    ):
        transform = f"fft(x), fft_type=FFT, fft_length={{{lengths}}}"
        gpu.compile(compiler.parse(f"ENTRY e {{ x = c64[{shape}] parameter(0)  ROOT r = c64[{shape}] {transform} }}"))
