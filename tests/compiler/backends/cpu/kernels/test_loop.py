"""Loops that compute several vectors at once: every length comes out the same, whatever is left over at the end."""

from __future__ import annotations

import numpy as np
import pytest

import compiler


def _tanh(size: int) -> str:
    return f"ENTRY e {{ x = f32[{size}] parameter(0)  ROOT y = f32[{size}] tanh(x) }}"


@pytest.mark.parametrize("size", [255, 256, 257, 271, 272, 319, 320, 1000, 20_001])
def test_an_element_does_not_depend_on_where_it_stands(size):
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    alone = compiler.compile(_tanh(1))

    found = compiler.compile(_tanh(size), options=compiler.CompileOptions(threads=2))(x)[0]

    for place in (0, 1, size // 2, size - 17, size - 1):
        assert found[place] == alone(x[place : place + 1])[0][0]
    assert np.allclose(found, np.tanh(x), rtol=3e-7)
