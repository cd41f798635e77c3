"""Which products are made in tiles, and what comes of small ones that are where every kernel is to be shared."""

import numpy as np
import pytest

import compiler

SUMS = {"s8": "s32", "u8": "s32", "bf16": "f32", "f16": "f32"}
SIZES = [
    (16, 16, 1),
    (16, 33, 18),
    (17, 16, 2),
    (48, 32, 64),
    (64, 48, 64),
    (33, 20, 600),
    (16, 272, 48),
    (144, 16, 80),
]
"""Rows, columns and terms: whole words and others, fewer than a tile has and more, and sums of several slices."""


def _dot(element_type, rows, columns, terms, left, right):
    lhs, rhs = (f"{rows},{terms}", f"{terms},{rows}")[left], (f"{columns},{terms}", f"{terms},{columns}")[right]
    return f"""ENTRY e {{ x = {element_type}[2,{lhs}] parameter(0)  y = {element_type}[2,{rhs}] parameter(1)
  ROOT r = {SUMS.get(element_type, element_type)}[2,{rows},{columns}] dot(x, y), lhs_batch_dims={{0}},
    rhs_batch_dims={{0}}, lhs_contracting_dims={{{2 - left}}}, rhs_contracting_dims={{{2 - right}}} }}"""


def _details(text, options):
    (kernel,) = compiler.decide(text, "nvptx", options).kernels
    return kernel.strategy, kernel.details


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("element_type", ["f32", "f64", "bf16", "f16", "s8", "u8", "s32", "s64"])
def test_small_products_in_tiles_of_each_shape_are_right(monkeypatch, element_type, arch):
    monkeypatch.setattr("compiler.backends.nvptx.executable.estimates", lambda *_: {})
    options = compiler.CompileOptions(opt=0, device="sim", arch=arch, share_all=True, check_races=True)
    shapes, has_parts, rng = set(), False, np.random.default_rng(0)
    for number, sizes in enumerate(SIZES):
        text = _dot(element_type, *sizes, number % 2, number // 2 % 2)
        strategy, details = _details(text, options)
        assert strategy == "tiles"
        shapes.add(tuple(details["tile"]))
        has_parts |= details["parts"] > 1
        module = compiler.parse(text)
        low = 0 if element_type == "u8" else -3
        given = [rng.integers(low, 4, p.array.dims).astype(p.array.element_type.dtype) for p in module.entry.parameters]
        assert np.array_equal(
            compiler.compile(module, "nvptx", options)(*given)[0], compiler.interpret(module, *given)[0]
        )
    assert has_parts
    assert len(shapes) > 1


def test_what_is_small_is_made_in_tiles_only_where_every_kernel_is_to_be_shared():
    text = _dot("bf16", 64, 64, 64, 0, 0)
    for is_asked in (False, True):
        strategy, _ = _details(text, compiler.CompileOptions(device="sim", arch="sm_90a", share_all=is_asked))
        assert (strategy == "tiles") == is_asked


def test_warp_groups_multiply_where_words_are_whole():
    options = compiler.CompileOptions(device="sim", arch="sm_90a", share_all=True)
    for element_type, terms in (("bf16", 16), ("f16", 48), ("s8", 64), ("u8", 16)):
        _, details = _details(_dot(element_type, 16, 32, terms, 0, 0), options)
        assert details["warp_groups"]
