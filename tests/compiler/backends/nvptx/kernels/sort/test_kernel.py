"""Sorts by comparators that put elements in order, and by some that do not: nothing is lost, nothing comes twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.sort import sorter

ORDERS = {
    "by a key": "  ROOT r = pred[] compare(a, b), direction=LT",
    "by a key, the greatest first": "  ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER",
    "by the second key where the first is equal": """
  l = pred[] compare(a, b), direction=LT  e = pred[] compare(a, b), direction=EQ
  m = pred[] compare(c, d), direction=GT  n = pred[] and(e, m)  ROOT r = pred[] or(l, n)""",
    "equal ones the other way": "  ROOT r = pred[] compare(a, b), direction=LE",
    "none": "  ROOT r = pred[] constant(false)",
}
NO_ORDERS = {
    "by a key": "  ROOT r = pred[] compare(a, b), direction=LT",
    "by a key, the greatest first": "  ROOT r = pred[] compare(a, b), direction=GT, type=TOTALORDER",
    "in a circle": """
  k = f32[] constant(3)  p = f32[] subtract(b, a)  q = f32[] add(p, k)  s = f32[] remainder(q, k)
  one = f32[] constant(1)  ROOT r = pred[] compare(s, one), direction=EQ""",
    "by chance": """
  k = f32[] constant(12.9898)  p = f32[] multiply(a, k)  q = f32[] subtract(p, b)  s = f32[] sine(q)
  z = f32[] constant(0)  ROOT r = pred[] compare(s, z), direction=GT""",
    "with NaN somewhere": """
  n = pred[] compare(a, b), direction=GE  m = pred[] not(n)  e = pred[] compare(c, d), direction=LT
  ROOT r = pred[] and(m, e)""",
    "all": "  ROOT r = pred[] constant(true)",
}


def text_of(comparator: str, length: int) -> str:
    return f"""before {{
  a = f32[] parameter(0)  b = f32[] parameter(1)  c = s32[] parameter(2)  d = s32[] parameter(3)
{comparator}
}}
ENTRY e {{ x = f32[2,{length}] parameter(0)  n = s32[2,{length}] parameter(1)
  ROOT r = (f32[2,{length}], s32[2,{length}]) sort(x, n), dimensions={{1}}, to_apply=before, is_stable=true }}"""


def inputs(length: int) -> list[Any]:
    rng = np.random.default_rng(length)
    return [
        rng.integers(0, 40, (2, length)).astype(np.float32),
        np.argsort(rng.random((2, length)), axis=1).astype(np.int32),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 3, 129, 700, 2100])
@pytest.mark.parametrize("name", ORDERS)
def test_elements_are_put_in_order(name: str, length: int, gpu: Any) -> None:
    text, given = text_of(ORDERS[name], length), inputs(length)
    for one, other in zip(
        compiler.interpret(compiler.parse(text), *given), gpu(text, *given, global_races=True), strict=True
    ):
        np.testing.assert_array_equal(other, one)


@pytest.mark.slow
@pytest.mark.parametrize("length", [2, 3, 129, 2100])
@pytest.mark.parametrize("name", NO_ORDERS)
def test_what_has_no_order_stays_whole(name: str, length: int, gpu: Any) -> None:
    given = inputs(length)
    given[0][:, ::5] = np.nan
    keys, numbers = gpu(text_of(NO_ORDERS[name], length), *given, global_races=True)
    found = np.argsort(numbers, axis=1)
    for line in range(2):
        np.testing.assert_array_equal(numbers[line][found[line]], np.arange(length))
        np.testing.assert_array_equal(keys[line][found[line]], given[0][line][np.argsort(given[1][line])])


@pytest.mark.slow
@pytest.mark.parametrize(("type_", "length"), [("f32", 2049), ("bf16", 4096)])
def test_many_longer_lines_are_sorted_by_a_block_each(
    type_: str, length: int, gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorter, "_MANY_LINES", 2)
    text, given = text_of(ORDERS["by a key"], length).replace("f32", type_), inputs(length)
    module = compiler.parse(text)
    given[0] = given[0].astype(module.entry.parameters[0].array.element_type.dtype)
    assert f"<<<2, {128 if type_ == 'bf16' else 256}>>>" in str(gpu.compile(text).artifacts["thunk_sequence.txt"])
    for one, other in zip(compiler.interpret(module, *given), gpu(text, *given, global_races=True), strict=True):
        np.testing.assert_array_equal(other, one)
