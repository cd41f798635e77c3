"""Cholesky factors, triangular systems and Fourier transforms, against the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import compiler
from compiler import CompileOptions
from compiler.backends.cpu.kernels.fft import line_pass
from compiler.backends.cpu.kernels.fft.line import Lines
from compiler.ir.types import TYPES

Array = np.ndarray[Any, np.dtype[Any]]


def values(element_type: str, dims: Sequence[int], seed: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    parts = rng.standard_normal(dims), rng.standard_normal(dims)
    return (parts[0] + 1j * parts[1] if element_type[0] == "c" else parts[0]).astype(TYPES[element_type].dtype)


def shape(element_type: str, dims: Sequence[int]) -> str:
    return f"{element_type}[{','.join(map(str, dims))}]"


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["true", "false"])
@pytest.mark.parametrize("dims", [(1, 1), (5, 5), (8, 8), (3, 17, 17), (70, 70)])
def test_cholesky_of_good_matrices_and_nan_of_bad_ones(dims: tuple[int, ...], lower: str) -> None:
    factor = values("f64", dims)
    matrix = factor @ np.swapaxes(factor, -1, -2) + dims[-1] * np.eye(dims[-1])
    text = (
        f"ENTRY e {{ x = {shape('f32', dims)} parameter(0)  ROOT r = {shape('f32', dims)} cholesky(x), lower={lower} }}"
    )
    for sign in (1, -1):
        run_near(text, [(sign * matrix).astype(np.float32)])


@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize(("left", "lower", "unit"), list(itertools.product(("true", "false"), repeat=3)))
def test_triangular_systems_from_either_side(left: str, lower: str, unit: str, transpose: str) -> None:
    matrix = values("f32", (2, 6, 6)) * np.float32(0.2) + 2 * np.eye(6, dtype=np.float32)
    right = values("f32", (2, 6, 4) if left == "true" else (2, 4, 6), 5)
    text = f"""ENTRY e {{ a = f32[2,6,6] parameter(0)  b = {shape("f32", right.shape)} parameter(1)
        ROOT r = {shape("f32", right.shape)} triangular-solve(a, b), left_side={left}, lower={lower},
          unit_diagonal={unit}, transpose_a={transpose} }}"""
    run_near(text, [matrix, right])


@pytest.mark.parametrize("columns", [1, 3, 9, 40, 70])
@pytest.mark.parametrize(
    ("left", "transpose"), list(itertools.product(("true", "false"), ("TRANSPOSE", "NO_TRANSPOSE")))
)
def test_systems_with_any_number_of_sides(left: str, transpose: str, columns: int) -> None:
    matrix = values("f32", (33, 33)) * np.float32(0.1) + 2 * np.eye(33, dtype=np.float32)
    right = values("f32", (33, columns) if left == "true" else (columns, 33), 5)
    text = f"""ENTRY e {{ a = f32[33,33] parameter(0)  b = {shape("f32", right.shape)} parameter(1)
        ROOT r = {shape("f32", right.shape)} triangular-solve(a, b), left_side={left}, lower=true,
          transpose_a={transpose} }}"""
    run_near(text, [matrix, right])


FFTS = [
    ("FFT", "c64", "c64"),
    ("IFFT", "c64", "c64"),
    ("RFFT", "f32", "c64"),
    ("IRFFT", "c64", "f32"),
    ("RFFT", "f64", "c128"),
    ("IFFT", "c128", "c128"),
]


@pytest.mark.parametrize(
    "length",
    [
        (8,),
        (1,),
        (12,),
        (7,),
        (4, 6),
        (5, 2, 7),
        (2,),
        (4, 32),
        (256,),
        (64,),
        (360,),
        (1001,),
        (97,),
        (2, 34),
        (97, 20),
        (26, 2, 19),
    ],
)
@pytest.mark.parametrize(("kind", "source", "result"), FFTS)
def test_fourier_transforms_of_any_length(kind: str, source: str, result: str, length: tuple[int, ...]) -> None:
    half = (*length[:-1], length[-1] // 2 + 1)
    given, got = half if kind == "IRFFT" else length, half if kind == "RFFT" else length
    text = f"""ENTRY e {{ x = {shape(source, (3, *given))} parameter(0)
        ROOT r = {shape(result, (3, *got))} fft(x), fft_type={kind}, fft_length={{{",".join(map(str, length))}}} }}"""
    run_near(text, [values(source, (3, *given))])


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_neighbouring_lines_are_as_many_as_have_room(monkeypatch: pytest.MonkeyPatch, lanes: int) -> None:
    length = 34
    monkeypatch.setattr(line_pass, "_MOST_BYTES", Lines(length, "float", inverse=False, together=lanes).bytes)
    text = "ENTRY e { x = c64[34,18] parameter(0)  ROOT r = c64[34,18] fft(x), fft_type=FFT, fft_length={34,18} }"
    run_near(text, [values("c64", (length, 18))])


def run_near(text: str, inputs: Sequence[Array]) -> None:
    """As near as the element type is exact, beside the largest of the results."""
    module = compiler.parse("HloModule m\n" + text)
    (expected,) = compiler.interpret(module, *inputs)
    (actual,) = compiler.compile(module, "cpu", CompileOptions(threads=2, opt=1))(*inputs)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    bound = 50 * np.finfo(expected.dtype).eps * np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)
