"""Orders by several values, and by wide ones: their bits are one key, as far as these have room in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.backends.nvptx.kernels.sort.keys import LineKey


def text_of(types: tuple[str, str], dims: tuple[int, int], ways: tuple[str, str], *, numbered: bool) -> str:
    (key, other), shape = types, ",".join(map(str, dims))
    how = [", type=TOTALORDER" if type_[0] in "fb" else "" for type_ in types]
    given = "iota(), iota_dimension=1" if numbered else "parameter(1)"
    return f"""before {{
  a = {key}[] parameter(0)  b = {key}[] parameter(1)  c = {other}[] parameter(2)  d = {other}[] parameter(3)
  l = pred[] compare(a, b), direction={ways[0]}{how[0]}  e = pred[] compare(a, b), direction=EQ{how[0]}
  m = pred[] compare(c, d), direction={ways[1]}{how[1]}  n = pred[] and(e, m)  ROOT r = pred[] or(l, n) }}
ENTRY e {{ x = {key}[{shape}] parameter(0)  y = {other}[{shape}] {given}
  ROOT r = ({key}[{shape}], {other}[{shape}]) sort(x, y), dimensions={{1}}, to_apply=before, is_stable=true }}"""


BITS = {
    ("s8", "s32", "LT", True): 8,
    ("s8", "s32", "GT", True): 8 + 9,
    ("bf16", "s32", "LT", False): 16 + 32,
    ("f64", "s32", "LT", True): 64,
    ("f64", "s32", "GT", True): None,
    ("f32", "f32", "GT", False): 64,
    ("s8", "s8", "LT", True): 16,  # numbers of 300 elements do not fit
}


@pytest.mark.parametrize("case", BITS, ids=str)
def test_numbers_of_elements_take_no_more_bits_than_they_have(case: tuple[str, str, str, bool]) -> None:
    key, other, way, numbered = case
    module = compiler.parse(text_of((key, other), (2, 300), ("LT", way), numbered=numbered))
    found = LineKey.of(module.entry.root)
    assert (found.bits if found else None) == BITS[case]


def numbers(type_: Any, dims: tuple[int, int], rng: Any) -> Any:
    """Few different ones, the extreme ones among them, NaN and zeros of both signs too."""
    dtype = type_.dtype
    some = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0] if type_.is_float else [0, 1, 2, 3]
    if not type_.is_float:
        low = -(1 << (type_.bits - 1)) if type_.is_signed else 0
        some += [low, low + 1, low + (1 << type_.bits) - 1]
    return np.array(some).astype(dtype)[rng.integers(0, len(some), dims)]


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 33, 513, 2049, 5000])
@pytest.mark.parametrize("ways", [("LT", "GT"), ("GT", "LT")], ids=str)
@pytest.mark.parametrize(
    ("types", "numbered"),
    [
        (("bf16", "s32"), True),
        (("s8", "u8"), False),
        (("f32", "s32"), False),
        (("f32", "f32"), False),
        (("s16", "u32"), False),
        (("f64", "s32"), True),
        (("pred", "s8"), False),
        (("s64", "s32"), False),
    ],
    ids=str,
)
def test_orders_by_two_values_are_kept(
    types: tuple[str, str], ways: tuple[str, str], length: int, gpu: Any, *, numbered: bool
) -> None:
    module = compiler.parse(text_of(types, (2, length), ways, numbered=numbered))
    rng = np.random.default_rng(0)
    given = [numbers(p.array.element_type, (2, length), rng) for p in module.entry.parameters]
    for one, other in zip(compiler.interpret(module, *given), gpu(module, *given, global_races=True), strict=True):
        assert one.tobytes() == np.ascontiguousarray(other).tobytes()


def test_keys_that_order_by_several_values_come_without_merges_of_pairs() -> None:
    text = text_of(("bf16", "s32"), (1, 13080), ("GT", "LT"), numbered=True)
    (kernel,) = compiler.decide(text, "nvptx", compiler.CompileOptions(arch="sm_90")).to_json()["kernels"]
    assert (kernel["strategy"], len(kernel["details"]["grid"])) == ("ranks in several runs", 2)


@pytest.mark.parametrize("largest", ["true", "false"])
@pytest.mark.parametrize(("length", "kept"), [(2, 1), (7, 3), (40, 40), (100, 7)])
@pytest.mark.parametrize("type_", ["u64", "s64", "u32", "s32", "u16", "s16", "u8", "s8"])
def test_numbers_of_elements_take_the_bits_of_the_length_whatever_their_type(type_, length, kept, largest, gpu):
    text = f"""ENTRY e {{ i = {type_}[{length}] iota(), iota_dimension=0
      ROOT t = ({type_}[{kept}], s32[{kept}]) topk(i), k={kept}, largest={largest} }}"""
    for made, right in zip(gpu(text), compiler.interpret(compiler.parse(text)), strict=True):
        np.testing.assert_array_equal(made, right)
