"""Sorts of which only the first few of each line are read: parts of lines are sorted, then what is first in those."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler


def text_of(type_: str, lines: int, length: int, k: int, *, largest: bool = True) -> str:
    result = f"({type_}[{lines},{k}], s32[{lines},{k}])"
    return f"""ENTRY e {{ x = {type_}[{lines},{length}] parameter(0)
  ROOT r = {result} topk(x), k={k}, largest={str(largest).lower()} }}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "lines", "length", "k"), [("f32", 2, 2049, 1), ("s32", 3, 4500, 200), ("bf16", 1, 40000, 9)]
)
@pytest.mark.parametrize("largest", [True, False])
def test_few_of_many_are_found_in_a_few_launches(
    type_: str, lines: int, length: int, k: int, gpu: Any, *, largest: bool
) -> None:
    module = compiler.parse(text_of(type_, lines, length, k, largest=largest))
    dtype = module.entry.parameters[0].array.element_type.dtype
    # Many are equal: of those the first ones count.
    x = np.random.default_rng(0).integers(-40, 40, (lines, length)).astype(dtype)
    expected = compiler.interpret(module, x)
    for one, other in zip(expected, gpu(module, x, global_races=True), strict=True):
        assert np.array_equal(one, other)
    assert gpu.compile(module).ptx.count(".entry") <= 4


@pytest.mark.slow
def test_many_of_a_line_are_found_by_sorting_it(gpu: Any) -> None:
    steps = str(gpu.compile(text_of("f32", 2, 5000, 2000)).artifacts["thunk_sequence.txt"])
    assert (steps.count("_parts<<<"), steps.count("_ranks_9<<<")) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_", "length", "launches"),
    [
        ("s8", 700, []),
        ("u32", 2100, ["_parts", "_ranks_9"]),
        ("u32", 8192, ["_parts", "_ranks_9"]),
        ("bf16", 9001, ["_parts", "_ranks_10"]),
        ("u32", 16384, ["_parts", "_ranks_10"]),
        ("u32", 24576, ["_parts", "_ranks_10", "_ranks_13"]),
        ("s32", 32768, ["_parts", "_ranks_10", "_ranks_13"]),
        ("u32", 24577, ["_parts", "_ranks_10", "_ranks_13"]),
        ("f64", 2048, []),
        ("f64", 2100, ["_parts", "_ranks_9"]),
        ("f64", 4096, ["_parts", "_ranks_9"]),
        ("u64", 4097, ["_parts", "_ranks_10"]),
        ("s64", 9001, ["_parts", "_ranks_10"]),
        ("u64", 24577, ["_parts", "_ranks_10", "_ranks_13"]),
    ],
)
def test_keys_of_any_width_are_put_in_order(type_: str, length: int, launches: list[str], gpu: Any) -> None:
    shape = f"{type_}[2,{length}]"
    module = compiler.parse(f"""less {{ a = {type_}[] parameter(0)  b = {type_}[] parameter(1)
      c = s32[] parameter(2)  d = s32[] parameter(3)  ROOT r = pred[] compare(a, b), direction=LT }}
    ENTRY e {{ x = {shape} parameter(0)  n = s32[2,{length}] iota(), iota_dimension=1
      ROOT r = ({shape}, s32[2,{length}]) sort(x, n), dimensions={{1}}, to_apply=less, is_stable=true }}""")
    dtype = module.entry.parameters[0].array.element_type.dtype
    x = np.random.default_rng(0).integers(0, 40, (2, length)).astype(dtype)
    if type_[0] == "u":
        x[:, ::3] = np.iinfo(dtype).max  # the greatest key, as what is no element has
    for one, other in zip(compiler.interpret(module, x), gpu(module, x, global_races=True), strict=True):
        assert np.array_equal(one, other)
    steps = str(gpu.compile(module).artifacts["thunk_sequence.txt"])
    assert re.findall(r"(_parts|_ranks_\d+|_merge_several|_store)<<<", steps) == launches


@pytest.mark.slow
def test_of_lines_sorted_as_a_whole_what_is_read_is_written(gpu: Any) -> None:
    module = compiler.parse(text_of("s32", 2, 2100, 300))
    x = np.random.default_rng(0).integers(-40, 40, (2, 2100)).astype(np.int32)
    for one, other in zip(compiler.interpret(module, x), gpu(module, x), strict=True):
        assert np.array_equal(one, other)
