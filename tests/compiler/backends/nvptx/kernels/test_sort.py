"""Sorts of which only the first few of each line are read: parts of lines are sorted, then what is first in those."""

from __future__ import annotations

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
    assert (steps.count("_parts<<<"), steps.count("_merge_several<<<")) == (1, 3)


@pytest.mark.slow
def test_of_lines_sorted_as_a_whole_what_is_read_is_written(gpu: Any) -> None:
    module = compiler.parse(text_of("s32", 2, 2100, 300))
    x = np.random.default_rng(0).integers(-40, 40, (2, 2100)).astype(np.int32)
    for one, other in zip(compiler.interpret(module, x), gpu(module, x), strict=True):
        assert np.array_equal(one, other)
