"""XLA's client for GPUs as an engine: the same programs where there is a GPU, words that help where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from xlabench import engine
from xlabench.errors import Undecidable

jax = pytest.importorskip("jax", reason="jax is not installed")

TEXT = "ENTRY e { x = f32[1000] parameter(0)  ROOT r = f32[1000] multiply(x, x) }"
X = np.arange(1000, dtype=np.float32)


def _has_gpu() -> bool:
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False


@pytest.mark.skipif(_has_gpu(), reason="JAX has a GPU")
def test_without_a_gpu_it_says_what_to_install() -> None:
    with pytest.raises(Undecidable, match=r"xla:gpu: JAX finds no GPU .*pip install 'jax\[cuda"):
        engine("xla:gpu").compile(TEXT)


@pytest.mark.gpu
@pytest.mark.skipif(not _has_gpu(), reason="JAX has no GPU")
def test_it_runs_there() -> None:
    program = engine("xla:gpu").compile(TEXT)
    assert program.device.platform == "gpu"
    assert np.array_equal(program(X)[0], X * X)


@pytest.mark.parametrize("spec", ["xla", "xla:cpu"])
def test_the_cpu_is_what_is_meant_where_nothing_is_said(spec: str) -> None:
    program = engine(spec).compile(TEXT)
    assert program.device.platform == "cpu"
    [result] = program.execute(program.placed([X]))
    assert np.array_equal(np.asarray(result), X * X)
