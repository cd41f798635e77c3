"""Products with few rows or columns: the matrix is read once, in words, by all lanes, whichever way it lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler import inputs
from xlabench.judging.differ import compare

STRATEGY = "a matrix by few vectors"
RESULTS = {"s8": "s32", "u8": "s32", "s4": "s32", "pred": "s32"}
"""The results of products of types too narrow for them; of others those of the same type."""
TYPES = ("f32", "f64", "bf16", "f16", "f8e4m3fn", "s8", "u8", "s16", "s32", "u64", "c64", "c128")
LAYOUTS = {
    "lines on the right": ("{m},{k}", "{n},{k}", "{m},{n}", 1, 1),
    "strips on the right": ("{m},{k}", "{k},{n}", "{m},{n}", 1, 0),
    "lines on the left": ("{n},{k}", "{k},{m}", "{n},{m}", 1, 0),
    "strips on the left": ("{k},{n}", "{k},{m}", "{n},{m}", 0, 0),
}
SIZES = {"even": (1, 512, 128), "odd": (3, 607, 37), "some": (8, 320, 96), "long": (2, 9003, 33)}


def product(type_: str, layout: str, sizes: tuple[int, int, int], epilogue: str = "copy") -> str:
    m, k, n = sizes
    *shapes, left, right = LAYOUTS[layout]
    lhs, rhs, out = (str(shape).format(m=m, k=k, n=n) for shape in shapes)
    result = RESULTS.get(type_, type_)
    return f"""ENTRY e {{ x = {type_}[{lhs}] parameter(0)  y = {type_}[{rhs}] parameter(1)
      d = {result}[{out}] dot(x, y), lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}}
      ROOT r = {result}[{out}] {epilogue}(d) }}"""


def is_right(text: str, gpu: Any) -> None:
    """A program has one such product, which is right, without races, and the same every time."""
    module = compiler.parse(text)
    (decision,) = compiler.decide(module, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    assert STRATEGY in decision["strategy"]
    arrays = inputs.draw(module, 5)
    actual = gpu(module, *arrays, global_races=True)
    comparison = compare(compiler.interpret(module, *arrays), actual)
    assert comparison.agreement in ("bitwise", "within"), comparison.describe()
    for one, other in zip(actual, gpu(module, *arrays), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("type_", TYPES)
def test_matrices_of_every_type(type_: str, layout: str, gpu: Any) -> None:
    is_right(product(type_, layout, SIZES["odd" if type_ in ("f32", "s8", "c64") else "even"]), gpu)


@pytest.mark.slow
@pytest.mark.usefixtures("small_launches")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", SIZES)
def test_matrices_of_every_size(size: str, layout: str, gpu: Any) -> None:
    is_right(product("bf16", layout, SIZES[size], "tanh"), gpu)
    is_right(product("s8", layout, SIZES[size], "negate"), gpu)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [("2,3,320", "2,320,64", "2,3,64"), ("3,70,128", "3,128,1", "3,70,1")])
def test_batches(shapes: tuple[str, str, str], gpu: Any) -> None:
    lhs, rhs, out = shapes
    how = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
    is_right(
        f"""ENTRY e {{ x = f32[{lhs}] parameter(0)  y = f32[{rhs}] parameter(1)
          ROOT d = f32[{out}] dot(x, y), {how} }}""",
        gpu,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("type_", "bytes_"), [("bf16", 2), ("f32", 4), ("s8", 1), ("f64", 8)])
def test_the_matrix_is_read_once_in_whole_sectors(type_: str, bytes_: int, layout: str) -> None:
    module = compiler.parse(product(type_, layout, (1, 4096, 4096)))
    (decision,) = compiler.decide(module, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    first = decision["modelled"]["launch 1"]
    assert first["sectors"] <= 1.1 * first["least_sectors"]
    # Of a memory of 3,350 bytes per ns, with two launches of 2,000 ns and a tenth.
    assert decision["cost_ns"] < 4096 * 4096 * bytes_ / 3350 * 1.1 + (5500 if bytes_ > 1 else 7500)


@pytest.mark.parametrize(
    "sizes", [(16, 512, 512), (3, 63, 512)], ids=["as many as tiles have rows", "sums of few terms"]
)
def test_other_products_are_left_to_others(sizes: tuple[int, int, int]) -> None:
    module = compiler.parse(product("f32", "strips on the right", sizes))
    (decision,) = compiler.decide(module, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    assert STRATEGY not in decision["strategy"]
