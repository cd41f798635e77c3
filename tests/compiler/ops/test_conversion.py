"""Integers become the nearest float of a type, to even between two, however many digits they have."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler.ir.numbers import integer_bounds
from compiler.ir.types import S64, TYPES, U64, ElementType
from compiler.ops.conversion import convert

FLOATS = [row for row in TYPES.values() if row.is_float]
INTEGERS = [row for row in TYPES.values() if row.is_integer and row.bits >= 8]


def nearest(value: int, digits: int) -> int:
    """The nearest number of so many binary digits."""
    dropped = max(abs(value).bit_length() - digits, 0)
    kept, rest = divmod(abs(value), 1 << dropped)
    half = (1 << dropped) // 2
    kept += rest > half or (dropped > 0 and rest == half and kept % 2)
    return (kept << dropped) * (1 if value >= 0 else -1)


def integers(source: ElementType, digits: int) -> list[int]:
    """Numbers of every length, and those at and beside the middle between two floats of so many digits."""
    rng, low, high = np.random.default_rng(0), *integer_bounds(source)
    drawn = [int(n) >> int(by) for n in rng.integers(low, high, 64, source.dtype) for by in range(0, source.bits, 3)]
    middles = [
        ((2 * kept + 1) << by) + off
        for by in range(source.bits - digits)
        for kept in ((1 << digits) - 1, (1 << digits) - 2, 1 << (digits - 1), (1 << (digits - 1)) + 1)
        for off in (-1, 0, 1)
    ]
    values = [low, high, *drawn, *middles, *(-n for n in middles)]
    return [n for n in values if low <= n <= high]


@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", INTEGERS, ids=str)
def test_an_integer_is_rounded_once(source: ElementType, target: ElementType) -> None:
    info = ml_dtypes.finfo(target.dtype)
    digits = int(info.nmant) + 1
    is_scale = target.name == "f8e8m0fnu"  # without a sign or a digit that could be even
    values = [n for n in integers(source, digits) if abs(n) <= float(info.max) and not (is_scale and n <= 0)]
    values = [n for n in values if not (is_scale and 2 * n == 3 << (n.bit_length() - 1))]
    results = convert(np.array(values, source.dtype), source, target).astype(np.float64)
    wrong = [(n, got) for n, got in zip(values, results.tolist(), strict=True) if got != nearest(n, digits)]
    assert not wrong


@pytest.mark.parametrize("backend", ["cpu", "nvptx"])
@pytest.mark.parametrize("source", [S64, U64], ids=str)
def test_back_ends_round_long_integers_once(source: ElementType, backend: str) -> None:
    values = np.array(integers(source, 8), source.dtype)
    module = compiler.parse(
        f"ENTRY e {{ x = {source}[{values.size}] parameter(0) ROOT r = bf16[{values.size}] convert(x) }}"
    )
    options = compiler.CompileOptions(device="sim" if backend == "nvptx" else "")
    (result,) = compiler.compile(module, backend, options)(values)
    np.testing.assert_array_equal(result.astype(np.float64), [nearest(int(n), 8) for n in values])
