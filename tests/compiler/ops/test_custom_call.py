"""LAPACK's routines read of a matrix what they say they read, and nothing beside it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import compiler

SIZE = 5
TYPES = {"c64": ("c", "f32", np.complex64), "c128": ("z", "f64", np.complex128)}
RESULTS = {
    "potrf": "({type}[7,5,5], s32[7])",
    "heevd": "({type}[7,5,5], {real}[7,5], s32[7])",
    "hetrd": "({type}[7,5,5], {real}[7,5], {real}[7,4], {type}[7,4], s32[7])",
}
PROGRAM = """ENTRY e {{
  x = {type}[7,5,5] parameter(0)
  ROOT r = {results} custom-call(x), custom_call_target="lapack_{letter}{name}_ffi",
    backend_config={{mode = 86 : ui8, uplo = {uplo} : ui8}}
}}"""
PARTS = (0, np.nan, np.inf, 5, np.nan, -np.inf, -np.nan)
"""What the imaginary parts of a diagonal hold, where LAPACK takes them for zeros; one for each matrix."""


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "exponent"), [("c64", 0), ("c64", 120), ("c128", 1000), ("c128", -1000)])
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("name", RESULTS)
def test_of_a_hermitian_matrix_the_diagonal_is_real_whatever_its_imaginary_parts_hold(name, uplo, type_, exponent):
    letter, real, dtype = TYPES[type_]
    results = RESULTS[name].format(type=type_, real=real)
    module = compiler.parse(PROGRAM.format(type=type_, results=results, letter=letter, name=name, uplo=ord(uplo)))
    drawn = np.random.default_rng(11).standard_normal((2, SIZE, SIZE))
    square = drawn[0] + 1j * drawn[1]
    hermitian = (square + square.conj().T + 8 * SIZE * np.eye(SIZE)) * 2.0**exponent
    clean = np.stack([hermitian.astype(dtype)] * len(PARTS))
    given = clean.copy()
    for number, part in enumerate(PARTS):
        given.imag[number, number % SIZE, number % SIZE] = part
    for run in (partial(compiler.interpret, module), compiler.compile(module, "cpu")):
        found = run(given)
        for here, there in zip(found, run(clean), strict=True):
            np.testing.assert_array_equal(here.real, there.real)
    for wide, here in zip(compiler.interpret(module, given, wide=True), found, strict=True):
        assert wide.allows(here).all()
