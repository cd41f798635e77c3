"""Triangular systems too large for a thread each, every form, and factors of matrices too large for a block."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.linear_algebra import blocked_solve
from compiler.backends.nvptx.target import newest_for
from compiler.ir.types import TYPES

GPU = compiler.CompileOptions(arch=newest_for(90))
FORMS = list(itertools.product((True, False), (True, False), ("NO_TRANSPOSE", "TRANSPOSE")))


def solve_text(type_: str, size: int, sides: int, form: tuple[bool, bool, str], *, unit: bool = False) -> str:
    left, lower, how = form
    dims = f"2,{size},{sides}" if left else f"2,{sides},{size}"
    flags = f"left_side={str(left).lower()}, lower={str(lower).lower()}, transpose_a={how}"
    return f"""ENTRY e {{ a = {type_}[2,{size},{size}] parameter(0)  b = {type_}[{dims}] parameter(1)
  ROOT r = {type_}[{dims}] triangular-solve(a, b), {flags}, unit_diagonal={str(unit).lower()} }}"""


def check(text: str, gpu: Any, *, size: int, tolerance: float) -> None:
    module = compiler.parse(text)
    rng = np.random.default_rng(size)
    arrays = []
    for parameter in module.entry.parameters:
        array = rng.standard_normal(parameter.array.dims)
        if parameter.parameter_number == 0:
            # Far from singular, whichever triangle is read.
            array = array / size + 2 * np.eye(size)
        arrays.append(array.astype(parameter.array.element_type.dtype))
    (expected,) = compiler.interpret(module, *arrays)
    (actual,) = gpu(module, *arrays, global_races=True)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * float(np.abs(expected).max()))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_squares_are_solved_one_behind_the_other(form: tuple[bool, bool, str], gpu: Any) -> None:
    check(solve_text("f32", 70, 3, form), gpu, size=70, tolerance=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "size"), [("f64", 33), ("f32", 270), ("bf16", 40)])
@pytest.mark.parametrize("unit", [True, False])
def test_systems_of_any_size_and_type_are_solved(type_: str, size: int, gpu: Any, *, unit: bool) -> None:
    tolerance = {"f64": 1e-14, "f32": 1e-6, "bf16": 2e-2}[type_]
    text = solve_text(type_, size, 1, (True, size % 2 == 0, "NO_TRANSPOSE"), unit=unit)
    check(text, gpu, size=size, tolerance=tolerance)


@pytest.mark.slow
def test_a_block_has_some_of_many_sides(gpu: Any) -> None:
    check(solve_text("f32", 33, 150, (True, True, "NO_TRANSPOSE")), gpu, size=33, tolerance=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("type_", "size", "sides"), [("f32", 100, 17), ("f64", 40, 70), ("bf16", 33, 16)])
def test_products_are_taken_out_of_many_sides_by_tiles(
    type_: str, size: int, sides: int, form: tuple[bool, bool, str], gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_MANY_UNKNOWNS", 1), ("_WARPS", 1), ("_WARPS_BY_TURNS", 1)):
        monkeypatch.setattr(blocked_solve, name, value)
    tolerance = {"f64": 1e-14, "f32": 1e-6, "bf16": 2e-2}[type_]
    check(solve_text(type_, size, sides, form), gpu, size=size, tolerance=tolerance)


def test_many_sides_of_long_systems_get_tiles() -> None:
    (few, many) = (
        compiler.decide(solve_text("f32", 512, sides, FORMS[0]), "nvptx", GPU).kernels[0].details["grid"]
        for sides in (32, 512)
    )
    assert len(many) > len(few)


@pytest.mark.slow
@pytest.mark.parametrize("pivot", [0.0, 1e-310, 1e305, np.inf, np.nan])
def test_pivots_without_reciprocals_divide(pivot: float, gpu: Any) -> None:
    module = compiler.parse(solve_text("f64", 5, 2, (True, True, "NO_TRANSPOSE")))
    matrix, right = np.tril(np.ones((2, 5, 5))), np.ones((2, 5, 2)) * np.array([pivot if 0 < pivot < 1 else 1.0, 2.0])
    matrix[:, 4, 4] = pivot
    (expected,) = compiler.interpret(module, matrix, right)
    np.testing.assert_array_equal(gpu(module, matrix, right)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "size", "batch", "lower"), [("f32", 70, 2, "true"), ("f64", 97, 1, "false"), ("bf16", 33, 1, "true")]
)
def test_large_matrices_are_factored_panel_by_panel(type_: str, size: int, batch: int, lower: str, gpu: Any) -> None:
    dims = f"{type_}[{batch},{size},{size}]"
    module = compiler.parse(f"ENTRY e {{ a = {dims} parameter(0)  ROOT r = {dims} cholesky(a), lower={lower} }}")
    root = np.random.default_rng(1).standard_normal((batch, size, size)) / np.sqrt(size)
    matrix = (root @ root.swapaxes(1, 2) + np.eye(size)).astype(TYPES[type_].dtype)
    other = np.triu_indices(size, 1) if lower == "true" else np.tril_indices(size, -1)
    matrix[:, *other] = np.nan  # is not to be read
    if batch > 1:
        matrix[1, 40, 40] = -1  # has no factor
    (expected,) = compiler.interpret(module, matrix)
    assert np.isnan(expected[1:]).all()
    (actual,) = gpu(module, matrix, global_races=True)
    np.testing.assert_allclose(actual, expected, rtol=0, atol={"bf16": 1e-2, "f32": 1e-6, "f64": 1e-14}[type_])
    assert str(gpu.compile(module).artifacts["thunk_sequence.txt"]).count("_panel") == -(-size // 32)
