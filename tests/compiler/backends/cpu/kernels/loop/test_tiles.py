"""Tiled loop kernels read across exactly: every edge, element type and mix of straight and crossed reads."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.backends.cpu.kernels.vectors import nontemporal

TRANSPOSE = """HloModule m
ENTRY e {{
  x = {type}[{dims}] parameter(0)
  ROOT t = {type}[{out}] transpose(x), dimensions={{{permutation}}}
}}
"""

MIXED = """HloModule m
ENTRY e {
  x = f32[40,40] parameter(0)
  y = f32[40,40] parameter(1)
  t = f32[40,40] transpose(x), dimensions={1,0}
  s = f32[40,40] add(t, x)
  u = f32[40,40] transpose(y), dimensions={1,0}
  ROOT r = f32[40,40] multiply(s, u)
}
"""


def _run(text: str, *inputs: np.ndarray, threads: int) -> np.ndarray:
    return compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*inputs)[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "shape",
    [
        (16, 16),
        (17, 16),
        (16, 33),
        (31, 47),
        (15, 64),
        (64, 15),
        (130, 300),
        (1, 64),
        (9, 70),
        (70, 8),
        (300, 3),
        (70, 2),
        (33, 7),
        (3, 300),
        (7, 33),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f64", "s8", "bf16", "pred", "c64", "c128"])
def test_a_transpose_of_any_size_is_exact(shape, dtype, threads):
    rows, columns = shape
    text = TRANSPOSE.format(type=dtype, dims=f"{rows},{columns}", out=f"{columns},{rows}", permutation="1,0")
    module = compiler.parse(text)
    element_type = module.entry.parameters[0].array.element_type.dtype
    x = (np.arange(rows * columns) % 113).reshape(shape).astype(element_type)

    assert np.array_equal(_run(text, x, threads=threads), x.T)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [50, 64])
@pytest.mark.parametrize("dtype", ["f32", "f64", "s8", "bf16", "pred", "c64", "c128"])
def test_results_past_the_caches_are_exact(dtype, rows, monkeypatch):
    """One that is only moved, and three of different types that are computed together."""
    monkeypatch.setattr(nontemporal, "_LEAST_BYTES", 0)
    before, after = f"3,192,{rows}", f"3,{rows},192"
    moved = TRANSPOSE.format(type=dtype, dims=before, out=after, permutation="0,2,1")
    computed = f"""HloModule m
ENTRY e {{
  x = {dtype}[{before}] parameter(0)
  t = {dtype}[{after}] transpose(x), dimensions={{0,2,1}}
  c = c128[{after}] convert(t)
  k = pred[{after}] convert(t)
  ROOT r = ({dtype}[{after}], c128[{after}], pred[{after}]) tuple(t, c, k)
}}
"""
    element_type = compiler.parse(moved).entry.parameters[0].array.element_type.dtype
    x = (np.arange(3 * 192 * rows) % 113).reshape(3, 192, rows).astype(element_type)
    want = x.transpose(0, 2, 1)

    assert np.array_equal(_run(moved, x, threads=2), want)
    for result, wanted in zip(compiler.compile(computed)(x), (want, want, want != 0), strict=True):
        assert np.array_equal(result, wanted)


@pytest.mark.parametrize("permutation", [(0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 3, 1), (3, 1, 0, 2)])
def test_a_transpose_of_higher_rank_is_exact(permutation):
    dims = (18, 33, 20, 17)[: len(permutation)]
    join = lambda values: ",".join(map(str, values))  # noqa: E731
    out = [dims[d] for d in permutation]
    text = TRANSPOSE.format(type="f32", dims=join(dims), out=join(out), permutation=join(permutation))
    x = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)

    assert np.array_equal(_run(text, x, threads=2), x.transpose(permutation))


def test_a_leaf_read_both_ways_is_told_apart():
    x, y = (np.random.default_rng(seed).random((40, 40), np.float32) for seed in (1, 2))

    assert np.array_equal(_run(MIXED, x, y, threads=1), (x.T + x) * y.T)


@pytest.mark.parametrize("threads", [1, 2])
def test_channels_taken_apart_are_exact(threads):
    """Three loops, the middle one of which is done in each iteration of the innermost."""
    text = """HloModule m
ENTRY e {
  x = u8[4,50,60,3] parameter(0)
  t = u8[4,3,50,60] transpose(x), dimensions={0,3,1,2}
  f = f32[4,3,50,60] convert(t)
  low = f32[] constant(0.5)
  ROOT p = f32[4,3,53,62] pad(f, low), padding=0_0x0_0x1_2x1_1
}
"""
    x = np.random.default_rng(0).integers(0, 255, (4, 50, 60, 3)).astype(np.uint8)
    planes = x.transpose(0, 3, 1, 2).astype(np.float32)

    want = np.pad(planes, ((0, 0), (0, 0), (1, 2), (1, 1)), constant_values=0.5)
    assert np.array_equal(_run(text, x, threads=threads), want)
