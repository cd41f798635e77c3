"""Loops in pieces: what is padded or put together is exact at every edge, and its inside is free of comparisons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import compiler

STENCIL = """HloModule m
ENTRY e {{
  x = f64[{n},{m}] parameter(0)
  zero = f64[] constant(0)
  p = f64[{np},{mp}] pad(x, zero), padding={low}_1x{low}_2
  up = f64[{n},{m}] slice(p), slice={{[0:{n}], [{low}:{m_low}]}}
  down = f64[{n},{m}] slice(p), slice={{[{low_1}:{n_low_1}], [2:{m_2}]}}
  ROOT r = f64[{n},{m}] add(up, down)
}}
"""

EDGES = """HloModule m
ENTRY e {
  x = f32[6,40] parameter(0)
  top = f32[1,40] slice(x), slice={[0:1], [0:40]}
  tall = f32[8,40] concatenate(top, x, top), dimensions={0}
  first = f32[8,1] slice(tall), slice={[0:8], [0:1]}
  last = f32[8,2] slice(tall), slice={[0:8], [38:40]}
  ROOT r = f32[8,43] concatenate(first, tall, last), dimensions={1}
}
"""

MIRRORED = """HloModule m
ENTRY e {
  x = s32[3,50] parameter(0)
  y = s32[3,21] parameter(1)
  c = s32[3,71] concatenate(x, y), dimensions={1}
  ROOT r = s32[3,71] reverse(c), dimensions={0,1}
}
"""


def _run(text: str, *inputs: np.ndarray, threads: int = 1) -> np.ndarray:
    return compiler.compile(text, options=compiler.CompileOptions(threads=threads))(*inputs)[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "m", "low"), [(1, 1, 2), (2, 3, 0), (5, 33, 1), (300, 70, 3), (7, 333, 2)])
def test_a_padded_stencil_is_exact(n, m, low, threads):
    low_1 = max(low, 1)
    text = STENCIL.format(
        n=n, m=m, low=low, np=n + low + 1, mp=m + low + 2, m_low=m + low, low_1=low_1, n_low_1=n + low_1, m_2=m + 2
    )
    x = np.random.default_rng(0).random((n, m))
    p = np.pad(x, ((low, 1), (low, 2)))

    want = p[:n, low : m + low] + p[low_1 : n + low_1, 2 : m + 2]
    assert np.array_equal(_run(text, x, threads=threads), want)


@pytest.mark.parametrize("threads", [1, 2])
def test_edges_repeated_in_both_dimensions_are_exact(threads):
    x = np.arange(240, dtype=np.float32).reshape(6, 40)
    tall = np.concatenate([x[:1], x, x[:1]])

    assert np.array_equal(_run(EDGES, x, threads=threads), np.concatenate([tall[:, :1], tall, tall[:, 38:]], 1))


def test_pieces_of_a_mirrored_array_are_told_apart():
    x, y = np.arange(150, dtype=np.int32).reshape(3, 50), -np.arange(63, dtype=np.int32).reshape(3, 21)

    assert np.array_equal(_run(MIRRORED, x, y), np.concatenate([x, y], 1)[::-1, ::-1])


def test_pads_of_every_amount_are_exact():
    for low, high in itertools.product((-3, -1, 0, 1, 4), repeat=2):
        size = 7 + low + high
        text = f"""HloModule m
ENTRY e {{
  x = f32[7] parameter(0)
  c = f32[] constant(9)
  ROOT p = f32[{size}] pad(x, c), padding={low}_{high}
}}
"""
        x = np.arange(7, dtype=np.float32)
        cut = x[max(0, -low) : 7 - max(0, -high)]
        want = np.pad(cut, (max(0, low), max(0, high)), constant_values=9)
        assert np.array_equal(_run(text, x), want), (low, high)
